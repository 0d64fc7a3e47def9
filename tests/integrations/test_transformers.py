"""EquipoiseCallback in transformers' own Trainer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.integrations.conftest import same

from equipoise.data.items import write_items
from equipoise.integrations import EquipoiseCallback

pytest.importorskip("accelerate", reason="transformers' Trainer needs it")


def trained(clip: Any, batches: Any, out: Path, callbacks: list[Any], **more: Any) -> Any:
    from transformers import Trainer, TrainingArguments, default_data_collator

    network, processor = clip()
    options = {"output_dir": str(out), "max_steps": 12, "per_device_train_batch_size": 6, "learning_rate": 3e-3}
    options |= {"logging_steps": 1, "save_strategy": "no", "report_to": [], "use_cpu": True, "disable_tqdm": True}

    def collate(rows: Any) -> dict[str, Any]:
        return default_data_collator(rows) | {"return_loss": True}

    trainer = Trainer(
        network,
        TrainingArguments(**{**options, **more}),
        data_collator=collate,
        train_dataset=batches(processor),
        callbacks=callbacks,
        processing_class=processor,
    )
    trainer.train(resume_from_checkpoint=more.get("resume_from_checkpoint"))
    return trainer


@pytest.mark.slow
def test_training_is_bit_for_bit_that_without_it(clip, batches, tiny_items, tmp_path: Path) -> None:
    write_items(tmp_path / "items.jsonl", tiny_items(24))
    watching = EquipoiseCallback(tmp_path / "items.jsonl", images=tmp_path / "images", every=2, seconds=5)
    plain, watched = (
        trained(clip, batches, tmp_path / name, callbacks) for name, callbacks in (("a", []), ("b", [watching]))
    )
    assert same(plain.model, watched.model)
    losses = [[row["loss"] for row in one.state.log_history if "loss" in row] for one in (plain, watched)]
    assert losses[0] == losses[1] and len(losses[0]) == 12
    seen = [row for row in watched.state.log_history if "eval_equipoise_augmented" in row]
    assert [row["step"] for row in seen] == [0, 2, 4, 6, 8, 10, 12]
    names = {f"eval_equipoise_{name}" for name in ("original", "augmented", "brittleness", "drop", "n")}
    assert all(names <= row.keys() and row["eval_equipoise_n"] == 19 for row in seen)
    best = max(seen[1:], key=lambda row: row["eval_equipoise_augmented"])  # the first of several
    kept = json.loads((tmp_path / "b" / "equipoise-best.json").read_text())
    assert kept["step"] == best["step"] and kept["metrics"]["augmented"]["value"] == best["eval_equipoise_augmented"]
    # The kept folder is a model like any other, and gives the logged number.
    import equipoise as eq

    run = eq.evaluate(f"hf:{tmp_path / 'b' / 'equipoise-best'}", tiny_items(24), images=tmp_path / "images")
    assert run.record.metrics.overall["augmented"] == best["eval_equipoise_augmented"]


@pytest.mark.slow
def test_the_trainers_own_loggers_get_the_numbers(clip, batches, tiny_items, tmp_path: Path) -> None:
    from transformers import TrainerCallback

    class Logger(TrainerCallback):
        rows: list[dict[str, Any]] = []  # noqa: RUF012

        def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **given: Any) -> None:
            self.rows.append(dict(logs))

    watching = EquipoiseCallback(tiny_items(24), images=tmp_path / "images", every=100, seconds=5)
    trained(clip, batches, tmp_path / "out", [Logger(), watching], max_steps=2)
    assert sum("eval_equipoise_augmented" in row for row in Logger.rows) == 2  # the base, and the end


@pytest.mark.slow
def test_tensorboard_shows_them(clip, batches, tiny_items, tmp_path: Path, monkeypatch) -> None:
    events = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator", reason="make test-extras")
    monkeypatch.setenv("TENSORBOARD_LOGGING_DIR", str(tmp_path / "board"))
    watching = EquipoiseCallback(tiny_items(24), images=tmp_path / "images", every=1, seconds=5)
    trained(clip, batches, tmp_path / "out", [watching], max_steps=2, report_to=["tensorboard"])
    (file,) = (tmp_path / "board").rglob("events.*")
    found = events.EventAccumulator(str(file.parent)).Reload()
    assert [one.step for one in found.Scalars("eval/equipoise_augmented")] == [0, 1, 2]


def test_it_is_for_a_trainer(tiny_items, tmp_path: Path) -> None:
    from equipoise.core.errors import UserError

    tiny_items(24)
    with pytest.raises(UserError, match="at least 1 step"):
        EquipoiseCallback(tiny_items(24), images=tmp_path / "images", every=0)
    assert torch.is_grad_enabled()

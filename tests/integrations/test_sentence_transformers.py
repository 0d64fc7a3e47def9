"""EquipoiseEvaluator in SentenceTransformerTrainer with a CLIP model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from tests.integrations.conftest import same

pytest.importorskip("sentence_transformers", reason="make test-extras")
pytestmark = pytest.mark.slow


def trained(clip: Any, items: list[Any], folder: Path, evaluator: Any = None, **more: Any) -> Any:
    from datasets import Dataset
    from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer
    from sentence_transformers import SentenceTransformerTrainingArguments as Arguments
    from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss

    network, processor = clip()
    network.save_pretrained(folder / "start")
    processor.save_pretrained(folder / "start")
    model = SentenceTransformer(str(folder / "start"), device="cpu")
    for module in model.modules():
        if hasattr(module, "dropout") and isinstance(module.dropout, float):
            module.dropout = 0.2
    pictures = [Image.open(folder.parent / "images" / item.image.path).convert("RGB") for item in items]
    data = Dataset.from_dict({"anchor": pictures, "positive": [item.caption for item in items]})
    options: dict[str, Any] = {"output_dir": str(folder / "out"), "max_steps": 12, "per_device_train_batch_size": 6}
    options |= {"learning_rate": 3e-3, "logging_steps": 1, "report_to": [], "use_cpu": True, "disable_tqdm": True}
    options |= {"save_strategy": "no"} | more
    trainer = SentenceTransformerTrainer(
        model, Arguments(**options), train_dataset=data, loss=MultipleNegativesRankingLoss(model), evaluator=evaluator
    )
    trainer.train()
    return trainer


def test_training_is_bit_for_bit_that_without_it_and_the_trainer_keeps_the_best(clip, tiny_items, tmp_path) -> None:
    """The other run evaluates with a function that does nothing: the trainer's own evaluation draws random numbers."""
    from sentence_transformers.sentence_transformer.evaluation import SentenceEvaluator

    from equipoise.integrations import EquipoiseEvaluator

    class Nothing(SentenceEvaluator):
        def __call__(self, *given: Any, **named: Any) -> dict[str, float]:
            return {"nothing": 1.0}

    items = tiny_items(24)
    (tmp_path / "a").mkdir(), (tmp_path / "b").mkdir()
    plain = trained(clip, items, tmp_path / "a", Nothing(), eval_strategy="steps", eval_steps=2)
    evaluator = EquipoiseEvaluator(items, images=tmp_path / "images", seconds=5)
    steps: dict[str, Any] = {"eval_strategy": "steps", "eval_steps": 2, "save_strategy": "steps", "save_steps": 2}
    best: dict[str, Any] = {"metric_for_best_model": "eval_equipoise_augmented", "save_total_limit": 1}
    watched = trained(clip, items, tmp_path / "b", evaluator, **steps, **best)
    assert same(plain.model, watched.model)
    losses = [[row["loss"] for row in one.state.log_history if "loss" in row] for one in (plain, watched)]
    assert losses[0] == losses[1] and len(losses[0]) == 12
    seen = [row for row in watched.state.log_history if "eval_equipoise_augmented" in row]
    assert [row["step"] for row in seen] == [2, 4, 6, 8, 10, 12]
    names = {f"eval_equipoise_{name}" for name in ("original", "augmented", "brittleness", "drop", "n")}
    assert all(names <= row.keys() for row in seen) and evaluator.primary_metric == "equipoise_augmented"
    highest = max(row["eval_equipoise_augmented"] for row in seen)
    assert watched.state.best_metric == highest and Path(watched.state.best_model_checkpoint).is_dir()


def test_it_measures_what_equipoise_measures(clip, tiny_items, tmp_path) -> None:
    """The same model, evaluated by `equipoise.evaluate`, has the same numbers."""
    from sentence_transformers import SentenceTransformer

    import equipoise as eq
    from equipoise.integrations import EquipoiseEvaluator

    network, processor = clip()
    network.save_pretrained(tmp_path / "start")
    processor.save_pretrained(tmp_path / "start")
    items = tiny_items(24)
    found = EquipoiseEvaluator(items, images=tmp_path / "images")(SentenceTransformer(str(tmp_path / "start")))
    run = eq.evaluate(f"hf:{tmp_path / 'start'}", items, images=tmp_path / "images")
    for name in ("original", "augmented", "brittleness", "drop"):
        assert found[f"equipoise_{name}"] == run.record.metrics.overall[name]

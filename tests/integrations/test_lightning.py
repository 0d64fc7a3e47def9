"""EquipoiseLightning in Lightning's Trainer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.integrations.conftest import same

pytest.importorskip("lightning", reason="make test-extras")
pytestmark = pytest.mark.slow


def trained(clip: Any, batches: Any, folder: Path, callbacks: list[Any], steps: int = 12) -> tuple[Any, Any]:
    import lightning
    from lightning.pytorch.loggers import CSVLogger
    from torch.utils.data import DataLoader

    class Module(lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.clip, self.processor = clip()
            self.norm = torch.nn.BatchNorm1d(24)

        def training_step(self, batch: Any, index: int) -> Any:
            found = self.clip(**batch, return_loss=True)
            loss = found.loss + 0.01 * self.norm(torch.cat([found.image_embeds, found.text_embeds], 1)).square().mean()
            self.log("loss", loss)
            return loss

        def configure_optimizers(self) -> Any:
            return torch.optim.AdamW(self.parameters(), lr=3e-3)

    lightning.seed_everything(0, verbose=False)
    module = Module()
    data = DataLoader(batches(module.processor), batch_size=6, shuffle=True)
    trainer = lightning.Trainer(
        max_steps=steps, accelerator="cpu", default_root_dir=folder, logger=CSVLogger(folder), log_every_n_steps=1,
        enable_progress_bar=False, enable_model_summary=False, callbacks=callbacks,
    )  # fmt: skip
    trainer.fit(module, data)
    return module, trainer


def test_training_is_bit_for_bit_that_without_it(clip, batches, tiny_items, tmp_path) -> None:
    from lightning.pytorch.callbacks import ModelCheckpoint

    from equipoise.integrations import EquipoiseLightning

    def checkpoints() -> Any:
        return ModelCheckpoint(monitor="equipoise/augmented", mode="max", every_n_train_steps=2)

    watching = EquipoiseLightning(
        tiny_items(24), images=tmp_path / "images", every=2, seconds=5, model=lambda one: (one.clip, one.processor)
    )
    plain, _ = trained(clip, batches, tmp_path / "a", [])
    module, trainer = trained(clip, batches, tmp_path / "b", [watching, checkpoints()])
    assert same(plain, module) and module.norm.num_batches_tracked == 12
    lines = next((tmp_path / "b").rglob("metrics.csv")).read_text().splitlines()
    named = [dict(zip(lines[0].split(","), line.split(","), strict=True)) for line in lines[1:]]
    seen = {int(row["step"]): float(row["equipoise/augmented"]) for row in named if row.get("equipoise/augmented")}
    assert set(seen) == {0, 2, 4, 6, 8, 10, 12}
    assert {f"equipoise/{name}" for name in ("original", "brittleness", "drop", "n")} <= set(lines[0].split(","))
    best = max((step for step in seen if step), key=lambda step: seen[step])
    kept = json.loads((tmp_path / "b" / "equipoise-best.json").read_text())
    state = torch.load(tmp_path / "b" / "equipoise-best.ckpt", weights_only=False)
    assert kept["step"] == best == state["global_step"]
    assert trainer.checkpoint_callback.best_model_score == pytest.approx(seen[best])


def test_weights_that_are_divided_are_refused(tiny_items, tmp_path) -> None:
    from types import SimpleNamespace

    from lightning.pytorch.strategies import FSDPStrategy

    from equipoise.core.errors import UserError
    from equipoise.integrations import EquipoiseLightning

    watching = EquipoiseLightning(tiny_items(24), images=tmp_path / "images")
    with pytest.raises(UserError, match="FSDPStrategy divides the weights"):
        watching.on_train_start(SimpleNamespace(strategy=FSDPStrategy()), None)

"""A callback for Lightning."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from equipoise.api.inputs import AnyModel, Images
from equipoise.core.errors import UserError
from equipoise.data.items import Item
from equipoise.integrations.watched import BEST, Watched

if TYPE_CHECKING:
    from lightning.pytorch import LightningModule, Trainer

# Both packages are in use; the callback has to come from the one whose Trainer runs.
_pl = importlib.import_module("pytorch_lightning" if "pytorch_lightning" in sys.modules else "lightning.pytorch")


class EquipoiseLightning(_pl.Callback):  # type: ignore[misc, name-defined]
    """Measures items at the start, every `every` steps and at the end, each time for about `seconds`.

    `model` gives of the LightningModule what `equipoise.evaluate` takes, for instance
    `lambda module: (module.clip, processor)`; without it the module itself has `embed_images` and `embed_texts`. All
    loggers get equipoise/original, /augmented, /brittleness, /drop and /n; ModelCheckpoint can monitor them. The
    checkpoint with the highest Augmented accuracy is equipoise-best.ckpt in the trainer's default_root_dir.
    """

    def __init__(
        self,
        items: str | Path | Sequence[Item],
        images: Images | None = None,
        *,
        every: int = 100,
        seconds: float = 20.0,
        model: Callable[[LightningModule], AnyModel] | None = None,
    ) -> None:
        self.watched, self.model = Watched(items, images, seconds, every), model
        self._measured: int | None = None

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        strategy = type(trainer.strategy).__name__
        if strategy.startswith(("FSDP", "DeepSpeed", "ModelParallel")):
            raise UserError(f"EquipoiseLightning: {strategy} divides the weights, so one process cannot measure")
        self.watched.begin(Path(trainer.default_root_dir), resumed=trainer.global_step > 0)
        self._measured = trainer.global_step
        if trainer.global_step == 0:
            self._measure(trainer, pl_module, keep=False)

    def on_train_batch_end(self, trainer: Trainer, pl_module: LightningModule, *_: object) -> None:
        step = trainer.global_step  # stays while gradients are accumulated
        if step % self.watched.every == 0 and step != self._measured:
            pl_module.log_dict(self._measure(trainer, pl_module), logger=False)  # for ModelCheckpoint

    def on_train_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        if trainer.global_step != self._measured:
            self._measure(trainer, pl_module)

    def _measure(self, trainer: Trainer, module: LightningModule, keep: bool = True) -> dict[str, float]:
        step = self._measured = trainer.global_step
        best, numbers = False, None
        logged: dict[str, float] = {}
        if trainer.is_global_zero:
            numbers = self.watched.measure(module if self.model is None else self.model(module), module)
            logged = self.watched.logged(numbers, "equipoise/")
            for logger in trainer.loggers:
                logger.log_metrics(logged, step=step)
            best = keep and self.watched.is_best(numbers)
        best, logged = trainer.strategy.broadcast((best, logged))
        if best:  # every process takes part in saving
            trainer.save_checkpoint(Path(trainer.default_root_dir) / f"{BEST}.ckpt")
            if numbers is not None:
                self.watched.note(step, numbers)
        return logged

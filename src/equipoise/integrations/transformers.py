"""A callback for transformers' Trainer."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from transformers import Trainer, TrainerCallback

from equipoise.api.inputs import Images
from equipoise.core.errors import UserError
from equipoise.data.items import Item
from equipoise.integrations.watched import BEST, Watched
from equipoise.train.run.checkpoints import whole_folder

if TYPE_CHECKING:
    from types import FrameType

    from transformers import ProcessorMixin, TrainerControl, TrainerState, TrainingArguments


class EquipoiseCallback(TrainerCallback):  # type: ignore[misc]
    """Measures items at the start, every `every` steps and at the end, each time for about `seconds`.

    The trainer logs eval_equipoise_original, _augmented, _brittleness, _drop and _n. The model with the highest
    Augmented accuracy is OUTPUT_DIR/equipoise-best, which `equipoise eval hf:...` reads. `processor` is needed where
    the Trainer's `processing_class` is not the model's whole processor.
    """

    def __init__(
        self,
        items: str | Path | Sequence[Item],
        images: Images | None = None,
        *,
        every: int = 100,
        seconds: float = 20.0,
        processor: ProcessorMixin | None = None,
    ) -> None:
        self.watched, self.processor = Watched(items, images, seconds, every), processor
        self._measured: int | None = None

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **given: object
    ) -> None:
        trainer = _trainer()
        if trainer.is_fsdp_enabled or trainer.is_deepspeed_enabled:
            raise UserError("EquipoiseCallback: FSDP and DeepSpeed divide the weights, so one process cannot measure")
        self.watched.begin(Path(args.output_dir), resumed=state.global_step > 0)
        if state.global_step == 0:
            self._measure(args, state, control, given, keep=False)

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **given: object
    ) -> None:
        if state.global_step % self.watched.every == 0:
            self._measure(args, state, control, given)

    def on_train_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **given: object
    ) -> None:
        if self._measured != state.global_step:
            self._measure(args, state, control, given)

    def _measure(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        given: Mapping[str, Any],
        keep: bool = True,
    ) -> None:
        if not state.is_world_process_zero:  # the others wait where they next exchange gradients
            return
        network, processor = given["model"], self.processor or given["processing_class"]
        if processor is None:
            raise UserError("EquipoiseCallback: give processor=... here or processing_class=... to the Trainer")
        network = network.get_base_model() if hasattr(network, "get_base_model") else network  # of PEFT
        numbers = self.watched.measure((network, processor), network)
        trainer, self._measured = _trainer(), state.global_step
        due = control.should_log  # the trainer's own numbers of this step are logged next; `log` would cancel that
        trainer.log(self.watched.logged(numbers, "eval_equipoise_"))
        control.should_log = due
        if keep and self.watched.is_best(numbers):
            with whole_folder(Path(args.output_dir) / BEST) as folder:
                trainer.save_model(str(folder), _internal_call=True)  # no upload
                processor.save_pretrained(folder)
            self.watched.note(state.global_step, numbers)


def _trainer() -> Trainer:
    """The trainer that called. A callback is handed everything but the trainer, whose `log` alone reaches its loggers
    and its history."""
    frame: FrameType | None = sys._getframe()
    while frame is not None and not isinstance(frame.f_locals.get("self"), Trainer):
        frame = frame.f_back
    if frame is None:
        raise UserError("EquipoiseCallback: expected to be called by a transformers Trainer")
    return frame.f_locals["self"]

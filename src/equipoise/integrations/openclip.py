"""A function for open_clip's training loop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from equipoise.api.inputs import Images
from equipoise.core.files import atomic_write
from equipoise.data.items import Item
from equipoise.integrations.watched import BEST, Watched
from equipoise.models.openclip import import_open_clip

if TYPE_CHECKING:
    from open_clip.tokenizer import HFTokenizer, SimpleTokenizer
    from PIL import Image


def watch_open_clip(
    model: torch.nn.Module,
    preprocess: Callable[[Image.Image], torch.Tensor],
    tokenizer: HFTokenizer | SimpleTokenizer,
    items: str | Path | Sequence[Item],
    images: Images | None = None,
    *,
    out: str | Path,
    every: int = 100,
    seconds: float = 20.0,
    writer: Any = None,
    resumed: bool = False,
) -> Callable[[int], dict[str, float] | None]:
    """A function to call after each step with the step's number; it measures every `every` steps.

    `preprocess` is the one for validation. `writer` is the loop's TensorBoard writer (`tb_writer`); the numbers are
    returned too, None at other steps. The weights with the highest Augmented accuracy are OUT/equipoise-best.pt, which
    open_clip reads as `pretrained`. In a distributed loop only the first process should make and call it.
    """
    import_open_clip()
    watched, folder = Watched(items, images, seconds, every), Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    watched.begin(folder, resumed)

    def measure(step: int) -> dict[str, float] | None:
        if step % every:
            return None
        network = getattr(model, "module", model)  # of DistributedDataParallel
        numbers = watched.measure((network, preprocess, tokenizer), network)
        logged = watched.logged(numbers, "equipoise/")
        for name, value in logged.items() if writer is not None else ():
            writer.add_scalar(name, value, step)
        if step and watched.is_best(numbers):  # step 0 is the base
            with atomic_write(folder / f"{BEST}.pt", "wb") as handle:
                torch.save({"step": step, "state_dict": network.state_dict()}, handle)
            watched.note(step, numbers)
        return logged

    return measure

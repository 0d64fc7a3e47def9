"""What reaches a torch network while a model answers: pixels, token ids, activations, precision.

A model of a user's own shows only its answers, but if torch computes them, torch can be watched: a global hook sees
every module that runs, wherever the model keeps it. A model that uses no torch modules is judged by its answers alone.
"""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass
class Seen:
    """The first picture tensor and the token ids of each forward pass, and the kinds of modules."""

    pixels: list[NDArray[np.float32]] = field(default_factory=list)  # (n, 3, height, width)
    tokens: list[tuple[int, NDArray[np.int64]]] = field(default_factory=list)  # rows of the table, ids
    kinds: set[str] = field(default_factory=set)  # model_type of configs
    positions: int | None = None  # that the text tower was trained with
    activations: set[str] = field(default_factory=set)  # quick_gelu, gelu
    stated: set[str] = field(default_factory=set)  # the same, by the configs in memory and on disk
    half: set[str] = field(default_factory=set)  # dtypes below float32

    def family(self) -> str | None:
        """clip or siglip, where a tower or the whole of one ran. LLaVA has CLIP's eyes only."""
        found = {kind.removesuffix("_model").removesuffix("_text").removesuffix("_vision") for kind in self.kinds}
        return next((name for name in ("siglip", "siglip2", "clip") if name in found), None)

    def ids(self) -> NDArray[np.int64] | None:
        """The tokens of the last pass: those of the largest table, because positions have one too."""
        return max(self.tokens, key=lambda one: one[0])[1] if self.tokens else None


@contextlib.contextmanager
def watched() -> Iterator[Seen]:
    seen = Seen()
    if "torch" not in sys.modules:
        yield seen
        return
    import torch
    from torch.nn.modules.module import register_module_forward_pre_hook

    def look(module: Any, args: tuple[Any, ...]) -> None:
        _of_module(seen, module)
        first = args[0] if args else None
        if not isinstance(first, torch.Tensor):
            return
        if first.is_floating_point() and first.element_size() < 4:
            seen.half.add(str(first.dtype).removeprefix("torch."))
        if isinstance(module, torch.nn.Conv2d | torch.nn.ZeroPad2d) and first.dim() == 4 and first.shape[1] == 3:
            seen.pixels.append(first.detach().float().cpu().numpy())
        elif isinstance(module, torch.nn.Embedding) and first.dim() == 2 and not first.is_floating_point():
            seen.tokens.append((module.num_embeddings, first.detach().cpu().numpy()))

    hook: Any = register_module_forward_pre_hook(look)
    try:
        yield seen
    finally:
        hook.remove()


@contextlib.contextmanager
def other_activation() -> Iterator[None]:
    """Every GELU is QuickGELU meanwhile, and the other way round."""
    import torch
    from torch.nn.modules.module import register_module_forward_hook

    def swap(module: Any, args: tuple[Any, ...], output: Any) -> Any:
        if (name := _activation(type(module).__name__)) is None:
            return None
        value = args[0]
        return torch.nn.functional.gelu(value) if name == "quick_gelu" else value * torch.sigmoid(1.702 * value)

    hook: Any = register_module_forward_hook(swap)
    try:
        yield
    finally:
        hook.remove()


def _activation(name: Any) -> str | None:
    word = str(name).lower()
    return None if "gelu" not in word else "quick_gelu" if "quick" in word else "gelu"


def _of_module(seen: Seen, module: Any) -> None:
    if name := _activation(type(module).__name__):
        seen.activations.add(name)
    config = getattr(module, "config", None)
    kind = getattr(config, "model_type", None)
    if not isinstance(kind, str) or kind in seen.kinds:
        return
    seen.kinds.add(kind)
    if isinstance(count := getattr(config, "max_position_embeddings", None), int):
        seen.positions = count
    stated = [getattr(config, "hidden_act", None), *_on_disk(getattr(config, "_name_or_path", ""))]
    seen.stated |= {name for one in stated if (name := _activation(one))}


def _on_disk(folder: Any) -> list[str]:
    """What config.json of the folder that a network came from says."""
    path = Path(str(folder)) / "config.json"
    try:
        config = json.loads(path.read_text()) if folder and path.is_file() else {}
        return [config.get(tower, {}).get("hidden_act", "") for tower in ("text_config", "vision_config")]
    except (OSError, ValueError, AttributeError):
        return []

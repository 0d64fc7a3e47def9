"""The model under test, asked as `eval` asks it. Whatever it is, a text and a picture become a row of numbers: the
embedding of an encoder, or a pair scorer's scores with a few fixed pictures and texts. So most checks serve both."""

from __future__ import annotations

import contextlib
import functools
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from equipoise.core.errors import UserError
from equipoise.core.plugins import own_code
from equipoise.evaluation.embedding.cache import Vector
from equipoise.evaluation.embedding.embed import unit
from equipoise.evaluation.preflight import probes
from equipoise.evaluation.scoring import default_batch
from equipoise.models.base import kind_of

SAME = 1e-4  # drift below which two inputs have one row
FEW_PICTURES = 10  # of the probe set, for a pair scorer


class Subject:
    def __init__(self, model: Any, spec: str) -> None:
        self.model, self.spec, self.kind = model, spec, kind_of(model)
        self._last: Vector = np.ones(0, np.float32)  # lengths of the rows as the model gave them
        self.lengths: dict[str, Vector] = {}  # of the texts of `read`

    @property
    def encodes(self) -> bool:
        return self.kind in ("tokens", "embeds")

    def texts(self, texts: Sequence[str]) -> Vector:
        if not self.encodes:
            return self.scores(probes.shapes()[:2], texts).T
        if self.kind == "embeds":
            return self._asked("embed_texts", texts)
        with own_code(self.spec, f"tokenize failed for {len(texts)} texts"):
            ids = [self.model.truncate(row) for row in self.model.tokenize(list(texts))]
        return self._asked("encode_texts", ids)

    def images(self, images: Sequence[Image.Image]) -> Vector:
        if not self.encodes:
            return self.scores(images, probes.SHORT[:4:3])
        if self.kind == "embeds":
            return self._asked("embed_images", images)
        with own_code(self.spec, f"preprocess failed for {len(images)} images"):
            pixels = np.stack([self.model.preprocess(image) for image in images])
        return self._asked("encode_images", pixels)

    def scores(self, images: Sequence[Image.Image], texts: Sequence[str]) -> Vector:
        """A row for each image, a column for each text."""
        if self.encodes:
            return self.images(images) @ self.texts(texts).T
        pairs = [(image, text) for image in images for text in texts]
        return self._pairs(pairs).reshape(len(images), len(texts))

    def _pairs(self, pairs: Sequence[tuple[Image.Image, str]]) -> Vector:
        size = default_batch(self.model)
        parts = [pairs[start : start + size] for start in range(0, len(pairs), size)]
        found = []
        for part in parts:
            with own_code(self.spec, f"score_pairs failed for {len(part)} pairs"):
                answer = self.model.score_pairs([image for image, _ in part], [text for _, text in part])
            found.append(_flat(answer, len(part)))
        return np.concatenate(found)

    def _asked(self, method: str, inputs: Any) -> Vector:
        many = len(inputs)
        with own_code(self.spec, f"{method} failed for {many} input{'s' if many > 1 else ''}"):
            found = getattr(self.model, method)(inputs if isinstance(inputs, np.ndarray) else list(inputs))
        rows = unit(found, many, method)
        self._last = np.linalg.norm(np.asarray(found, np.float64), axis=1).astype(np.float32)
        return rows

    def alone(self, inputs: Sequence[Any]) -> Vector:
        """Each by itself; of a pair scorer each pair."""
        if self.encodes:
            ask: Any = self.texts if isinstance(inputs[0], str) else self.images
            return np.concatenate([ask([one]) for one in inputs])
        if isinstance(inputs[0], str):
            return np.array([[self._pairs([(one, text)])[0] for one in probes.shapes()[:2]] for text in inputs])
        return np.array([[self._pairs([(one, text)])[0] for text in probes.SHORT[:4:3]] for one in inputs])

    def answers(self, method: str, inputs: Sequence[Any]) -> bool:
        try:
            return len(self._asked(method, inputs)) > 0
        except UserError:
            return False

    @functools.cached_property
    def some(self) -> tuple[Vector, Vector]:
        """A few pictures and texts, each in a small batch."""
        return self.images(probes.shapes()), self.texts(probes.SHORT)

    @functools.cached_property
    def read(self) -> dict[str, Vector]:
        """The row of each text; all are asked for at once."""
        texts = probes.texts()
        rows = self.texts(texts)
        self.lengths = dict(zip(texts, self._last, strict=False))  # of a pair scorer none
        return dict(zip(texts, rows, strict=True))

    @functools.cached_property
    def shown(self) -> dict[int, Vector]:
        """The row of each picture, by its identity; all are asked for at once."""
        pictures = probes.pictures()
        return {id(picture): row for picture, row in zip(pictures, self.images(pictures), strict=True)}

    def of_texts(self, texts: Sequence[str]) -> Vector:
        return np.stack([self.read[text] for text in texts])

    def of_images(self, images: Sequence[Image.Image]) -> Vector:
        return np.stack([self.shown[id(image)] for image in images])

    @functools.cached_property
    def seen(self) -> tuple[Seen, Seen]:
        """What reached the network of single pictures, and of a short text and a capitalised one."""
        with watched() as pictures:
            solid = map(probes.solid, ((0, 0, 0), (255, 255, 255), (255, 0, 0)))
            for image in (*solid, probes.quarters(), probes.fine_grained()):
                self.images([image])
        with watched() as texts:
            for text in (probes.SHORT[0], probes.CAPITALS[0]):
                self.alone([text])
        return pictures, texts

    @functools.cached_property
    def matrix(self) -> tuple[Vector, list[int]]:
        """The scores of the probe set with the texts of SHORT, and which one is right."""
        drawn = probes.probe_set() if self.encodes else probes.probe_set()[:FEW_PICTURES]
        right = [place for _, place in drawn]
        if self.encodes:
            return self.of_images([one for one, _ in drawn]) @ self.of_texts(probes.SHORT).T, right
        return self.scores([one for one, _ in drawn], probes.SHORT), right


def _flat(answer: Any, expected: int) -> Vector:
    try:
        found = np.asarray(answer, dtype=np.float64).astype(np.float32)
    except (TypeError, ValueError, RuntimeError) as error:
        raise UserError(f"score_pairs: expected numbers, found {type(answer).__name__} ({error})") from None
    if found.shape != (expected,):
        raise UserError(f"score_pairs: expected {expected} numbers, one for each pair, found shape {found.shape}")
    return found


# What reaches a torch network while a model answers. A model of a user's own shows only its answers, but if torch
# computes them, a global hook sees every module that runs, wherever the model keeps it.


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

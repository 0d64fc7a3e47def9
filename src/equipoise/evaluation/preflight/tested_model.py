"""A model that is being checked: its answers to the probes, and what reaches its torch network meanwhile.

The model is asked as `eval` asks it. Whatever it is, a text and a picture become a row of numbers: the embedding of an
encoder, or a pair scorer's scores with a few fixed pictures and texts. So most checks serve both.
"""

from __future__ import annotations

import contextlib
import functools
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from equipoise.core.errors import UserError
from equipoise.core.plugins import own_code
from equipoise.embedding.cache import Vector
from equipoise.embedding.embed import batched, unit
from equipoise.embedding.pairs import numbers
from equipoise.evaluation.preflight import probes
from equipoise.evaluation.scoring import default_batch
from equipoise.models.base import kind_of

# Of a pair scorer, which is slow:
FEW_PICTURES = 10  # of the probe set
TWO_TEXTS = probes.SHORT[:4:3]  # the row of a picture are its scores with these


def two_pictures() -> list[Image.Image]:
    """The row of a text is its scores with these."""
    return probes.shapes()[:2]


class TestedModel:
    def __init__(self, model: Any, spec: str) -> None:
        self.model, self.spec, self.kind, self.kind_of_spec = model, spec, kind_of(model), spec.partition(":")[0]
        self._last_norms: Vector = np.ones(0, np.float32)  # of the rows of the last answer, before they were normalised
        self.watched_rows: Vector = np.ones((0, 0), np.float32)  # of the pictures of `network`
        self.text_norms: dict[str, Vector] = {}  # the same of each text of `text_rows`; empty for a pair scorer

    @property
    def encodes(self) -> bool:
        return self.kind in ("tokens", "embeds")

    def texts(self, texts: Sequence[str]) -> Vector:
        if not self.encodes:
            return self.scores(two_pictures(), texts).T
        if self.kind == "embeds":
            return self._rows("embed_texts", texts)
        with own_code(self.spec, f"tokenize failed for {len(texts)} texts"):
            ids = [self.model.truncate(row) for row in self.model.tokenize(list(texts))]
        return self._rows("encode_texts", ids)

    def images(self, images: Sequence[Image.Image]) -> Vector:
        if not self.encodes:
            return self.scores(images, TWO_TEXTS)
        if self.kind == "embeds":
            return self._rows("embed_images", images)
        with own_code(self.spec, f"preprocess failed for {len(images)} images"):
            pixels = np.stack([self.model.preprocess(image) for image in images])
        return self._rows("encode_images", pixels)

    def scores(self, images: Sequence[Image.Image], texts: Sequence[str]) -> Vector:
        """A row for each image, a column for each text."""
        if self.encodes:
            return self.images(images) @ self.texts(texts).T
        pairs = [(image, text) for image in images for text in texts]
        return self._pairs(pairs).reshape(len(images), len(texts))

    def _pairs(self, pairs: Sequence[tuple[Image.Image, str]]) -> Vector:
        scores: list[float] = []
        for part in batched(list(pairs), default_batch(self.model)):
            with own_code(self.spec, f"score_pairs failed for {len(part)} pairs"):
                answer = self.model.score_pairs([image for image, _ in part], [text for _, text in part])
            scores += numbers(answer, len(part))
        return np.array(scores, np.float32)

    def _rows(self, method: str, inputs: Any) -> Vector:
        """The answers of an encoder's method, as rows of unit length."""
        many = len(inputs)
        with own_code(self.spec, f"{method} failed for {many} input{'s' if many > 1 else ''}"):
            answer = getattr(self.model, method)(inputs if isinstance(inputs, np.ndarray) else list(inputs))
        rows = unit(answer, many, method)
        self._last_norms = np.linalg.norm(np.asarray(answer, np.float64), axis=1).astype(np.float32)
        return rows

    def one_by_one(self, inputs: Sequence[Any]) -> Vector:
        """The rows of texts or images that are asked for in batches of one; of a pair scorer each pair is a batch."""
        if self.encodes:
            ask: Any = self.texts if isinstance(inputs[0], str) else self.images
            return np.concatenate([ask([given]) for given in inputs])
        if isinstance(inputs[0], str):
            return np.array([[self._pairs([(image, text)])[0] for image in two_pictures()] for text in inputs])
        return np.array([[self._pairs([(image, text)])[0] for text in TWO_TEXTS] for image in inputs])

    def accepts(self, method: str, inputs: Sequence[Any]) -> bool:
        with contextlib.suppress(UserError):
            return len(self._rows(method, inputs)) > 0
        return False

    @functools.cached_property
    def small_batches(self) -> tuple[Vector, Vector]:
        """The rows of a few pictures and of a few texts, each in a small batch."""
        return self.images(probes.shapes()), self.texts(probes.SHORT)

    @functools.cached_property
    def text_rows(self) -> dict[str, Vector]:
        """The row of each text of the probes; all are asked for at once."""
        texts = probes.all_texts()
        rows = self.texts(texts)
        self.text_norms = dict(zip(texts, self._last_norms, strict=False))  # of a pair scorer none
        return dict(zip(texts, rows, strict=True))

    @functools.cached_property
    def picture_rows(self) -> dict[int, Vector]:
        """The row of each picture of the probes, by its `id`; all are asked for at once."""
        pictures = probes.all_pictures()
        return {id(picture): row for picture, row in zip(pictures, self.images(pictures), strict=True)}

    def rows_of_texts(self, texts: Sequence[str]) -> Vector:
        """Texts and pictures that are no probes are asked for one by one."""
        return np.stack([self.text_rows[text] if text in self.text_rows else self.texts([text])[0] for text in texts])

    def rows_of_pictures(self, pictures: Sequence[Image.Image]) -> Vector:
        known = self.picture_rows
        return np.stack(
            [known[id(picture)] if id(picture) in known else self.images([picture])[0] for picture in pictures]
        )

    @functools.cached_property
    def network(self) -> Network:
        """Inputs the network received for single pictures and two short texts."""
        with watched() as pictures:
            plain = map(probes.solid, ((0, 0, 0), (255, 255, 255), (255, 0, 0)))
            inputs = [*plain, probes.quarters(), probes.fine_grained()]
            self.watched_rows = np.concatenate([self.images([image]) for image in inputs])
        with watched() as texts:
            for text in (probes.SHORT[0], probes.CAPITALS[0]):
                self.one_by_one([text])
        return Network(pictures, texts)

    @functools.cached_property
    def probe_scores(self) -> tuple[Vector, list[int]]:
        """The scores of the pictures of the probe set with the texts of `probes.SHORT`, and which text is right."""
        asked = probes.probe_set() if self.encodes else probes.probe_set()[:FEW_PICTURES]
        pictures, right = [picture for picture, _ in asked], [place for _, place in asked]
        if self.encodes:
            return self.rows_of_pictures(pictures) @ self.rows_of_texts(probes.SHORT).T, right
        return self.scores(pictures, probes.SHORT), right


# A model of a user's own shows only its answers, but if torch computes them, a global hook sees every module that runs,
# wherever the model keeps it.


@dataclass
class NetworkInputs:
    """Inputs of a torch network: picture tensors and token ids of each forward pass, and the kinds of modules."""

    pixels: list[NDArray[np.float32]] = field(default_factory=list)  # (n, 3, height, width)
    tokens: list[tuple[int, NDArray[np.int64]]] = field(default_factory=list)  # rows of the table, ids
    model_types: set[str] = field(default_factory=set)  # of configs
    positions: int | None = None  # that the text tower was trained with
    activations: set[str] = field(default_factory=set)  # quick_gelu, gelu
    stated: set[str] = field(default_factory=set)  # the same, by the configs in memory and on disk
    half: set[str] = field(default_factory=set)  # dtypes below float32
    ran: set[int] = field(default_factory=set)  # modules, by their `id`
    norms: dict[int, bool] = field(default_factory=dict)  # layer norms that ran: is it as it was initialised?

    def family(self) -> str | None:
        """clip or siglip, where a tower or the whole of one ran. LLaVA has CLIP's eyes only."""
        towers = [
            name.removesuffix("_model").removesuffix("_text").removesuffix("_vision") for name in self.model_types
        ]
        return next((name for name in ("siglip", "siglip2", "clip") if name in towers), None)

    def token_ids(self) -> NDArray[np.int64] | None:
        """The tokens of the last pass: those of the largest table, because positions have one too."""
        return max(self.tokens, key=lambda pair: pair[0])[1] if self.tokens else None


class Network(NamedTuple):
    """Inputs of the network when it was asked for pictures, and for texts."""

    pictures: NetworkInputs
    texts: NetworkInputs


@contextlib.contextmanager
def watched() -> Iterator[NetworkInputs]:
    """Records what reaches torch networks meanwhile; nothing where torch is not loaded."""
    seen = NetworkInputs()
    if "torch" not in sys.modules:
        yield seen
        return
    import torch
    from torch.nn.modules.module import register_module_forward_pre_hook

    def look(module: torch.nn.Module, args: tuple[object, ...]) -> None:
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

    hook = register_module_forward_pre_hook(look)
    try:
        yield seen
    finally:
        hook.remove()


@contextlib.contextmanager
def other_activation() -> Iterator[None]:
    """Every GELU is QuickGELU meanwhile, and the other way round."""
    import torch
    from torch.nn.modules.module import register_module_forward_hook

    def swap(module: torch.nn.Module, args: tuple[torch.Tensor, ...], output: object) -> Any:
        if (name := _activation(type(module).__name__)) is None:
            return None
        value = args[0]
        return torch.nn.functional.gelu(value) if name == "quick_gelu" else value * torch.sigmoid(1.702 * value)

    hook = register_module_forward_hook(swap)
    try:
        yield
    finally:
        hook.remove()


def _activation(name: object) -> str | None:
    word = str(name).lower()
    return None if "gelu" not in word else "quick_gelu" if "quick" in word else "gelu"


def _of_module(seen: NetworkInputs, module: Any) -> None:
    if id(module) in seen.ran:
        return
    seen.ran.add(id(module))
    if type(module).__name__ == "LayerNorm" and module.weight is not None and module.bias is not None:
        seen.norms[id(module)] = bool((module.weight == 1).all() and (module.bias == 0).all())
    if activation := _activation(type(module).__name__):
        seen.activations.add(activation)
    config = getattr(module, "config", None)
    name = getattr(config, "model_type", None)
    if not isinstance(name, str) or name in seen.model_types:
        return
    seen.model_types.add(name)
    if isinstance(count := getattr(config, "max_position_embeddings", None), int):
        seen.positions = count
    stated = [getattr(config, "hidden_act", None), *_on_disk(getattr(config, "_name_or_path", ""))]
    seen.stated.update(filter(None, map(_activation, stated)))


def _on_disk(folder: object) -> list[str]:
    """The activations that config.json of a network's folder names."""
    path = Path(str(folder)) / "config.json"
    try:
        config = json.loads(path.read_text()) if folder and path.is_file() else {}
        return [config.get(tower, {}).get("hidden_act", "") for tower in ("text_config", "vision_config")]
    except (OSError, ValueError, AttributeError):
        return []


HARMFUL = 0.02  # drift; the world model in bfloat16 has 0.005


def drift(before: Vector, after: Vector) -> float:
    """How far the rows of the same inputs move, as a share of the median distance of different inputs: so one limit
    serves every model, however far apart its embeddings lie."""
    return float(np.linalg.norm(before - after, axis=1).max()) / scale(before)


def scale(rows: Vector) -> float:
    """The median distance of different rows. Where all are one, distances count as they are."""
    median = float(np.median(distances(rows)[np.triu_indices(len(rows), 1)])) if len(rows) > 1 else 0.0
    return median if median > 1e-9 else 1.0


def distances(rows: Vector) -> Vector:
    return np.asarray(np.linalg.norm(rows[:, None] - rows[None], axis=2), dtype=np.float32)

"""What a model under test is shown, its answers, and what reaches its network meanwhile.

All pictures are drawn and all texts written here; nothing is downloaded. The model is asked as `eval` asks it. Whatever
it is, a text and a picture become a row of numbers: the embedding of an encoder, or a pair scorer's scores with a few
fixed pictures and texts. So most checks serve both.
"""

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
from equipoise.data.images import decode_image, encoded
from equipoise.data.items import ImageRef
from equipoise.evaluation.embedding.cache import Vector
from equipoise.evaluation.embedding.embed import batched, unit
from equipoise.evaluation.embedding.pairs import numbers
from equipoise.evaluation.scoring import default_batch
from equipoise.models.base import kind_of

KINDS = ("car", "house", "fish", "heart", "umbrella")
COLOURS = ("red", "blue")
PLACES = ((0.5, 0.5), (0.35, 0.4), (0.65, 0.45), (0.45, 0.65))  # one picture each
PIXELS = 160
LARGE = 640  # as wide as most benchmarks' photos, wider than any tower sees

SHORT = [f"a {colour} {kind}" for kind in KINDS for colour in COLOURS]  # one length in every common tokenizer
CAPITALS = [text.title() for text in SHORT]
LONG = "a small red car left of a big blue house, and a yellow fish above the green umbrella"

# Everyday words. A model that reads English has an embedding for each.
WORDS = [
    f"a photo of a {word}"
    for word in (
        "cat dog man woman child bird horse tree flower car bus boat house door window table chair cup plate bread "
        "apple red green blue white black big small left right above below one two three open empty wet no many"
    ).split()
]
LENGTHS = (4, 8, 16, 24, 48)  # words
_LIST = "a car and a house and a fish and a heart and a tree and a cup and a star and a hat and a key and".split()


def endings(words: int) -> list[str]:
    """Two texts of so many words that differ in the last one."""
    begin = " ".join((_LIST * 3)[: words - 1])
    return [f"{begin} {last}" for last in ("box", "moon")]


def all_texts() -> list[str]:
    """All of them, short and long ones in turn: a loader that sorts by length, or pads to the longest, shows it."""
    ordered = [*SHORT, *CAPITALS, LONG, *WORDS, *(text for words in LENGTHS for text in endings(words))]
    return [ordered[place * 29 % len(ordered)] for place in range(len(ordered))]


@functools.cache
def probe_set() -> list[tuple[Image.Image, int]]:
    """40 pictures of one thing each, with the place of its text in SHORT."""
    return [
        (_picture((kind, colour, x, y)), SHORT.index(f"a {colour} {kind}"))
        for x, y in PLACES
        for kind in KINDS
        for colour in COLOURS
    ]


@functools.cache
def shapes() -> list[Image.Image]:
    """Pictures of different things and sizes, as the photos of a benchmark have."""
    sizes = ((160, 160), (120, 90), (64, 110), (300, 200), (48, 48), (97, 131))
    return [probe_set()[7 * place][0].resize(size) for place, size in enumerate(sizes)]


@functools.cache
def rotated() -> tuple[Image.Image, Image.Image]:
    """A picture stored on its side with an EXIF tag that says so, and the same upright."""
    upright = _scene()
    exif = Image.Exif()
    exif[0x0112] = 6  # turn by 90 degrees clockwise to view
    return _opened(upright.transpose(Image.Transpose.ROTATE_90), "PNG", exif), _opened(upright, "PNG")


CORNERS = ("top left", "top right", "bottom left", "bottom right")
ALONG = (0.06, 0.35, 0.65, 0.94)  # of a strip twice as long as wide; the middle square is from 0.25 to 0.75


@functools.cache
def marked() -> dict[str, tuple[Image.Image, list[Image.Image]]]:
    """Plain pictures, and each again with a dark mark: in a corner of a square, along a wide and along a tall one."""
    found = {}
    corners = [(x, y) for y in (0.08, 0.92) for x in (0.08, 0.92)]
    for name, size, places in (
        ("square", (LARGE, LARGE), corners),
        ("wide", (LARGE, LARGE // 2), [(along, 0.5) for along in ALONG]),
        ("tall", (LARGE // 2, LARGE), [(0.5, along) for along in ALONG]),
    ):
        plain = Image.new("RGB", size, (200, 190, 180))
        found[name] = (plain, [_with_mark(plain, x, y) for x, y in places])
    return found


def _with_mark(plain: Image.Image, x: float, y: float) -> Image.Image:
    marked, half = plain.copy(), LARGE // 16
    left, top = int(x * plain.width), int(y * plain.height)
    marked.paste((10, 30, 90), (left - half, top - half, left + half, top + half))
    return marked


def solid(colour: tuple[int, int, int]) -> Image.Image:
    return Image.new("RGB", (LARGE // 2, LARGE // 2), colour)


def quarters() -> Image.Image:
    """Each corner of another brightness, in the order of CORNERS: which way up does the network see it?"""
    values = np.kron(np.array([[0, 85], [170, 255]], np.uint8), np.ones((80, 80), np.uint8))
    return Image.fromarray(values).convert("RGB")


def fine_grained() -> Image.Image:
    """Stripes, edges and greys: what a resize does to them is its fingerprint."""
    y, x = np.indices((LARGE, LARGE))
    values = 128 + 60 * np.sin(x * x / 900.0) + 40 * np.sin(y / 1.7) + 25 * ((x // 40 + y // 56) % 2)
    return Image.fromarray(values.clip(0, 255).astype(np.uint8)).convert("RGB")


def blank() -> Image.Image:
    return Image.new("RGB", (PIXELS, PIXELS), (128, 128, 128))


@functools.cache
def all_pictures() -> list[Image.Image]:
    """All that are asked for at once, in a fixed order: more than 64, which is where many loaders begin a new batch."""
    places = [picture for plain, others in marked().values() for picture in (plain, *others)]
    others = [blank(), quarters(), solid((0, 90, 0))]
    return [*(one for one, _ in probe_set()), *shapes(), *rotated(), *places, *others]


def _scene() -> Image.Image:
    return _picture(("house", "red", 0.3, 0.3), ("car", "blue", 0.7, 0.75))


def _picture(*things: tuple[str, str, float, float]) -> Image.Image:
    """Things of a kind and colour at x and y. The world is loaded for models that were not checked before."""
    from equipoise.world.draw import draw
    from equipoise.world.scenes import SCALES, Object, Scene

    objects = [Object(kind, colour, "big", "plain", x, y, SCALES["big"][-1]) for kind, colour, x, y in things]
    return Image.fromarray(draw(Scene((*objects,)), PIXELS, clean=True))


def _opened(image: Image.Image, kind: str, exif: Image.Exif | None = None) -> Image.Image:
    data = encoded(image, kind, **({"exif": exif} if exif else {}))
    return decode_image(data, ImageRef(path="a drawn picture"))


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
            return self.scores(shapes()[:2], texts).T
        if self.kind == "embeds":
            return self._asked("embed_texts", texts)
        with own_code(self.spec, f"tokenize failed for {len(texts)} texts"):
            ids = [self.model.truncate(row) for row in self.model.tokenize(list(texts))]
        return self._asked("encode_texts", ids)

    def images(self, images: Sequence[Image.Image]) -> Vector:
        if not self.encodes:
            return self.scores(images, SHORT[:4:3])
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
        found: list[float] = []
        for part in batched(list(pairs), default_batch(self.model)):
            with own_code(self.spec, f"score_pairs failed for {len(part)} pairs"):
                answer = self.model.score_pairs([image for image, _ in part], [text for _, text in part])
            found += numbers(answer, len(part))
        return np.array(found, np.float32)

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
            return np.array([[self._pairs([(one, text)])[0] for one in shapes()[:2]] for text in inputs])
        return np.array([[self._pairs([(one, text)])[0] for text in SHORT[:4:3]] for one in inputs])

    def answers(self, method: str, inputs: Sequence[Any]) -> bool:
        with contextlib.suppress(UserError):
            return len(self._asked(method, inputs)) > 0
        return False

    @functools.cached_property
    def some(self) -> tuple[Vector, Vector]:
        """A few pictures and texts, each in a small batch."""
        return self.images(shapes()), self.texts(SHORT)

    @functools.cached_property
    def read(self) -> dict[str, Vector]:
        """The row of each text; all are asked for at once."""
        texts = all_texts()
        rows = self.texts(texts)
        self.lengths = dict(zip(texts, self._last, strict=False))  # of a pair scorer none
        return dict(zip(texts, rows, strict=True))

    @functools.cached_property
    def shown(self) -> dict[int, Vector]:
        """The row of each picture, by its identity; all are asked for at once."""
        pictures = all_pictures()
        return {id(picture): row for picture, row in zip(pictures, self.images(pictures), strict=True)}

    def of_texts(self, texts: Sequence[str]) -> Vector:
        return np.stack([self.read[text] for text in texts])

    def of_images(self, images: Sequence[Image.Image]) -> Vector:
        return np.stack([self.shown[id(image)] for image in images])

    @functools.cached_property
    def seen(self) -> tuple[Seen, Seen]:
        """What reached the network of single pictures, and of a short text and a capitalised one."""
        with watched() as pictures:
            plain = map(solid, ((0, 0, 0), (255, 255, 255), (255, 0, 0)))
            for image in (*plain, quarters(), fine_grained()):
                self.images([image])
        with watched() as texts:
            for text in (SHORT[0], CAPITALS[0]):
                self.alone([text])
        return pictures, texts

    @functools.cached_property
    def matrix(self) -> tuple[Vector, list[int]]:
        """The scores of the probe set with the texts of SHORT, and which one is right."""
        pictures, right = zip(*probe_set()[: None if self.encodes else FEW_PICTURES], strict=True)
        scores = self.of_images(pictures) @ self.of_texts(SHORT).T if self.encodes else self.scores(pictures, SHORT)
        return scores, list(right)


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

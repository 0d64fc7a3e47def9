"""Identity by content: the hashes by which caches, stopped runs and finished runs are recognised.

A thing is identified by its content: the whole card of a model, and hashes of bytes. A name, a path or a few chosen
fields are not enough: another thing of the same name would get the first one's result.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import Image

from equipoise.core.errors import UserError
from equipoise.core.files import atomic_write, sha256_file, sha256_json
from equipoise.core.run_folder import UNKNOWN
from equipoise.data.images import ImageProblem, ImageSource
from equipoise.data.items import Item
from equipoise.data.objects import Unidentified, of_object

if TYPE_CHECKING:
    from numpy.typing import NDArray

PACKAGE = Path(__file__).resolve().parents[1]


@functools.cache
def of_code(*rooms: str, package: Path = PACKAGE) -> str:
    """Hash of folders of this package, code and data files: results of other code are neither resumed nor reused."""
    digest = hashlib.sha256()
    for path in code_files(*rooms, package=package):
        digest.update(path.relative_to(package).as_posix().encode() + b"\0" + bytes.fromhex(sha256_file(path)))
    return digest.hexdigest()[:16]


def code_files(*rooms: str, package: Path = PACKAGE) -> Iterator[Path]:
    for room in rooms:
        if not (package / room).is_dir():
            raise ValueError(f"no folder {room} in {package}")  # a typo would leave its code out of the hash
        files = (path for path in (package / room).rglob("*") if path.is_file() and path.suffix != ".pyc")
        yield from sorted(files)


def of_folder(folder: str | Path) -> str:
    """Hash of every file in a model's folder."""
    root = Path(folder)
    if not root.is_dir():
        raise UserError(f"{folder}: no such model folder")
    files = sorted(path for path in root.rglob("*") if path.is_file())
    return sha256_json({path.relative_to(root).as_posix(): sha256_file(path) for path in files})[:16]


def of_call(function: object) -> object:
    """A loss by its name and content; `of_code` covers the functions of this package."""
    kind = function if hasattr(function, "__qualname__") else type(function)
    name = f"{kind.__module__}.{kind.__qualname__}"
    if kind is function and name.startswith("equipoise.") and not getattr(function, "__closure__", None):
        return name
    return [name, or_unknown(lambda: of_object(function))]


def or_unknown(hashed: Callable[[], str]) -> str:
    """The hash, or words that equal no other run's."""
    try:
        return hashed()
    except Unidentified as why:
        return f"{UNKNOWN}: {why}"


NAMES = {"spec", "file"}  # fields of a card that change no number


def of_card(card: Mapping[str, object]) -> dict[str, object] | None:
    """A model's card without its names; None if the card does not identify the model."""
    if not (card.get("weight_sha256") or card.get("digest")) or str(card.get("state", "")).startswith(UNKNOWN):
        return None
    return {name: value for name, value in card.items() if name not in NAMES}


_steady: ContextVar[dict[int, tuple[object, dict[str, object] | None]] | None] = ContextVar("steady", default=None)


@contextlib.contextmanager
def steady(on: bool = True) -> Iterator[None]:
    """While one command works nobody changes its models: the card of each is made once."""
    if on and _steady.get() is not None:
        yield
        return
    token = _steady.set({} if on else None)
    try:
        yield
    finally:
        _steady.reset(token)


def loaded(model: object) -> None:
    """Note a model as it was loaded. A change is looked for later, unless only this command has it."""
    kept = _steady.get()
    if kept is not None:
        kept[id(model)] = (model, None)
    elif hasattr(model, "note_loaded"):
        model.note_loaded()


def given(model: Any) -> None:
    """Note a model that was made of a user's network just now: its weights are hashed, its state is not."""
    kept = _steady.get()
    assert kept is not None
    kept[id(model)] = (model, {**model.card, "state": model.state()})


def card_now(model: object) -> dict[str, Any]:
    """The card of a model with its weights and all else as they are now, since a notebook may have changed them."""
    made, kept = getattr(model, "card_now", None), _steady.get()
    known = (kept or {}).get(id(model))
    card = known[1] if known else made() if made else None
    if kept is not None:
        kept[id(model)] = (model, card)
    return card or getattr(model, "card", None) or {}


def of_model(model: object, batch_size: int, code: int, card: str = "card") -> str | None:
    """The cache key of a model's answers; None if they must not be cached. `code` is the version of the code that asks
    it; `card` names the attribute that holds what decides the answer."""
    whole = card_now(model)
    own = None if of_card(whole) is None else of_card(getattr(model, card, whole) if card != "card" else whole)
    if own is None:
        return None
    how = {"code": code, "device": str(getattr(model, "device", ""))}
    return sha256_json(how | {"batch_size": batch_size if batch_matters(model) else None, "card": own})


def batch_matters(model: object) -> bool:
    """Whether the batch size matters: in float32 it changes the seventh digit, in lower precision the third."""
    return (getattr(model, "card", None) or {}).get("dtype") != "float32"


_TEXTS = (
    "a photo of a dog",
    "a red cup on a wooden table",
    "Two people walking in the RAIN of Paris, 1994",
    " ".join(("a car and a house and a fish and a tree and a cup and a hat and a key and".split() * 4)[:75]),
)
_SIZES = ((64, 64), (97, 131), (640, 320), (320, 640))  # crops show in what is wide or tall


def of_own(model: object, found: list[NDArray[np.generic]] | None = None) -> str:
    """For a model without an identifying card: a hash of its content, and of its answers to fixed pictures and texts.

    Raises `Unidentified` where either is missing, or where all answers are equal. A model that never gives the same
    answer twice is never recognised, which is right.
    """
    content = of_object(model)
    known = of_arrays(answers(model) if found is None else found)
    if known is None:
        raise Unidentified("it gives no answers by which it could be known")
    return sha256_json([content, known])


def answers(model: Any) -> list[NDArray[np.generic]] | None:
    """Those answers; None if it has none."""
    images = pictures()
    try:
        if hasattr(model, "score_pairs"):
            read = getattr(model, "reads_images", True)
            answered = [model.score_pairs(images if read else [], list(_TEXTS))]
        else:
            answered = [model.embed_images(images), model.embed_texts(list(_TEXTS))]
        return [np.asarray(answer, dtype=np.float32) for answer in answered]
    except Exception:  # the user's own code may not know these words; scoring reports what is wrong with it
        return None


def of_arrays(arrays: Sequence[NDArray[np.generic]] | None) -> str | None:
    if arrays is None or any((array == array[:1]).all() for array in arrays):
        return None
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(f"{array.shape}\n".encode() + array.tobytes())
    return digest.hexdigest()


def pictures() -> list[Image.Image]:
    """New ones for each call: a model may keep what it saw."""
    images = []
    for step, (width, height) in enumerate(_SIZES):
        y, x, channel = np.indices((height, width, 3))
        values = (x * (step + 1) + y * y // (step + 2) + 80 * channel) % 256
        images.append(Image.fromarray(values.astype(np.uint8)))
    images[-1].getexif()[0x0112] = 6  # to be turned by 90 degrees
    return images


def photo_digests(paths: Iterable[str], source: ImageSource, workers: int) -> dict[str, bytes]:
    """The SHA-256 of each photo that can be read."""

    def digest(path: str) -> bytes | None:
        try:
            return hashlib.sha256(source.read(path)).digest()
        except ImageProblem:
            return None

    distinct = list(dict.fromkeys(paths))
    with ThreadPoolExecutor(workers) as pool:
        digests = zip(distinct, pool.map(digest, distinct), strict=True)
        return {path: value for path, value in digests if value is not None}


def of_photos(digests: Mapping[str, bytes]) -> dict[str, Any]:
    """One digest of all photos: it changes when one is replaced, is renamed, appears or disappears."""
    pairs = sorted([path, digest.hex()] for path, digest in digests.items())
    return {"sha256": sha256_json(pairs), "count": len(pairs)}


def of_items(items: Sequence[Item]) -> str:
    """sha256_json of all items, made one by one."""
    digest = hashlib.sha256(b"[")
    for index, item in enumerate(items):
        digest.update((("," if index else "") + _dumps(item.to_json())).encode())
    digest.update(b"]")
    return digest.hexdigest()


_dumps = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode


# The card's sha256 of all items shows only whether a whole file is the same, but a part of it, or a file with some
# items in common, is contaminated too. So a short hash of each item is kept next to the weights: of its photo's path
# and its caption, since other hard texts may have been written for it.

TRAINED = "trained_items.txt"
MOST_TRAINED = 2_000_000  # items: 34 MB; of more, nothing is kept
_LENGTH = 16  # hexadecimal digits: two of a million items agree by chance once in 37 million runs


def trained_key(item: Item) -> str:
    photo = item.image.path if item.image is not None else ""
    return hashlib.sha256(f"{photo}\n{item.caption}".encode()).hexdigest()[:_LENGTH]


def trained_keys(model: object, items: Sequence[Item]) -> frozenset[str] | None:
    """Hashes of these items and of those the base model was finetuned on; None if there are too many."""
    if len(items) > MOST_TRAINED:
        return None
    keys = frozenset(map(trained_key, items)) | (_trained(getattr(model, "folder", None)) or frozenset())
    return keys if len(keys) <= MOST_TRAINED else None


def write_trained(folder: Path, keys: frozenset[str] | None) -> None:
    if keys is not None:
        with atomic_write(folder / TRAINED) as handle:
            handle.writelines(f"{key}\n" for key in sorted(keys))


def trained_on(model: object, items: Sequence[Item]) -> int | None:
    """How many of the items the model was finetuned on; None where its folder does not say."""
    known = _trained(getattr(model, "folder", None))
    return None if known is None else sum(trained_key(item) in known for item in items)


def _trained(folder: Path | None) -> frozenset[str] | None:
    path = None if folder is None else folder / TRAINED
    if path is None or not path.is_file() or path.stat().st_size > MOST_TRAINED * (_LENGTH + 1):
        return None
    return frozenset(path.read_text(encoding="ascii", errors="replace").split())

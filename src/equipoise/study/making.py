"""Makes a study from items: questions drawn by seed, and numbered copies of the pictures."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image

from equipoise.core.errors import Problems, UserError
from equipoise.core.files import atomic_write, write_json
from equipoise.core.progress import progress
from equipoise.core.run_folder import locked, take
from equipoise.data.identity import of_items, of_photos, photo_digests
from equipoise.data.images import ImageProblem, ImageSource, decode_image, encoded, open_source
from equipoise.data.items import ImageRef, Item
from equipoise.study.questions import (
    FILE,
    IMAGES,
    MOST_TEXTS,
    SCHEMA,
    Ask,
    Picture,
    Question,
    Study,
    Wording,
    picture_name,
    read_study,
)

PIXELS = 900  # longer side: enough to see a glove, and a hundred fit in a mail
QUALITY = 90


def make_study(
    items: Sequence[Item], benchmark: str, out: Path, n: int, seed: int, ask: Ask = "rank", images: Path | None = None
) -> Study:
    """Draw `n` questions and write them with their pictures; study.json comes last, so a folder with it is complete.

    The same call on a finished folder changes nothing.
    """
    chosen = choose(items, n, seed, ask)
    if ask == "rank" and images is None:
        raise UserError("--images: expected the pictures of the items (a folder, tar or Parquet shards)")
    refs = list(dict.fromkeys(item.image for item in chosen if item.image is not None)) if ask == "rank" else []
    source = None if images is None else open_source(images)
    identity = {
        "ask": ask,
        "benchmark": benchmark,
        "items_sha256": of_items(items),
        "n": n,
        "seed": seed,
        "images": of_photos(photo_digests((ref.path for ref in refs), source, 4)) if source else None,
    }
    with locked(out):
        take(out, "study make", identity, writes=None)
        for left in out.rglob(".*.part"):  # of a killed run; this one has the lock
            left.unlink(missing_ok=True)
        if (out / FILE).is_file():
            return read_study(out)
        pictures = _copy(refs, source, out / IMAGES) if source else []
        number = {ref: place for place, ref in enumerate(refs)}
        rng = np.random.default_rng([seed, 1])
        drawn = [_texts(item, ask, rng) for item in chosen]
        questions = []
        for place, (item, texts) in enumerate(zip(chosen, drawn, strict=True)):
            image = number[item.image] if item.image is not None and ask == "rank" else None
            cluster = item.id if item.image is None else item.image.path
            questions.append(
                Question(number=place, item=item.id, image=image, cluster=cluster, tags=item.tags, texts=tuple(texts))
            )
        left_out = sum(len(item.texts()) - len(texts) for item, texts in zip(chosen, drawn, strict=True))
        study = Study(
            version=SCHEMA,
            ask=ask,
            benchmark=benchmark,
            items_sha256=str(identity["items_sha256"]),
            items=len(items),
            seed=seed,
            texts_left_out=left_out if ask == "rank" else 0,
            questions=tuple(questions),
            pictures=tuple(pictures),
        )
        write_json(out / FILE, study.model_dump(mode="json"))
    return study


def choose(items: Sequence[Item], n: int, seed: int, ask: Ask) -> list[Item]:
    if ask == "rank":
        able = [place for place, item in enumerate(items) if item.image is not None and item.negatives]
        wanted = "a picture and a hard negative"
    else:
        able = [place for place, item in enumerate(items) if item.positives or item.negatives]
        wanted = "a hard positive or a hard negative"
    if len(able) < n:
        raise UserError(f"--n {n}: only {len(able):,} of {len(items):,} items have {wanted}; ask for fewer")
    order = np.random.default_rng(seed).permutation(len(able))[:n]
    return [items[able[place]] for place in order.tolist()]


def _texts(item: Item, ask: Ask, rng: np.random.Generator) -> list[Wording]:
    """The texts of a question in random order. If there are too many: the caption, one of each kind, and a random rest.
    For a pair: the caption and one other, positive or negative with equal odds if there are both."""
    caption = Wording(role="c", text=item.caption)
    kinds = [
        [Wording(role="p", text=text.text) for text in item.positives],
        [Wording(role="n", text=text.text) for text in item.negatives],
    ]
    kinds = [[kind[place] for place in rng.permutation(len(kind)).tolist()] for kind in kinds if kind]
    if ask == "pairs":
        texts = [caption, kinds[int(rng.integers(len(kinds)))][0]]
    else:
        first, rest = [kind[0] for kind in kinds], [text for kind in kinds for text in kind[1:]]
        rest = [rest[place] for place in rng.permutation(len(rest)).tolist()]
        texts = [caption, *first, *rest][:MOST_TEXTS]
    return [texts[place] for place in rng.permutation(len(texts)).tolist()]


def _copy(refs: Sequence[ImageRef], source: ImageSource, folder: Path) -> list[Picture]:
    """Write the pictures under numbers: cut to their boxes, made smaller, and without metadata."""
    problems = Problems(f"pictures {source}")
    pictures = []
    with progress(len(refs), "pictures", "pictures") as advance:
        for number, ref in enumerate(refs):
            try:
                data = _small(decode_image(source.read(ref.path), ref))
            except ImageProblem as error:
                problems.add("", str(error))
            else:
                with atomic_write(folder / picture_name(number), "wb", flush=False) as handle:
                    handle.write(data)
                pictures.append(Picture(path=ref.path, box=ref.box, sha256=hashlib.sha256(data).hexdigest()))
            advance(1)
    problems.raise_if_any("A study needs all of its pictures; `equipoise bench check` lists what is missing.")
    return pictures


def _small(image: Image.Image) -> bytes:
    small = image.copy()
    small.thumbnail((PIXELS, PIXELS))
    return encoded(small, "JPEG", quality=QUALITY, subsampling=0, optimize=True)  # questions are about colours, too

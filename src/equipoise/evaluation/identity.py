"""What makes two runs the same run: items, photos, model, settings. Only then may one be read in place of the other."""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from pydantic import JsonValue, ValidationError

from equipoise import run_folder
from equipoise.benchmarks.base import Benchmark
from equipoise.collector import without_collection
from equipoise.errors import Problems
from equipoise.evaluation.embedding.embed import EMBEDDING_CODE, batch_matters
from equipoise.evaluation.record import AverageId, BenchmarkId, ImagesId, ModelCard, RunRecord, Settings
from equipoise.files import sha256_json
from equipoise.items import Edit, ImageRef, Item, Text
from equipoise.models.base import reads_images
from equipoise.records import explain

_COUNTED = {"name", "items_sha256", "macro", "least", "metrics"}  # the rest of a benchmark's id are words about it


@dataclass(frozen=True)
class Identity:
    """Everything that a number depends on; `images` is None as long as nobody has read them."""

    benchmark: BenchmarkId
    model: ModelCard
    settings: Settings
    images: ImagesId | None = None

    def to_json(self) -> dict[str, dict[str, JsonValue]]:
        """The parts that are known, field by field."""
        parts = {
            "benchmark": self.benchmark.model_dump(mode="json", include=_COUNTED),
            "model": self.model.model_dump(mode="json"),
            "settings": self.settings.model_dump(mode="json"),
        }
        return parts if self.images is None else parts | {"images": self.images.model_dump(mode="json")}

    def refuse_other(self, folder: Path, record: RunRecord) -> None:
        """Raise where the finished run in `folder` is not this one, or cannot be known to be."""
        here = self.to_json()
        there = Identity(record.benchmark, record.model, record.settings, record.images).to_json()
        also = []
        if self.images is not None and record.images is None:
            also.append("its photos are not recorded: made by an older version")
        if not (self.model.weight_sha256 or self.model.digest):
            also.append('the model cannot be told from another: give it a card, {"digest": "..."}')
        run_folder.refuse_other(folder, {part: there.get(part) for part in here}, here, also=also)


def benchmark_id(
    items: Sequence[Item], benchmark: Benchmark | None, name: str | None = None, limit: int | None = None
) -> BenchmarkId:
    """Which items these are; without a benchmark they are a caller's own list, averaged plainly."""
    return BenchmarkId(
        name=name or (benchmark.name if benchmark else "items"),
        items_sha256=items_hash(items),
        splits=sorted({item.tags["split"] for item in items if "split" in item.tags}),
        limit=limit,
        chance=dict(benchmark.chance) if benchmark else {},
        macro=list(benchmark.macro) if benchmark else [],
        least=benchmark.least if benchmark else 1,
        averages={
            rule: AverageId(over=list(one.path), least=one.least, cite=one.cite)
            for rule, one in (benchmark.averages if benchmark else {}).items()
        },
        metrics=list(benchmark.metrics) if benchmark else [],
        ties=benchmark.ties if benchmark else None,
        citation=benchmark.citation if benchmark else None,
        notes=benchmark.notes if benchmark else None,
    )


def images_id(digests: Mapping[str, bytes]) -> ImagesId:
    """One digest of all photos: it changes when one is replaced, is renamed, appears or disappears."""
    pairs = sorted([path, digest.hex()] for path, digest in digests.items())
    return ImagesId(sha256=sha256_json(pairs), count=len(pairs))


@without_collection
def items_hash(items: Sequence[Item]) -> str:
    """sha256_json of all items, put together by hand: a second less on 27,443 of them, while photos wait."""
    digest = hashlib.sha256(b"[")
    for index, item in enumerate(items):
        digest.update((("," if index else "") + _canonical(item)).encode())
    digest.update(b"]")
    return digest.hexdigest()


def _canonical(item: Item) -> str:
    """The item's JSON with sorted keys and no blanks."""
    image = "null" if item.image is None else _canonical_image(item.image)
    negative_images = positive_images = ""
    if item.negative_images or item.positive_images:
        negative_images, positive_images = (  # in a hash only where there are some: older runs stay the same run
            f'"{kind}":[{",".join(map(_canonical_image, refs))}],' if (refs := getattr(item, kind)) else ""
            for kind in ("negative_images", "positive_images")
        )
    paired = '"paired":true,' if item.paired else ""
    tags = _canonical_tags((*item.tags.items(),))
    negatives, positives = (",".join(map(_canonical_text, part)) for part in (item.negatives, item.positives))
    return (
        f'{{"caption":{_quoted(item.caption)},"id":{_quoted(item.id)},"image":{image},'
        f'{negative_images}"negatives":[{negatives}],'
        f'{paired}{positive_images}"positives":[{positives}],"tags":{{{tags}}}}}'
    )


@functools.lru_cache(maxsize=1024)
def _canonical_tags(tags: tuple[tuple[str, str], ...]) -> str:
    return ",".join([f"{_quoted(tag)}:{_quoted(value)}" for tag, value in sorted(tags)])


def _canonical_image(image: ImageRef) -> str:
    box = "null" if image.box is None else _dumps(image.box)
    return f'{{"box":{box},"path":{_quoted(image.path)}}}'


def _canonical_text(text: Text) -> str:
    edit = "null" if text.edit is None else _canonical_edit(text.edit)
    return f'{{"edit":{edit},"text":{_quoted(text.text)}}}'


def _canonical_edit(edit: Edit) -> str:
    by = "" if edit.by is None else f'"by":{_quoted(edit.by)},'
    source = "" if edit.source is None else f'"from":{_quoted(edit.source)},'
    span = "" if edit.span is None else f',"span":{_dumps(edit.span)}'
    target = "" if edit.target is None else f',"target":{_quoted(edit.target)}'
    to = "" if edit.to is None else f',"to":{_quoted(edit.to)}'
    return f'{{{by}{source}"op":{_quoted(edit.op)}{span}{target}{to}}}'


_dumps = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode
_quoted = json.encoder.encode_basestring


def settings_of(model: Any, seed: int, allow_missing: bool, batch_size: int) -> Settings:
    return Settings(
        seed=seed,
        allow_missing=allow_missing,
        batch_size=batch_size if batch_matters(model) else None,
        embedding_code=EMBEDDING_CODE,
    )


def model_card(model: Any, *, probe: bool) -> ModelCard:
    """What a model says of itself, or at least its class; a card that no file could hold is refused.

    With `probe`, a model that gives neither a hash of its weights nor a digest gets one from what it answers.
    """
    nameless = {"spec": f"object of {type(model).__module__}.{type(model).__qualname__}"}
    problems = Problems(f"the card of the model ({nameless['spec']})")
    try:
        stated = dict(getattr(model, "card", None) or {})
        whole = nameless | stated | {"device": str(getattr(model, "device", "cpu"))}
        card = ModelCard.model_validate_json(json.dumps(whole, allow_nan=False))  # as it will be read again
    except ValidationError as error:
        explain(error, "", problems)
    except (TypeError, ValueError) as error:
        problems.add("", f"not what JSON can hold ({error})")
    problems.raise_if_any('Expected plain JSON values, for instance {"spec": "mine", "weight_sha256": "..."}')
    if probe and not (card.weight_sha256 or card.digest):
        card = card.model_copy(update={"digest": probe_digest(model)})
    return card


# ---------------------------------------------------------------------------- a model that does not say who it is

_TEXTS = ("a photo of a dog", "a red cup on a wooden table", "two people walking in the rain")


def probe_digest(model: Any) -> str | None:
    """A hash of what a model answers to three fixed pictures and texts; None where it cannot answer them.

    Bit for bit: another model of the same class answers otherwise. A model that never answers twice the same is never
    taken for itself, which is right.
    """
    images = _pictures()
    try:
        if hasattr(model, "score_pairs"):
            answers = [model.score_pairs(images if reads_images(model) else [], list(_TEXTS))]
        else:
            answers = [model.embed_images(images), model.embed_texts(list(_TEXTS))]
        arrays = [np.asarray(answer, dtype=np.float32) for answer in answers]
    except Exception:  # somebody's own code, which need not know these words; scoring will tell what is wrong with it
        return None
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(f"{array.shape}\n".encode() + array.tobytes())
    return digest.hexdigest()


def _pictures() -> list[Image.Image]:
    y, x, channel = np.indices((64, 64, 3))
    return [
        Image.fromarray(((x * (step + 1) + y * y // (step + 2) + 80 * channel) % 256).astype(np.uint8))
        for step in range(len(_TEXTS))
    ]

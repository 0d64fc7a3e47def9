"""Check, before anything is written, that recipe, items and model fit together, and compute a run's identity."""

from __future__ import annotations

import hashlib
import json
import math
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TypeVar

from equipoise.core.errors import Problems, UserError, listed
from equipoise.core.files import sha256_file, sha256_json
from equipoise.core.progress import is_quiet, progress
from equipoise.core.run_folder import UNKNOWN
from equipoise.data.identity import card_now, of_card, of_code, of_items
from equipoise.data.images import FolderImages, ImageProblem, ImageSource, ParquetImages, TarImages, absent
from equipoise.data.items import Item, Text
from equipoise.models.scorers.itm import MatchingModel
from equipoise.train.data.batches import Part, Trainable, shares
from equipoise.train.recipe import Recipe, Slot


def trainable(model: object, spec: str) -> Trainable:
    if isinstance(model, Trainable):
        return model
    raise UserError(
        f"{spec}: only CLIP- and SigLIP-style models of transformers (hf:) and BLIP and X-VLM (itm:) can be "
        "finetuned; for others use the losses in your own loop (docs/python.md)"
    )


def check_items(recipe: Recipe, parts: Sequence[Part], model: Trainable) -> list[str]:
    """Raise with all problems of the items for this recipe; else return lines about the samples with hard texts."""
    items = [item for part in parts for item in part.items]
    problems = Problems(f"{recipe.name} cannot train on these items")
    without = [item.id for item in items if item.image is None]
    if without:
        problems.add("images", f"{len(without)} of {len(items)} items have none; the first is {without[0]!r}")
    needs, counts = recipe.needs, _counts(recipe, items)
    for what, slots in (("positive", (needs.positive,)), ("negative", needs.negatives)):
        if counts.get(f"a {what}") == 0:
            having = sum(bool(getattr(item, f"{what}s")) for item in items)
            kinds = ", ".join(slot.name for slot in slots if slot)
            said = f"has a {what} this recipe takes ({kinds}); {having} have a {what} at all"
            problems.add(f"{what}s", f"none of {len(items)} items {said}")
    if counts.get("both") == 0 and counts["a positive"] and counts["a negative"]:
        advice = (
            "items of two files are not joined: equipoise perturb CAPTIONS --recipe "
            "hard_positives_rules,crepe_ma_2023 writes both, and perturbing an items file adds to it"
        )
        problems.add("pairs", f"none of {len(items)} items has a positive and a negative; {advice}")
    if needs.hard_images and not any("hard_images" in item.tags for item in items):
        advice = "equipoise perturb ITEMS --hard-images MODEL --images DIR --out F.jsonl finds them"
        problems.add("hard images", f'none of {len(items)} items names any in tags["hard_images"]; {advice}')
    for why in _misfits(recipe, model):
        problems.add("model", why)
    if wrong := [weight for weight in shares(parts) or () if not 0 < weight < math.inf]:
        problems.add("weights", f"every part needs a finite weight above 0, found {wrong[0]}")
    _refuse_with_freeze(recipe)
    hint = "Write hard positives and negatives with `equipoise perturb`, or choose another recipe."
    if len(without) == len(items):
        hint = "Perturb a file that names the image of each caption, for instance a table with image and caption."
    problems.raise_if_any(hint)
    for name in ("batch_size", "epochs", "max_steps"):
        value = getattr(recipe, name)
        if value is not None and value < 1:
            raise UserError(f"{name.replace('_', ' ')}: expected at least 1, found {value}")
    return _summary(recipe, items, counts)


def _misfits(recipe: Recipe, model: Trainable) -> Iterator[str]:
    if not isinstance(model, MatchingModel):
        if recipe.needs.matching:
            yield f"{model.spec} has no matching head, which this recipe trains; use a BLIP or X-VLM, as itm:FOLDER"
        if recipe.needs.tokens and not model.family.by_pieces:
            yield f"{model.spec} has no token features; this recipe's local loss needs a CLIP model"
        return
    if model.family.contrast is None:
        yield f"{model.spec} is a {model.family.name}; of the itm: models, only BLIP and X-VLM can be finetuned"
    if not recipe.needs.matching:
        yield f"{model.spec} has a matching head; only ce_xvlm_zhang_2024 and control_itm train it"
    for is_set, what in (
        (recipe.lora, "lora"),
        (recipe.freeze, "freeze"),
        (recipe.needs.teacher, "a teacher"),
        (recipe.needs.tokens, "a local loss"),
        (int(os.environ.get("WORLD_SIZE", "1")) > 1, "torchrun (use one process)"),
    ):
        if is_set:
            yield f"a model with a matching head cannot be trained with {what}"


def _refuse_with_freeze(recipe: Recipe) -> None:
    """Refuse options that a frozen tower, which sees each photo once, excludes."""
    if recipe.freeze is None:
        return
    for is_set, why in (
        (recipe.lora is not None, "lora trains adapters in both towers"),
        (recipe.crop is not None, "crop shows other parts of a photo in every epoch"),
        (recipe.needs.tokens, "its local loss looks at patches, of which a frozen tower keeps none (local_weight=0)"),
    ):
        if is_set:
            raise UserError(f"{recipe.name}: freeze={recipe.freeze} does not go with it: {why}; leave one of them out")


def _counts(recipe: Recipe, items: Sequence[Item]) -> dict[str, int]:
    needs = recipe.needs
    right = [needs.positive is not None and _fits(needs.positive, item.positives) for item in items]
    wrong = [any(_fits(slot, item.negatives) for slot in needs.negatives) for item in items]
    counts = {"a positive": sum(right)} if needs.positive else {}
    counts |= {"a negative": sum(wrong)} if needs.negatives else {}
    pairs = sum(has_right and has_wrong for has_right, has_wrong in zip(right, wrong, strict=True))
    return counts | ({"both": pairs} if len(counts) == 2 else {})


def _summary(recipe: Recipe, items: Sequence[Item], counts: dict[str, int]) -> list[str]:
    """The counts in words, since the loss does not show that texts are missing."""
    if not counts:
        return []
    shown = ", ".join(f"{name} {count:,} ({100 * count / len(items):.1f} %)" for name, count in counts.items())
    lines = [f"{len(items):,} samples; with {shown}"]
    if lacking := len(items) - counts.get("both", len(items)):
        lines.append(
            f"warning: {lacking:,} samples lack a positive or a negative, and do not train the losses that need it"
        )
    if len(slots := recipe.needs.negatives) > 1:
        filled = {slot.name: sum(_fits(slot, item.negatives) for item in items) for slot in slots}
        lines.append("negatives: " + ", ".join(f"{name} {count:,}" for name, count in filled.items()))
        empty = ", ".join(name for name, count in filled.items() if not count)
        lines += [f"warning: no sample has a negative of type {empty}; that part of the loss stays 0"] if empty else []
    return lines


def _fits(slot: Slot, texts: Sequence[Text]) -> bool:
    return any(slot.accepts(text.edit) for text in texts)


def run_identity(recipe: Recipe, parts: Sequence[Part], model: Trainable, photos: TrainingPhotos) -> dict[str, object]:
    """Everything that the trained weights depend on, as JSON: the recipe, the items, the bytes of the images, the base
    model's whole card, and the code. Chunks, workers, device and number of processes change only rounding."""
    card = card_now(model)
    content = data_identity(recipe, parts) | {
        "images": {"count": photos.count, "sha256": photos.sha256},
        "model": of_card(card) or f"{UNKNOWN}: {card.get('state', 'its card has no hash')}",
        "code": of_code("train/data", "train/losses", "train/step"),
    }
    identity: dict[str, object] = json.loads(json.dumps(content, default=str))
    return identity


def data_identity(recipe: Recipe, parts: Sequence[Part]) -> dict[str, object]:
    """The part of the identity that is known before the model and the photos are read."""
    settings = recipe.describe()
    return {
        "recipe": settings.pop("name"),
        **{name: value for name, value in settings.items() if name != "citation"},
        "items": {
            "count": sum(len(part.items) for part in parts),
            "sha256": sha256_json([of_items(part.items) for part in parts]),
            "mixing": shares(parts) or "every item once per epoch",
        },
    }


# The bytes of its photos identify a run, since names, sizes and dates may stay the same when photos change. They are
# hashed each time a run starts: the items' photos in a folder, or whole tar and Parquet shards. COCO's 118,287 photos
# (19 GB) take half a minute at 600 MB per second. A user's own image source is read photo by photo, unless its
# attribute `digest` identifies its photos.

MAX_SKIPPED = 0.01  # largest share of unreadable images
_TOGETHER = 1000  # photos hashed between checks for Ctrl-C
_BAR_FROM = 5000  # photos; fewer need no progress bar
_Value = TypeVar("_Value")
_Result = TypeVar("_Result")


@dataclass(frozen=True)
class TrainingPhotos:
    sha256: str
    count: int
    unread: list[str]  # "item: why", for missing or unreadable photos


def read_photos(parts: Sequence[Part], *, show: bool = False) -> TrainingPhotos:
    """Hash the photos of all parts; a source that several parts share is read once."""
    started = time.monotonic()
    sources = {id(part.images): part.images for part in parts}
    paths: dict[int, dict[str, None]] = {number: {} for number in sources}
    for part in parts:
        paths[id(part.images)] |= dict.fromkeys(item.image.path for item in part.items if item.image is not None)
    hashed = {number: _hashed(source, sorted(paths[number]), show) for number, source in sources.items()}
    unread = [
        f"{item.id}: {reason}"
        for part in parts
        for item in part.items
        if item.image is not None and (reason := hashed[id(part.images)][1].get(item.image.path))
    ]
    count = sum(map(len, paths.values()))
    seconds = time.monotonic() - started
    if show and seconds > 1 and not is_quiet():
        print(f"{count:,} photos hashed in {seconds:.0f} s to identify this run", file=sys.stderr)
    return TrainingPhotos(sha256_json([hashed[id(part.images)][0] for part in parts]), count, unread)


def _hashed(source: ImageSource, paths: Sequence[str], show: bool) -> tuple[str, dict[str, str]]:
    """(digest of the photos, path -> why the photo cannot be read)."""
    if isinstance(source, TarImages | ParquetImages):
        shards = _in_threads(sha256_file, source.paths, show, "shards")
        problems = {path: f"{path}: not {source}" for path in absent(source, paths)}
        return sha256_json([sorted(shards), sorted(problems)]), problems
    if isinstance(said := getattr(source, "digest", None), str):  # photos that are made from their paths
        return sha256_json([said, list(paths)]), {}
    problems = {}

    def digest(path: str) -> str | None:
        try:
            return hashlib.sha256(source.read(path)).hexdigest()
        except ImageProblem as problem:
            problems[path] = str(problem)
            return None

    if isinstance(source, FolderImages):
        digests: list[str | None] = _in_threads(digest, paths, show and len(paths) >= _BAR_FROM, "photos")
    else:  # a user's own source, which may not be thread-safe
        digests = [digest(path) for path in paths]
    return sha256_json([list(pair) for pair in zip(paths, digests, strict=True)]), problems


def _in_threads(work: Callable[[_Value], _Result], values: Sequence[_Value], show: bool, unit: str) -> list[_Result]:
    results: list[_Result] = []
    bar = progress(len(values), "hashing", unit) if show else nullcontext(lambda count: None)
    with bar as advance, ThreadPoolExecutor(min(16, 2 * (os.cpu_count() or 1))) as pool:
        for start in range(0, len(values), _TOGETHER):
            results += pool.map(work, values[start : start + _TOGETHER])
            advance(len(results) - start)
    return results


def refuse_skipped(skipped: Sequence[str], items: int, most: float) -> None:
    """Stop a run that skips more than the allowed share of its items."""
    if len(skipped) <= most * items:
        return
    raise UserError(
        f"{len(skipped):,} of {items:,} items ({100 * len(skipped) / items:.1f} %) have an image that cannot be read, "
        f"more than --max-skipped {most:g} allows:\n{listed(skipped)}\n"
        "Is this the right image folder? Repair or remove the images, or allow a larger share with --max-skipped."
    )

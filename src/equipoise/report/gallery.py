"""Items to look at: chosen by seed from every class, with small pictures, as the JSON that report.js draws from.

A page holds some hundred items of some ten thousand. The class of every item is in it (one byte for each model), so
that the page can say "12 of 3,121 shown"; texts, scores and pictures only of those that were chosen.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import count, permutations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from pydantic import ValidationError

from equipoise.core.errors import UserError, printable
from equipoise.data.images import ImageProblem, ImageSource, decode_image, encoded, open_source
from equipoise.data.items import ImageRef, Item
from equipoise.evaluation.results import Shown, read_shown
from equipoise.evaluation.scores import ImageScores, ItemScores, Scores
from equipoise.report.chapters import Chapter
from equipoise.report.orderings import CLASSES, NOT_COMPARED, OUTCOMES

PIXELS = 160  # of the longer side of a small picture
QUALITY = 68
MOST_ITEMS = 2_000  # with texts; more make a page slow to open on a phone
TEXT_SHARE = 0.25  # of the bytes; pictures take the rest
Bools = NDArray[np.bool_]
Json = dict[str, Any]  # as report.js reads it


class Gallery(NamedTuple):
    """The data of report.js, and notes for the reader."""

    data: Json
    notes: list[str]


def build_gallery(
    chapters: Sequence[Chapter], budget: int, images: ImageSource | str | Path | None = None, seed: int = 0
) -> Gallery:
    """A gallery of at most `budget` bytes; `images` stands for the folders that the runs name."""
    data = frames(chapters)
    parts: list[Json] = data["chapters"]
    left = budget - len(json.dumps(parts))
    pictures: list[str] = data["pictures"]
    notes: list[str] = []
    for number, (chapter, part) in enumerate(zip(chapters, parts, strict=True)):
        here = left // (len(chapters) - number)  # what one leaves over, the next may use
        sources = _sources(chapter, images, notes)
        items, text_bytes = _items(chapter, int(here * TEXT_SHARE) if sources else here, seed)
        left -= text_bytes
        left -= _add_pictures(chapter, items, pictures, notes, here - text_bytes, sources)
        part["items"] = items
    return Gallery(data=data, notes=notes)


def frames(chapters: Sequence[Chapter]) -> Json:
    """A gallery without an item yet: what the filters need."""
    return {
        "classes": [{"name": kind.name, "group": kind.group} for kind in CLASSES],
        "outcomes": {name: {"words": words, "codes": codes} for name, (words, codes) in OUTCOMES.items()},
        "chapters": [_frame(chapter) for chapter in chapters],
        "pictures": [],
    }


def _frame(chapter: Chapter) -> Json:
    """The class of every item for every model, and the tags by which one can choose."""
    tags = []
    for tag in chapter.tags():
        shown = [printable(value) for value in chapter.values(tag)]
        codes = chapter.tagged(tag).astype(np.uint8)  # -1 becomes 255
        tags.append({"name": printable(tag), "values": shown, "codes": _packed(codes)})
    return {
        "title": chapter.title,
        "n": len(chapter.ids),
        "runs": [entry.label for entry in chapter.entries],
        "codes": [_packed(codes) for codes in chapter.codes],
        "tags": tags,
        "items": [],
    }


def _packed(codes: NDArray[np.uint8]) -> str:
    return base64.b64encode(codes.tobytes()).decode()


def choose(chapter: Chapter, seed: int = 0) -> Iterator[int]:
    """Items in the order in which a page takes them: in each round one more of every class that has fewer.

    Classes are those that a reader can ask for: an ordering by a model, a model right where another is not, and a tag's
    value where some model is brittle. Within a class the order is drawn with the seed.
    """
    order = np.random.default_rng(seed).permutation(len(chapter.ids))
    classes = [order[mask[order]] for mask in _classes(chapter)]
    members = np.zeros((len(chapter.ids), len(classes)), dtype=bool)
    for column, items in enumerate(classes):
        members[items, column] = True
    have = np.zeros(len(classes), dtype=np.int64)
    place = [0] * len(classes)
    taken = np.zeros(len(chapter.ids), dtype=bool)
    for wanted in count(1):
        if taken.all() or all(place[column] >= len(items) for column, items in enumerate(classes)):
            return
        for column, items in enumerate(classes):
            while have[column] < wanted and place[column] < len(items):
                item = int(items[place[column]])
                place[column] += 1
                if not taken[item]:
                    taken[item] = True
                    have += members[item]
                    yield item


def _classes(chapter: Chapter) -> list[Bools]:
    codes = chapter.codes
    masks: list[Bools] = [codes_of_run == number for codes_of_run in codes for number in range(NOT_COMPARED)]
    right = [np.isin(codes_of_run, OUTCOMES["right"][1]) for codes_of_run in codes]
    seen = [codes_of_run != NOT_COMPARED for codes_of_run in codes]
    masks += [right[a] & ~right[b] & seen[b] for a, b in permutations(range(len(codes)), 2)]
    breaks = [np.isin(codes_of_run, OUTCOMES["brittle"][1]) for codes_of_run in codes]
    masks += [breaks[b] & ~breaks[a] & seen[a] for a, b in permutations(range(len(codes)), 2)]
    brittle = np.any(breaks, axis=0)
    for tag in chapter.tags():
        codes_of = chapter.tagged(tag)
        masks += [brittle & (codes_of == number) for number in range(len(chapter.values(tag)))]
    masks.append(np.ones(len(chapter.ids), dtype=bool))  # what is in no class, last
    return [mask for mask in masks if mask.any()]


def _items(chapter: Chapter, budget: int, seed: int) -> tuple[list[Json], int]:
    """The chosen items with texts and scores, and how many bytes they take."""
    chosen = []
    for item in choose(chapter, seed):
        chosen.append(item)
        if len(chosen) == MOST_ITEMS:
            break
    shown = _shown(chapter, set(chosen))
    entries: list[Json] = []
    size = 0
    for item in chosen:
        entry = item_entry(chapter, item, shown.get(item))
        size += len(json.dumps(entry))
        if size > budget and entries:
            break
        entries.append(entry)
    return entries, size


def item_entry(chapter: Chapter, item: int, shown: Shown | None) -> Json:
    """An item as report.js draws it, without its pictures."""
    row = chapter.row(item)
    entry: Json = {
        "i": item,
        "id": printable(row.id),
        "path": printable(row.image or ""),
        "texts": _texts(shown),
        "scores": [_scores(*run, item) for run in zip(chapter.scores, chapter.places, strict=True)],
    }
    boxes = shown.boxes if shown else []
    if boxes and boxes[0]:
        entry["box"] = boxes[0]  # in pixels; shares of the picture once that is opened
    if others := _others(chapter, row, item, boxes[1:]):
        entry["others"] = others
    return entry


def _scores(scores: Scores, places: NDArray[np.int64], item: int) -> list[Any] | None:
    """Caption, positives, negatives; five digits are enough to look at."""
    if (place := int(places[item])) < 0:
        return None
    caption, *positives = map(_short, scores.right[place])
    if math.isnan(caption):
        return None  # answers alone
    return [caption, positives, [_short(score) for score in scores.negatives[place]]]


def _short(score: float) -> float:
    return float(f"{score:.5g}")


def _shown(chapter: Chapter, wanted: set[int]) -> dict[int, Shown]:
    """Number of an item -> its texts and boxes, as the run folders have them."""
    shown: dict[int, Shown] = {}
    lines_of: dict[Path, set[int] | None] = {}  # what to read of each folder; None: all, of several benchmarks
    for entry, places in zip(chapter.entries, chapter.places, strict=True):
        folders = _folders(entry.run.folder)
        wanted_lines = {int(places[number]) for number in wanted if places[number] >= 0}
        for folder in folders:
            lines_of.setdefault(folder, wanted_lines if len(folders) == 1 else None)
    for folder, lines in lines_of.items():
        if len(shown) == len(wanted):
            break
        for line in read_shown(folder, lines):
            number = _number(chapter, folder, line.id)
            if number in wanted and line.texts:
                shown[number] = line
    return shown


def _texts(line: Shown | None) -> list[Any] | None:
    """Caption, positives, negatives."""
    if line is None or line.texts is None:
        return None
    positives = [printable(text) for text in line.texts.positives]
    negatives = [printable(text) for text in line.texts.negatives]
    return [printable(line.texts.caption), positives, negatives]


def _others(chapter: Chapter, row: ItemScores, item: int, boxes: Sequence[list[float] | None]) -> list[Json]:
    """The alternative images of an item: whether the caption describes them, and what each model gave it there."""
    others = []
    for place, (right, other) in enumerate(_alternatives(row)):
        given = [None if scored is None else _alternatives(scored)[place][1].caption for scored in chapter.rows(item)]
        entry: Json = {"right": right, "path": printable(other.image or "")}
        entry["scores"] = [None if score is None else _short(score) for score in given]
        if place < len(boxes) and boxes[place]:
            entry["box"] = boxes[place]
        others.append(entry)
    return others


def _alternatives(row: ItemScores) -> list[tuple[bool, ImageScores]]:
    return [(True, one) for one in row.positive_images] + [(False, image) for image in row.negative_images]


def _folders(folder: Path) -> list[Path]:
    """Where a run keeps its items; of several benchmarks joined to one, that of each."""
    folder = folder if folder.is_dir() else folder.parent
    if (folder / "items.jsonl").is_file():
        return [folder]
    return sorted(path.parent for path in folder.glob("*/items.jsonl"))


def _number(chapter: Chapter, folder: Path, name: str) -> int:
    """The number of an item of a folder; `joined` runs put the benchmark's name, the folder's, before the id."""
    return chapter.ids.get(name, chapter.ids.get(f"{folder.name}/{name}", -1))


def _add_pictures(
    chapter: Chapter,
    items: Sequence[Json],
    pictures: list[str],
    notes: list[str],
    budget: int,
    sources: Sequence[ImageSource],
) -> int:
    """Give items their pictures, in their order, until the budget is spent; missing ones are noted, not fatal."""
    known: dict[str, tuple[int, tuple[int, int]] | None] = {}  # path -> number and size
    problems: list[str] = []
    spent = 0
    for item in items if sources else ():
        paths = pictures_of(chapter.row(item["i"]))
        for entry, path in zip([item, *item.get("others", [])], paths, strict=False):
            if path is None:
                continue
            if path not in known:
                if spent >= budget:
                    continue
                try:
                    picture, size = small_picture(sources, path)
                except ImageProblem as error:
                    known[path] = None
                    problems.append(str(error))
                    continue
                known[path] = (len(pictures), size)
                pictures.append(picture)
                spent += len(picture) + 3
            if (given := known[path]) is not None:
                entry["picture"], size = given
                if "box" in entry:
                    entry["box"] = share_of(entry["box"], size)
    for entry in (entry for item in items for entry in (item, *item.get("others", []))):
        if "picture" not in entry:
            entry.pop("box", None)
    if problems:
        more = f" ... and {len(problems) - 1} more." if len(problems) > 1 else ""
        notes.append(printable(f"{chapter.title}: pictures that could not be shown: {problems[0]}{more}"))
    return spent


def pictures_of(row: ItemScores) -> list[str | None]:
    """The paths of an item's own picture and of its others."""
    return [row.image, *(other.image for _, other in _alternatives(row))]


def share_of(box: Sequence[float], size: tuple[int, int]) -> list[float]:
    """Left, top, width and height in percent of the picture, as far as they lie in it."""
    shares = []
    for start, length, whole in zip(box[:2], box[2:], size, strict=True):
        first = min(max(100 * start / whole, 0.0), 100.0)
        last = min(max(100 * (start + length) / whole, 0.0), 100.0)
        shares.append((round(first, 2), round(last - first, 2)))
    (left, width), (top, height) = shares
    return [left, top, width, height]


def _sources(chapter: Chapter, images: ImageSource | str | Path | None, notes: list[str]) -> list[ImageSource]:
    if images is not None:
        return [open_source(images)]
    sources: list[ImageSource] = []
    places = dict.fromkeys(
        from_run(record.arguments.get("images"), entry.run.folder)
        for entry in chapter.entries
        for record in entry.run.records
    )
    wrong = []
    for place in places:
        try:
            if place is not None:
                sources.append(open_source(place))
        except UserError as error:
            wrong.append(str(error))
    if not sources:
        why = wrong[0] if wrong else "the runs name no folder of images"
        notes.append(printable(f"{chapter.title}: no pictures ({why}). Say where they are: --images DIR"))
    return sources


def from_run(place: object, folder: Path) -> str | None:
    """Where a run's images lie now: a relative path that is not here is looked for from the run's folder upwards."""
    if not isinstance(place, str) or Path(place).is_absolute() or Path(place).exists():
        return place if isinstance(place, str) else None
    return next((str(above / place) for above in folder.resolve().parents if (above / place).exists()), place)


def small_picture(sources: Sequence[ImageSource], path: str) -> tuple[str, tuple[int, int]]:
    """A JPEG of the picture in base64, from the first source that has it, and the size that it had."""
    try:
        ref = ImageRef(path=path)
    except ValidationError:
        raise ImageProblem(f"path {path!r} leaves its folder; such paths are never followed") from None
    problem = ImageProblem(f"{path}: no folder of images")
    for source in sources:
        try:
            return _encoded(decode_image(source.read(path), ref))
        except ImageProblem as error:
            problem = error
    raise problem


def picture_of(item: Item, sources: Sequence[ImageSource]) -> str | None:
    """The small picture of an item; None without a photo."""
    try:
        return small_picture(sources, item.image.path)[0] if item.image else None
    except ImageProblem:
        return None


def _encoded(image: Image.Image) -> tuple[str, tuple[int, int]]:
    small = image.copy()
    small.thumbnail((PIXELS, PIXELS))
    return base64.b64encode(encoded(small, "JPEG", quality=QUALITY, optimize=True)).decode(), image.size


def embedded(value: Mapping[str, Any]) -> str:
    """JSON for a script element: ASCII, and without a sign that could end the element or begin another."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text

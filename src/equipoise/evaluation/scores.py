"""The scores of items, in memory and as JSON lines on disk, whoever computed them."""

from __future__ import annotations

import math
import operator
import re
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, model_validator

from equipoise.core.errors import Problems, UserError, reading
from equipoise.core.stats import Floats
from equipoise.data.items import Item
from equipoise.data.readers.records import checked, jsonl_lines
from equipoise.evaluation.answers import Answer as Answer

_LISTS = ("positives", "negatives")


class TextScores(BaseModel):
    """Text-to-text cosines of an item, for SugarCrepe++'s TOT."""

    model_config = ConfigDict(strict=True, frozen=True)
    caption_positives: list[float]
    caption_negatives: list[float]
    positives_negatives: list[list[float]]


class ImageScores(BaseModel):
    """The same texts for one alternative image of the item."""

    model_config = ConfigDict(strict=True, frozen=True)
    image: str | None = None
    caption: float
    positives: list[float] = Field(default_factory=list)
    negatives: list[float] = Field(default_factory=list)


class ItemScores(BaseModel):
    """How high a model puts each text of one item for its image, and for each alternative image where it has some; or,
    of a model that gives no scores, what it answered."""

    model_config = ConfigDict(strict=True, frozen=True, extra="ignore")  # a run also keeps outcome and texts
    id: str
    image: str | None = None  # what the bootstrap clusters by; the item itself where it is missing
    caption: float = math.nan  # NaN: answers alone
    positives: list[float] = Field(default_factory=list)
    negatives: list[float] = Field(default_factory=list)  # none only where there are negative images
    tags: dict[str, str] = Field(default_factory=dict)
    text: TextScores | None = None
    positive_images: tuple[ImageScores, ...] = ()
    negative_images: tuple[ImageScores, ...] = ()
    paired: bool = False  # negatives[k] is of the text that describes negative_images[k]
    answers: tuple[Answer, ...] = ()  # of a model that answers

    @model_validator(mode="after")
    def _whole(self) -> ItemScores:
        if self.caption != self.caption and not self.answers and "caption" not in self.model_fields_set:
            raise ValueError("caption: expected a score, or answers")
        if not (self.negatives or self.negative_images or self.answers):
            raise ValueError("negatives: expected at least one score, or negative_images")
        if not (self.paired or self.positive_images or self.negative_images):
            return self  # which nearly all are
        if self.paired and not 0 < len(self.negative_images) <= len(self.negatives):
            raise ValueError(
                f"paired: expected a negative for each negative image, found {len(self.negatives)} for "
                f"{len(self.negative_images)}"
            )
        for kind in ("positive_images", "negative_images"):
            for place, other in enumerate(getattr(self, kind)):
                if _shape(other) != _shape(self):
                    raise ValueError(
                        f"{kind}.{place}: expected the scores of the item's own texts, {_shape(self)} positives and "
                        f"negatives, found {_shape(other)}"
                    )
        return self

    def keys_set(self) -> int:
        """How many keys its JSON had, at all levels, if none appeared twice; fewer where it has rare fields."""
        return len(self.__pydantic_fields_set__) + len(self.tags)

    def images(self) -> list[ItemScores | ImageScores]:
        """Itself, which holds the scores for its own image, and each alternative."""
        return [self, *self.positive_images, *self.negative_images]


def _shape(scores: ItemScores | ImageScores) -> tuple[int, int]:
    return len(scores.positives), len(scores.negatives)


class Lists:
    """Lists of numbers as one column: all values, and where each list ends."""

    def __init__(self) -> None:
        self._values, self._ends = array("d"), array("q", [0])

    @classmethod
    def of(cls, values: Floats, counts: NDArray[np.int64]) -> Lists:
        """All values, and how many of them each list has."""
        lists = cls()
        lists._values.frombytes(np.ascontiguousarray(values, np.float64).tobytes())
        lists._ends.frombytes(counts.cumsum(dtype=np.int64).tobytes())
        return lists

    def append(self, numbers: list[float]) -> None:
        self._values.fromlist(numbers)
        self._ends.append(len(self._values))

    def __getitem__(self, index: int) -> list[float]:
        return self._values[self._ends[index] : self._ends[index + 1]].tolist()

    def __iter__(self) -> Iterator[list[float]]:
        values = self._values.tolist()
        return (values[start:end] for start, end in pairwise(self._ends.tolist()))

    @property
    def values(self) -> Floats:
        return np.asarray(self._values)

    @property
    def starts(self) -> NDArray[np.int64]:
        return np.asarray(self._ends)[:-1]

    @property
    def counts(self) -> NDArray[np.int64]:
        return np.diff(np.asarray(self._ends))

    def reduced(self, by: np.ufunc, empty: float, values: NDArray[Any] | None = None) -> NDArray[Any]:
        """One value a list (np.maximum: its highest), `empty` for an empty one; of other `values` where given."""
        values, there = self.values if values is None else values, self.counts > 0
        reduced = np.full(len(there), empty, values.dtype)
        if there.any():
            reduced[there] = by.reduceat(values, self.starts[there])
        return reduced


class Scores(Sequence[ItemScores]):
    """Scores of many items as columns, a tenth of the memory of as many objects; a row is made when it is asked for."""

    def __init__(self, rows: Iterable[ItemScores] = ()) -> None:
        self.ids: list[str] = []
        self.images: list[str | None] = []
        self.tags: list[dict[str, str]] = []
        self.right, self.negatives = Lists(), Lists()  # `right`: the caption, then the positives
        self._rest: dict[int, dict[str, Any]] = {}  # fields that few rows have
        shared: dict[Any, Any] = {}  # what many rows share is kept once
        known, right, negatives = shared.setdefault, self.right.append, self.negatives.append
        for row in rows:
            self.ids.append(row.id)
            self.images.append(known(row.image, row.image))
            self.tags.append(known((*row.tags, *row.tags.values()), row.tags))
            right([row.caption, *row.positives])
            negatives(row.negatives)
            if row.text or row.positive_images or row.negative_images or row.paired or row.answers:
                fields = vars(row)
                self._rest[len(self.ids) - 1] = {name: fields[name] for name in _RARE if fields[name]}

    @classmethod
    def of_items(cls, items: Sequence[Item], values: Floats) -> Scores:
        """The scores of items without alternative images: `values` has every text of each, in order."""
        scores = cls()
        tags: dict[object, dict[str, str]] = {}
        for item in items:
            scores.ids.append(item.id)
            scores.images.append(None if item.image is None else item.image.path)
            scores.tags.append(tags.setdefault((*item.tags.items(),), item.tags))
        right = np.array([1 + len(item.positives) for item in items], np.int64)
        scores._fill(values, right, np.array([len(item.negatives) for item in items], np.int64))
        return scores

    def like(self, values: Floats) -> Scores:
        """Other scores of the same texts, in the order of `of_items`."""
        scores = Scores()
        scores.ids, scores.images, scores.tags = self.ids, self.images, self.tags
        scores._fill(values, self.right.counts, self.negatives.counts)
        return scores

    def _fill(self, values: Floats, right: NDArray[np.int64], negatives: NDArray[np.int64]) -> None:
        widths = right + negatives
        place = np.arange(len(values)) - np.repeat(widths.cumsum() - widths, widths)
        is_right = place < np.repeat(right, widths)
        self.right = Lists.of(values[is_right], right)
        self.negatives = Lists.of(values[~is_right], negatives)

    @classmethod
    def of(cls, rows: Iterable[ItemScores]) -> Scores:
        """The rows as columns, which they may be already."""
        return rows if isinstance(rows, Scores) else cls(rows)

    def __len__(self) -> int:
        return len(self.ids)

    @overload
    def __getitem__(self, index: int) -> ItemScores: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[ItemScores]: ...
    def __getitem__(self, index: int | slice) -> ItemScores | Sequence[ItemScores]:
        if isinstance(index, slice):
            return [self[place] for place in range(*index.indices(len(self)))]
        index = range(len(self))[index]  # from the end, or IndexError
        caption, *positives = self.right[index]
        return ItemScores.model_construct(
            id=self.ids[index],
            image=self.images[index],
            caption=caption if caption == caption else math.nan,  # one object, so that rows are equal
            positives=positives,
            negatives=self.negatives[index],
            tags=self.tags[index],
            **self._rest.get(index, {}),
        )

    def fields(self) -> Iterator[dict[str, Any]]:
        """Each row as a dict; empty rare fields are omitted."""
        right, negatives = iter(self.right), iter(self.negatives)
        for index, (id_, image, tags) in enumerate(zip(self.ids, self.images, self.tags, strict=True)):
            caption, *positives = next(right)
            lists = {"positives": positives, "negatives": next(negatives)}
            row = {"id": id_, "image": image, "caption": caption, **lists, "tags": tags}
            yield vars(self[index]) if index in self._rest else row

    def having(self, field: str) -> Iterator[tuple[int, Any]]:
        """Index and value of the rows that have one of the fields that few have."""
        return ((index, rest[field]) for index, rest in self._rest.items() if field in rest)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and len(self) == len(other) and all(map(operator.eq, self, other))

    def all_finite(self) -> bool:
        """Whether no number is NaN or infinite; False too where there are fields outside the columns."""
        return not self._rest and bool(
            np.isfinite(self.right.values).all() and np.isfinite(self.negatives.values).all()
        )


def kinds_of(tags: Sequence[Mapping[str, str]]) -> tuple[list[Mapping[str, str]], NDArray[np.int64]]:
    """The distinct objects among the tags of many rows, as they come, and which of them each row has: rows that share
    their tags share one object."""
    keys = np.fromiter(map(id, tags), np.int64, len(tags))
    _, first, place = np.unique(keys, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return [tags[index] for index in first[order].tolist()], rank[place]


_RARE = set(ItemScores.model_fields) - {"id", "image", "caption", "positives", "negatives", "tags"}


def read_scores(path: str | Path, doubled: bool = True) -> Scores:
    """The scores of a JSONL file; every problem of the file is raised at once.

    `doubled` is False where the file is known to be ours, so that none of its keys appears twice.
    """
    path = Path(path)
    problems = Problems(str(path))
    with reading(path):
        lines = jsonl_lines(path, problems)
        if doubled:
            lines = _exact(lines, problems)
        scores = Scores(score for _, score in checked(lines, ItemScores, problems, doubled))
    problems.raise_if_any(
        'Expected one object per line: {"id": "...", "image": "...", "caption": 0.31, "positives": [0.30], '
        '"negatives": [0.28], "tags": {"split": "..."}}'
    )
    if not scores:
        raise UserError(f"{path}: holds no scores; expected one JSON object per line")
    require_finite(scores, str(path))
    return scores


def _exact(lines: Iterable[tuple[str, str]], problems: Problems) -> Iterator[tuple[str, str]]:
    """The lines; an integer that no float holds exactly is a problem, since two such scores may tie."""
    for where, raw in lines:
        for digits in _LONG_INTEGER.findall(raw):
            if int(float(digits)) != int(digits):
                problems.add(where, f"expected a score that a 64-bit float holds exactly, found {digits}")
        yield where, raw


_LONG_INTEGER = re.compile(r"[\[ :,-](\d{16,300})(?=\s*[,\]}])")  # half the time of looking behind


def require_finite(scores: Iterable[ItemScores], subject: str) -> None:
    """Refuse NaN and infinite scores by name: every comparison with NaN is false, which would pass for an opinion."""
    problems = Problems(subject)
    if isinstance(scores, Scores) and scores.all_finite():
        return
    for score in scores:
        for scored in score.images():
            if score.answers or math.isfinite(scored.caption + sum(scored.positives) + sum(scored.negatives)):
                continue  # the usual case; a sum may also overflow, so the others are looked at one by one
            for field, values in (("caption", [scored.caption]), *((f, getattr(scored, f)) for f in _LISTS)):
                bad = [value for value in values if not math.isfinite(value)]
                if bad:
                    where = field if scored is score else f"{field} of {scored.image or 'an alternative image'}"
                    problems.add(f"item {score.id!r}", f"{where}: expected finite scores, found {bad[0]}")
    problems.raise_if_any("A model that gives such scores is broken for these items: look at its weights and dtype.")

"""`bench check`: finds what is wrong with a benchmark's items and images before a long run does.

Counts against the published ones, images that are missing or cannot be opened, items twice, and items that no
model can get right: a right caption that CLIP's tokenizer cannot tell from a negative is a forced tie.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from equipoise.benchmarks.base import Benchmark
from equipoise.benchmarks.ceilings import as_read
from equipoise.core.errors import UserError
from equipoise.data.images import absent, decode_image, open_source
from equipoise.data.items import ImageRef, Item

SHOWN = 5
WORKERS = 8


@dataclass(frozen=True)
class Finding:
    """One kind of defect: how many, each of them, and whether a run would stumble over it."""

    what: str
    examples: list[str]
    count: int
    serious: bool  # a run would refuse it, or the numbers would not be the benchmark's

    def lines(self) -> list[str]:
        more = [f"... and {self.count - SHOWN:,} more (--json has all)"] if self.count > SHOWN else []
        return [f"  {self.count:,} {self.what}", *(f"    {line}" for line in [*self.examples[:SHOWN], *more])]


class CheckExample(NamedTuple):
    """An item with a defect, and the line that shows it."""

    id: str
    said: str


@dataclass(frozen=True)
class CheckReport:
    """The findings of `check`. `ok` is False where a run would fail or would not be the published benchmark."""

    items: int
    images: int
    counts: dict[str, tuple[int, int | None]]  # split -> (found, published)
    findings: list[Finding] = field(default_factory=list)
    looked_at_images: bool = False
    tags: dict[str, int] = field(default_factory=dict)  # tag -> how many values it has; the split is in the counts

    @property
    def ok(self) -> bool:
        return not any(finding.serious for finding in self.findings)

    def lines(self) -> list[str]:
        opened = "all opened" if self.looked_at_images else "not looked at; name their folder with --images"
        lines = [f"{self.items:,} items, {self.images:,} images ({opened})"]
        for split, (found, published) in self.counts.items():
            verdict = "" if published is None else " as published" if found == published else f" of {published:,}"
            lines.append(f"  {split}: {found:,}{verdict}")
        if self.tags:
            shown = ", ".join(f"{tag} ({count:,} value{'s' * (count > 1)})" for tag, count in self.tags.items())
            lines.append(f"tags: {shown}; `equipoise metrics` breaks a run's scores down by them")
        for serious, title in ((True, "To fix:"), (False, "To know:")):
            chosen = [finding for finding in self.findings if finding.serious is serious]
            if chosen:
                lines += [title, *(line for finding in chosen for line in finding.lines())]
        return [*lines, "ok" if self.ok else "not ok"]


def check(
    items: Sequence[Item],
    benchmark: Benchmark | None = None,
    images: Path | None = None,
    advance: Callable[[int], None] | None = None,
) -> CheckReport:
    """Look at `items`, and at their images where the folder `images` is given.

    `advance` is told of so many more image references (a box is one of its own) as they are done with.
    """
    counts = Counter(item.tags.get("split", "all") for item in items)
    published = {split: benchmark.splits.get(split) for split in counts} if benchmark else dict.fromkeys(counts)
    refs = list(dict.fromkeys(ref for item in items for ref in item.images()))
    findings = [
        *_counts(counts, benchmark),
        *_images(refs, images, advance or (lambda count: None)),
        _without_negative(items, any(published.values())),
        _finding("items twice (same image, caption, positives and negatives)", duplicates(items), False),
        _finding("forced ties: a right caption reads the same as a negative", forced_ties(items), False),
        _finding("forced ties: a right image is a negative image too", _forced_image_ties(items), False),
        _finding("hard positives that read the same as their caption", _idle_positives(items), False),
        _finding(
            "texts that are right in one item and wrong in another of the same image", contradictions(items), False
        ),
    ]
    return CheckReport(
        items=len(items),
        images=len({ref.path for ref in refs}),
        counts={split: (count, published[split]) for split, count in counts.items()},
        findings=[finding for finding in findings if finding.count],
        looked_at_images=images is not None,
        tags=_tags(items),
    )


def _tags(items: Sequence[Item]) -> dict[str, int]:
    values: dict[str, set[str]] = {}
    for item in items:
        for tag, value in item.tags.items():
            values.setdefault(tag, set()).add(value)
    return {tag: len(distinct) for tag, distinct in values.items() if tag != "split"}


def _finding(what: str, examples: Iterable[str | CheckExample], serious: bool) -> Finding:
    shown = [example.said if isinstance(example, CheckExample) else example for example in examples]
    return Finding(what, shown, len(shown), serious)


def _counts(counts: Counter[str], benchmark: Benchmark | None) -> list[Finding]:
    if benchmark is None:
        return []
    wrong = [
        f"{split}: {counts[split]:,} instead of {published:,}"
        for split, published in benchmark.splits.items()
        if published is not None and split in counts and counts[split] != published
    ]
    absent = [split for split in benchmark.splits if split not in counts]
    return [
        _finding("splits whose count is not the published one", wrong, True),
        _finding("splits of the benchmark that are not here", absent, False),
    ]


def _images(refs: Sequence[ImageRef], root: Path | None, advance: Callable[[int], None]) -> list[Finding]:
    """Open and decode every image, once per box; Pillow decodes without Python's lock, so threads help."""
    if root is None:
        return []
    if not root.exists():
        raise UserError(f"{root}: no such folder; --images is the folder of the images")
    source = open_source(root)
    missing = absent(source, dict.fromkeys(ref.path for ref in refs))
    gone = set(missing)
    there = [ref for ref in refs if ref.path not in gone]
    advance(len(refs) - len(there))

    def problem(ref: ImageRef) -> str | None:
        try:
            decode_image(source.read(ref.path), ref)
        except UserError as error:
            return str(error)
        return None

    bad: list[str] = []
    with ThreadPoolExecutor(WORKERS) as pool:
        for finding in pool.map(problem, there):
            bad += [finding] if finding else []
            advance(1)
    return [_finding(f"images missing {source}", missing, True), _finding("images that cannot be used", bad, True)]


def duplicates(items: Sequence[Item]) -> Iterable[CheckExample]:
    first: dict[tuple[object, ...], str] = {}
    for item in items:
        key = (
            item.image,
            as_read(item.caption),
            tuple(as_read(text.text) for text in item.positives),
            tuple(as_read(text.text) for text in item.negatives),
            item.images(),
        )
        if key in first:
            yield CheckExample(item.id, f"{item.id} is {first[key]} again")
        first.setdefault(key, item.id)


def forced_ties(items: Sequence[Item]) -> Iterable[CheckExample]:
    for item in items:
        wrong = {as_read(text.text) for text in item.negatives}
        for text in (item.caption, *(positive.text for positive in item.positives)):
            if as_read(text) in wrong:
                yield CheckExample(item.id, f"{item.id}: {text!r}")
                break


def _without_negative(items: Sequence[Item], published: bool) -> Finding:
    """An evaluation leaves such items out and judges the rest; of a published benchmark that is another one."""
    ids = [item.id for item in items if not (item.negatives or item.negative_images)]
    serious = published or len(ids) == len(items)
    left = "none can be judged" if len(ids) == len(items) else "they are not judged, the others are; train takes them"
    return _finding(f"items without a negative: {left}", ids, serious)


def _forced_image_ties(items: Sequence[Item]) -> Iterable[str]:
    for item in items:
        right = item.images()[: 1 + len(item.positive_images)]
        if both := [ref.path for ref in right if ref in item.negative_images]:
            yield f"{item.id}: {both[0]}"


def _idle_positives(items: Sequence[Item]) -> Iterable[str]:
    for item in items:
        if any(as_read(text.text) == as_read(item.caption) for text in item.positives):
            yield f"{item.id}: {item.caption!r}"


def contradictions(items: Sequence[Item]) -> Iterable[CheckExample]:
    """(image, text) pairs that one item calls right and another wrong; an item's own forced tie is not meant."""
    right: dict[tuple[ImageRef, str], list[str]] = {}
    for item in items:
        for image, text in _pairs(item, right=True):
            right.setdefault((image, as_read(text)), []).append(item.id)
    seen: set[tuple[ImageRef, str]] = set()
    for item in items:
        for image, text in _pairs(item, right=False):
            pair = (image, as_read(text))
            other = next((name for name in right.get(pair, ()) if name != item.id), None)
            if other is not None and pair not in seen:
                seen.add(pair)
                yield CheckExample(item.id, f"{text!r}: right in {other}, wrong in {item.id}")


def _pairs(item: Item, right: bool) -> Iterable[tuple[ImageRef, str]]:
    """(image, text) pairs that the item calls right, or wrong, of its own and its alternative images."""
    true = [item.caption, *(text.text for text in item.positives)]
    false = [text.text for text in item.negatives]
    shown = item.images()[: 1 + len(item.positive_images)]
    yield from ((image, text) for image in shown for text in (true if right else false))
    for index, image in enumerate(item.negative_images):
        own = [false[index]] if item.paired else []
        yield from ((image, text) for text in (own if right else true))

"""`Benchmark`: the facts of a benchmark (data/NAME.toml, read by `described`) and its loader.

How the addresses were verified, without a network: sizes and hashes of annotation files are those of copies that were
compared with the repositories (length and end of each file at the commit named). Where nothing could be compared, size
and hash are None; the server is asked for the size, and the loader counts the records. data/photos/ has the photo sets.
"""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import ConfigDict, Field

from equipoise.core.errors import Problems, UserError, did_you_mean
from equipoise.core.files import read_text
from equipoise.data.items import Item

DATA = Path(__file__).with_name("data")
PAIR_CHANCE = {"original": 1 / 2}  # caption against one negative
PAPER_METRICS = {  # what a benchmark may ask for next to Original accuracy; evaluation/paper_metrics.py computes them
    "ranks": "recall at 1, 3, 5 and 10, mean and median rank of the caption among its negatives (CREPE)",
    "groups": "text, image and group score of answers to two images and two captions (ColorSwap)",
    "mirrored": "both mirrored items right, all and by the tag `part`; right in both wordings, in one (predicate-noun)",
    "tot": "ITT, and TOT, which asks the text tower alone whether the right captions are closest (SugarCrepe++)",
    "truth": "AUC of true against false sentences, and of one sentence true of one photo and false of another (VSR)",
    "sets": "pairs of opposite places and sets of four of the same two objects, all right (What's Up)",
}
_NEEDED: tuple[tuple[str, str, Callable[[Any], bool]], ...] = (  # by a metric: what an item lacks, whether it has it
    ("truth", "lack the tag 'label'", lambda item: "label" in item.tags),
    ("groups", "are answers without the tags 'pair' and 'ask' (text or image)",
     lambda item: not _answered(item) or ("pair" in item.tags and item.tags.get("ask") in ("text", "image"))),
    ("image", "are not two images and two captions (negative_images, negatives that describe them, \"paired\": true)",
     lambda item: item.paired or _answered(item)),
)  # fmt: skip


@dataclass(frozen=True)
class Download:
    """One file at its official address; `bench fetch` says the size before it starts."""

    url: str
    to: str  # path below the folder the user names
    size: int | None = None  # bytes, where known
    sha256: str | None = None
    unpack: bool = False  # an archive, unpacked where it lies


def in_words(count: int | None) -> str:
    if count is None:
        return "unknown size"
    value = float(count)
    for unit in ("bytes", "kB", "MB"):
        if value < 1000:
            return f"{count} bytes" if unit == "bytes" else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.1f} GB"


CHECKED = ConfigDict(revalidate_instances="always")  # a user's own: whatever they wrote
PLAIN = "items"  # the rule that every benchmark has: the plain mean over items


@dataclass(frozen=True)
class Average:
    """A rule by which the accuracies of groups become one number, and whose rule it is.

    `path` names the tags whose groups are averaged without weights, outermost first: ("split",) is the mean of the
    splits, ("group",) the mean of groups, each the plain mean of its items. Papers differ in the rule for one and the
    same benchmark by up to three points, so a number without its rule says little.
    """

    __pydantic_config__: ClassVar[ConfigDict] = CHECKED
    path: Annotated[tuple[str, ...], Field(min_length=1)]
    cite: str = ""
    least: int = 1  # groups of the innermost tag with fewer items are left out (ARO: 25)


@dataclass(frozen=True)
class Benchmark:
    """One benchmark: facts for `bench list` and `bench show`, a loader, and how papers average it.

    `load(source, splits)` turns the annotation files below `source` into Items; every item carries the tag `split` and
    an id NAME-SPLIT/KEY (`reading.read` makes both), by which a file of the items is known again. `splits` maps each
    split to the number of items that the published files hold (None where nobody published one). `averages` maps the
    name of a rule to the rule, and the first is the headline: "paper" is the benchmark's own paper's, others are called
    after the paper that uses them, "equipoise" is ours where the paper prints no average. Without any, the headline is
    the plain mean over items, which is always measured too and called "items".
    """

    __pydantic_config__: ClassVar[ConfigDict] = CHECKED
    name: str
    title: str
    splits: Mapping[str, int | None]
    chance: Mapping[str, float]
    ties: str  # how the paper's own code counts a tie; ours is never a win
    licence: str
    citation: str
    url: str
    get: str  # steps that get the files, for people
    load: Callable[[Path, Sequence[str]], Sequence[Item]]
    averages: Mapping[str, Average] = field(default_factory=dict)
    metrics: tuple[str, ...] = ()  # the paper's metrics next to Original, of PAPER_METRICS
    downloads: tuple[Download, ...] = ()  # what `bench fetch` gets; nothing where there is no stable public address
    by_hand: str = ""  # what the downloads still lack, for people
    drawn: bool = False  # load() draws the images below `source` itself: no files are needed
    notes: str = ""

    @property
    def rule(self) -> str:
        return next(iter(self.averages), PLAIN)

    @property
    def macro(self) -> tuple[str, ...]:
        """The tags that the headline is averaged over; () is the plain mean over items."""
        return self.averages[self.rule].path if self.averages else ()

    @property
    def least(self) -> int:
        return self.averages[self.rule].least if self.averages else 1

    def require_rule(self, rule: str | None) -> None:
        """Refuse a rule that this benchmark does not have, before a model has scored it for an hour."""
        if rule is not None and rule not in (known := [*self.averages, PLAIN]):
            raise UserError(f"{self.name}: no average {rule!r}; it has {', '.join(known)} (equipoise bench show)")

    def require_tags(self, items: Sequence[Any]) -> None:
        """Refuse items (or their scores) that lack what its metrics read, before a model has scored them for an
        hour."""
        problems = Problems(f"{self.name}: items that its metrics cannot be measured on")
        for metric, what, has in _NEEDED:
            if metric in (*self.metrics, *self.chance) and (without := [item.id for item in items if not has(item)]):
                problems.add("", f"{len(without):,} of {len(items):,} items {what}, for instance {without[0]!r}")
        problems.raise_if_any("Add what is missing, or give the items ids that are not the benchmark's.")


def _answered(item: object) -> bool:
    return bool(getattr(item, "answers", ()))  # scores of a model that answers


def stored(name: str) -> dict[str, Any]:
    """data/NAME.toml as it is; of a benchmark of the user's own, the file that is named."""
    return _parsed(Path(name)) if is_facts(name) else _shipped(name)


@functools.cache
def _shipped(name: str) -> dict[str, object]:
    return _parsed(DATA / f"{name}.toml")


def _parsed(path: Path) -> dict[str, object]:
    try:
        return tomllib.loads(read_text(path))
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"{path}: not TOML: {error}") from None


def is_facts(name: str) -> bool:
    """Whether this is the path of a user's file of facts: squares.toml."""
    return name.endswith(".toml")


def called(name: str) -> str:
    """The name of a benchmark, of a user's file of facts the file's."""
    return Path(name).stem if is_facts(name) else name


def splits_of(name: str) -> dict[str, int | None]:
    """The splits of a benchmark of this package, with the numbers of their items."""
    facts = stored(name)
    return _counts(facts["splits"] if "splits" in facts else stored(facts["like"])["splits"])


def check_splits(benchmark: str, wanted: Sequence[str], known: Iterable[str]) -> None:
    """Refuse splits that the benchmark does not have, all of them at once."""
    known = list(known)
    problems = Problems(f"benchmark {benchmark}")
    for split in wanted:
        if split not in known:
            problems.add("", f"no split {split!r}.{did_you_mean(split, known)}")
    problems.raise_if_any(f"Its splits are {', '.join(known)}.")


def _counts(splits: Mapping[str, int | str]) -> dict[str, int | None]:
    return {split: None if isinstance(count, str) else count for split, count in splits.items()}


def described(name: str, load: Callable[[Path, Sequence[str]], Sequence[Item]], **more: object) -> Benchmark:
    """The benchmark with the facts of data/NAME.toml, else of the one that `like` names, and with `more`."""
    facts: dict[str, Any] = {"files": [], "photos": {}, "averages": {}, "metrics": []}
    facts |= (stored(stored(name)["like"]) if "like" in stored(name) else {}) | stored(name) | more
    files = [
        Download(group["from"] + path, group.get("below", "") + path, *known)
        for group in facts.pop("files")
        for path, *known in group["rows"]
    ]
    sets = [
        Download(url, f"images/{folder and folder + '/'}{url.rpartition('/')[2]}", size, sha256, unpack=True)
        for photo_set, folder in facts.pop("photos").items()  # unpacked in a folder where its paths are written so
        for url, size, sha256 in ((*row, None, None)[:3] for row in stored("photos/sets")[photo_set])
    ]
    facts |= {
        "splits": _counts(facts["splits"]),
        "chance": {metric: float(Fraction(value)) for metric, value in facts["chance"].items()},
        "averages": {
            rule: Average(**average | {"path": tuple(average["path"])}) for rule, average in facts["averages"].items()
        },
        "metrics": tuple(facts["metrics"]),
    }
    known = {key: value for key, value in facts.items() if key not in ("place", "like", "item", "tables")}
    return Benchmark(name=called(name), load=load, downloads=(*files, *sets), **known)

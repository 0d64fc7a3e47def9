"""What a benchmark says about itself, for people (`bench show`), for programs (--json), and beside a built file.

A built file is known by its ids, which name the benchmark. A benchmark of this package is found again by that name
alone; one of the user's own (`py:`) is not, so its facts are written beside the file, and a result made from the file
keeps its averages.
"""

from __future__ import annotations

import dataclasses
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from equipoise.benchmarks import own
from equipoise.benchmarks.base import PAPER_METRICS, PLAIN, Average, Benchmark, Download, in_words
from equipoise.benchmarks.ceilings import Ceilings
from equipoise.errors import Problems
from equipoise.files import read_json, write_json
from equipoise.items import Item
from equipoise.readers.records import explain

TIES_HERE = "never a win, never brittle, always counted"
_WIDTH, _LABEL = 100, 10


def facts(benchmark: Benchmark) -> dict[str, Any]:
    """Everything but the loader, as JSON; `items` and `headline` are said in full, so that nobody has to know how."""
    found = {part.name: getattr(benchmark, part.name) for part in dataclasses.fields(benchmark) if part.name != "load"}
    found |= {"splits": dict(benchmark.splits), "chance": dict(benchmark.chance)}
    found["downloads"] = [dataclasses.asdict(download) for download in benchmark.downloads]
    found["averages"] = {rule: dataclasses.asdict(average) for rule, average in benchmark.averages.items()}
    found |= {"rule": benchmark.rule, "macro": list(benchmark.macro), "least": benchmark.least}  # of the headline
    return found | {"items": _total(benchmark), "ties_here": TIES_HERE, "headline": headline(benchmark)}


def headline(benchmark: Benchmark) -> str:
    """How the first number of a result is averaged, in words."""
    return in_full(benchmark.averages.get(benchmark.rule, Average(())))


def in_full(average: Average) -> str:
    """A rule in words."""
    if not average.path:
        return "the plain mean over all items"
    first, *rest = average.path
    words = f"the mean over the values of `{first}`"
    words += "".join(f", each the mean over its values of `{tag}`" for tag in rest)
    words += ", each the plain mean of its items; no value has more weight than another"
    if average.least > 1:
        words += f". Values of `{average.path[-1]}` with fewer than {average.least} items are left out"
    return words


def _total(benchmark: Benchmark) -> int | None:
    counts = [count for count in benchmark.splits.values() if count is not None]
    return sum(counts) if len(counts) == len(benchmark.splits) else None


# ---------------------------------------------------------------------------- for people


def describe(benchmark: Benchmark, ceilings: Ceilings | None = None) -> str:
    """All facts as lines of text, and what the texts alone decide where they are there."""
    splits = [name if count is None else f"{name} {count:,}" for name, count in benchmark.splits.items()]
    total = _total(benchmark)
    chance = ", ".join(f"{metric} {100 * value:.1f}" for metric, value in benchmark.chance.items())
    rows = [
        ("items", "not published for every split" if total is None else f"{total:,}"),
        ("splits", ", ".join(splits)),
        ("chance", f"{chance} (percent)" if chance else "differs from item to item"),
        ("ties", f"in the paper: {benchmark.ties}\nhere: {TIES_HERE}"),
        ("ceilings", ceilings.line() if ceilings else ""),
        ("headline", headline(benchmark)),
        ("averages", "\n".join(_averages(benchmark))),
        ("metrics", "\n".join(_metrics(benchmark))),
        ("licence", benchmark.licence),
        ("cite", benchmark.citation),
        ("url", benchmark.url),
        ("notes", benchmark.notes),
        ("get it", benchmark.get),
        ("fetch", "\n".join(_downloads(benchmark))),
        ("by hand", benchmark.by_hand),
    ]
    lines = [f"{benchmark.name}  {benchmark.title}"]
    return "\n".join([*lines, *(line for label, text in rows if text for line in _wrapped(label, text))])


def _metrics(benchmark: Benchmark) -> list[str]:
    plain = "Original accuracy; where items have hard positives also Augmented accuracy, drop and Brittleness"
    if "group" in benchmark.chance or "image" in benchmark.chance:  # two images and two captions
        plain += "; of images too: Image-Original accuracy, text, image and group score"
    return [plain, *(f"{name}: {PAPER_METRICS.get(name, '')}" for name in benchmark.metrics)]


def _averages(benchmark: Benchmark) -> list[str]:
    """Every rule that --average takes, whose it is, and how it is computed; the first is the headline."""
    rules = {**benchmark.averages, PLAIN: Average((), "always measured")}
    return [f"{rule}: {in_full(one)}" + (f" ({one.cite})" if one.cite else "") for rule, one in rules.items()]


def _downloads(benchmark: Benchmark) -> list[str]:
    if not benchmark.downloads:
        return []
    sizes = [part.size for part in benchmark.downloads if part.size is not None]
    unknown = len(benchmark.downloads) - len(sizes)
    total = [f"{len(sizes)} file(s), {in_words(sum(sizes))}"] if sizes else []
    total += [f"{unknown} file(s) of unknown size"] if unknown else []
    return [f"equipoise bench fetch {benchmark.name} --out DIR: {' and '.join(total)}"] + [
        f"{part.to}  {_size(part)}  {part.url}" for part in benchmark.downloads
    ]


def _size(part: Download) -> str:
    return in_words(part.size) + (", unpacked" if part.unpack else "")


def _wrapped(label: str, text: str) -> list[str]:
    """`label` and its text, wrapped except where a line ends in an address, which people copy."""
    lines: list[str] = []
    for part in text.splitlines():
        whole = part.rpartition("  ")[2].startswith("https://")
        lines += [part] if whole else textwrap.wrap(part, _WIDTH, break_long_words=False, break_on_hyphens=False)
    return [f"  {label if number == 0 else '':<{_LABEL}}{line}" for number, line in enumerate(lines)]


# ---------------------------------------------------------------------------- beside a built file


def beside(path: Path) -> Path:
    return path.with_name(path.name + ".benchmark.json")


def named_by_ids(name: str, items: Sequence[Item]) -> bool:
    """Whether all items are the benchmark's, by their ids: NAME-SPLIT/KEY."""
    return all(item.id.startswith(f"{name}-{item.tags.get('split')}/") for item in items)


def write_facts(path: Path, benchmark: Benchmark) -> Path:
    """Beside the built file `path`, what its ids cannot say."""
    write_json(beside(path), facts(benchmark))
    return beside(path)


class _StoredAverage(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    path: list[str]
    cite: str
    least: int


class _Stored(BaseModel):
    """A benchmark's facts as they are read again; what nobody can do from a file (fetching) is left out."""

    model_config = ConfigDict(extra="ignore", strict=True)

    name: str
    title: str
    splits: dict[str, int | None]
    chance: dict[str, float]
    ties: str
    licence: str
    citation: str
    url: str
    get: str
    notes: str
    macro: list[str]  # of the headline: a file of an older version says no more
    least: int
    averages: dict[str, _StoredAverage] | None = None
    metrics: list[str]

    def rules(self) -> dict[str, Average]:
        if self.averages is None:
            return {"paper": Average(tuple(self.macro), least=self.least)} if self.macro else {}
        return {rule: Average(tuple(one.path), one.cite, one.least) for rule, one in self.averages.items()}


def read_facts(path: Path, items: Sequence[Item]) -> Benchmark | None:
    """The benchmark that was written beside `path`, if these are its items still."""
    if not beside(path).is_file():
        return None
    try:
        found = _Stored.model_validate(read_json(beside(path)))
    except ValidationError as error:
        problems = Problems(str(beside(path)))
        explain(error, "", problems)
        problems.raise_if_any("Build the file again with `equipoise bench build`, or delete this one.")
        raise  # never: a ValidationError has a problem at least
    values = {name: value for name, value in found if name not in ("macro", "least")}
    values |= {"averages": found.rules(), "metrics": tuple(found.metrics)}
    return Benchmark(**values, load=own.load) if named_by_ids(found.name, items) else None

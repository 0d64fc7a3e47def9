"""The facts of a benchmark, for people (`bench show`) and for programs (--json)."""

from __future__ import annotations

import dataclasses
import textwrap

from equipoise.benchmarks.base import PAPER_METRICS, PLAIN, Average, Benchmark, in_words
from equipoise.benchmarks.ceilings import Ceilings

TIES_HERE = "never a win, never brittle, always counted"
_WIDTH, _LABEL = 100, 10


def facts(benchmark: Benchmark) -> dict[str, object]:
    """Everything but the loader, as JSON; `items` and `headline` are written out, so readers need not compute them."""
    fields = {part.name: getattr(benchmark, part.name) for part in dataclasses.fields(benchmark) if part.name != "load"}
    fields |= {"splits": dict(benchmark.splits), "chance": dict(benchmark.chance)}
    fields["downloads"] = [dataclasses.asdict(download) for download in benchmark.downloads]
    fields["averages"] = {rule: dataclasses.asdict(average) for rule, average in benchmark.averages.items()}
    fields |= {"rule": benchmark.rule, "macro": list(benchmark.macro), "least": benchmark.least}  # of the headline
    return fields | {"items": _total(benchmark), "ties_here": TIES_HERE, "headline": headline(benchmark)}


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
    plain = "Original accuracy; where items have hard positives also those of rewordings, such as Brittleness"
    if "group" in benchmark.chance or "image" in benchmark.chance:  # two images and two captions
        plain += "; of images too, such as Image-Original accuracy and group score"
    return [plain, *(f"{name}: {PAPER_METRICS.get(name, '')}" for name in benchmark.metrics)]


def _averages(benchmark: Benchmark) -> list[str]:
    """Every rule that --average takes, whose it is, and how it is computed; the first is the headline."""
    rules = {**benchmark.averages, PLAIN: Average((), "always measured")}
    return [
        f"{rule}: {in_full(average)}" + (f" ({average.cite})" if average.cite else "")
        for rule, average in rules.items()
    ]


def _downloads(benchmark: Benchmark) -> list[str]:
    if not benchmark.downloads:
        return []
    sizes = [part.size for part in benchmark.downloads if part.size is not None]
    unknown = len(benchmark.downloads) - len(sizes)
    total = [f"{len(sizes)} file(s), {in_words(sum(sizes))}"] if sizes else []
    total += [f"{unknown} file(s) of unknown size"] if unknown else []
    return [f"equipoise bench fetch {benchmark.name} --out DIR: {' and '.join(total)}"] + [
        f"{part.to}  {in_words(part.size)}{', unpacked' if part.unpack else ''}  {part.url}"
        for part in benchmark.downloads
    ]


def _wrapped(label: str, text: str) -> list[str]:
    """`label` and its text, wrapped except where a line ends in an address, which people copy."""
    lines: list[str] = []
    for part in text.splitlines():
        whole = part.rpartition("  ")[2].startswith("https://")
        lines += [part] if whole else textwrap.wrap(part, _WIDTH, break_long_words=False, break_on_hyphens=False)
    return [f"  {label if number == 0 else '':<{_LABEL}}{line}" for number, line in enumerate(lines)]

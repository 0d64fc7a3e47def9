"""Every number that the sources of published answers print, next to ours: met to the digit, or why not.

    python -m studies.ledger.printed [--shared DATA]

Prints a table and ends with 1 where a number is neither met nor explained. tests/studies/test_ledger.py runs it where
the files are. `WHERE` says where each source prints its numbers.
The 15 checkpoints of one ALBEF training (Winoground) are
only plotted, and nobody prints numbers of VSR's answers by Qwen2-VL or What's Up's by LLaVA that could be found.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from equipoise.benchmarks.valse import SPLITS as VALSE
from equipoise.evaluation.averages import summarise
from equipoise.evaluation.metrics import METRICS
from equipoise.evaluation.outcomes import outcomes_of
from equipoise.evaluation.record import Summary
from equipoise.published.measuring import published_run
from equipoise.published.reading import read_any
from studies.harness import read_rows, table
from studies.harness.inputs import arguments

PARTS = ("text", "image", "group")

WHERE = {
    "winoground, paper": "Thrush et al. 2022, Table 3; juletx/spatial-reasoning, winoground_statistics.ipynb",
    "winoground, juletx": "juletx/spatial-reasoning, winoground_statistics.ipynb",
    "winoground, ebug": "e-bug/fine-grained-evals, notebooks/Winoground.ipynb",
    "valse": "e-bug/fine-grained-evals, notebooks/VALSE.ipynb: 11 instruments, mean over items",
    "vsr, dev/test": "e-bug/fine-grained-evals, notebooks/VSR.ipynb: accuracy at 0.5",
    "sugarcrepe": "Theparia/Multilingual-VLM-Compositionality, output/sc/.../en",
    "sugarcrepe++, ITT and TOT": "Theparia/Multilingual-VLM-Compositionality, output/scpp/.../en",
    "gpt-4v, caption first / negative first": "RAIVNLab/sugar-crepe, gpt-4v-results/readme.md",
    "bivlc": "Miranda et al. 2024, the table of training strategies",
    "colorswap": "what Top34051/colorswap's vlm_eval.py prints",
}
WHY = {
    "colorswap llava": "two answers repeat an option with other articles; the authors' rule reads them as no answer",
}

SPLITS = ("swap_obj", "swap_att", "replace_obj", "replace_att", "replace_rel", "add_obj", "add_att")


def read_printed() -> dict[str, dict[str, tuple[str, ...]]]:
    """Source -> model -> printed numbers, from printed.tsv."""
    by_source: dict[str, dict[str, tuple[str, ...]]] = {}
    for row in read_rows(Path(__file__).with_suffix(".tsv")):
        by_source.setdefault(row["source"], {})[row["model"]] = tuple(row["printed"].split())
    return by_source


PRINTED = read_printed()


class Number(NamedTuple):
    source: str  # of WHERE
    model: str
    printed: tuple[str, ...]
    ours: tuple[str, ...]

    @property
    def met(self) -> bool:
        return self.printed == self.ours

    @property
    def why(self) -> str:
        return "" if self.met else WHY.get(f"{self.source} {self.model}", "NOT EXPLAINED")


def _digits(values: list[float | None], printed: tuple[str, ...]) -> tuple[str, ...]:
    places = [len(text.partition(".")[2]) for text in printed]
    return tuple(f"{100 * (value or 0):.{place}f}" for value, place in zip(values, places, strict=True))


def summary(bench: str, *paths: Path) -> Summary:
    """The shares as `equipoise metrics PATHS --bench BENCH` gives them, without intervals, which take most time."""
    return summarise(outcomes_of(read_any(paths, bench).rows), resamples=0, metrics=list(METRICS.values()))


def numbers(data: Path) -> Iterator[Number]:
    scores = data / "published_scores"

    def each(source: str, ask: Callable[[str], list[float | None]]) -> Iterator[Number]:
        for model, printed in PRINTED[source].items():
            yield Number(source, model, printed, _digits(ask(model), printed))

    def winoground(start: str) -> Callable[[str], list[float | None]]:
        def ask(model: str) -> list[float | None]:
            shares = summary("winoground", scores / "winoground" / f"{start}{model}.jsonl.gz").overall
            return [shares[part] for part in PARTS]

        return ask

    yield from each("winoground, paper", winoground("juletx-baseline_scores-"))
    yield from each("winoground, juletx", winoground("juletx-scores-"))
    yield from each("winoground, ebug", winoground("ebug-"))

    def valse(model: str) -> list[float | None]:
        result = summary("valse", scores / "valse" / f"{model}.jsonl.gz")
        return [*(result.by["split"][split]["original"] for split in VALSE), result.overall["original"]]

    yield from each("valse", valse)

    def vsr(model: str) -> list[float | None]:
        files = (scores / "vsr" / f"{model}_{part}.jsonl.gz" for part in ("dev", "test"))
        return [summary("vsr", path).overall["original"] for path in files]

    yield from each("vsr, dev/test", vsr)

    def sugarcrepe(model: str) -> list[float | None]:
        by_split = summary("sugarcrepe", scores / "sugarcrepe" / f"{model}.json.gz").by["split"]
        return [by_split[split]["original"] for split in SPLITS]

    yield from each("sugarcrepe", sugarcrepe)
    path = scores / "sugarcrepe_pp" / "xlm-roberta-base-ViT-B-32.json.gz"

    def plus(metric: str) -> list[float | None]:
        if metric == "ITT":
            by_split = summary("sugarcrepe-pp", path).by["split"]
            return [by_split[split]["augmented"] for split in SPLITS[:5]]
        each_split = (published_run([path], "sugarcrepe-pp", splits=[split]).record for split in SPLITS[:5])
        return [result.metrics.overall["tot"] for result in each_split]

    yield from each("sugarcrepe++, ITT and TOT", plus)

    def gpt4v(split: str) -> list[float | None]:
        names = [f"{first}-first-gpt4v-{split}.json.gz" for first in ("positive", "negative")]
        return [summary("sugarcrepe", scores / "sugarcrepe_gpt4v" / name).overall["accuracy"] for name in names]

    yield from each("gpt-4v, caption first / negative first", gpt4v)

    def bivlc(model: str) -> list[float | None]:
        name = f"BiVLC_{model}.csv"
        path = data / "bivlc" / name if (data / "bivlc" / name).exists() else scores / "bivlc" / f"{name}.gz"
        shares = summary("bivlc", path).overall
        return [shares[part] for part in PARTS]

    yield from each("bivlc", bivlc)

    def colorswap(model: str) -> list[float | None]:
        files = [scores / "colorswap_vlm" / f"{side}-{model}-colorswap.json.gz" for side in ("text", "image")]
        shares = published_run(files, "colorswap").record.metrics.overall
        return [shares[f"{part}_score"] for part in PARTS]

    yield from each("colorswap", colorswap)


def siglip(data: Path) -> list[str]:
    """mteb's newest results against its history: the same numbers in two files."""
    from equipoise.published.aggregates import read_tables

    folder = data / "published_scores"
    newest = {(row.model, row.task): row.shares for row in read_tables([folder / "mieb.jsonl.gz"], None)}
    last = {(row.model, row.task): row for row in read_tables([folder / "mieb_siglip_history.csv"], None)}
    return [
        f"{model}, {task}: {name} {100 * share:.1f} in the history, {100 * newest[model, task][name]:.1f} in results"
        for (model, task), row in last.items()
        for name, share in row.shares.items()
        if (model, task) in newest and f"{100 * share:.1f}" != f"{100 * newest[model, task][name]:.1f}"
    ]


def main() -> int:
    data = arguments(__doc__, "published_scores").parse_args().shared
    checked = list(numbers(data))
    lines = [
        [row.source, row.model, " / ".join(row.printed), " / ".join(row.ours), "met" if row.met else row.why]
        for row in checked
    ]
    print(table(("source", "model", "printed", "ours", ""), lines, left=5))
    for source, where in WHERE.items():
        print(f"\n{source}: {where}", end="")
    count, met = sum(len(row.printed) for row in checked), sum(len(row.printed) for row in checked if row.met)
    differ = siglip(data)
    print(f"\n\n{met:,} of {count:,} printed numbers are in a row that is met to the digit.", *differ, sep="\n")
    return int(any(row.why == "NOT EXPLAINED" for row in checked))


if __name__ == "__main__":
    sys.exit(main())

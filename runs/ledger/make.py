"""The ledger: what real models answer when the words change, as one HTML page from public answer files.

    python runs/ledger/make.py --shared ../shared/data --out ledger.html

No model is run. Every number is recomputed from answers that others published (answers.py) and leads to its items and
its source. `--markdown` prints the table of docs/ledger.md instead.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import math
import sys
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from answers import SOURCES, Bench, Entry, Floats, read_all
from needs import existing
from siglip import history

from equipoise import __version__
from equipoise.core.run_folder import write_own
from equipoise.core.stats import mcnemar
from equipoise.evaluation.comparing.inference import holm
from equipoise.report import svg
from equipoise.report.gallery import embedded
from equipoise.report.page import page_part

HERE = Path(__file__).resolve().parent
MARK = '<meta name="generator" content="equipoise ledger">'
NEEDED = [
    "bivlc", "predicate_noun/eval_set.json",
    *(f"published_scores/{name}" for name in "sugarcrepe sugarcrepe_pp sugarcrepe_gpt4v vsr vsr_vlm winoground valse "
      "whatsup_llava bivlc mieb.jsonl.gz mieb_siglip_history.csv".split()),
]  # fmt: skip
SHOWN = 6  # items behind a number
LEVEL = 0.05
METRICS = ("right", "both", "flips")


class Number(NamedTuple):
    """A share in percent with its 95 % interval, and the items behind it: those lost, or those that flip."""

    value: float
    low: float
    high: float
    n: int
    count: int
    items: list[int]


def number(values: Floats | None, cluster: Floats, order: Floats, wanted: int) -> Number | None:
    """The interval counts photos, not items: items of one photo rise and fall together."""
    if values is None or not len(values):
        return None
    there = ~np.isnan(values)
    n, mean = int(there.sum()), float(np.nanmean(values))
    sums = np.bincount(cluster[there], values[there] - mean)
    error = 1.96 * math.sqrt(float((sums**2).sum())) / n
    chosen = [int(place) for place in order if values[place] == wanted]
    low, high = max(0.0, mean - error), min(1.0, mean + error)
    return Number(100 * mean, 100 * low, 100 * high, n, len(chosen), chosen[:SHOWN])


def differ(one: Floats, other: Floats, cluster: Floats) -> float:
    """The p-value of two models on the items that both answered: exact where every item has a photo of its own."""
    change = one - other
    there = ~np.isnan(change)
    if len(np.unique(cluster[there])) == there.sum():
        return mcnemar(int((change == 1).sum()), int((change == -1).sum()))
    sums = np.bincount(cluster[there], change[there])
    spread = math.sqrt(float((sums**2).sum()))
    return math.erfc(abs(float(sums.sum())) / spread / math.sqrt(2)) if spread else 1.0


def tiers(entries: Sequence[Entry], cluster: Floats) -> list[int]:
    """The group of each entry, which are sorted by accuracy: 1 cannot be told from the best, 2 not from the best of the
    rest, and so on. Every pair is tested, and the p-values are corrected for their number (Holm)."""
    pairs = list(combinations(range(len(entries)), 2))
    found = holm([differ(entries[a].right, entries[b].right, cluster) for a, b in pairs])
    apart = {pair for pair, p in zip(pairs, found, strict=True) if p < LEVEL}
    group, level, left = [0] * len(entries), 0, list(range(len(entries)))
    while left:
        level += 1
        same = [one for one in left if (left[0], one) not in apart]
        for one in same:
            group[one] = level
        left = [one for one in left if one not in same]
    return group


def measured(benches: dict[str, Bench], entries: Sequence[Entry]) -> list[dict[str, Any]]:
    """A row for each model on each benchmark, by benchmark and from the best down."""
    rows = []
    for name, bench in benches.items():
        here = [one for one in entries if one.benchmark == name]
        here.sort(key=lambda one: -(float(np.nanmean(one.right)) if one.aggregate is None else one.aggregate))
        _, cluster = np.unique(np.array(bench.cluster, dtype=object).astype(str), return_inverse=True)
        order = np.random.default_rng(0).permutation(len(bench.texts))
        group = tiers(here, cluster) if bench.texts and len(here) > 1 else [0] * len(here)
        for one, tier in zip(here, group, strict=True):
            numbers = {
                metric: number(getattr(one, metric), cluster, order, int(metric == "flips")) for metric in METRICS
            }
            rows.append({"entry": one, "bench": bench, "group": tier, "groups": max(group), **numbers})
    return rows


# ---------------------------------------------------------------------------- four findings


def pick(rows: Sequence[dict[str, Any]], bench: str, model: str = "") -> dict[str, Any]:
    return next(row for row in rows if row["bench"].name == bench and row["entry"].model.endswith(model))


def dumbbells(lines: Sequence[tuple[str, float, float]], words: tuple[str, str], low: float = 0) -> Markup:
    """A row for each line: from the first number to the second."""

    def at(value: float) -> float:
        return 100 * (value - low) / (100 - low)

    plots = []
    for name, first, second in lines:
        parts = [
            *(svg.line((at(tick), at(tick)), (0, 20), "grid") for tick in (0, 25, 50, 75, 100) if tick >= low),
            svg.line((at(first), at(second)), (10, 10), "bar"),
            svg.at(at(first), 10, "circle", "original", f"{words[0]} {first:.1f}"),
            svg.at(at(second), 10, "square", "augmented", f"{words[1]} {second:.1f}"),
        ]
        label = f"{name}: {words[0]} {first:.1f}, {words[1]} {second:.1f}"
        plots.append(svg.row(name, f"{first:.1f} → {second:.1f}", svg.strip(20, *parts, label=label)))
    keys = [svg.key("circle", "original", words[0]), svg.key("square", "augmented", words[1])]
    ticks = [tick for tick in (0, 25, 50, 75, 100) if tick >= low]
    return svg.el("div", *plots, svg.axis(ticks, low), svg.el("p", *keys, class_="legend"))


def bars(lines: Sequence[tuple[str, float]], most: float) -> Markup:
    plots = []
    for name, value in lines:
        width = f"{100 * value / most:.2f}%"
        bar = svg.el("rect", x=0, y=1, width=width, height=12, class_="o", style="--tone:var(--m1)")
        plots.append(svg.row(name, f"{value:.1f}", svg.strip(14, bar, label=f"{name}: {value:.1f} percent")))
    return svg.el("div", *plots, svg.axis([0, most / 2, most], 0, most))


def findings(rows: Sequence[dict[str, Any]], shared: Path) -> list[dict[str, Any]]:
    """Each: a heading and a sentence that hold the number, a chart, and the row whose items and source it leads to."""
    reworded, ordered = pick(rows, "SugarCrepe++"), pick(rows, "SugarCrepe", "GPT-4V")
    qwen, tuned = pick(rows, "VSR, symmetric", "-7B"), pick(rows, "VSR, symmetric", "hard-negative LoRA")
    llava, inverse = pick(rows, "What's Up"), pick(rows, "VSR, inverse", "-7B")
    nouns = [row for row in rows if row["bench"].name == "Predicate-noun"]
    padded = {model: tasks["SugarCrepe"] for model, tasks in history(shared).items()}
    before, after = padded["siglip-base-patch16-224"]

    def line(name: str, row: dict[str, Any]) -> tuple[str, float, float]:
        return name, row["right"].value, row["both"].value

    first, second = ordered["entry"].right, ordered["entry"].flips
    splits = np.array([id_.partition("/")[0].partition("-")[2] for id_ in ordered["bench"].ids])
    by_type = {
        split.replace("_", " ").replace("att", "attribute").replace("obj", "object").replace("rel", "relation"): 100
        * float(np.nanmean(second[splits == split]))
        for split in np.unique(splits[~np.isnan(first)])
    }
    one, two, changed = (reworded[metric].value for metric in METRICS)
    turned, steps = ordered["flips"], llava["entry"].more["accuracy with “Above”"]
    wordings = ("one wording", "both wordings")
    return [
        {
            "title": f"Reword a caption, and a CLIP model loses {one - two:.0f} points",
            "words": f"Asked with one true caption, an open_clip ViT-B/32 is right on {one:.1f} % of SugarCrepe++. It "
            f"is right with both true captions on {two:.1f} %. On {changed:.1f} % it accepts one and rejects the "
            "other.",
            "chart": dumbbells(
                [line("XLM-R ViT-B/32, SugarCrepe++", reworded)]
                + [line(f"{row['entry'].model}, predicate-noun", row) for row in nouns],
                wordings,
            ),
            "row": reworded,
        },
        {
            "title": f"Swap the options, and GPT-4V changes {turned.value:.1f} % of its answers",
            "words": f"Of {turned.n:,} SugarCrepe pairs that it answered in both orders, it chose another caption in "
            f"{turned.count:,}. Below: the share by type of pair.",
            "chart": bars(sorted(by_type.items(), key=lambda one: -one[1]), 20),
            "row": ordered,
        },
        {
            "title": f"“Above” for “On top”: LLaVA changes {llava['flips'].value:.0f} % of its answers",
            "words": f"Its accuracy hardly moves ({llava['right'].value:.1f} and {steps:.1f} %), which hides it. "
            f"Qwen2-VL-7B is right in only one wording of {qwen['flips'].value:.1f} % of symmetric statements (A "
            f"touches B, B touches A); finetuned with hard negatives, {tuned['flips'].value:.1f} %.",
            "chart": dumbbells(
                [
                    line("LLaVA, What's Up", llava),
                    line("Qwen2-VL-7B, symmetric", qwen),
                    line("… with hard-negative LoRA", tuned),
                    line("Qwen2-VL-7B, inverse relations", inverse),
                ],
                wordings,
            ),
            "row": llava,
        },
        {
            "title": f"One tokenizer argument: SigLIP from {before} to {after}",
            "words": "mteb padded texts to the longest of the batch, where SigLIP expects 64 tokens. On SugarCrepe all "
            f"{len(padded)} checkpoints were far below their true score, most near chance (50), until it was fixed. A "
            "number that looks like a weak model can be a fault of the loader.",
            "chart": dumbbells(
                [(name.removeprefix("siglip-"), *pair) for name, pair in padded.items()],
                ("padding=True", 'padding="max_length"'),
                low=50,
            ),
            "row": None,
        },
    ]


# ---------------------------------------------------------------------------- the page


def address(source: str) -> tuple[str, str]:
    repository, commit, licence = SOURCES[source]
    tail = f"/tree/{commit}" if commit else ""
    return f"https://github.com/{repository}{tail}", f"{repository}, commit {commit or 'unknown'}, licence: {licence}"


def page(shared: Path) -> str:
    benches, entries = read_all(shared)
    rows = measured(benches, entries)
    texts = {name: {} for name in benches}
    for row in rows:
        for metric in METRICS:
            texts[row["bench"].name] |= {i: row["bench"].texts[i] for i in (row[metric].items if row[metric] else ())}
    data = {
        "texts": texts,
        "sources": {name: address(name) for name in SOURCES},
        "rows": [
            {
                "model": row["entry"].model,
                "bench": row["bench"].name,
                "rule": row["bench"].rule,
                "second": row["bench"].second,
                "source": row["entry"].source,
                **{metric: [row[metric].count, row[metric].n, row[metric].items] for metric in METRICS if row[metric]},
            }
            for row in rows
        ],
    }
    environment = Environment(
        loader=FileSystemLoader(HERE), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["id"] = id
    script = (HERE / "ledger.js").read_text(encoding="utf-8")
    answered = [row for row in rows if row["bench"].texts]
    return environment.get_template("ledger.html").render(
        style=page_part("report.css"),
        script=script,
        digest=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        findings=findings(rows, shared),
        rows=rows,
        place={id(row): place for place, row in enumerate(rows)},
        benches=benches,
        families=sorted({one.family for one in entries}),
        models=len({row["entry"].model for row in answered}),
        answers=sum(row["right"].n * (1 if row["both"] is None else 2) for row in answered),
        answered=len({row["bench"].name for row in answered}),
        address=address,
        sources=SOURCES,
        version=__version__,
        data=Markup(embedded(data)),
    )


def markdown(shared: Path) -> str:
    """The table of docs/ledger.md: every model that was asked in two ways."""
    rows = [row for row in measured(*read_all(shared)) if row["flips"]]
    lines = ["| benchmark | model | right | right in both | changes | n |", "| --- | --- | ---: | ---: | ---: | ---: |"]
    for row in rows:
        flips = row["flips"]
        lines.append(
            f"| {row['bench'].name} | {row['entry'].model} | {row['right'].value:.1f} | {row['both'].value:.1f} | "
            f"**{flips.value:.1f}** [{flips.low:.1f}, {flips.high:.1f}] | {flips.n:,} |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shared", type=existing(*NEEDED), default="../shared/data")
    parser.add_argument("--out", type=Path, default=Path("ledger.html"))
    parser.add_argument("--markdown", action="store_true", help="print the table of docs/ledger.md")
    arguments = parser.parse_args()
    if arguments.markdown:
        print(markdown(arguments.shared))
        return
    write_own(arguments.out, page(arguments.shared), MARK)
    print(f"wrote {arguments.out}")


if __name__ == "__main__":
    main()

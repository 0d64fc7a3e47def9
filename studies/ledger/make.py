"""The ledger: what real models answer when asked twice, as one HTML page from public answer files.

    python -m studies.ledger.make --shared ../shared/data --out ledger.html

No model is run. Numbers are recomputed from answers that others published (answers.py) and lead to items and source;
mteb's totals are listed as they were published. `--markdown` prints the table of docs/ledger.md instead.
"""

from __future__ import annotations

import base64
import hashlib
import math
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from numpy.typing import NDArray

from equipoise import __version__
from equipoise.core import stats
from equipoise.core.run_folder import write_own
from equipoise.evaluation.comparing.inference import holm
from equipoise.report import html
from equipoise.report.gallery import embedded
from equipoise.report.html import page_part
from studies.harness import table
from studies.harness.inputs import arguments
from studies.ledger import twice
from studies.ledger.answers import SOURCES, Bench, Entry, Floats, Ledger, read_all
from studies.ledger.siglip import history

HERE = Path(__file__).resolve().parent
MARK = '<meta name="generator" content="equipoise ledger">'
NEEDED = [
    "bivlc", "predicate_noun/eval_set.json", "harness_logs", "t2i_scores",
    *(f"published_scores/{name}" for name in "sugarcrepe sugarcrepe_pp sugarcrepe_gpt4v vsr vsr_vlm winoground valse "
      "whatsup_llava bivlc mieb.jsonl.gz mieb_siglip_history.csv".split()),
]  # fmt: skip
SHOWN = 6  # items behind a number
LEVEL = 0.05
METRICS = ("right", "again", "both", "flips")
Integers = NDArray[np.int64]


class Number(NamedTuple):
    """A share in percent with its 95 % interval, and the items behind it: those lost, or those that flip."""

    value: float
    low: float
    high: float
    n: int
    found: int
    items: list[int]


def number(values: Floats | None, cluster: Integers, order: Integers, value: int) -> Number | None:
    """The interval is that of `equipoise metrics`: it resamples photos, not items."""
    if values is None or not len(values):
        return None
    known = ~np.isnan(values)
    counted, every = known.astype(float)[:, None], [np.ones(len(values), bool)]
    estimate = stats.averaged(np.where(known, values, 0.0)[:, None], counted, cluster, every)
    low, high = estimate.interval(0)
    chosen = [int(place) for place in order if values[place] == value]
    return Number(100 * float(estimate.values[0]), 100 * low, 100 * high, int(known.sum()), len(chosen), chosen[:SHOWN])


def shared_photos(cluster: Integers) -> bool:
    return len(np.unique(cluster)) < len(cluster)


def mcnemar(only_first: int, only_second: int) -> float:
    """Exact two-sided McNemar p-value from the numbers of items that only one of two models gets right."""
    discordant = only_first + only_second
    if discordant == 0:
        return 1.0
    smaller = min(only_first, only_second)
    # Sum of the binomial(n, 1/2) up to `smaller`, in logs because n may be tens of thousands.
    logs = [
        math.lgamma(discordant + 1) - math.lgamma(k + 1) - math.lgamma(discordant - k + 1) - discordant * math.log(2)
        for k in range(smaller + 1)
    ]
    largest = max(logs)
    return min(1.0, 2 * math.exp(largest) * sum(math.exp(value - largest) for value in logs))


def differ(first: Floats, second: Floats, cluster: Integers) -> float:
    """The p-value of two models on the items that both answered: exact where every item has a photo of its own."""
    change = first - second
    known = ~np.isnan(change)
    if not shared_photos(cluster):
        return mcnemar(int((change == 1).sum()), int((change == -1).sum()))
    sums = np.bincount(cluster[known], change[known])
    spread = math.sqrt(float((sums**2).sum()))
    return math.erfc(abs(float(sums.sum())) / spread / math.sqrt(2)) if spread else 1.0


def tiers(entries: Sequence[Entry], cluster: Integers) -> list[int]:
    """The group of each entry, which are sorted by accuracy: 1 is not significantly different from the best, 2 not from
    the best of the rest, and so on. Every pair is tested, and the p-values are corrected for their number (Holm)."""
    pairs = list(combinations(range(len(entries)), 2))
    adjusted = holm([differ(entries[a].right, entries[b].right, cluster) for a, b in pairs])
    apart = {pair for pair, p in zip(pairs, adjusted, strict=True) if p < LEVEL}
    group, level, left = [0] * len(entries), 0, list(range(len(entries)))
    while left:
        level += 1
        same = [place for place in left if (left[0], place) not in apart]
        for place in same:
            group[place] = level
        left = [place for place in left if place not in same]
    return group


def everything(shared: Path, only_twice: bool = False) -> Ledger:
    """Benchmarks that asked a model twice come first; mteb's totals come last."""
    (benches, entries), (also, more) = read_all(shared, only_twice), twice.read_all(shared)
    return dict(sorted((benches | also).items(), key=lambda pair: not pair[1].second)), [*entries, *more]


def measured(benches: dict[str, Bench], entries: Sequence[Entry]) -> list[dict[str, Any]]:
    """A row for each model on each benchmark, by benchmark and from the best down."""
    rows = []
    for name, bench in benches.items():
        here = [entry for entry in entries if entry.benchmark == name]
        here.sort(key=lambda entry: -(float(np.nanmean(entry.right)) if entry.aggregate is None else entry.aggregate))
        cluster = stats.numbered(map(str, bench.cluster))
        order = np.random.default_rng(0).permutation(len(bench.texts))
        group, test = [0] * len(here), ""
        if bench.texts and len(here) == 1:
            test = "No group: only one model."
        elif bench.texts:
            group = tiers(here, cluster)
            test = f"Groups: {'test over photos' if shared_photos(cluster) else 'McNemar’s exact test'}."
        for entry, tier in zip(here, group, strict=True):
            numbers = {
                metric: number(getattr(entry, metric), cluster, order, int(metric == "flips")) for metric in METRICS
            }
            rows.append({"entry": entry, "bench": bench, "group": tier, "test": test, "cluster": cluster, **numbers})
    return rows


# ---------------------------------------------------------------------------- four findings


def pick(rows: Sequence[dict[str, Any]], bench: str, model: str = "") -> dict[str, Any]:
    return next(row for row in rows if row["bench"].name == bench and row["entry"].model.endswith(model))


def dots(lines: Sequence[tuple[str, Sequence[float]]], words: Sequence[str], between: str = " · ") -> Markup:
    """A row for each line, with a mark for each of its numbers."""
    marks = [("circle", "original"), ("triangle", "m2"), ("square", "augmented")]
    marks = [*marks[: len(words) - 1], marks[-1]]
    ticks = (0, 25, 50, 75, 100)
    plots = []
    for name, values in lines:
        said = [f"{word} {value:.1f}" for word, value in zip(words, values, strict=True)]
        parts = [
            *(html.line((tick, tick), (0, 20), "grid") for tick in ticks),
            html.line((min(values), max(values)), (10, 10), "bar"),
            *(html.at(value, 10, *mark, text) for value, mark, text in zip(values, marks, said, strict=True)),
        ]
        plot = html.strip(20, *parts, label=f"{name}: {', '.join(said)}")
        plots.append(html.row(name, between.join(f"{value:.1f}" for value in values), plot))
    keys = [html.key(*mark, word) for mark, word in zip(marks, words, strict=True)]
    return html.el("div", *plots, html.axis(ticks), html.el("p", *keys, class_="legend"))


def bars(lines: Sequence[tuple[str, float]], most: float) -> Markup:
    plots = []
    for name, value in lines:
        width = f"{100 * value / most:.2f}%"
        bar = html.el("rect", x=0, y=1, width=width, height=12, class_="o", style="--tone:var(--m1)")
        plots.append(html.row(name, f"{value:.1f}", html.strip(14, bar, label=f"{name}: {value:.1f} percent")))
    return html.el("div", *plots, html.axis([0, most / 2, most], 0, most))


def findings(rows: Sequence[dict[str, Any]], shared: Path) -> list[dict[str, Any]]:
    """Each: a heading and a sentence that hold the number, a chart, and the row whose items and source it leads to."""
    reworded, ordered = pick(rows, "SugarCrepe++"), pick(rows, "SugarCrepe", "GPT-4V")
    qwen, lora, tuned = (pick(rows, "VSR, symmetric", end) for end in ("-7B", "-7B + LoRA", "hard-negative LoRA"))
    llava, inverse = pick(rows, "What's Up"), pick(rows, "VSR, inverse", "-7B")
    nouns = [row for row in rows if row["bench"].name == "Predicate-noun"]
    clip = pick(rows, "Predicate-noun", "CLIP")
    padded = {model: tasks["SugarCrepe"] for model, tasks in history(shared).items()}
    before, after = padded["siglip-base-patch16-224"]

    def line(name: str, row: dict[str, Any]) -> tuple[str, list[float]]:
        return name, [row[metric].value for metric in METRICS[:3]]

    types, flips = np.array(ordered["bench"].types), ordered["entry"].flips
    by_type = {kind: 100 * float(np.nanmean(flips[types == kind])) for kind in np.unique(types[~np.isnan(flips)])}
    own, new, both, changed = (reworded[metric].value for metric in METRICS)
    turned = ordered["flips"]
    p_lora, p_tuned = (differ(qwen["entry"].flips, row["entry"].flips, qwen["cluster"]) for row in (lora, tuned))
    wordings = ("original alone", "rewording alone", "right in both")
    return [
        {
            "title": f"Reword a caption, and a CLIP model changes {changed:.1f} % of its answers",
            "words": f"On SugarCrepe++, an open_clip ViT-B/32 gets one caption right on {own:.1f} % of items, its "
            f"rewording on {new:.1f} %, both on only {both:.1f} %. On {changed:.1f} % it accepts one and rejects the "
            f"other. On predicate-noun, CLIP is near chance (50): {clip['right'].value:.1f} [{clip['right'].low:.1f}, "
            f"{clip['right'].high:.1f}].",
            "chart": dots(
                [line("XLM-R ViT-B/32, SugarCrepe++", reworded)]
                + [line(f"{row['entry'].model}, predicate-noun", row) for row in nouns],
                wordings,
            ),
            "row": reworded,
        },
        {
            "title": f"Swap the options, and GPT-4V changes {turned.value:.1f} % of its answers",
            "words": f"Of {turned.n:,} SugarCrepe pairs that it answered in both orders, it chose another caption in "
            f"{turned.found:,}. Below: the share by type of pair.",
            "chart": bars(sorted(by_type.items(), key=lambda pair: -pair[1]), 20),
            "row": ordered,
        },
        {
            "title": f"“Above” for “On top”: LLaVA changes {llava['flips'].value:.0f} % of its answers",
            "words": f"Its accuracy hardly moves ({llava['right'].value:.1f} and {llava['again'].value:.1f} %), which "
            f"hides it. Qwen2-VL-7B is right in only one of two wordings for {qwen['flips'].value:.1f} % of "
            f"symmetric statements (A touches B, B touches A); finetuned, for {lora['flips'].value:.1f} % (LoRA) and "
            f"{tuned['flips'].value:.1f} % (LoRA with hard negatives). The decrease is not significant: p = "
            f"{p_lora:.2f} and {p_tuned:.2f}.",
            "chart": dots(
                [
                    line("LLaVA, What's Up", llava),
                    line("Qwen2-VL-7B, symmetric", qwen),
                    line("… with LoRA", lora),
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
            f"{len(padded)} checkpoints were far below their score after the fix, most near chance (50). A number "
            "that looks like a weak model can be a fault of the loader.",
            "chart": dots(
                [(name.removeprefix("siglip-"), pair) for name, pair in padded.items()],
                ("before: padding=True", 'after: padding="max_length"'),
                " → ",
            ),
            "row": None,
        },
    ]


# ---------------------------------------------------------------------------- the page


def address(source: str) -> tuple[str, str]:
    repository, commit, licence = SOURCES[source]
    return f"https://github.com/{repository}/tree/{commit}", f"{repository}, commit {commit}, licence: {licence}"


def said(row: dict[str, Any], item: int) -> str:
    """The answers of a model that was asked in two ways; the heading says it for the others."""
    entry = row["entry"]
    first, second = ("right" if values[item] else "wrong" for values in (entry.right, entry.again))
    refused = " At least once it chose neither." if np.isnan(entry.flips[item]) else ""
    return f"Its answers: {first} on the original, {second} on the changed version.{refused}"


def text(bench: Bench, item: int) -> str:
    kind = f"Type: {bench.types[item]}\n" if bench.types and bench.types[item] else ""
    return kind + bench.texts[item]


def page(shared: Path) -> str:
    benches, entries = everything(shared)
    rows = measured(benches, entries)
    texts: dict[str, dict[int, str]] = {name: {} for name in benches}
    for row in rows:
        row["items"] = {item for metric in METRICS if row[metric] for item in row[metric].items}
        texts[row["bench"].name] |= {item: text(row["bench"], item) for item in sorted(row["items"])}
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
                "said": {item: said(row, item) for item in sorted(row["items"])} if row["flips"] else {},
                **{metric: [row[metric].found, row[metric].n, row[metric].items] for metric in METRICS if row[metric]},
            }
            for row in rows
        ],
    }
    environment = Environment(
        loader=FileSystemLoader(HERE), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["id"] = id
    script = (HERE / "ledger.js").read_text(encoding="utf-8")
    answered, again = [row for row in rows if row["right"]], [row for row in rows if row["flips"]]
    return environment.get_template("ledger.html").render(
        style=page_part("report.css"),
        script=script,
        digest=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        findings=findings(rows, shared),
        rows=rows,
        place={id(row): place for place, row in enumerate(rows)},
        benches=benches,
        families=sorted({entry.family for entry in entries}),
        tests={row["bench"].name: row["test"] for row in rows},
        twice=[len(again), len({row["entry"].model.partition(",")[0] for row in again})],
        models=len({row["entry"].model for row in answered}),
        answers=sum(row["right"].n * (2 if row["flips"] else 1) for row in answered),
        answered=[len(answered), len({row["bench"].name for row in answered})],
        address=address,
        sources=SOURCES,
        version=__version__,
        data=Markup(embedded(data)),
    )


def markdown(shared: Path) -> str:
    """The table of docs/ledger.md: every model that was asked in two ways."""
    lines = []
    for row in (row for row in measured(*everything(shared, only_twice=True)) if row["flips"]):
        flips, shares = row["flips"], (f"{row[metric].value:.1f}" for metric in METRICS[:3])
        changes = f"**{flips.value:.1f}** [{flips.low:.1f}, {flips.high:.1f}]"
        lines.append([row["bench"].name, row["entry"].model, *shares, changes, f"{flips.n:,}"])
    return table(("benchmark", "model", "first", "second", "both", "changes", "n"), lines, left=2)


def main() -> None:
    parser = arguments(__doc__, *NEEDED)
    parser.add_argument("--out", type=Path, default=Path("ledger.html"))
    parser.add_argument("--markdown", action="store_true", help="print the table of docs/ledger.md")
    options = parser.parse_args()
    if options.markdown:
        print(markdown(options.shared))
        return
    write_own(options.out, page(options.shared), MARK)
    print(f"wrote {options.out}")


if __name__ == "__main__":
    main()

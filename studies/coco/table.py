"""The tables of docs/coco.md and its appendix: finetuning on COCO photos, judged on items of others and on ours.

    python -m studies.coco.table            from studies/coco/results, without a GPU, in about a minute; every.py last

Differences are over photos and bases, as `equipoise compare` has them, and corrected (Holm) within two families: dual
encoders, and models with a matching head. Each base is finetuned once, with its own seed.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.evaluation.comparing.differences import LoadedRun
from equipoise.evaluation.comparing.inference import holm
from equipoise.evaluation.comparing.models import compare_models
from equipoise.evaluation.metrics import ROWS, Metric
from equipoise.evaluation.outcomes import Outcomes, outcomes_of
from equipoise.evaluation.record import Change
from equipoise.evaluation.scores import ItemScores, Scores
from studies import harness
from studies.coco import every
from studies.coco.bases import score
from studies.coco.choice import worth
from studies.coco.labels import (
    ABLATIONS,
    CHANCE,
    CHANGES,
    CONTEST,
    FUSED,
    FUSED_PAIRS,
    JOINED,
    KINDS,
    LIMIT,
    METRICS,
    MIXED,
    MORE,
    NAMES,
    PAIRS,
    PRINTED,
    PUBLISHED,
    RELATIONS,
    SHARES,
    SHORT,
    SHOWN,
    SUMMARY,
    TAUGHT_ON,
    TOWERS,
    WORDS,
)
from studies.coco.retrieval import outcomes
from studies.coco.scores import read_scores
from studies.tables.lib.published import rows as printed_rows

RESULTS = Path(__file__).parent / "results"
Bools = NDArray[np.bool_]


@cache
def scores(tower: str) -> dict[str, Any]:
    held = read_scores(RESULTS / f"{tower}.npz")
    for name, share in averaged(tower).items():
        start = f"{name}.{share}-"
        held |= {f"{name}-{key.removeprefix(start)}": held[key] for key in list(held) if key.startswith(start)}
    return held


@cache
def models(tower: str, stage: str = "final") -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for line in (RESULTS / f"{tower}.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        if row["stage"] == stage:
            found.setdefault(row["name"], []).append(row)
    if stage == "final":
        found |= {name: found[f"{name}.{share}"] for name, share in averaged(tower).items()}
    return found


@cache
def averaged(tower: str) -> dict[str, float]:
    """Models averaged with captions alone: the share of each, chosen on dev by the means over its bases."""
    rows = models(tower, "shares")

    def means(name: str) -> dict[str, float]:
        return {key: float(np.mean([row["found"][key] for row in rows[name]])) for key in rows[name][0]["found"]}

    found = {}
    for name in (name for name in MIXED if f"{name}.{SHARES[-1]}" in rows):
        found[name] = max(SHARES[1:], key=lambda share: worth(means(f"{name}.{share}"), means("control"), LIMIT))
    return found


class Kept(LoadedRun):
    """Of the metrics only those that are printed: the others would take most of the time."""

    @property
    def metrics(self) -> list[Metric]:
        return [row for row in ROWS if row.name in METRICS]


@cache
def unscored(tower: str, kind: str) -> Outcomes:
    """The items of a kind, which all its runs share; each with the scores of a tie."""
    return outcomes_of(Scores(
        ItemScores(
            id=f"{part}/{place}", image=str(photo), caption=0.0, positives=[0.0], negatives=[0.0], tags={"part": part}
        )
        for part in JOINED.get(kind, (kind,))
        for place, photo in enumerate(scores(tower)[f"{part}/photo"].tolist())
    ))  # fmt: skip


@cache
def run(tower: str, model: str, kind: str) -> Kept:
    whole = unscored(tower, kind)
    columns = zip(*(outcome(tower, model, part) for part in JOINED.get(kind, (kind,))), strict=True)
    original, augmented, brittle = map(np.concatenate, columns)
    return Kept(Path(model), (), whole.rows, replace(whole, original=original, augmented=augmented, brittle=brittle))


@cache
def outcome(tower: str, model: str, part: str) -> tuple[Bools, Bools, Bools]:
    """Original, Augmented, Brittle of every item; a tie is never a win."""
    c, p = scores(tower)[f"{model}/{part}"]
    return outcomes(c, p, np.zeros_like(c))


def seeds(tower: str, *names: str) -> list[int]:
    """The bases that all of these models start from."""
    return sorted(set.intersection(*({row["seed"] for row in models(tower)[name]} for name in names)))


def common(tower: str) -> list[int]:
    """The bases of all models in the main tables."""
    return seeds(tower, *(name for name in NAMES if name in models(tower)))


def mean(tower: str, name: str, kind: str, metric: str, only: Sequence[int]) -> float:
    """In percent, over these bases and the parts of the kind."""
    rows = [row for row in models(tower)[name] if row["seed"] in only]
    found = [
        share(tower, f"{name}-{row['seed']}", part, METRICS.index(metric))
        for row, part in product(rows, JOINED.get(kind, (kind,)))
    ]
    return 100 * float(np.mean(found))


@cache
def share(tower: str, model: str, part: str, place: int) -> float:
    return float(outcome(tower, model, part)[place].mean())


def compared(
    towers: Iterable[str], pairs: Sequence[tuple[str, str]]
) -> dict[tuple[str, tuple[str, str], str, str], Change]:
    found = {}
    for tower, kind, (after, before) in product(towers, KINDS, pairs):  # runs of one kind share their resamples
        if not {after, before} <= models(tower).keys() or kind not in kinds_of(tower):
            continue
        own = seeds(tower, after, before)
        first, second = ([run(tower, f"{name}-{seed}", kind) for seed in own] for name in (before, after))
        whole = compare_models(first, second, path=("part",))
        for metric in METRICS:
            change = whole[metric]
            assert change is not None
            found[tower, (after, before), kind, metric] = change
    adjusted = holm([change.p or 0.0 for change in found.values()])
    return {
        line: change.model_copy(update={"adjusted": p})
        for (line, change), p in zip(found.items(), adjusted, strict=True)
    }


def cell(change: Change) -> str:
    low, high = change.interval
    verdict = "\\*" if change.significant else f" (p = {change.adjusted:.2g})" if low > 0 or high < 0 else ""
    return f"{100 * change.difference:+.1f} [{100 * low:+.1f}, {100 * high:+.1f}]{verdict}"


def kinds_of(tower: str) -> list[str]:
    return [kind for kind in KINDS if all(f"{part}/photo" in scores(tower) for part in JOINED.get(kind, (kind,)))]


def show(heads: Iterable[str], rows: Iterable[Sequence[str]]) -> None:
    print(harness.table(list(heads), rows), end="\n\n")


def heads_of(columns: Iterable[tuple[str, str]]) -> list[str]:
    return [f"{KINDS[kind]}: {SHORT[metric]}" for kind, metric in columns]


def summary(tower: str, names: Iterable[str], title: str, only: Sequence[int], printed: str = "") -> None:
    """One number of each kind, recall, the correlation with people's ratings, and what the papers print."""
    rows = []
    for name in (name for name in names if name in models(tower)):
        found = [row["found"] for row in models(tower)[name] if row["seed"] in only]
        values = [mean(tower, name, kind, metric, only) for kind, metric in SUMMARY]
        values += [float(np.mean([score(row) for row in found])), float(np.mean([row["experts"] for row in found]))]
        theirs = [published(name)] if printed else []
        rows.append([(NAMES | MORE)[name], *(f"{value:.1f}" for value in values), str(len(found)), *theirs])
    show((title, *heads_of(SUMMARY), "recalls", "CxC", "bases", *([printed] if printed else [])), rows)


def short() -> None:
    """The table of docs/coco.md: MiniLM, the first three bases."""
    columns, only = [SUMMARY[place] for place in (2, 3, 0, 1)], common("m")
    heads = [f"{KINDS[kind]}: {metric.capitalize()}{' accuracy' * (metric in METRICS[:2])}" for kind, metric in columns]
    rows = [["by chance", *(CHANCE[metric] for _, metric in columns), ""]]
    for name, said in SHOWN.items():
        values = [mean("m", name, kind, metric, only) for kind, metric in columns]
        values.append(float(np.mean([score(row["found"]) for row in models("m")[name] if row["seed"] in only])))
        rows.append([said, *(f"{value:.1f}" for value in values)])
    show(("finetuned on", *heads, "recalls"), rows)


def ablation(title: str, names: Sequence[str]) -> None:
    """On the bases that all of these models have, and what the papers print."""
    names = [name for name in names if name in models("m")]
    places = {len(PRINTED[name][2]) for name in names if name in PRINTED}
    printed = f"published for CLIP ViT-B/32 ({PUBLISHED[places.pop()]})" if places else ""
    summary("m", names, title, seeds("m", *names), printed)


def published(name: str) -> str:
    if name not in PRINTED:
        return ""
    table, row, places = PRINTED[name]
    return " / ".join(str(printed_rows(table)[row][place]) for place in places)


def changes(names: Sequence[str]) -> None:
    """Models that do not all have the same bases: what each changes against captions alone, on its own bases."""
    lines = []
    for name in (name for name in names if name in models("m")):
        only = seeds("m", name, "control")

        def means(model: str, only: Sequence[int] = only) -> NDArray[np.float64]:
            rows = [row["found"] for row in models("m")[model] if row["seed"] in only]
            found = [mean("m", model, kind, metric, only) for kind, metric in SUMMARY]
            return np.array([*found, np.mean([score(row) for row in rows]), np.mean([row["experts"] for row in rows])])

        cells = [f"{value:+.1f}" for value in means(name) - means("control")]
        lines.append([(NAMES | MORE)[name], *cells, str(len(only))])
    show(("change against captions alone, on own bases", *heads_of(SUMMARY), "recalls", "CxC", "bases"), lines)


def parts_of_ours() -> None:
    """What each part does to REPLACE on the first base, the only one that the variants and the whole recipe share."""
    columns = [("replace", metric) for metric in METRICS[1:]]
    rows = []
    for name in (name for name in MORE if name.startswith("ours-") and name in models("m")):
        cells = (mean("m", name, *column, [0]) - mean("m", "ours", *column, [0]) for column in columns)
        rows.append([MORE[name], *(f"{value:+.1f}" for value in cells)])
    show(("on the first base, minus the whole recipe", *heads_of(columns)), rows)


def first_places() -> None:
    rows = []
    for tower, title in TOWERS.items():
        found = [row["found"]["t2i@1"] for row in models(tower)["base"]]
        rows.append([title, *(f"{value:.1f}" for value in (min(found), np.mean(found), max(found)))])
    show(("text-to-image R@1 of the bases", "lowest", "mean", "highest"), rows)


def of_replace(found: Mapping[str, float], metric: str) -> float:
    return float(np.mean([found[f"{part}/{metric}"] for part in JOINED["replace"]]))


def shares(tower: str) -> None:
    """What averaging with the base trades: REPLACE against recall, for the training that was chosen on dev."""
    lines = []
    for name in (name for name in NAMES if "-best" in name and name in models(tower)):
        cells = []
        for share in SHARES:
            rows = models(tower)["base"] if share == 0 else models(tower).get(f"{name}.{share}", models(tower)[name])
            found = [
                [*(of_replace(row["found"], metric) for metric in METRICS[1:]), score(row["found"])]
                for row in rows if row["seed"] in common(tower)
            ]  # fmt: skip
            chosen = f"{name}.{share}" not in models(tower) and share > 0
            cells.append(" / ".join(f"{value:.1f}" for value in np.mean(found, 0)) + chosen * " (chosen)")
        lines.append([NAMES[name].removeprefix("chosen on dev: "), *cells])
    show((f"{TOWERS[tower]}, chosen on dev", *map(str, SHARES)), lines)


def mixed(tower: str) -> None:
    """Averaged with captions alone: changes on REPLACE over the base, of recalls and CxC over captions alone."""

    def cell(rows: Sequence[dict[str, Any]]) -> str:
        changes = [
            [*(of_replace(row["found"], metric) - of_replace(base[row["seed"]], metric) for metric in METRICS[1:]),
             score(row["found"]) - score(control[row["seed"]]),
             row["found"]["experts"] - control[row["seed"]]["experts"]]
            for row in rows
        ]  # fmt: skip
        return " / ".join(f"{value:+.1f}" for value in np.mean(changes, 0))

    base, control = ({row["seed"]: row["found"] for row in models(tower)[name]} for name in ("base", "control"))
    lines = []
    for name, chosen in averaged(tower).items():
        cells = [cell(models(tower)[f"{name}.{share}"]) + (share == chosen) * " (chosen)" for share in SHARES[1:]]
        lines.append([MIXED[name], *cells])
        own = {row["seed"] for row in models(tower)[name]}
        rows = [row for row in models(tower)[name.removesuffix("+captions")] if row["seed"] in own]
        cells = [cell(rows) if share == rows[0]["wise"] else "" for share in SHARES[1:]]
        lines.append([f"{MIXED[name]}, averaged with the base", *cells])
    show((f"{TOWERS[tower]}, averaged with captions alone", *map(str, SHARES[1:])), lines)


def fused() -> None:
    """Both parts of each model with a matching head; the head's recalls are of the contrastive part's first ten."""
    only = seeds("x", *(name for name in FUSED if name in models("x")))
    lines = []
    for (name, said), (part, judge) in product(FUSED.items(), (("", "cosine"), ("-itm", "matching head"))):
        if rows := [row["found"] for row in models("x").get(f"{name}{part}", ()) if row["seed"] in only]:
            cells = [f"{mean('x', f'{name}{part}', kind, metric, only):.1f}" for kind, metric in SUMMARY]
            lines.append([said, judge, *cells, f"{np.mean([score(row) for row in rows]):.1f}", str(len(rows))])
    show(("finetuned with", "judged by", *heads_of(SUMMARY), "recalls", "bases"), lines)


def retrieval(tower: str) -> None:
    """The mean of six recalls against captions alone, resampling photos and bases."""
    held, rng = scores(tower), np.random.default_rng(0)
    photo = held["captions/photo"].astype(int)

    def hits(name: str, seed: int) -> NDArray[np.float64]:
        """By photo: the sum over its captions and over itself, in parts of the mean of six."""
        found = np.zeros(photo.max() + 1)
        for rank in (held[f"{name}-{seed}/{way}"] for way in ("t2i", "i2t")):
            right = sum((rank < top).astype(float) for top in (1, 5, 10)) * 100 / 6
            found += (
                np.bincount(photo, right, len(found)) / len(photo) if len(rank) == len(photo) else right / len(rank)
            )
        return found

    lines = []
    for name, said in ((name, said) for name, said in (NAMES | MIXED).items() if name in models(tower)):
        rows = [row["found"] for row in models(tower)[name] if row["seed"] in common(tower) or name in MIXED]
        ways = (
            f"{np.mean([[row[f'{way}@{top}'] for top in (1, 5, 10)] for row in rows]):.1f}" for way in ("t2i", "i2t")
        )
        own = seeds(tower, name, "control")
        change = np.stack([hits(name, seed) - hits("control", seed) for seed in own])
        many, draws = change.shape[1], []
        for _ in range(2000):
            bases = rng.integers(len(own), size=max(1, len(own) - 1))  # one less: few bases spread too little
            draws.append((bases, np.bincount(rng.integers(many, size=many), minlength=many)))
        chosen, times = map(np.stack, zip(*draws, strict=True))
        drawn = np.take_along_axis(times.astype(float) @ change.T, chosen, 1).mean(1)
        low, high = np.quantile(drawn, (0.025, 0.975))
        cell = "" if name == "control" else f"{change.mean(0).sum():+.1f} [{low:+.1f}, {high:+.1f}]"
        lines.append([said + " (averaged with captions alone)" * (name in MIXED), *ways, cell])
    heads = ("text-to-image", "image-to-text", "of six, minus captions alone")
    show((f"{TOWERS[tower]}, mean of three recalls", *heads), lines)


def search(tower: str) -> None:
    """What was tried on dev: every recipe with the same settings."""
    rows = {row["name"]: row for own in models(tower, "search").values() for row in own}
    control = rows.pop("control")["found"]
    kinds = [key for key in control if key.endswith("/augmented") and key != "swap/augmented"]  # as in run.chosen

    def said(found: dict[str, float]) -> str:
        """Mean Augmented accuracy / its change on the kind that loses most / recalls."""
        least = min(found[kind] - control[kind] for kind in kinds)
        return f"{np.mean([found[kind] for kind in kinds]):.1f} / {least:+.1f} / {score(found):.1f}"

    lines = [["captions alone", "", "5e-05", "1", *[""] * (len(SHARES) - 2), said(control)]]
    for name, row in sorted(rows.items(), key=lambda own: list(CONTEST).index(own[0].split(".")[0])):
        if row["wise"] == 1:
            cells = [said(rows[name if share == 1 else f"{name}.{share}"]["found"]) for share in SHARES[1:]]
            about = (CONTEST[name.split(".")[0]], TAUGHT_ON[row["train"]], f"{5e-5 * row['speed']:.2g}")
            lines.append([*about, str(row["options"]["epochs"]), *cells])
    show((f"{TOWERS[tower]}, dev", "training texts", "rate", "epochs", *map(str, SHARES[1:])), lines)


def rewordings(tower: str) -> None:
    """On dev: phrases with REPLACE's words, by recipe and training, all finetuned weights."""
    rows = {row["name"]: row for own in models(tower, "search").values() for row in own}
    trained = sorted({(row["train"], row["options"]["epochs"]) for name, row in rows.items() if name.startswith("hn.")})

    def said(name: str) -> str:
        return " / ".join(f"{rows[name]['found'][f'replace/{metric}']:.1f}" for metric in METRICS[1:])

    lines = [["captions alone, 1 epoch", said("control"), *[""] * (len(trained) - 1)]]
    for recipe, title in CONTEST.items():
        lines.append([title, *(said(f"{recipe}.{texts}.3.{n}") for texts, n in trained)])
    heads = (f"{TAUGHT_ON[texts]}, {epochs} epoch{'s' * (epochs > 1)}" for texts, epochs in trained)
    show((f"{TOWERS[tower]}, dev: REPLACE's words", *heads), lines)


def by_word(tower: str) -> None:
    """REPLACE: Augmented / Brittleness by the word that is replaced. We grouped after seeing the results."""
    held, parts = scores(tower), JOINED["replace"]
    words = np.concatenate([held[f"{part}/relation"] for part in parts])
    groups = {name: np.isin(words, own) for name, own in WORDS.items()}
    groups["others"] = ~np.any(list(groups.values()), 0)
    lines = []
    for name in ("base", "control", *(name for name in NAMES if "-best" in name)):
        cells = []
        for chosen in groups.values():
            found = []
            for seed in common(tower):
                c, p = np.concatenate([held[f"{name}-{seed}/{part}"] for part in parts], 1)[:, chosen]
                found.append((((c > 0) & (p > 0)).mean(), (np.sign(c) * np.sign(p) < 0).mean()))
            cells.append(" / ".join(f"{100 * value:.1f}" for value in np.mean(found, 0)))
        lines.append([NAMES[name], *cells])
    heads = (f"{name} (n = {chosen.sum():,})" for name, chosen in groups.items())
    show((f"{TOWERS[tower]}, REPLACE by word", *heads), lines)


def table(tower: str, title: str) -> None:
    """Original / Augmented / Brittleness of each kind."""
    kinds, only = kinds_of(tower), common(tower)
    lines = []
    for name in (name for name in NAMES if name in models(tower)):
        cells = [" / ".join(f"{mean(tower, name, kind, metric, only):.1f}" for metric in METRICS) for kind in kinds]
        first = np.mean([row["found"]["t2i@1"] for row in models(tower)[name] if row["seed"] in only])
        lines.append([NAMES[name], *cells, f"{first:.1f}"])
    heads = (f"{KINDS[kind]} (n = {count(tower, kind):,})" for kind in kinds)
    show((title, *heads, "text-to-image R@1"), lines)


def relations(tower: str) -> None:
    """VSR by relation: which statements a model gains or loses. The groups were made after the results were seen."""
    names = ("control", "hn-negclip", "hp-hn", "ours", "hp-hn-swaps", "ours-swaps", "hp-hn-best", "ours-best")
    lines = []
    for kind, groups in RELATIONS.items():
        own = scores(tower)[f"{kind}/relation"].tolist()
        left = set(own)
        for group in (*groups, ()):
            words = set(group) or left
            left = left - words
            chosen = np.array([word in words for word in own])
            cells = []
            for name in names:
                held = [scores(tower)[f"{name}-{seed}/{kind}"] for seed in common(tower)]
                both = [((c > 0)[chosen].mean(), ((c > 0) & (p > 0))[chosen].mean()) for c, p in held]
                cells.append(" / ".join(f"{100 * value:.1f}" for value in np.mean(both, 0)))
            lines.append([f"{KINDS[kind]}: {', '.join(group) or 'the others'}", str(chosen.sum()), *cells])
    show(("VSR", "n", *(NAMES[name] for name in names)), lines)


def count(tower: str, kind: str) -> int:
    return sum(len(scores(tower)[f"{part}/photo"]) for part in JOINED.get(kind, (kind,)))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--short", action="store_true", help="print only the table of docs/coco.md, in seconds")
    if parser.parse_args().short:
        short()
        return
    with ProcessPoolExecutor(1) as other:
        rest = other.submit(every.shown)
        everything()
        print(f"\n{rest.result()}")


def everything() -> None:
    for tower, title in TOWERS.items():
        summary(tower, NAMES, f"{title}, finetuned with", common(tower))
    for title, own in ABLATIONS.items():
        ablation(title, own)
    changes(CHANGES)
    parts_of_ours()
    first_places()
    for part in (shares, mixed, retrieval, search, rewordings, by_word):
        for tower in TOWERS:
            part(tower)
    relations("m")
    for tower, title in TOWERS.items():
        table(tower, title)
    differences(TOWERS, PAIRS)
    fused()
    differences({"x": "matching"}, FUSED_PAIRS)
    print("With two bases, their spread is hardly known: an interval is very wide, or that of photos alone.")


def differences(towers: Mapping[str, str], pairs: Sequence[tuple[str, str]]) -> None:
    found = compared(towers, pairs)
    for metric, (tower, title) in product(METRICS, towers.items()):
        kinds = kinds_of(tower)
        lines = [
            [
                " - ".join(pair), *(cell(found[tower, pair, kind, metric]) for kind in kinds),
                str(len(seeds(tower, *pair))),
            ]
            for pair in pairs if (tower, pair, "replace", metric) in found
        ]  # fmt: skip
        show((f"{title}, {metric.capitalize()}", *(KINDS[kind] for kind in kinds), "bases"), lines)
    print(f"\\*: significant, by interval and by p-value, which is corrected (Holm) for all {len(found)} comparisons.")
    print("p: this corrected value, where the interval excludes zero and the difference is not significant.\n")


if __name__ == "__main__":
    main()

"""The tables of docs/coco.md and its appendix: finetuning on COCO photos, judged on items of others and on ours.

    python -m studies.coco.table            from studies/coco/results, without a GPU, in about a minute; every.py last

Differences are over photos and bases, as `equipoise compare` has them, and corrected (Holm) within two families: dual
encoders, and models with a matching head. Each base is finetuned once, with its own seed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from studies.coco import every
from studies.coco.kept import (
    Asked,
    averaged,
    cell,
    corrected,
    found_of,
    gaps,
    level,
    models,
    outcome,
    resampled,
    score,
    scores,
    seeds,
    size,
)
from studies.coco.labels import (
    ABLATIONS,
    CHANCE,
    CHANGES,
    CONTEST,
    FUSED,
    FUSED_PAIRS,
    JOINED,
    KINDS,
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
from studies.harness import ranged, show
from studies.harness.inputs import arguments
from studies.tables.lib.published import rows as printed_rows

Found = Mapping[str, float]


def known(tower: str, names: Iterable[str]) -> list[str]:
    return [name for name in names if name in models(tower)]


def common(tower: str) -> list[int]:
    """The bases of all models in the main tables."""
    return seeds(tower, *known(tower, NAMES))


def kinds_of(tower: str) -> list[str]:
    return [kind for kind in KINDS if all(f"{part}/photo" in scores(tower) for part in JOINED.get(kind, (kind,)))]


def heads_of(columns: Iterable[tuple[str, str]]) -> list[str]:
    return [f"{KINDS[kind]}: {SHORT[metric]}" for kind, metric in columns]


def mean(numbers: Iterable[float]) -> float:
    return float(np.mean(list(numbers)))


def in_a_cell(values: Iterable[float], form: str = ".1f") -> str:
    return " / ".join(format(value, form) for value in values)


def values(tower: str, name: str, only: Sequence[int]) -> list[float]:
    """One number of each kind, recall, and the correlation with people's ratings."""
    measured = found_of(tower, name, only)
    ours = [level(tower, name, *column, only) for column in SUMMARY]
    return [*ours, mean(map(score, measured)), mean(row["experts"] for row in measured)]


def summary(tower: str, names: Iterable[str], title: str, only: Sequence[int], theirs: str = "") -> None:
    """The values of models, and the numbers that the papers print."""
    rows = []
    for name in known(tower, names):
        cells = [f"{value:.1f}" for value in values(tower, name, only)]
        cells += [str(len(found_of(tower, name, only))), *([published(name)] if theirs else [])]
        rows.append([(NAMES | MORE)[name], *cells])
    show((title, *heads_of(SUMMARY), "recalls", "CxC", "bases", *([theirs] if theirs else [])), rows)


def short() -> None:
    """The table of docs/coco.md: MiniLM, the first three bases."""
    columns, only = [SUMMARY[place] for place in (2, 3, 0, 1)], common("m")
    heads = [f"{KINDS[kind]}: {metric.capitalize()}{' accuracy' * (metric in METRICS[:2])}" for kind, metric in columns]
    rows = [["by chance", *(CHANCE[metric] for _, metric in columns), ""]]
    for name, said in SHOWN.items():
        ours = [level("m", name, *column, only) for column in columns]
        rows.append([said, *(f"{value:.1f}" for value in (*ours, mean(map(score, found_of("m", name, only)))))])
    show(("finetuned on", *heads, "recalls"), rows)


def ablation(title: str, names: Sequence[str]) -> None:
    """Models on the bases that they all have, and the numbers that the papers print."""
    names = known("m", names)
    places = {len(PRINTED[name][2]) for name in names if name in PRINTED}
    theirs = f"published for CLIP ViT-B/32 ({PUBLISHED[places.pop()]})" if places else ""
    summary("m", names, title, seeds("m", *names), theirs)


def published(name: str) -> str:
    if name not in PRINTED:
        return ""
    table, row, places = PRINTED[name]
    return " / ".join(str(printed_rows(table)[row][place]) for place in places)


def changes(names: Sequence[str]) -> None:
    """Models with different bases: the change of each against captions alone, on its own bases."""
    lines = []
    for name in known("m", names):
        only = seeds("m", name, "control")
        change = np.subtract(values("m", name, only), values("m", "control", only))
        lines.append([(NAMES | MORE)[name], *(f"{value:+.1f}" for value in change), str(len(only))])
    show(("change against captions alone, on own bases", *heads_of(SUMMARY), "recalls", "CxC", "bases"), lines)


def parts_of_ours() -> None:
    """The effect of each part on REPLACE, on the one base that the variants and the whole recipe share."""
    columns = [("replace", metric) for metric in METRICS[1:]]
    rows = []
    for name in known("m", (name for name in MORE if name.startswith("ours-"))):
        cells = (level("m", name, *column, [0]) - level("m", "ours", *column, [0]) for column in columns)
        rows.append([MORE[name], *(f"{value:+.1f}" for value in cells)])
    show(("on the first base, minus the whole recipe", *heads_of(columns)), rows)


def first_places() -> None:
    rows = []
    for tower, title in TOWERS.items():
        places = [row["found"]["t2i@1"] for row in models(tower)["base"]]
        rows.append([title, *(f"{value:.1f}" for value in (min(places), np.mean(places), max(places)))])
    show(("text-to-image R@1 of the bases", "lowest", "mean", "highest"), rows)


def of_replace(numbers: Found) -> list[float]:
    return [mean(numbers[f"{part}/{metric}"] for part in JOINED["replace"]) for metric in METRICS[1:]]


def shares(tower: str) -> None:
    """Averaging with the base trades REPLACE against recall, for the training that was chosen on dev."""
    lines = []
    for name in known(tower, (name for name in NAMES if "-best" in name)):
        cells = []
        for share in SHARES:
            own = "base" if share == 0 else f"{name}.{share}" if f"{name}.{share}" in models(tower) else name
            numbers = [[*of_replace(row), score(row)] for row in found_of(tower, own, common(tower))]
            cells.append(in_a_cell(np.mean(numbers, 0)) + (own == name) * " (chosen)")
        lines.append([NAMES[name].removeprefix("chosen on dev: "), *cells])
    show((f"{TOWERS[tower]}, chosen on dev", *map(str, SHARES)), lines)


def mixed(tower: str) -> None:
    """Averaged with captions alone: changes on REPLACE over the base, of recalls and CxC over captions alone."""

    def change(rows: Sequence[dict[str, Any]]) -> str:
        changes = [
            [*np.subtract(of_replace(own := row["found"]), of_replace(base[row["seed"]])),
             score(own) - score(control[row["seed"]]), own["experts"] - control[row["seed"]]["experts"]]
            for row in rows
        ]  # fmt: skip
        return in_a_cell(np.mean(changes, 0), "+.1f")

    base, control = ({row["seed"]: row["found"] for row in models(tower)[name]} for name in ("base", "control"))
    lines = []
    for name, chosen in averaged(tower).items():
        cells = [change(models(tower)[f"{name}.{share}"]) + (share == chosen) * " (chosen)" for share in SHARES[1:]]
        lines.append([MIXED[name], *cells])
        own = {row["seed"] for row in models(tower)[name]}
        rows = [row for row in models(tower)[name.removesuffix("+captions")] if row["seed"] in own]
        cells = [change(rows) if share == rows[0]["wise"] else "" for share in SHARES[1:]]
        lines.append([f"{MIXED[name]}, averaged with the base", *cells])
    show((f"{TOWERS[tower]}, averaged with captions alone", *map(str, SHARES[1:])), lines)


def fused() -> None:
    """Both parts of each model with a matching head; the head's recalls are of the contrastive part's first ten."""
    only = seeds("x", *known("x", FUSED))
    lines = []
    for (name, said), (part, judge) in product(FUSED.items(), (("", "cosine"), ("-itm", "matching head"))):
        if f"{name}{part}" in models("x") and (measured := found_of("x", f"{name}{part}", only)):
            cells = [f"{level('x', f'{name}{part}', *column, only):.1f}" for column in SUMMARY]
            lines.append([said, judge, *cells, f"{mean(map(score, measured)):.1f}", str(len(measured))])
    show(("finetuned with", "judged by", *heads_of(SUMMARY), "recalls", "bases"), lines)


def retrieval(tower: str) -> None:
    """The mean of six recalls against captions alone, resampling photos and bases."""
    arrays, rng = scores(tower), np.random.default_rng(0)
    photo = arrays["captions/photo"].astype(int)

    def hits(name: str, seed: int) -> NDArray[np.float64]:
        """By photo: the sum over its captions and over itself, in parts of the mean of six."""
        summed = np.zeros(photo.max() + 1)
        for rank in (arrays[f"{name}-{seed}/{way}"] for way in ("t2i", "i2t")):
            right = sum((rank < top).astype(float) for top in (1, 5, 10)) * 100 / 6
            summed += (
                np.bincount(photo, right, len(summed)) / len(photo) if len(rank) == len(photo) else right / len(rank)
            )
        return summed

    lines = []
    for name in known(tower, NAMES | MIXED):
        rows = found_of(tower, name, seeds(tower, name) if name in MIXED else common(tower))
        ways = (f"{mean(row[f'{way}@{top}'] for row in rows for top in (1, 5, 10)):.1f}" for way in ("t2i", "i2t"))
        own = seeds(tower, name, "control")
        change = np.stack([hits(name, seed) - hits("control", seed) for seed in own])
        chosen, times = resampled(rng, len(own), change.shape[1], 2000)
        drawn = np.take_along_axis(times @ change.T, chosen, 1).mean(1)
        value, interval = change.mean(0).sum(), np.quantile(drawn, (0.025, 0.975))
        shown = "" if name == "control" else ranged(value, interval, "+.1f", 1)
        lines.append([(NAMES | MIXED)[name] + " (averaged with captions alone)" * (name in MIXED), *ways, shown])
    heads = ("text-to-image", "image-to-text", "of six, minus captions alone")
    show((f"{TOWERS[tower]}, mean of three recalls", *heads), lines)


def searched(tower: str) -> dict[str, dict[str, Any]]:
    """The line of every setting that was tried on dev."""
    return {row["name"]: row for own in models(tower, "search").values() for row in own}


def search(tower: str) -> None:
    """The trials on dev: every recipe with the same settings."""
    rows = searched(tower)
    control = rows.pop("control")["found"]
    kinds = [key for key in control if key.endswith("/augmented") and key != "swap/augmented"]

    def said(numbers: Found) -> str:
        """Mean Augmented accuracy / its change on the kind that loses most / recalls."""
        least = min(numbers[kind] - control[kind] for kind in kinds)
        return f"{mean(numbers[kind] for kind in kinds):.1f} / {least:+.1f} / {score(numbers):.1f}"

    lines = [["captions alone", "", "5e-05", "1", *[""] * (len(SHARES) - 2), said(control)]]
    for name, row in sorted(rows.items(), key=lambda own: list(CONTEST).index(own[0].split(".")[0])):
        if row["wise"] == 1:
            cells = [said(rows[name if share == 1 else f"{name}.{share}"]["found"]) for share in SHARES[1:]]
            about = (CONTEST[name.split(".")[0]], TAUGHT_ON[row["train"]], f"{5e-5 * row['speed']:.2g}")
            lines.append([*about, str(row["options"]["epochs"]), *cells])
    show((f"{TOWERS[tower]}, dev", "training texts", "rate", "epochs", *map(str, SHARES[1:])), lines)


def rewordings(tower: str) -> None:
    """On dev: phrases with REPLACE's words, by recipe and training, all finetuned weights."""
    rows = searched(tower)
    trained = sorted({(row["train"], row["options"]["epochs"]) for name, row in rows.items() if name.startswith("hn.")})

    def said(name: str) -> str:
        return in_a_cell(rows[name]["found"][f"replace/{metric}"] for metric in METRICS[1:])

    lines = [["captions alone, 1 epoch", said("control"), *[""] * (len(trained) - 1)]]
    for recipe, title in CONTEST.items():
        lines.append([title, *(said(f"{recipe}.{texts}.3.{n}") for texts, n in trained)])
    heads = (f"{TAUGHT_ON[texts]}, {epochs} epoch{'s' * (epochs > 1)}" for texts, epochs in trained)
    show((f"{TOWERS[tower]}, dev: REPLACE's words", *heads), lines)


def of_some(tower: str, name: str, parts: Sequence[str], chosen: NDArray[np.bool_], metrics: Sequence[str]) -> str:
    """The scores of some items: the mean over the common bases."""
    shares = []
    for seed in common(tower):
        gap = np.concatenate([gaps(tower, f"{name}-{seed}", part) for part in parts], 1)[:, chosen]
        shares.append([100 * outcome(gap, metric).mean() for metric in metrics])
    return in_a_cell(np.mean(shares, 0))


def by_word(tower: str) -> None:
    """REPLACE: Augmented / Brittleness by the word that is replaced. We grouped after seeing the results."""
    parts = JOINED["replace"]
    words = np.concatenate([scores(tower)[f"{part}/relation"] for part in parts])
    groups = {name: np.isin(words, own) for name, own in WORDS.items()}
    groups["others"] = ~np.any(list(groups.values()), 0)
    lines = [
        [NAMES[name], *(of_some(tower, name, parts, chosen, METRICS[1:]) for chosen in groups.values())]
        for name in ("base", "control", *(name for name in NAMES if "-best" in name))
    ]
    heads = (f"{name} (n = {chosen.sum():,})" for name, chosen in groups.items())
    show((f"{TOWERS[tower]}, REPLACE by word", *heads), lines)


def relations(tower: str) -> None:
    """VSR by relation: which statements a model gains or loses. The groups were made after the results were seen."""
    names = ("control", "hn-negclip", "hp-hn", "ours", "hp-hn-swaps", "ours-swaps", "hp-hn-best", "ours-best")
    lines = []
    for kind, groups in RELATIONS.items():
        own = scores(tower)[f"{kind}/relation"]
        left = set(own.tolist())
        for group in (*groups, ()):
            chosen = np.isin(own, list(group or left))
            left -= set(group)
            cells = (of_some(tower, name, [kind], chosen, METRICS[:2]) for name in names)
            lines.append([f"{KINDS[kind]}: {', '.join(group) or 'the others'}", str(chosen.sum()), *cells])
    show(("VSR", "n", *(NAMES[name] for name in names)), lines)


def levels(tower: str, title: str) -> None:
    """Original / Augmented / Brittleness of each kind."""
    kinds, only = kinds_of(tower), common(tower)
    lines = []
    for name in known(tower, NAMES):
        cells = [in_a_cell(level(tower, name, kind, metric, only) for metric in METRICS) for kind in kinds]
        lines.append([NAMES[name], *cells, f"{mean(row['t2i@1'] for row in found_of(tower, name, only)):.1f}"])
    heads = (f"{KINDS[kind]} (n = {size(tower, kind):,})" for kind in kinds)
    show((title, *heads, "text-to-image R@1"), lines)


def family(towers: Iterable[str], pairs: Sequence[tuple[str, str]]) -> Iterable[Asked]:
    for tower, pair in product(towers, pairs):
        if len(known(tower, pair)) == 2:
            yield from ((tower, *pair, kind, metric) for kind, metric in product(kinds_of(tower), METRICS))


def differences(towers: Mapping[str, str], pairs: Sequence[tuple[str, str]]) -> None:
    diffs = corrected(family(towers, pairs))
    for metric, (tower, title) in product(METRICS, towers.items()):
        kinds = kinds_of(tower)
        lines = [
            [
                " - ".join(pair), *(cell(diffs[tower, *pair, kind, metric]) for kind in kinds),
                str(len(seeds(tower, *pair))),
            ]
            for pair in pairs if len(known(tower, pair)) == 2
        ]  # fmt: skip
        show((f"{title}, {metric.capitalize()}", *(KINDS[kind] for kind in kinds), "bases"), lines)
    print(f"\\*: significant, by interval and by p-value, which is corrected (Holm) for all {len(diffs)} comparisons.")


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
        levels(tower, title)
    differences(TOWERS, PAIRS)
    print("p: this corrected value, where the interval excludes zero and the difference is not significant.\n")
    fused()
    print("With a matching head:\n")
    differences({"x": "matching"}, FUSED_PAIRS)
    print("With two bases, their spread is hardly known: an interval is very wide, or that of photos alone.\n")


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--short", action="store_true", help="print only the table of docs/coco.md, in seconds")
    if parser.parse_args().short:
        short()
    else:
        everything()
        every.show()


if __name__ == "__main__":
    main()

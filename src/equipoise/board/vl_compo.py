"""The tables of vl_compo (Oh et al. 2024: 202 CLIP checkpoints on 12 compositional and 24 standard benchmarks).

Its repository, github.com/ytaek-oh/vl_compo, has two: results (a number a benchmark) and individual_results (a number a
split, `benchmark::split::metric`). Both are percentages. What is not one of our benchmarks keeps the column's name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from equipoise.board.record import Reported
from equipoise.errors import Problems

SOURCE = "vl_compo (Oh et al. 2024)"
ABOUT = ("arch", "pretrained", "family")
# column of results.csv: our benchmark, metric, and the rule by which it is averaged (None: it has parts of its own)
WHOLE: dict[str, tuple[str, str, str | None]] = {
    "colorswap": ("colorswap", "group", None),
    "mmvp_vlm": ("mmvp-vlm", "group", None),
    "sugarcrepe": ("sugarcrepe", "original", "vl_compo"),
    "valse": ("valse", "original", "vl_compo"),
    "vl_checklist": ("vl-checklist", "original", "vl_compo"),
    "whatsup": ("whatsup", "original", "equipoise"),  # the mean of its six files, which is our rule too
    "winoground": ("winoground", "group", None),
    # Rules that we have not: the four of ARO as one, CREPE's types, EqBen's subsets. No run is set beside them.
    "crepe": ("crepe", "original", "vl_compo"),
    "eqben": ("eqben", "group", "vl_compo"),
}
# benchmark::split of individual_results.csv: our benchmark and split (None: all of it)
SPLITS: dict[str, tuple[str, str | None]] = {
    "aro::VG_Relation": ("aro-vg-r", None),
    "aro::VG_Attribute": ("aro-vg-a", None),
    "aro::Flickr30k_Order": ("aro-flickr-order", None),
    "aro::COCO_Order": ("aro-coco-order", None),
    "whatsup::WhatsUp_A": ("whatsup", "controlled_a"),
    "whatsup::WhatsUp_B": ("whatsup", "controlled_b"),
    "whatsup::COCO_QA_ONE": ("whatsup", "coco_one"),
    "whatsup::COCO_QA_TWO": ("whatsup", "coco_two"),
    "whatsup::VG_QA_ONE": ("whatsup", "vg_one"),
    "whatsup::VG_QA_TWO": ("whatsup", "vg_two"),
}
SAME_SPLITS = ("sugarcrepe", "valse")  # whose splits have our names
GROUPS = ("colorswap", "winoground")  # text, image, group of the whole


def is_one(row: Mapping[str, object]) -> bool:
    return all(name in row for name in ABOUT)


def name_of(arch: str, pretrained: str) -> str:
    return f"{arch} {pretrained}"


def read(rows: Sequence[Mapping[str, str]], path: Path) -> list[Reported]:
    """Every number of either table."""
    problems = Problems(str(path))
    found = []
    short = Counter(name_of(row["arch"] or "", row["pretrained"] or "").strip() for row in rows)
    for number, row in enumerate(rows):
        model = name_of(row["arch"] or "", row["pretrained"] or "").strip()
        if not model:
            problems.add(f"line {number + 2}", "no arch and no pretrained: which model is it?")
            continue
        if short[model] > 1:  # SLIP and LaCLIP both have a CLIP_ViT-B-16 of CC12M
            model = f"{model} ({row['family']})"
        for column, text in row.items():
            if not column or column in ABOUT:
                continue
            try:
                value = float(text) / 100
            except (TypeError, ValueError):
                problems.add(f"line {number + 2}, {column}", f"{text!r} is no number")
                continue
            if not 0 <= value <= 1:
                problems.add(f"line {number + 2}, {column}", f"{text} is no percentage")
                continue
            benchmark, metric, average, split = _meaning(column)
            found.append(
                Reported(
                    model=model,
                    benchmark=benchmark,
                    value=value,
                    metric=metric,
                    average=average,
                    split=split,
                    source=SOURCE,
                )
            )
    problems.raise_if_any("Percentages, one row a model, as vl_compo publishes them.")
    return found


def _meaning(column: str) -> tuple[str, str, str | None, str | None]:
    """Benchmark, metric, rule and split of a column."""
    if column in WHOLE:
        return (*WHOLE[column], None)
    if column in SPLITS:
        benchmark, split = SPLITS[column]
        return benchmark, "original", None, split
    name, _, rest = column.partition("::")
    if not rest:
        return name, "score", None, None
    if name in SAME_SPLITS:
        return name, "original", None, rest
    if name in GROUPS:
        return name, rest, None, None
    if name == "eqben":  # eqbenag::text
        split, _, metric = rest.partition("::")
        return name, metric, None, split.removeprefix("eqben")
    split, _, metric = rest.rpartition("::")
    if metric in ("text", "image", "group") and split:
        return name.replace("_", "-"), metric, None, split
    return name, "score", None, rest


# ---------------------------------------------------------------------------- whose number it is

_OPENAI = {
    "openai/clip-vit-base-patch32": "ViT-B-32 openai",
    "openai/clip-vit-base-patch16": "ViT-B-16 openai",
    "openai/clip-vit-large-patch14": "ViT-L-14 openai",
}
_PAPERS = {"negclip": "NegCLIP coco-ft", "ce-clip": "CE-CLIP coco-ft"}  # other papers have several files


def names_of(spec: str) -> Iterator[str]:
    """What vl_compo calls a model of ours, where the spec says it beyond doubt."""
    kind, _, rest = spec.partition(":")
    if kind == "openclip" and "?" not in rest:
        arch, _, pretrained = rest.partition("/")
        yield name_of(arch, pretrained)
    if kind == "hf" and rest in _OPENAI:
        yield _OPENAI[rest]
    if kind == "paper" and "?" not in rest:  # ?act= repeats a mistake: another model
        yield from [_PAPERS[name]] if (name := rest.partition("@")[0]) in _PAPERS else []

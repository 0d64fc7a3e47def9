"""Right or wrong, and no score: BiVLC's four comparisons an example, SugarCrepe's one.

An outcome is written as a score of 1 against 0, so that the same code judges it. A wrong outcome may have been a tie,
so ties are unknown, and so is everything that needs a score.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from equipoise import stats
from equipoise.benchmarks import sugarcrepe as sugarcrepe_benchmark
from equipoise.benchmarks.reading import item_id
from equipoise.errors import Problems
from equipoise.evaluation.foreign.base import Foreign, Rows, check_single, name_some
from equipoise.evaluation.record import Interval, PaperNumbers
from equipoise.evaluation.scores import ItemScores
from equipoise.items import Item
from equipoise.readers.tables import table

_WORDS = {"true": True, "1": True, "1.0": True, "false": False, "0": False, "0.0": False}
EXAMPLES = 2933  # of BiVLC
OLD = ("text_score_i0", "text_score_i1", "image_score_c0", "image_score_c1", "text_score", "image_score", "group_score")
NEW = ("Ipos_2T", "Ineg_2T", "Tpos_2I", "Tneg_2I", "I2T", "T2I", "group_score")  # the same, as newer code names them
WITHDRAWN = ("swap_obj", "000000310622.jpg")  # of SugarCrepe; files from before still ask it


def _read(path: Path, columns: Sequence[str], problems: Problems) -> list[dict[str, str]]:
    header, rows = table(path)
    found = [dict(zip(header, cells, strict=True)) for _, cells in rows]
    for (line, _), row in zip(rows, found, strict=True):
        for column in columns:
            if row[column].strip().lower() not in _WORDS:
                problems.add(f"line {line}", f"{column}: expected True or False, found {row[column]!r}")
    check_single(problems, "model", (row.get("model") for row in found))
    problems.raise_if_any("Outcomes are True and False, or 1 and 0.")
    return found


def _won(row: Mapping[str, str], column: str) -> bool:
    return _WORDS[row[column].strip().lower()]


def _row(id_: str, image: str, won: bool, tags: dict[str, str]) -> ItemScores:
    return ItemScores(id=id_, image=image, caption=float(won), negatives=[float(not won)], tags=tags)


# ---------------------------------------------------------------------------- BiVLC


def bivlc(paths: Sequence[Path]) -> Foreign:
    """Both images of an example as rows; text, image and group score from the four comparisons."""
    (path,) = paths
    problems = Problems(f"{path}: not the outcomes of BiVLC's {EXAMPLES:,} examples")
    header, _ = table(path)
    columns = OLD if OLD[0] in header else NEW
    found = _read(path, columns, problems)
    wins = [[_won(row, column) for column in columns] for row in found]
    _check_comparisons(wins, problems)
    if len(found) != EXAMPLES:
        problems.add("", f"{len(found):,} of {EXAMPLES:,} examples")
    texts = Counter((row["caption"], row["negative_caption"]) for row in found)
    twice = [caption for (caption, _), count in texts.items() if count > 1]
    if len(twice) > 1:  # one pair of captions has two examples, with different images
        name_some(problems, "pairs of captions doubled, where the benchmark has one (two models in one file?)", twice)
    problems.raise_if_any("Expected one row an example, as BiVLC's evaluation writes it.")
    rows = [
        _row(item_id("bivlc", "test", f"{number}-{side}"), f"{number}", won[side], _tags(row) | {"pair": str(number)})
        for number, (row, won) in enumerate(zip(found, wins, strict=True))
        for side in (0, 1)
    ]
    groups = _groups(wins)
    for kind in dict.fromkeys(row["type"] for row in found):
        chosen = [won for row, won in zip(found, wins, strict=True) if row["type"] == kind]
        groups |= {f"{kind}_{name}": value for name, value in _groups(chosen).items()}
    notes = (
        f"{len(twice)} pair of captions stands twice, with other images" if twice else "",
        "examples are numbered as the file has them: its image columns name no image",
    )
    return Foreign("BiVLC's outcomes", rows, True, tuple(filter(None, notes)), {"groups": groups})


def _tags(row: Mapping[str, str]) -> dict[str, str]:
    return {"split": "test", "type": row["type"], "subtype": row["subtype"]}


def _check_comparisons(wins: Sequence[Sequence[bool]], problems: Problems) -> None:
    """Text, image and group must follow from the four comparisons, and these from some four scores.

    With both texts right, c0i0 > c1i0 and c1i1 > c0i1; both images wrong would turn this into c0i0 > c0i0.
    """
    wrong, impossible = [], []
    for number, (i0, i1, c0, c1, text, image, group) in enumerate(wins):
        if (text, image, group) != (i0 and i1, c0 and c1, i0 and i1 and c0 and c1):
            wrong.append(str(number))
        if (i0, i1, c0, c1) in {(True, True, False, False), (False, False, True, True)}:
            impossible.append(str(number))
    name_some(problems, "examples whose text, image or group score does not follow from their comparisons", wrong)
    name_some(problems, "examples with comparisons that no four scores can give", impossible)


def _groups(wins: Sequence[Sequence[bool]]) -> PaperNumbers:
    found: PaperNumbers = {"n": len(wins)}
    for column, name in ((4, "text"), (5, "image"), (6, "group")):
        count = sum(won[column] for won in wins)
        found[name] = count / len(wins)
        found[f"{name}_interval"] = Interval(*stats.wilson(count, len(wins)))
    return found


# ---------------------------------------------------------------------------- SugarCrepe


def sugarcrepe(paths: Sequence[Path]) -> Foreign:
    (path,) = paths
    problems = Problems(f"{path}: not the outcomes of SugarCrepe's pairs")
    found = _read(path, ["correct"], problems)
    split_of = [f"{row['type']}_{row['subtype']}" for row in found]
    others = sorted(set(split_of) - set(sugarcrepe_benchmark.SPLITS))
    name_some(problems, "types that SugarCrepe does not have", others)
    keys = [(split, *_key(row)) for split, row in zip(split_of, found, strict=True)]
    doubled = [f"{split} {image} {caption}" for (split, image, caption, _), n in Counter(keys).items() if n > 1]
    name_some(problems, "pairs doubled (two models in one file?)", doubled)
    gone = [number for number, key in enumerate(keys) if key[:2] == WITHDRAWN]
    kept = [number for number in range(len(found)) if number not in gone]
    counts = Counter(split_of[number] for number in kept)
    for split, published in sugarcrepe_benchmark.SPLITS.items():
        if counts[split] != published:
            problems.add("", f"{split}: {counts[split]:,} of {published:,} pairs")
    problems.raise_if_any("Expected the columns filename, caption, negative_caption, type, subtype, correct.")
    rows, joined = [], {}
    for number in kept:
        split, row = split_of[number], found[number]
        id_ = item_id("sugarcrepe", split, f"row-{number}")
        joined[keys[number]] = id_
        rows.append(_row(id_, row["filename"], _won(row, "correct"), {"split": split, "group": row["type"]}))
    twice = sum(count > 1 for count in Counter(_key(found[number]) for number in kept).values())
    notes = (
        f"left out: {len(gone)} pair that SugarCrepe withdrew ({WITHDRAWN[0]}, image {WITHDRAWN[1]})" if gone else "",
        f"{twice} pairs of sentences are asked in two splits" if twice else "",
    )

    def fit(rows: Rows, items: Sequence[Item]) -> tuple[Rows, Sequence[Item]]:
        named = {}
        for item in items:
            image = item.image.path if item.image else ""
            key = (item.tags["split"], image, item.caption, item.negatives[0].text)
            if key in joined:
                named[joined[key]] = item.id
        return [row.model_copy(update={"id": named.get(row.id, row.id)}) for row in rows], items

    return Foreign("SugarCrepe's outcomes", rows, True, tuple(filter(None, notes)), fit=fit)


def _key(row: Mapping[str, str]) -> tuple[str, str, str]:
    return row["filename"], row["caption"], row["negative_caption"]

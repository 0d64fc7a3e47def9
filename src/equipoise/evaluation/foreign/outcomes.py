"""Layouts of right and wrong alone: what people publish without scores (`reading.py` tells them apart)."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Sequence
from itertools import permutations

from equipoise.benchmarks import by_fields
from equipoise.core.errors import Problems
from equipoise.evaluation.foreign.sheets import (
    Foreign,
    Sheet,
    check_counts,
    image_of,
    made,
    name_some,
    outcome,
)
from equipoise.evaluation.scores import ImageScores, ItemScores

BIVLC = 2933  # examples
SUGARCREPE = by_fields.benchmark("sugarcrepe").splits
OLD = ("text_score_i0", "text_score_i1", "image_score_c0", "image_score_c1", "text_score", "image_score", "group_score")
NEW = ("Ipos_2T", "Ineg_2T", "Tpos_2I", "Tneg_2I", "I2T", "T2I", "group_score")  # the same, as newer code names them


def bivlc(sheets: Sequence[Sheet]) -> Foreign:
    """Four comparisons an example, written as four scores that give them."""
    (sheet,) = sheets
    problems, found = sheet.problems, sheet.rows
    columns = OLD if OLD[0] in found[0] else NEW
    wins = list(zip(*map(sheet.outcomes, columns), strict=True))
    problems.raise_if_any("Outcomes are True and False, or 1 and 0.")
    _check_comparisons(wins, problems)
    if len(found) != BIVLC:
        problems.add("", f"{len(found):,} of {BIVLC:,} examples")
    texts = Counter((row["caption"], row["negative_caption"]) for row in found)
    twice = [caption for (caption, _), count in texts.items() if count > 1]
    if len(twice) > 1:  # one pair of captions has two examples, with different images
        name_some(problems, "pairs of captions doubled, where the benchmark has one (two models in one file?)", twice)
    keys = [str(number) for number in range(len(found))]
    items = made(sheet, "bivlc", ["test"] * len(found), keys)
    problems.raise_if_any("Expected one row an example, as BiVLC's evaluation writes it.")
    rows = []
    for item, won in zip(items, wins, strict=True):
        own0, other0, other1, own1 = _ranks(won[:4])
        rows.append(
            ItemScores(
                id=item.id,
                image=image_of(item),
                caption=own0,
                negatives=[other0],
                tags=item.tags,
                negative_images=(ImageScores(image=item.negative_images[0].path, caption=other1, negatives=[own1]),),
                paired=True,
            )
        )
    notes = (
        f"{len(twice)} pair of captions stands twice, with other images" if twice else "",
        "examples are numbered as the file has them: its image columns name no image",
    )
    return Foreign("BiVLC's outcomes", rows, True, notes, items)


@functools.cache
def _ranks(comparisons: tuple[bool, ...]) -> tuple[float, ...]:
    """Scores of the first image's own and other text, then of the second's other and own, that give the comparisons."""
    for own0, other0, other1, own1 in permutations((0.0, 1.0, 2.0, 3.0)):
        if (own0 > other0, own1 > other1, own0 > other1, own1 > other0) == comparisons:
            return own0, other0, other1, own1
    raise AssertionError("refused before: comparisons that no four scores can give")


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


WITHDRAWN = ("swap_obj", "000000310622.jpg")  # of SugarCrepe; files from before still ask it
_ITS_KEY = 108


def sugarcrepe(sheets: Sequence[Sheet]) -> Foreign:
    """One row a pair, a type after the other, in the order of SugarCrepe's keys."""
    (sheet,) = sheets
    problems, won = sheet.problems, sheet.outcomes("correct")
    problems.raise_if_any("Outcomes are True and False, or 1 and 0.")
    splits = [f"{row['type']}_{row['subtype']}" for row in sheet.rows]
    others = sorted(set(splits) - set(SUGARCREPE))
    name_some(problems, "types that SugarCrepe does not have", others)
    pairs = [
        (split, row["filename"], row["caption"], row["negative_caption"])
        for split, row in zip(splits, sheet.rows, strict=True)
    ]
    doubled = [f"{split} {image} {caption}" for (split, image, caption, _), n in Counter(pairs).items() if n > 1]
    name_some(problems, "pairs doubled (two models in one file?)", doubled)
    gone = {place for place, pair in enumerate(pairs) if pair[:2] == WITHDRAWN}
    kept = [place for place in range(len(pairs)) if place not in gone]
    check_counts(problems, [splits[place] for place in kept], SUGARCREPE, "pairs")
    items = made(sheet, "sugarcrepe", splits, _keys(splits, bool(gone)))
    problems.raise_if_any("Expected the columns filename, caption, negative_caption, type, subtype, correct.")
    kept.sort(key=lambda place: splits[place])
    rows = [outcome(items[place].id, image_of(items[place]), won[place], dict(items[place].tags)) for place in kept]
    twice = sum(n > 1 for n in Counter(pairs[place][1:] for place in kept).values())
    notes = (
        f"left out: {len(gone)} pair that SugarCrepe withdrew ({WITHDRAWN[0]}, image {WITHDRAWN[1]})" if gone else "",
        f"{twice} pairs of sentences are asked in two splits" if twice else "",
    )
    return Foreign("SugarCrepe's outcomes", rows, True, notes, [items[place] for place in kept])


def _keys(splits: Sequence[str], with_withdrawn: bool) -> list[str]:
    """The number of each row within its split is its key; without the withdrawn pair its key is passed over."""
    counts: Counter[str] = Counter()
    keys = []
    for split in splits:
        if split == WITHDRAWN[0] and counts[split] == _ITS_KEY and not with_withdrawn:
            counts[split] += 1
        keys.append(str(counts[split]))
        counts[split] += 1
    return keys

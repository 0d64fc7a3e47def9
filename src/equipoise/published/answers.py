"""Reads published files without scores: right or wrong for each item, or answers to questions with two options.

An item's scores stand for its answers. In two orders of the options the score of a text is the share of the orders in
which it was chosen, so that an answer which follows the position is a tie, and never a win. `ItemScores.answers` keeps
each answer as it is.
"""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Sequence
from itertools import permutations

from equipoise.benchmarks.base import splits_of
from equipoise.core.errors import Problems
from equipoise.data.items import Item
from equipoise.evaluation.scores import Answer, ItemScores
from equipoise.published.sheets import (
    PublishedScores,
    Record,
    ScoreTable,
    check_counts,
    check_doubled,
    image_of,
    made,
    outcome,
    scored,
    two_by_two,
)

BIVLC = 2933  # examples
SUGARCREPE = splits_of("sugarcrepe")
OLD = ("text_score_i0", "text_score_i1", "image_score_c0", "image_score_c1", "text_score", "image_score", "group_score")
NEW = ("Ipos_2T", "Ineg_2T", "Tpos_2I", "Tneg_2I", "I2T", "T2I", "group_score")  # the same, as newer code names them


def bivlc(sheets: Sequence[ScoreTable]) -> PublishedScores:
    """Four comparisons an example, written as four scores that give them."""
    (sheet,) = sheets
    problems, examples = sheet.problems, sheet.rows
    columns = OLD if OLD[0] in examples[0] else NEW
    wins = list(zip(*map(sheet.outcomes, columns), strict=True))
    problems.raise_if_any("Outcomes are True and False, or 1 and 0.")
    _check_comparisons(wins, problems)
    if len(examples) != BIVLC:
        problems.add("", f"{len(examples):,} of {BIVLC:,} examples")
    texts = Counter((row["caption"], row["negative_caption"]) for row in examples)
    twice = [caption for (caption, _), count in texts.items() if count > 1]
    if len(twice) > 1:  # one pair of captions has two examples, with different images
        problems.add_some("pairs of captions doubled, where the benchmark has one (two models in one file?)", twice)
    keys = [str(number) for number in range(len(examples))]
    items = made(sheet, "bivlc", ["test"] * len(examples), keys)
    problems.raise_if_any("Expected one row an example, as BiVLC's evaluation writes it.")
    rows = []
    for item, won in zip(items, wins, strict=True):
        rows.append(two_by_two(item.id, [ref.path for ref in item.images()], item.tags, _ranks(won[:4])))
    notes = (
        f"{len(twice)} pair of captions appears twice, with other images" if twice else "",
        "examples are numbered as the file has them: its image columns name no image",
    )
    return PublishedScores("BiVLC's outcomes", rows, True, notes, items)


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
    problems.add_some("examples whose text, image or group score does not follow from their comparisons", wrong)
    problems.add_some("examples with comparisons that no four scores can give", impossible)


WITHDRAWN = ("swap_obj", "000000310622.jpg")  # of SugarCrepe; files from before still ask it
_ITS_KEY = 108


def sugarcrepe_outcomes(sheets: Sequence[ScoreTable]) -> PublishedScores:
    """One row a pair, a type after the other, in the order of SugarCrepe's keys."""
    (sheet,) = sheets
    problems, won = sheet.problems, sheet.outcomes("correct")
    problems.raise_if_any("Outcomes are True and False, or 1 and 0.")
    splits = [f"{row['type']}_{row['subtype']}" for row in sheet.rows]
    others = sorted(set(splits) - set(SUGARCREPE))
    problems.add_some("types that SugarCrepe does not have", others)
    pairs = [
        (split, row["filename"], row["caption"], row["negative_caption"])
        for split, row in zip(splits, sheet.rows, strict=True)
    ]
    doubled = [f"{split} {image} {caption}" for (split, image, caption, _), n in Counter(pairs).items() if n > 1]
    problems.add_some("pairs doubled (two models in one file?)", doubled)
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
    return PublishedScores("SugarCrepe's outcomes", rows, True, notes, [items[place] for place in kept])


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


GPT4V = ("answer", "caption", "negative_caption", "filename", "correct")
ANSWERED = "answers to SugarCrepe's pairs, one type and order a file"
FIRST_OPTION, SECOND_OPTION = "caption first", "negative first"


def sugarcrepe_answers(sheets: Sequence[ScoreTable]) -> PublishedScores:
    """A file holds the answers to one type in one order. The order is read from the answers, the type from the name."""
    problems = Problems(" and ".join(str(sheet.path) for sheet in sheets[:3]) + (", ..." if len(sheets) > 3 else ""))
    by_id: dict[str, Item] = {}
    answers: dict[str, list[Answer]] = {}
    seen: dict[tuple[str, str], ScoreTable] = {}
    for sheet in sheets:
        split, order = _type_of(sheet, problems), _order_of(sheet, problems)
        if split and order and (other := seen.setdefault((split, order), sheet)) is not sheet:
            problems.add("", f"{other.path} and {sheet.path} both hold {split}, {order}")
            split = ""
        items = []
        if split:
            kept = [split for row in sheet.rows if (split, row["filename"]) != WITHDRAWN]
            check_counts(sheet.problems, kept, {split: SUGARCREPE[split]}, "pairs")
            items = made(sheet, "sugarcrepe", [split] * len(sheet.rows), sheet.texts("key"))
        problems.found += [f"{sheet.path}: {problem}" for problem in sheet.problems.found]
        for item, row in zip(items, sheet.rows, strict=False):
            if (split, row["filename"]) == WITHDRAWN:
                continue
            if by_id.setdefault(item.id, item) != item:
                problems.add(str(sheet.path), f"{item.id}: other texts than in the other order")
            answers.setdefault(item.id, []).append(_option(row, order))
    problems.raise_if_any(
        "Expected files as SugarCrepe's repository has them, positive-first/gpt4v-TYPE.json and "
        f"negative-first/gpt4v-TYPE.json, TYPE one of {', '.join(SUGARCREPE)}."
    )
    rows = []
    for id_ in sorted(by_id, key=lambda name: (by_id[name].tags["split"], int(name.rpartition("/")[2]))):
        chosen = [answer.choice for answer in answers[id_]]
        shares = [chosen.count(side) / len(chosen) for side in ("caption", "negative")]
        rows.append(scored(id_, image_of(by_id[id_]), by_id[id_].tags, *shares, answers=tuple(answers[id_])))
    one_order = sum(len(row.answers) == 1 for row in rows)
    model = re.search(r"([A-Za-z][\w.]*)-(?:add|replace|swap)[-_]", sheets[0].path.name)  # gpt4v-swap_att.json
    notes = (
        "Orig. counts items whose caption was chosen and whose negative was not, in either order",
        f"{one_order:,} items were asked in one order only" if one_order else "",
    )
    called, items = model[1] if model else "", [by_id[row.id] for row in rows]
    return PublishedScores("SugarCrepe's answers in two orders", rows, True, notes, items, called)


def _type_of(sheet: ScoreTable, problems: Problems) -> str:
    name = sheet.path.name.replace("-", "_")
    splits = [split for split in SUGARCREPE if split in name]
    if len(splits) == 1:
        return splits[0]
    problems.add(str(sheet.path), "which type of SugarCrepe is it? Its name holds none, as gpt4v-swap_att.json does")
    return ""


def _order_of(sheet: ScoreTable, problems: Problems) -> str:
    """By what option (1) was: an answer names the number and the caption behind it."""
    orders = set()
    for where, row in zip(sheet.places, sheet.rows, strict=True):
        answer = row["answer"] if isinstance(row["answer"], dict) else {}
        choice, said = answer.get("multiple_choice_answer"), str(answer.get("free_form_answer", ""))
        if choice not in (row["caption"], row["negative_caption"], ""):
            sheet.problems.add(where, "answer: multiple_choice_answer is neither caption, negative_caption nor empty")
        elif row["correct"] != (choice == row["caption"]):
            sheet.problems.add(where, f"correct is {row['correct']}, and the answer says otherwise")
        numbers = set(re.findall(r"\(([12])\)", said))
        if choice and len(numbers) == 1:
            chose_first, chose_caption = numbers == {"1"}, choice == row["caption"]
            orders.add(FIRST_OPTION if chose_first == chose_caption else SECOND_OPTION)
    if len(orders) != 1:
        what = "options in both orders" if orders else "no answer that names (1) or (2)"
        problems.add(str(sheet.path), f"{what}: which caption came first?")
        return ""
    return orders.pop()


def _option(row: Record, order: str) -> Answer:
    choice = row["answer"]["multiple_choice_answer"]
    if not choice:
        return Answer(right=False, order=order)
    right, caption_first = choice == row["caption"], order == FIRST_OPTION
    place = 0 if right == caption_first else 1
    return Answer(right=right, choice="caption" if right else "negative", place=place, order=order)


COLORSWAP = ("id", "log_1", "log_2")


def colorswap(sheets: Sequence[ScoreTable]) -> PublishedScores:
    """A file asks for the text of each image, or for the image of each text; two files of one model are both."""
    problems = Problems(" and ".join(str(sheet.path) for sheet in sheets))
    rows: list[ItemScores] = []
    seen: dict[str, ScoreTable] = {}
    for sheet in sheets:
        side = "text" if "response_image_1" in sheet.rows[0] else "image"
        if seen.setdefault(side, sheet) is not sheet:
            problems.add("", f"{seen[side].path} and {sheet.path} both ask for the {side}")
            continue
        own = Problems("")
        check_doubled(own, "ids", sheet.texts("id"))
        check_counts(own, ["test"] * len(sheet.rows), {"test": 300}, "examples")
        for where, row in zip(sheet.places, sheet.rows, strict=True):
            try:
                rows += [_colour(row, side, number) for number in (1, 2)]
            except (KeyError, TypeError, ValueError, IndexError):
                own.add(where, "expected prompt and response of two questions, log_1 and log_2 with correct_answer")
        problems.found += [f"{sheet.path}: {problem}" for problem in own.found]
    problems.raise_if_any("Expected the files of one model, as ColorSwap's repository has them (text-, image-).")
    rows.sort(key=lambda row: (int(row.tags["pair"]), row.tags["ask"], row.id))
    unclear = sum(answer.choice is None for row in rows for answer in row.answers)
    notes = [f"{unclear:,} of {len(rows):,} answers name no option, or both, and count as wrong" if unclear else ""]
    if len(seen) == 1:
        notes.append(f"no group score: only the {next(iter(seen))}s were asked for; name the other file too")
    model = re.search(r"(?:text|image)-(.+?)-colorswap", sheets[0].path.name)
    called = model[1] if model else ""
    return PublishedScores("ColorSwap's answers", rows, True, notes, model=called, fit=lambda rows, _: (rows, ()))


def _colour(row: Record, side: str, number: int) -> ItemScores:
    asked = "image" if side == "text" else "caption"
    said, log = str(row[f"response_{asked}_{number}"]), row[f"log_{number}"]
    if side == "text":
        prompt = str(row[f"prompt_{asked}_{number}"])
        options = [option.strip() for option in re.split(r"\(A\)|, or \(B\)|\? ", prompt)[1:3]]
        names, chosen = ("A", "B"), _named_text(said, options)
    else:
        names, chosen = ("first", "second"), _named_image(said)
    right = chosen is not None and names[chosen] == log["correct_answer"]
    image = f"{row['id']}_{number}.png" if side == "text" else None
    tags = {"split": "test", "ask": side, "pair": str(int(row["id"]))}
    choice = None if chosen is None else "right" if right else "wrong"
    answers = (Answer(right=right, choice=choice, place=chosen),)
    return outcome(f"colorswap-test/{row['id']}-{side}-{number}", image, right, tags, answers=answers)


def _named_text(said: str, options: Sequence[str]) -> int | None:
    """The option that an answer names: by its letter, or by its text; None where it names none or both."""
    said = said.partition(", not ")[0].strip()
    letters = {
        letter.upper() for letter in re.findall(r"(?:^|\(|option )([AB])(?=[):.,]|$)", said, flags=re.IGNORECASE)
    }
    letters |= {letter.upper() for letter in re.findall(r"\boption ([AB])\b", said, flags=re.IGNORECASE)}
    plain = _plain(said)
    texts = {place for place, option in enumerate(options) if _plain(option) in plain}
    named = {"AB".index(letter) for letter in letters} or texts
    return named.pop() if len(named) == 1 else None


def _named_image(said: str) -> int | None:
    better = re.search(r"(first|second) image,?[^.,]*? (?:better|aligns|is more)", said.lower())
    words = {better[1]} if better else {word for word in ("first", "second") if word in said.lower()}
    return ("first", "second").index(words.pop()) if len(words) == 1 else None


def _plain(text: str) -> str:
    """Without articles, "with" and "and": answers repeat a caption freely."""
    words = re.findall(r"[a-z']+", text.lower())
    return " ".join(word for word in words if word not in {"a", "an", "the", "with", "and"})

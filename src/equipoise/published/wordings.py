"""Reads published answers to one question in several wordings: VSR's statements, What's Up's prompts.

The caption's score is 1 where the first wording was answered right, each positive's that of another wording, and the
hard negative's is 0.5: Original accuracy is the share right in the first wording, Augmented accuracy the share right in
all, Brittleness the share right in some and wrong in others. `ItemScores.answers` keeps each answer as it is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from equipoise.core.errors import Problems, UserError
from equipoise.evaluation.scores import Answer, ItemScores
from equipoise.published.sheets import PublishedScores, Record, ScoreTable, check_doubled, check_single, outcome, scored

VSR = tuple(
    "example_id condition statement original_statement relation ground_truth expected_transformed_label prediction "
    "model_condition".split()
)
FIRST = "normal"  # the condition of the statements as they are
_TRUTH = ("True", "False")


def vsr(sheets: Sequence[ScoreTable]) -> PublishedScores:
    """One file: its answers alone. Several: the statements as they are, and reworded ones, in any order. Where the
    rewording turns the truth ("above" to "below") only true statements count, because "not above" does not entail
    "below"."""
    for sheet in sheets:
        for where, row in zip(sheet.places, sheet.rows, strict=True):
            if row["ground_truth"] not in _TRUTH:
                sheet.problems.add(where, f"ground_truth: expected True or False, found {row['ground_truth']!r}")
        check_single(sheet.problems, "condition", sheet.rows)
        check_doubled(sheet.problems, "ids", sheet.texts("example_id"))
        sheet.problems.raise_if_any("Expected one row a statement, each id once.")
    first = [sheet for sheet in sheets if sheet.rows[0]["condition"] == FIRST]
    others = [sheet for sheet in sheets if sheet.rows[0]["condition"] != FIRST]
    second = [sheet for sheet in others if _is_reworded(sheet.rows)]
    models = list(dict.fromkeys(map(_model, sheets)))
    if len(first) > 1 and len(models) > 1:
        raise UserError(f"{len(sheets)} files of {len(models)} models ({', '.join(models)}); name those of one model")
    if len(sheets) > 1 and (len(first) != 1 or not second):
        conditions = ", ".join(f"{sheet.path} ({sheet.rows[0]['condition']})" for sheet in sheets)
        raise UserError(
            f"{conditions}: expected one file with the answers to the statements as they are (condition {FIRST}) and "
            "one or more with the reworded ones (such as sorev): equipoise metrics NORMAL.csv REWORDED.csv "
            "--bench vsr-pairs"
        )
    if len(sheets) == 1:
        return _statements(sheets[0])
    answers = {row["example_id"]: row for row in first[0].rows}
    rows, notes, refused = [], [_IN_WORDINGS], 0
    if passed := [str(sheet.rows[0]["condition"]) for sheet in others if sheet not in second]:
        notes.append(f"not read, as they are no rewording: {', '.join(passed)}")
    for sheet in second:
        pairs = _reworded(sheet, first[0], answers)
        right = [(_right(before), _right(row)) for before, row in pairs]
        refused += sum(row["prediction"] not in _TRUTH for pair in pairs for row in pair)
        left_out = len(sheet.rows) - len(pairs)
        called = pairs[0][1]["condition"]
        notes.append(f"accuracy in the second wording ({called}): {sum(b for _, b in right) / len(right):.1%}")
        if left_out:
            notes.append(f"left out of {called}: {left_out:,} false statements, whose rewording need not be true")
        rows += [_in_wordings(before, row, called) for before, row in pairs]
    total = 2 * len(rows)
    notes.append(f"{refused:,} of {total:,} answers are neither True nor False and count as wrong" if refused else "")
    model = _model(first[0])
    return PublishedScores(
        "VSR's answers in several wordings", rows, True, notes, model=model, fit=lambda rows, _: (rows, ())
    )


def _is_reworded(rows: Sequence[Mapping[str, object]]) -> bool:
    """Whether the words changed, and not the photo alone; whose rewording has a truth."""
    return any(
        row["expected_transformed_label"] in _TRUTH and row["statement"] != row["original_statement"] for row in rows
    )


VSR_LINES = tuple(
    "example_id condition statement ground_truth expected_transformed_label prediction raw_output".split()
)


def vsr_lines(sheets: Sequence[ScoreTable]) -> PublishedScores:
    """One JSONL file of all conditions, without the columns that the statement as it is has already."""
    (whole,) = sheets
    by_condition: dict[str, list[dict[str, object]]] = {}
    for row in whole.rows:
        texts = {name: str(row[name]) for name in ("ground_truth", "expected_transformed_label", "prediction")}
        by_condition.setdefault(str(row["condition"]), []).append({**row, **texts})
    plain = {row["example_id"]: row for row in by_condition.get(FIRST, ())}
    model = whole.path.name.partition(".")[0]
    tables = []
    for condition, rows in by_condition.items():
        known = [row for row in rows if row["example_id"] in plain]
        for row in known:
            first = plain[row["example_id"]]
            row |= {"original_statement": first["statement"], "ground_truth": first["ground_truth"], "relation": ""}
            row["model_condition"] = model
        places = [f"{condition} {row['example_id']}" for row in known]
        tables += [ScoreTable(whole.path, [*known], places, Problems(f"{whole.path}, {condition}"))] if known else []
    if len(tables) < 2:
        raise UserError(f"{whole.path}: conditions {', '.join(by_condition)}; expected {FIRST} and a reworded one")
    return vsr(tables)


def _model(sheet: ScoreTable) -> str:
    return " ".join(filter(None, (str(sheet.rows[0].get(name) or "") for name in ("model_id", "model_condition"))))


_IN_WORDINGS = (
    "Orig. is the accuracy in the first wording, Aug. the share right in both, Brittleness the share right in one"
)


def _right(row: Mapping[str, object]) -> bool:
    truth = row["ground_truth"] if row["condition"] == FIRST else row["expected_transformed_label"]
    return bool(row["prediction"] == truth)


def _answer(row: Record) -> Answer:
    right, answered = _right(row), row["prediction"] in _TRUTH
    choice = ("right" if right else "wrong") if answered else None  # True may be right in one wording, False in another
    return Answer(right=right, choice=choice, wording=row["condition"])


def _tags(row: Record, wording: str) -> dict[str, str]:
    return {"wording": wording, "relation": row["relation"], "label": row["ground_truth"].lower()}


def _in_wordings(before: Record, row: Record, called: str) -> ItemScores:
    id_, image = f"{row['example_id']}/{called}", row.get("source_image_id") or None
    positives, answers = [float(_right(row))], (_answer(before), _answer(row))
    return scored(id_, image, _tags(row, called), float(_right(before)), 0.5, positives=positives, answers=answers)


def _statements(sheet: ScoreTable) -> PublishedScores:
    """The answers to statements with one photo each, or with a blank one, another's or none."""
    condition = str(sheet.rows[0]["condition"])
    if _is_reworded(sheet.rows):
        raise UserError(
            f"{sheet.path}: reworded statements ({condition}); name the file of the statements as they are too: "
            f"equipoise metrics NORMAL.csv {sheet.path.name} --bench vsr-pairs"
        )
    rows = []
    for row in sheet.rows:
        turned = row["expected_transformed_label"] in _TRUTH  # the truth of another photo
        truth = row["expected_transformed_label"] if turned else row["ground_truth"]
        right, answered = row["prediction"] == truth, row["prediction"] in _TRUTH
        answers = (Answer(right=right, choice=row["prediction"] if answered else None),)
        image = row.get("source_image_id") or None
        rows.append(outcome(row["example_id"], image, right, _tags(row, condition), answers=answers))
    refused = sum(answer.choice is None for row in rows for answer in row.answers)
    notes = (
        "" if condition == FIRST else f"not the statement's own photo: {condition}",
        f"{refused:,} of {len(rows):,} answers are neither True nor False and count as wrong" if refused else "",
    )
    return PublishedScores("VSR's answers", rows, True, notes, model=_model(sheet), fit=lambda rows, _: (rows, ()))


def _reworded(sheet: ScoreTable, first: ScoreTable, answers: Mapping[str, Record]) -> list[tuple[Record, Record]]:
    """Each statement as it is and reworded, of those whose rewording has a known truth."""
    problems = Problems(f"{sheet.path}: not rewordings of {first.path}")
    check_single(problems, "model_condition", (*first.rows, *sheet.rows))
    problems.add_some(
        "ids unknown there", [row["example_id"] for row in sheet.rows if row["example_id"] not in answers]
    )
    others = []
    for row in sheet.rows:
        before = answers.get(row["example_id"], row)
        if any(row[column] != before[column] for column in ("original_statement", "ground_truth")):
            others.append(row["example_id"])
    problems.add_some("ids with another statement or another truth there", others)
    odd = [row["example_id"] for row in sheet.rows if row["expected_transformed_label"] not in _TRUTH]
    problems.add_some("rows without the truth of the reworded statement (expected_transformed_label)", odd)
    problems.raise_if_any("Name the files of one model.")
    kept = [row for row in sheet.rows if row["ground_truth"] in (row["expected_transformed_label"], "True")]
    if not kept:
        raise UserError(f"{sheet.path}: no statement whose rewording has a known truth")
    return [(answers[row["example_id"]], row) for row in kept]


WHATSUP = ("image", "prompt", "prompt_label", "answer", "ground_truth")
_PLACES = {  # an option, in any of its wordings, as `ground_truth` calls it
    **{"to the left": "Left", "left": "Left", "to the right": "Right", "right": "Right"},
    **{"on top": "On top", "above": "On top", "on": "On top"},
    **{"under": "Under", "underneath": "Under", "below": "Under"},
}


def whatsup(sheets: Sequence[ScoreTable]) -> PublishedScores:
    """An item is a photo and a rewording: the first prompt and another wording of its options, each in every order.
    Prompts without options are a wording each."""
    (sheet,) = sheets
    problems, asked = sheet.problems, dict[str, list[tuple[Record, Answer]]]()
    check_doubled(problems, "prompts", [f"{row['image']} {row['prompt_label']}" for row in sheet.rows])
    for where, row in zip(sheet.places, sheet.rows, strict=True):
        if row["ground_truth"] not in _PLACES.values():
            known = ", ".join(sorted(set(_PLACES.values())))
            problems.add(where, f"ground_truth: expected {known}, found {row['ground_truth']!r}")
        else:
            asked.setdefault(row["image"], []).append((row, _choice(row)))
    labels = {image: {row["prompt_label"] for row, _ in some} for image, some in asked.items()}
    every = set().union(*labels.values())
    fewer = [image for image, of_image in labels.items() if of_image != every]
    problems.add_some(f"photos without all of the {len(every)} prompts", fewer)
    problems.raise_if_any("Expected one record a photo and prompt, all of one model.")
    rows = []
    for image, some in asked.items():
        relation = str(some[0][0]["ground_truth"])
        by_wording: dict[str, list[Answer]] = {}
        for _, answer in some:
            by_wording.setdefault(answer.wording, []).append(answer)
        (_, first), *reworded = by_wording.items()
        for wording, others in reworded:
            tags = {"split": "controlled_a", "group": "controlled", "wording": wording, "relation": relation}
            won, positives = float(bool(first[0].right)), [float(bool(others[0].right))]
            answers = (*first, *others)
            rows.append(scored(f"{image}/{wording}", image, tags, won, 0.5, positives=positives, answers=answers))
    notes = ["Orig. is the accuracy with the first prompt, Aug. the share right with it and with another wording"]
    for label in dict.fromkeys(row["prompt_label"] for row in sheet.rows):
        right = [bool(answer.right) for some in asked.values() for row, answer in some if row["prompt_label"] == label]
        notes.append(f"accuracy with {label!r}: {sum(right) / len(right):.1%}")
    return PublishedScores("What's Up's answers to several prompts", rows, True, notes, fit=lambda rows, _: (rows, ()))


def _choice(row: Record) -> Answer:
    """Options are read from the prompt ("A :To the left, B: ..."), an answer is a letter or the place itself."""
    options = dict(re.findall(r"\b([A-D])\s*:\s*([^,:]+?)\s*(?=,|$)", str(row["prompt"])))
    said = str(row["answer"]).strip()
    letter = re.match(r"\(?([A-D])\b", said) if options else None
    named = options.get(letter[1], "") if letter else said.rstrip(".")
    choice = _PLACES.get(named.lower())
    return Answer(
        right=choice == row["ground_truth"],
        choice=choice,
        place=list(options).index(letter[1]) if letter and letter[1] in options else None,
        wording=", ".join(sorted(options.values())) or row["prompt_label"],
        order="".join(options),
    )

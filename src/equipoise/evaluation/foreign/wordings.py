"""True or False, asked in two wordings: VSR's statements as they are, and reworded, one CSV each.

An answer is written as a score of 1 (right) or 0 (wrong), and the hard negative as 0.5. So Original accuracy is the
share right in the first wording, Augmented accuracy the share right in both, and Brittleness the share right in one.

Where the rewording turns the truth ("above" to "below") only true statements count, because "not above" does not entail
"below".
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from equipoise.errors import Problems, UserError
from equipoise.evaluation.foreign.base import Foreign, check_ids, check_single, name_some
from equipoise.evaluation.scores import ItemScores
from equipoise.readers.tables import table

COLUMNS = (
    "example_id",
    "condition",
    "statement",
    "original_statement",
    "relation",
    "ground_truth",
    "expected_transformed_label",
    "prediction",
    "model_condition",
)
FIRST = "normal"  # the condition of the statements as they are
_TRUTH = ("True", "False")
Row = dict[str, str]


def vsr(paths: Sequence[Path]) -> Foreign:
    """The two files may come in either order."""
    files = [_read(path) for path in paths]
    plain = [place for place, rows in enumerate(files) if rows[0]["condition"] == FIRST]
    if len(files) != 2 or len(plain) != 1:
        found = ", ".join(f"{path} ({rows[0]['condition']})" for path, rows in zip(paths, files, strict=True))
        raise UserError(
            f"{found}: expected two files, the answers to the statements as they are (condition {FIRST}) and to the "
            "reworded ones (such as sorev): equipoise metrics NORMAL.csv REWORDED.csv --bench vsr-pairs"
        )
    first, reworded = files[plain[0]], files[1 - plain[0]]
    answers = {row["example_id"]: row for row in first}
    problems = Problems(f"{paths[1 - plain[0]]}: not rewordings of {paths[plain[0]]}")
    check_single(problems, "model_condition", (row["model_condition"] for row in (*first, *reworded)))
    name_some(
        problems, "ids unknown there", [row["example_id"] for row in reworded if row["example_id"] not in answers]
    )
    known = [row for row in reworded if row["example_id"] in answers]
    others = [row["example_id"] for row in known if not _same(row, answers[row["example_id"]])]
    name_some(problems, "ids with another statement or another truth there", others)
    unknown = [row["example_id"] for row in reworded if row["expected_transformed_label"] not in _TRUTH]
    name_some(problems, "rows without the truth of the reworded statement (expected_transformed_label)", unknown)
    problems.raise_if_any("Name the two files of one model.")
    kept = [row for row in reworded if row["ground_truth"] in (row["expected_transformed_label"], "True")]
    if not kept:
        raise UserError(f"{paths[1 - plain[0]]}: no statement whose rewording has a known truth")
    asked = [(answers[row["example_id"]], row) for row in kept]
    refused = sum(row["prediction"] not in _TRUTH for pair in asked for row in pair)
    notes = (
        "Orig. is the accuracy in the first wording, Aug. the share right in both, Brittleness the share right in one",
        f"accuracy in the second wording ({kept[0]['condition']}): "
        f"{sum(_right(row, 'expected_transformed_label') for row in kept) / len(kept):.1%}",
        f"{refused:,} of {2 * len(kept):,} answers are neither True nor False and count as wrong" if refused else "",
        f"left out: {len(reworded) - len(kept):,} false statements, whose rewording need not be true"
        if len(kept) < len(reworded)
        else "",
    )
    rows = [
        ItemScores(
            id=row["example_id"],
            image=row.get("source_image_id") or None,
            caption=float(_right(before, "ground_truth")),
            positives=[float(_right(row, "expected_transformed_label"))],
            negatives=[0.5],
            tags={"wording": row["condition"], "relation": row["relation"], "label": row["ground_truth"].lower()},
        )
        for before, row in asked
    ]
    return Foreign(
        "VSR's answers in two wordings", rows, True, tuple(filter(None, notes)), fit=lambda rows, _: (rows, ())
    )


def _read(path: Path) -> list[Row]:
    problems = Problems(f"{path}: not answers to VSR's statements")
    header, lines = table(path)
    rows = [dict(zip(header, cells, strict=True)) for _, cells in lines]
    for (line, _), row in zip(lines, rows, strict=True):
        if row["ground_truth"] not in _TRUTH:
            problems.add(f"line {line}", f"ground_truth: expected True or False, found {row['ground_truth']!r}")
    check_single(problems, "condition", (row["condition"] for row in rows))
    ids = [row["example_id"] for row in rows]
    check_ids(problems, ids, list(dict.fromkeys(ids)), "ids")
    problems.raise_if_any("Expected one row a statement, each id once.")
    return rows


def _same(row: Row, other: Row) -> bool:
    return all(row[column] == other[column] for column in ("original_statement", "ground_truth"))


def _right(row: Row, truth: str) -> bool:
    return row["prediction"] == row[truth]

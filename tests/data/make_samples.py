"""Draws the samples beside this script from the whole annotation files; see README.md.

    python tests/data/make_samples.py FOLDER

FOLDER holds sugarcrepe/, sugarcrepe_pp/, valse/ and negclip/, as `equipoise bench fetch NAME --out FOLDER/NAME` gets
them. Nothing is random: the same files give the same bytes.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
PER_FILE = 30
PER_VALSE_FILE = 20  # two of these invalid
ROWS = 60  # of NegCLIP: the first, since a row's place is its id


def spread(values: list[Any], count: int) -> list[Any]:
    """`count` values, evenly spaced over the list, the first one included."""
    return [values[place * len(values) // count] for place in range(count)]


def sugarcrepe(records: dict[str, Any]) -> dict[str, Any]:
    return dict(spread(list(records.items()), PER_FILE))


def sugarcrepe_pp(records: list[Any]) -> list[Any]:
    """With the one record whose second caption is the first."""
    same = [record for record in records if record["caption"] == record["caption2"]]
    drawn = spread(records, PER_FILE)
    return sorted(drawn + [record for record in same if record not in drawn], key=lambda record: record["id"])


def valse(records: dict[str, Any]) -> dict[str, Any]:
    """Mostly valid items, one with a single vote for the caption and one with none, in the order of the file."""
    votes = {key: record["mturk"]["caption"] for key, record in records.items()}
    wanted = spread([key for key in votes if votes[key] >= 2], PER_VALSE_FILE - 2)
    wanted += [next(key for key in votes if votes[key] == few) for few in (0, 1)]
    return {key: record for key, record in records.items() if key in wanted}


def main(source: Path) -> None:
    for name, draw in (("sugarcrepe", sugarcrepe), ("sugarcrepe_pp", sugarcrepe_pp), ("valse", valse)):
        (HERE / name).mkdir(exist_ok=True)
        for path in sorted((source / name).glob("*.json")):
            drawn = draw(json.loads(path.read_text(encoding="utf-8")))
            text = json.dumps(drawn, indent=1, ensure_ascii=False) + "\n"
            (HERE / name / path.name).write_text(text, encoding="utf-8")
    lines = (source / "negclip" / "valid_neg_clip.tsv").read_text(encoding="utf-8").splitlines(keepends=True)
    (HERE / "negclip").mkdir(exist_ok=True)
    (HERE / "negclip" / "valid_neg_clip.tsv").write_text("".join(lines[: ROWS + 1]), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))

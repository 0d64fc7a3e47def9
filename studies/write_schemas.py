"""docs/result.schema.json: the fields of result.json as a JSON Schema, from the classes that write it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from equipoise.core.files import write_json
from equipoise.evaluation.record import RunRecord
from studies.harness.inputs import arguments

RESULT = Path(__file__).resolve().parents[1] / "docs" / "result.schema.json"


def result_schema() -> dict[str, Any]:
    """The schema; a test holds the file equal to it."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema"} | RunRecord.model_json_schema()


if __name__ == "__main__":
    arguments(__doc__).parse_args()
    write_json(RESULT, result_schema())
    print(f"wrote {RESULT}")

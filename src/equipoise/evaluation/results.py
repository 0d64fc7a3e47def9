"""A run on disk: result.json (the record one can trust in a year) and items.jsonl (scores and outcomes).

Both are written atomically and result.json last, so a folder that has it is whole.
"""

from __future__ import annotations

import importlib.metadata
import json
import platform
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import equipoise
from equipoise.errors import UserError
from equipoise.evaluation.metrics import Outcomes
from equipoise.evaluation.scores import ItemScores
from equipoise.files import atomic_write, read_json, write_json
from equipoise.items import Item

SCHEMA = 1


def write_run(
    folder: Path,
    result: Mapping[str, Any],
    rows: Sequence[ItemScores],
    outcomes: Outcomes,
    items: Mapping[str, Item],
) -> None:
    """Write a finished run; nothing of it is visible as finished before everything is on disk.

    The texts go beside their scores, so that a run can be read, and its failures looked at, without the benchmark.
    """
    with atomic_write(folder / "items.jsonl") as handle:
        for index, row in enumerate(rows):
            record = row.model_dump(exclude_none=True) | {"outcome": outcomes.of(index)}
            if item := items.get(row.id):
                record["texts"] = {
                    "caption": item.caption,
                    "positives": [text.text for text in item.positives],
                    "negatives": [text.text for text in item.negatives],
                }
            handle.write(json.dumps(record, ensure_ascii=False) + "\n")
    write_json(folder / "result.json", {"schema": SCHEMA, **result})


def read_result(folder: Path) -> dict[str, Any]:
    """The result of a run folder (or of a result.json named itself); a schema from the future is refused."""
    path = folder / "result.json" if folder.is_dir() else folder
    if not path.exists():
        raise UserError(f"{folder}: no finished run here (result.json is missing); make one with `equipoise eval`")
    result = read_json(path)
    if not isinstance(result, dict) or type(result.get("schema")) is not int:
        raise UserError(f"{path}: not a result of equipoise (the field 'schema' is missing)")
    if result["schema"] > SCHEMA:
        raise UserError(
            f"{path}: schema {result['schema']}, written by a newer equipoise; this one "
            f"({equipoise.__version__}) reads up to {SCHEMA}. Upgrade: pip install --upgrade equipoise"
        )
    if wrong := [part for part in ("benchmark", "model", "metrics") if not isinstance(result.get(part), dict)]:
        raise UserError(f"{path}: not a whole result of equipoise ({', '.join(wrong)} missing)")
    return result


def find_runs(folders: Sequence[Path]) -> list[tuple[Path, dict[str, Any]]]:
    """Every finished run in or below the folders, in order."""
    found = []
    for folder in folders:
        places = sorted(path.parent for path in folder.rglob("result.json")) if folder.is_dir() else [folder]
        if not places:
            raise UserError(f"{folder}: no finished run in it (no result.json); make one with `equipoise eval`")
        found += [(place, read_result(place)) for place in places]
    return found


# ---------------------------------------------------------------------------- provenance


def environment() -> dict[str, Any]:
    """What the numbers may depend on besides model and data."""
    return {
        "equipoise": equipoise.__version__,
        "code": code_revision(),
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
        "packages": {name: _version(name) for name in ("torch", "transformers", "tokenizers", "numpy", "pillow")},
    }


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def code_revision() -> dict[str, Any] | None:
    """Commit and dirty flag where the package runs from a checkout, else None (the version says it then)."""
    here = Path(__file__).parent

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(here), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=10).stdout.strip()

    try:
        git("ls-files", "--error-unmatch", "__init__.py")
        return {"revision": git("rev-parse", "HEAD"), "dirty": bool(git("status", "--porcelain", "--", str(here)))}
    except (OSError, subprocess.SubprocessError):
        return None

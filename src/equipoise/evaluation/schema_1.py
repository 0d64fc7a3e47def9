"""result.json as equipoise 0.1.0 wrote it before schema 2: turned into the present fields, so that it still reads.

What was not recorded becomes null, never a guess. What is damaged stays damaged: the present types then say where.
"""

from __future__ import annotations

from typing import Any

_NOT_RECORDED = ("splits", "limit", "macro", "least", "metrics", "ties", "citation", "notes")


def converted(old: dict[str, Any]) -> dict[str, Any]:
    """The fields of schema 2 for a result of schema 1; its arguments stay the strings they were."""
    new = {name: value for name, value in old.items() if name not in ("status", "ties", "seed", "allow_missing")}
    new |= {"schema": 2, "date": None, "images": None, "scores_sha256": None}
    new["settings"] = {name: old[name] for name in ("seed", "allow_missing") if name in old}
    new["settings"] |= {"batch_size": None, "embedding_code": None}
    if isinstance(benchmark := old.get("benchmark"), dict):
        new["benchmark"] = benchmark | dict.fromkeys(_NOT_RECORDED)
    if isinstance(arguments := old.get("arguments"), dict) and isinstance(full := arguments.get("in_full"), dict):
        kept = {name: value for name, value in full.items() if name not in ("seed", "allow_missing")}
        new["arguments"] = arguments | {"in_full": kept}
    return new

"""inspect_ai's logs: a .json, or an .eval zip with a header and one file for each sample. An epoch is a repeat."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from equipoise.published.logs.opening import members
from equipoise.published.logs.said import LETTERS, Log, Said, cut, exported, scores_of_export, text_of

NAME = "inspect_ai"
_VALUES = {
    "C": True,
    "I": False,
    "N": False,
    "1": True,
    "1.0": True,
    "0": False,
    "0.0": False,
    "True": True,
    "False": False,
}


def known(record: Mapping[str, object]) -> bool:
    return "epoch" in record and {"input", "target", "output"} <= record.keys()


def read_all(paths: Sequence[Path]) -> list[Log]:
    logs = []
    for path in paths:
        log, failed, head = Log(NAME, "", "", [path], []), 0, {}
        for name, value in members(path):
            if name != "samples":
                head[name] = value
            elif isinstance(value, dict) and value.get("error"):
                failed += 1
            elif isinstance(value, dict):
                log.rows.append(_row(value))
        about = head.get("eval") or {}
        log.dataset = text_of(about.get("task")).replace("/", "-") or path.stem
        log.model = text_of(about.get("model"))
        results = head.get("results") or {}
        for score in results.get("scores") or ():
            for name, metric in (score.get("metrics") or {}).items():
                if "accuracy" in name and isinstance(metric.get("value"), int | float):
                    log.printed.setdefault("accuracy", 100 * metric["value"])
        log.expected = int(results.get("total_samples") or 0)
        right = [row.right for row in log.rows if row.right is not None]
        log.scores = scores_of_export(log) or ({"accuracy": 100 * sum(right) / len(right)} if right else {})
        if text_of(head.get("status")) not in {"success", ""}:
            log.notes.append(f"the run did not finish: its status is {head['status']}")
        if failed:
            log.notes.append(f"{failed:,} samples ended with an error and have no answer")
        logs.append(log)
    return logs


def _row(sample: Mapping[str, Any]) -> Said:
    options = tuple(map(text_of, sample.get("choices") or ()))
    scores = sample.get("scores") or {}
    score: dict[str, object] = next(iter(scores.values()), {}) if isinstance(scores, dict) else {}
    output = sample.get("output") or {}
    said = output.get("completion") or _words(((output.get("choices") or [{}])[0].get("message") or {}).get("content"))
    epoch = max(0, int(sample.get("epoch") or 1) - 1)
    if (ours := exported(sample.get("metadata"), text_of(said), epoch)) is not None:
        return ours
    target = sample.get("target")
    truths = tuple(text_of(truth).strip() for truth in (target if isinstance(target, list) else [target]))
    if options:
        truths = tuple(
            options[LETTERS.index(letter)] for letter in truths if letter in LETTERS[: len(options)] and letter
        )
    content = sample.get("input")
    asked = content[-1].get("content") if isinstance(content, list) and content else content
    pictures = [part.get("image") for part in asked if isinstance(part, dict)] if isinstance(asked, list) else []
    return Said(
        key=text_of(sample.get("id")), said=cut(text_of(said)), truth=tuple(filter(None, truths)), options=options,
        question=cut(_words(asked)), right=_VALUES.get(text_of(score.get("value"))),
        choice=text_of(score.get("answer")) or None,
        image=next((text_of(shown)[:100] for shown in pictures if shown), None),
        variants={"repeat": epoch},
    )  # fmt: skip


def _words(content: object) -> str:
    """The text of a message, of which pictures are other parts."""
    if isinstance(content, list):
        return " ".join(text_of(part.get("text")) for part in content if isinstance(part, dict) and part.get("text"))
    return text_of(content)

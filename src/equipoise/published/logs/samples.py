"""Samples of lm-evaluation-harness and lmms-eval, which write alike: samples_TASK.jsonl, or one .json with `logs`.

`doc_hash` is the hash of "null" in lmms-eval's newer files, so the number of the document is the key. `target` is a
letter, a text, or the number of an option; an answer is a text, or the log-likelihood of each option.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from equipoise.published.logs.opening import is_object, members, records
from equipoise.published.logs.said import LETTERS, Log, Said, asked, cut, exported, scores_of_export, text_of

NAME = "lmms-eval or lm-eval"
_NO_METRIC = set(
    "doc_id doc target arguments resps filtered_resps filter metrics doc_hash prompt_hash target_hash input "
    "input_media token_counts doc_index".split()
)
_FILE = re.compile(
    r"^(?:(?P<before>.*?)_)?(?P<date>\d{8}_\d{6})?_?samples_(?P<task>.+?)(?:_\d{4}-\d\d-\d\dT[\d.-]+)?\.jsonl?(?:\.gz)?$"
)


def known(record: Mapping[str, object]) -> bool:
    return "doc_id" in record and bool({"filtered_resps", "resps"} & record.keys())


def read_all(paths: Sequence[Path]) -> list[Log]:
    logs = []
    for path in paths:
        head = {name: value for name, value in members(path) if name != "logs"} if is_object(path) else {}
        name = _FILE.match(path.name)
        task = name["task"] if name else text_of(head.get("task_name")) or path.name.partition(".")[0]
        log = Log(NAME, task, (name["before"] if name else "") or path.parent.name, [path], [])
        _results(path, log, name["date"] if name else "")
        totals: dict[str, list[float]] = {}
        log.rows = list(_rows(path, log, totals))
        means = {metric: 100 * sum(values) / len(values) for metric, values in totals.items() if values}
        log.scores = means | scores_of_export(log)
        logs.append(log)
    return logs


def _results(path: Path, log: Log, date: str | None) -> None:
    """Model and printed scores from the results file of the same date next to the samples."""
    for beside in sorted(path.parent.glob(f"*{date}*results*.json" if date else "*results*.json")):
        try:
            value = json.loads(beside.read_text(encoding="utf-8"))
            scores = value["results"].get(log.dataset, {})
        except (ValueError, OSError, KeyError, AttributeError, TypeError):
            continue
        shares = {name.partition(",")[0]: score for name, score in scores.items() if isinstance(score, float)}
        log.printed |= {name: 100 * share for name, share in shares.items() if "stderr" not in name}
        log.model = text_of(value.get("model_name")) or log.model
        log.expected = int(value.get("n-samples", {}).get(log.dataset, {}).get("effective", 0) or 0)


def _rows(path: Path, log: Log, totals: dict[str, list[float]]) -> Iterator[Said]:
    for record in records(path, log.problems):
        if not known(record):
            continue
        raw = record["doc"] if isinstance(record.get("doc"), dict) else {}
        prompt = text_of(record.get("input") or _prompt(record.get("arguments")))
        question, options = asked(prompt)
        listed = raw.get("choices") or raw.get("options") or raw.get("endings")
        if isinstance(listed, dict):
            listed = listed.get("text")
        if isinstance(listed, list) and all(isinstance(score, str) for score in listed):
            options = tuple(listed)
        answer = record.get("filtered_resps", record.get("resps"))
        target = record.get("target")
        right = None
        for name, value in record.items():
            score = value.get("score") if isinstance(value, dict) else value
            if name not in _NO_METRIC and isinstance(score, int | float) and not name.endswith("_bytes"):
                totals.setdefault(name, []).append(float(score))
                right = {0.0: False, 1.0: True}.get(float(score)) if right is None else right
        if (ours := exported(record.get("accuracy") or raw, _said(answer, ()))) is not None:
            yield ours
            continue
        media = record.get("input_media") or [None]
        yield Said(
            key=text_of(record["doc_id"]), said=cut(_said(answer, options)), question=cut(question), options=options,
            truth=_truth(target, options), right=right, image=text_of(media[0])[:200] or None,
        )  # fmt: skip


def _prompt(arguments: object) -> str:
    """[[prompt, settings]], or {"gen_args_0": {"arg_0": prompt}}."""
    while isinstance(arguments, list | dict) and arguments:
        arguments = next(iter(arguments.values())) if isinstance(arguments, dict) else arguments[0]
    return text_of(arguments)


def _said(answer: object, options: Sequence[str]) -> str:
    """The text, or of log-likelihoods the letter of the highest."""
    pairs = answer if isinstance(answer, list) else []
    numbers = []
    for pair in pairs:
        while isinstance(pair, list) and len(pair) == 1:
            pair = pair[0]
        first = pair[0] if isinstance(pair, list) and pair else None
        try:
            numbers.append(float(first) if first is not None and not isinstance(first, bool) else None)
        except (TypeError, ValueError):
            numbers.append(None)
    if len(numbers) > 1 and None not in numbers and len(numbers) <= len(LETTERS):
        return LETTERS[max(range(len(numbers)), key=lambda place: numbers[place] or 0.0)]
    return text_of(answer[0] if isinstance(answer, list) and answer else answer)


def _truth(target: object, options: Sequence[str]) -> tuple[str, ...]:
    text = text_of(target).strip()
    if options and text.isdigit() and int(text) < len(options):
        return (options[int(text)],)
    if options and len(text) == 1 and text in LETTERS[: len(options)]:
        return (options[LETTERS.index(text)],)
    return tuple(map(text_of, target)) if isinstance(target, list) else (text,) if text else ()

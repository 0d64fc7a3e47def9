"""Files of the OpenAI batch interface: requests out, results in. What is answered already is not written again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from equipoise.core.answer_store import AnswerStore, KeptAnswer
from equipoise.core.errors import Problems, UserError
from equipoise.core.files import atomic_write
from equipoise.data.readers.records import jsonl_lines
from equipoise.evaluation.asking.live import Request

MOST_LINES, MOST_BYTES = 50_000, 190_000_000  # of one file; OpenAI allows 200 MB


def custom_id(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()


def write_batches(
    folder: Path, requests: Iterable[Request], store: AnswerStore, model: object
) -> tuple[int, list[Path]]:
    """The requests without an answer, in files of allowed size; how many, and the files."""
    if folder.exists() and any(folder.iterdir()):
        raise UserError(f"--batch-out {folder}: the folder is not empty; name another one")
    folder.mkdir(parents=True, exist_ok=True)
    paths: list[Path] = []
    count = 0
    for lines in _parts(_lines(requests, store, model)):
        paths.append(folder / f"batch-{len(paths):03}.jsonl")
        with atomic_write(paths[-1]) as handle:
            handle.writelines(lines)
        count += len(lines)
    return count, paths


def _lines(requests: Iterable[Request], store: AnswerStore, model: Any) -> Iterator[str]:
    seen: set[str] = set()
    for request in requests:
        if request.key not in seen and store.get(request.key) is None:
            seen.add(request.key)
            body = model.request_body(request.pictures, request.asked.prompt)
            line = {"custom_id": custom_id(request.key), "method": "POST", "url": "/v1/chat/completions", "body": body}
            yield json.dumps(line) + "\n"


def _parts(lines: Iterable[str]) -> Iterator[list[str]]:
    part: list[str] = []
    size = 0
    for line in lines:
        if part and (len(part) == MOST_LINES or size + len(line) > MOST_BYTES):
            yield part
            part, size = [], 0
        part.append(line)
        size += len(line)
    if part:
        yield part


def read_batches(paths: Iterable[Path], requests: Iterable[Request], store: AnswerStore) -> tuple[int, int, list[str]]:
    """Keep the answers of result files. How many were kept, how many requests still have none, and what failed."""
    keys = {custom_id(request.key): request.key for request in requests}
    kept, failed = 0, []
    for path in paths:
        problems = Problems(str(path))
        for where, raw in jsonl_lines(path, problems):
            try:
                value = json.loads(raw)
                key = keys.get(value["custom_id"])
                response = value.get("response") or {}
                if response.get("status_code") != 200:
                    failed.append(f"{path.name}, {where}: {json.dumps(value.get('error') or response)[:200]}")
                    continue
                said = response["body"]["choices"][0]["message"]["content"] or ""
            except (ValueError, KeyError, IndexError, TypeError, AttributeError):
                problems.add(where, "not a result of the batch interface (custom_id, response)")
                continue
            if key is not None:
                store.put(key, KeptAnswer(str(said), "stop"))
                kept += 1
        problems.raise_if_any("Expected the output file of a batch that --batch-out wrote.")
    missing = sum(store.get(key) is None for key in keys.values())
    return kept, missing, failed

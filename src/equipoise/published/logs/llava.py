"""LLaVA's answers (answers/*.jsonl), with the truth from a question file or an upload sheet that is named too.

An answer file has question_id, prompt and text. Its rotations of MMBench are numbered 1,000,000 apart (`round_id` is
always 0). Question files have the same ids; where one id has several questions, they are taken in order.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from equipoise.core.errors import UserError
from equipoise.published.logs.opening import records
from equipoise.published.logs.said import Log, Said, asked, cut, read, text_of

NAME = "LLaVA"
CIRCULAR = 1_000_000
SIZES = {"pope": 8910, "mme": 2374, "mmbench_dev": 4377}
_TASK = re.compile(r"\s*(?:Answer (?:the question )?(?:using|with).*|Please answer yes or no\.?)$", re.DOTALL)


def known(record: Mapping[str, object]) -> bool:
    return "question_id" in record and bool({"text", "prediction"} & record.keys()) and not is_question(record)


def is_question(record: Mapping[str, object]) -> bool:
    """A question file: what was asked, and perhaps the truth, without an answer."""
    if "conversations" in record:
        return True
    return "question_id" in record and "text" in record and not {"answer_id", "model_id", "prompt"} & record.keys()


def named(path: Path, record: Mapping[str, object]) -> tuple[str, str]:
    """Model and dataset; answers/mmbench_dev/MODEL.jsonl, pope/answers/MODEL.jsonl, vsr/MODEL/predictions.jsonl."""
    stem = path.name.partition(".jsonl")[0].partition(".json")[0]
    folders = [part for part in path.parent.parts if not part.startswith("answers")]
    folder = folders[-1] if folders else stem
    model = text_of(record.get("model_id"))
    if not model:
        return (folder, folders[-2] if len(folders) > 1 else stem)
    dataset = stem.replace(model, "").strip("_-. ") or folder
    return model, folders[-2] if dataset == model and len(folders) > 1 else dataset


def questions(rows: Iterable[Mapping[str, object]]) -> dict[str, list[dict[str, object]]]:
    by_id: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for record in rows:
        talk = record.get("conversations")
        question = {name: record.get(name) for name in ("image", "category", "text", "label", "answer")}
        if isinstance(talk, list) and len(talk) > 1:
            question |= {"text": text_of(talk[0].get("value")), "label": text_of(talk[1].get("value"))}
        by_id[text_of(record.get("question_id", record.get("id")))].append(question)
    return by_id


def rows(records: Iterable[Mapping[str, Any]], about: Mapping[str, list[dict[str, Any]]]) -> Iterator[Said]:
    seen: Counter[str] = Counter()
    for record in records:
        if "question_id" not in record or not {"text", "prediction"} & record.keys():
            continue
        id_ = text_of(record["question_id"])
        listed = about.get(id_, [])
        place = seen[id_]
        seen[id_] += 1
        asks = listed[place] if place < len(listed) else {}
        question, options = asked(_TASK.sub("", text_of(record.get("prompt") or asks.get("text"))))
        if isinstance(record.get("options"), list):
            options = tuple(text_of(option) for option in record["options"])
        image = text_of(asks.get("image")) or (id_ if re.search(r"\.(?:jpe?g|png)$", id_) else None)
        key = str(int(id_) % CIRCULAR) if id_.isdigit() and options else id_
        if image and not options:
            key = f"{Path(image).name} {question}"  # POPE asks the same of one photo in several splits
        elif place:
            key = f"{key}/{place}"  # an id that each split uses anew
        truth = text_of(asks.get("label") if asks.get("label") is not None else asks.get("answer"))
        tags = {"category": text_of(asks["category"])} if asks.get("category") else {}
        yield Said(
            key=key, said=cut(text_of(record.get("text", record.get("prediction")))), options=options, image=image,
            question=question, truth=(truth,) if truth else (), tags=tags,
        )  # fmt: skip


def read_all(paths: Sequence[Path]) -> list[Log]:
    """One log for each answer file, with the question files among `paths`."""
    asks = [path for path in paths if is_question(next(records(path), {}))]
    about = questions(record for path in asks for record in records(path))
    logs = []
    for path in paths:
        if path in asks:
            continue
        model, dataset = named(path, next(records(path), {}))
        log = Log(NAME, dataset, model, [path, *asks], [])
        log.rows = list(rows(_taken(path, log), about))
        size = next((count for name, count in SIZES.items() if name in f"{dataset} {path.name}".lower()), 0)
        log.expected = sum(map(len, about.values())) or size
        right = [read(row).right for row in log.rows]
        if None in right:
            log.notes.append(
                "no truth, so nothing is right or wrong: name a question file that has it, or the upload sheet"
            )
        elif right:
            log.scores = {"accuracy": 100 * sum(map(bool, right)) / len(right)}
        logs.append(log)
    return logs


def _taken(path: Path, log: Log) -> Iterator[dict[str, object]]:
    """The records; a last line such as {"Total_accuracy": "72.01%"} is the printed score."""
    for record in records(path, log.problems):
        if (other := text_of(record.get("model_id")) or log.model) != log.model:
            raise UserError(f"{path}: answers of {log.model!r} and {other!r} are mixed in this file; split it")
        for name, value in record.items() if "question_id" not in record else ():
            if "accuracy" in name.lower() and (number := re.fullmatch(r"([\d.]+)%?", text_of(value))):
                log.printed["accuracy"] = float(number[1])
        yield record

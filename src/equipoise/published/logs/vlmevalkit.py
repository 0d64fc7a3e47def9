"""VLMEvalKit's sheets (MODEL_DATASET.xlsx), with its verdicts (_openai_result, _auxmatch); LLaVA's upload sheets too.

Its circular sets have each question in every rotation of the options, numbered 1,000,000 apart. The verdicts of such a
set are one row a question, so flips need the sheet of all rows.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from equipoise.published.logs.opening import records
from equipoise.published.logs.said import LETTERS, Log, Said, cut, lettered, read, text_of

NAME = "VLMEvalKit"
CIRCULAR = 1_000_000
VERDICTS = re.compile(r"(?:_(?:openai|exact_matching|gpt[\w.-]*|chatgpt[\w.-]*)_result|_auxmatch)$")
SIZES = {  # rows of the whole dataset
    "POPE": 5127, "MME": 2374, "HallusionBench": 951, "CCBench": 2040, "MMStar": 1500, "RealWorldQA": 765,
    "SEEDBench_IMG": 14232, "ScienceQA_TEST": 2017, "TextVQA_VAL": 5000, "CV-Bench-2D": 1438, "AI2D_TEST": 3088,
    "BLINK": 1901, "MMBench_DEV_EN": 4329, "MMBench_DEV_CN": 4329,
}  # fmt: skip
_PARTS = re.compile(rf"^(?P<model>.+?)_(?P<dataset>(?:{'|'.join(SIZES)}|[A-Z]\w*|tdbench)[\w.\[\]-]*)$")
_TURNED = re.compile(r"_rot(\d+)$")
_FIGURE = re.compile(r"^(?P<set>\w+?_\w+?)_(?P<seen>\d+)_(?P<number>\d+)_(?P<figure>\d+)_(?P<question>\d+)$")


def known(record: Mapping[str, object]) -> bool:
    return {"index", "prediction"} <= record.keys() and ("answer" in record or "question" in record)


def named(path: Path) -> tuple[str, str, dict[str, str]]:
    """Model, dataset and variant, by the name of the file."""
    stem, variant = _stem(path), {}
    if turned := _TURNED.search(stem):
        stem, variant = stem[: turned.start()], {"picture": f"turned by {turned[1]} degrees"}
    parts = _PARTS.match(stem)
    if parts is None:
        return stem, path.parent.name, variant
    model, dataset = parts["model"], parts["dataset"]
    known_as = max((name for name in SIZES if dataset.startswith(name)), key=len, default=dataset)
    if len(known_as) < len(dataset):
        variant["context"] = dataset.removeprefix(known_as).strip("_")
    return model, known_as, variant


def _stem(path: Path) -> str:
    return VERDICTS.sub("", path.name.removesuffix(".gz").rpartition(".")[0])


def is_verdict(path: Path) -> bool:
    return _stem(path) != path.name.removesuffix(".gz").rpartition(".")[0]


def rows(path: Path, records: Iterable[Mapping[str, object]]) -> Iterator[Said]:
    variant = named(path)[2]
    for record in records:
        index, tags = text_of(record["index"]), {}
        tags = {name: text_of(record[name]) for name in ("category", "l2-category", "split") if record.get(name)}
        options, truth = lettered(record), text_of(record.get("answer")).strip()
        at = LETTERS.index(truth) if len(truth) == 1 and truth in LETTERS[: len(options)] else None
        right = {"1": True, "0": False, "true": True, "false": False}.get(
            text_of(record.get("hit", record.get("score"))).removesuffix(".0").lower()
        )
        choice = text_of(record["extracted"]) if record.get("extracted") else None
        key, variants = index, dict(variant)
        if index.removesuffix(".0").isdigit():
            key = str(int(float(index)) % CIRCULAR)
        elif match := _FIGURE.match(index):
            key = f"{match['set']}_{match['number']}_{match['question']}"
            variants["question"] = f"figure {match['figure']}"
            tags["figure"] = f"{match['set']}_{match['number']}_{match['figure']}"
        yield Said(
            key=key, said=cut(text_of(record.get("prediction"))), options=options, at=at,
            truth=(options[at],) if at is not None else _truths(truth),
            question=text_of(record.get("question")), right=right, choice=choice, tags=tags, variants=variants,
            image=text_of(record.get("image_path")) or None,
        )  # fmt: skip


def _truths(truth: str) -> tuple[str, ...]:
    if truth.startswith("[") and truth.endswith("]"):  # a list as Python writes it
        return tuple(
            one for pair in re.findall(r"'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\"", truth) for one in pair if one
        )
    return (truth,) if truth else ()


def scores(log: Log) -> dict[str, float]:
    """Its own score, by its own rule, in percent."""
    right = [(row, bool(read(row).right)) for row in log.rows]
    if any("figure" in row.tags for row, _ in right):  # HallusionBench: all rows, all of a figure, all of a question
        figures = _all((row.tags["figure"], won) for row, won in right)
        return {
            "aAcc": _share(won for _, won in right),
            "fAcc": _share(figures),
            "qAcc": _share(_all((row.key, won) for row, won in right)),
        }
    if log.dataset.startswith("POPE"):  # a row belongs to each of its splits
        return {"acc": _share(won for row, won in right for _ in row.tags.get("category", "").split(","))}
    if log.dataset.startswith("MME"):
        return _mme(right)
    rows = _share(won for _, won in right)
    if any(len(row.truth) > 1 for row in log.rows):
        return {"one of the given answers": rows}
    first = {row.key: won for row, won in reversed(right)}
    if len(first) == len(right):
        return {"Overall": rows}
    all_rotations = _share(_all((row.key, won) for row, won in right))
    return {"Overall": all_rotations, "the first rotation": _share(first.values()), "all rows": rows}


def _mme(right: Sequence[tuple[Said, bool]]) -> dict[str, float]:
    """Accuracy of questions plus accuracy of photos with both right, by category, summed over perception."""
    reasoning = {"code_reasoning", "commonsense_reasoning", "numerical_calculation", "text_translation"}
    points = {"perception": 0.0, "reasoning": 0.0}
    for category in {row.tags.get("category", "") for row, _ in right}:
        some = [(row.image or row.key, won) for row, won in right if row.tags.get("category", "") == category]
        points["reasoning" if category in reasoning else "perception"] += _share(won for _, won in some) + _share(
            _all(some)
        )
    return points


def _all(pairs: Iterable[tuple[str, bool]]) -> list[bool]:
    all_won: dict[str, bool] = {}
    for key, won in pairs:
        all_won[key] = all_won.get(key, True) and won
    return list(all_won.values())


def _share(values: Iterable[bool]) -> float:
    listed = list(values)
    return 100 * sum(listed) / len(listed) if listed else 0.0


def printed(path: Path) -> dict[str, float]:
    """The score that the harness wrote into MODEL_DATASET_acc.csv or _score.csv next to a sheet."""
    for ending, times in (("_acc.csv", 100.0), ("_score.csv", 1.0)):
        beside = path.with_name(_stem(path) + ending)
        if beside.is_file():
            with beside.open(encoding="utf-8-sig", newline="") as handle:
                first = next(csv.DictReader(handle), {})
            return {name: times * float(cell) for name, cell in first.items() if re.fullmatch(r"[\d.]+", cell or "")}
    return {}


def read_all(paths: Sequence[Path]) -> list[Log]:
    """One log for each model and dataset; of a sheet and its verdicts the one with more rows, or with verdicts."""
    sheets: dict[tuple[Path, str], list[Path]] = {}
    for path in paths:
        sheets.setdefault((path.parent, _stem(path)), []).append(path)
    logs: dict[tuple[str, str], Log] = {}
    for both in sheets.values():
        model, dataset, _ = named(both[0])
        log = logs.setdefault((model, dataset), Log(NAME, dataset, model, [], []))
        log.printed = {} if log.files else printed(both[0])  # of one sheet, not of several together
        log.files += both
        given = [list(rows(path, records(path, log.problems))) for path in both]
        most = max(given, key=lambda some: (len(some), sum(row.right is not None for row in some)))
        log.rows += most
        log.expected += SIZES.get(dataset, 0)
        if judged := [some for some in given if len(some) < len(most)]:
            right = [bool(row.right) for row in judged[0]]
            log.notes.append(f"its verdicts, one row a question: {_share(right):.2f}% of {len(right):,} are right")
    for log in logs.values():
        log.scores = scores(log) if len({_stem(path) for path in log.files}) == 1 else {}
        if log.expected > len(log.rows) and is_verdict(log.files[0]):
            log.notes.append("verdicts of a circular set are one row a question; flips need the sheet without _result")
    return list(logs.values())

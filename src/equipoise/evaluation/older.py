"""Reads records of schema 4, which kept mean scores, graded numbers, papers' metrics and cosines of texts apart."""

from __future__ import annotations

from typing import Any

SCHEMA = 4
_OF_PAIRS = {"invariance_error": "n_positives", "sensitivity_gap": "n_negatives", "positive_rate": "n_negatives"}
_RENAMED = {f"{name}{end}": f"{name}_score{end}" for name in ("text", "image", "group") for end in ("", "_interval")}
_COUNTS = ("n", "rows", "n_same_statement")  # each is the n of other numbers today


def read(value: dict[str, Any]) -> dict[str, Any]:
    """The record as one of schema 5; what is damaged raises a KeyError, TypeError or AttributeError, or stays so."""
    metrics = dict(value["metrics"])
    macro, paper = metrics.pop("macro"), metrics.pop("paper")
    averages = ({macro["rule"]: macro} if macro else {}) | metrics.get("averages", {})
    metrics |= {
        "overall": _whole(metrics["overall"]),
        "by": {tag: {name: _whole(numbers) for name, numbers in of.items()} for tag, of in metrics["by"].items()},
        "averages": {rule: _whole(numbers) for rule, numbers in averages.items()},
        "rule": macro and macro["rule"],
    }
    numbers = metrics["overall"]["metrics"]
    for name, values in paper.items():
        numbers |= _paper({_RENAMED.get(key, key) if name == "groups" else key: part for key, part in values.items()})
    numbers |= {f"text_cosine_{name}": values for name, values in value.get("text_cosines", {}).items()}
    kept = {name: part for name, part in value.items() if name != "text_cosines"}
    return kept | {"schema": SCHEMA + 1, "metrics": metrics}


def _whole(numbers: dict[str, Any]) -> dict[str, Any]:
    """Numbers of some items with their mean scores and graded numbers among the metrics."""
    numbers = dict(numbers)
    means, graded = numbers.pop("mean_scores", None) or {}, dict(numbers.pop("graded", None) or {})
    counts = {name: number["n"] for name, number in numbers["metrics"].items()}
    positives, negatives = counts.get("augmented", 0), counts.get("original", 0)
    n = {"caption": numbers["n"], "positive": positives, "negative": negatives}
    scores = {f"mean_score_{text}": _number(mean, n[text]) for text, mean in means.items()}
    intervals = graded.pop("intervals", {})
    for name, value in graded.items():
        if not name.startswith("n_"):
            of = graded[_OF_PAIRS[name]] if name in _OF_PAIRS else negatives if name == "margin" else positives
            scores[name] = _number(value, numbers["n"] if name == "spread" else of, intervals.get(name))
    return numbers | {
        "metrics": numbers["metrics"] | {name: value for name, value in scores.items() if value["value"] is not None}
    }


def _paper(numbers: dict[str, Any]) -> dict[str, Any]:
    return {
        name: _number(value, numbers.get(f"{name}_n", numbers.get("n", 0)), numbers.get(f"{name}_interval"))
        for name, value in numbers.items()
        if isinstance(value, int | float) and name not in _COUNTS and not name.endswith("_n")
    }


def _number(value: float | None, n: int, interval: list[float] | None = None) -> dict[str, Any]:
    return {"value": value, "interval": interval, "n": n}

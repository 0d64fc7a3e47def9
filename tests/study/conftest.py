"""Studies to test with: ten pictures, captions with a reworded and a wrong one, in a folder of their own."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from equipoise.data.items import ImageRef, Item, texts
from equipoise.study.making import make_study
from equipoise.study.questions import ANSWERS, Study, in_study_order, page_of, shown_order

Make = Callable[..., Path]


def some_items(count: int = 20, **fields: Any) -> list[Item]:
    return [
        Item(
            **{
                "id": f"made/{number:03}",
                "image": ImageRef(path=f"{number % 10}.png"),
                "caption": f"a cat on mat {number}",
                "positives": texts(f"one cat on mat {number}"),
                "negatives": texts(f"a dog on mat {number}"),
                "tags": {"split": ("colour", "size")[number % 2]},
            }
            | fields
        )
        for number in range(count)
    ]


@pytest.fixture(scope="session")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("photos")
    for number in range(10):
        grain = np.random.default_rng(number).integers(0, 256, (6, 9, 3), dtype=np.uint8)
        Image.fromarray(grain).resize((360, 240)).save(folder / f"{number}.png")
    return folder


@pytest.fixture
def make(tmp_path: Path, photos: Path) -> Make:
    """The folder of a study; `fields` are the items'."""

    def made(n: int = 8, ask: Any = "rank", name: str = "study", seed: int = 0, **fields: Any) -> Path:
        make_study(some_items(**fields), "made", tmp_path / name, n, seed, ask, photos if ask == "rank" else None)
        return tmp_path / name

    return made


def ranking(study: Study, annotator: str, number: int, best: str = "cp", tie: bool = False) -> list[int]:
    """A ranking as this annotator's screen would send it: the roles in `best` first, in this order (or tied)."""
    question = study.questions[number]
    roles = [*best, *(role for role in "cpn" if role not in best)]
    ranks = {role: 1 if tie and role in best else place for place, role in enumerate(roles, 1)}
    ordered = sorted({ranks[text.role] for text in question.texts})
    order = shown_order(study, annotator, question)
    return [1 + ordered.index(ranks[question.texts[place].role]) for place in order]


def stored(study: Study, annotator: str, number: int, best: str = "cp", tie: bool = False) -> Any:
    value = ranking(study, annotator, number, best, tie)
    return in_study_order(study, annotator, study.questions[number], value)


def answers_file(path: Path, about: Study, rows: Any, annotator: str = "anna", **fields: Any) -> Path:
    """The file that a page's button "Download answers" makes."""
    head = {"format": ANSWERS, "study": about.digest, "annotator": annotator}
    value = head | {"page": page_of(about, annotator.strip().casefold()), "answers": rows} | fields
    path.write_text(json.dumps(value))
    return path


def row(study: Study, number: int, best: str = "cp", annotator: str = "anna", **fields: Any) -> dict[str, Any]:
    return {"question": number, "value": ranking(study, annotator, number, best)} | fields

"""Run folders for reports: two models on the same items, with pictures, written by what writes an evaluation's."""

from __future__ import annotations

import functools
import io
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from equipoise.data.items import ImageRef, Item, texts
from equipoise.evaluation.averages import summarise
from equipoise.evaluation.outcomes import outcomes_of
from equipoise.evaluation.record import ItemCounts, Metrics, RunRecord
from equipoise.evaluation.results import write_run
from equipoise.evaluation.scores import ImageScores, ItemScores

Scores = tuple[float, float, float]  # caption, positive, negative
# every ordering and two ties; the second model is right where the first is brittle, and the other way round
ORDERS: Sequence[Scores] = [(3, 2, 1), (2, 3, 1), (3, 1, 2), (1, 3, 2), (2, 1, 3), (1, 2, 3), (2, 1, 2), (2, 2, 1)]


@functools.cache
def _png(number: int) -> bytes:
    """A coarse pattern; compressing it anew for every test took half of their time."""
    grain = np.random.default_rng(number).integers(0, 256, (20, 30, 3), dtype=np.uint8)
    found = io.BytesIO()
    Image.fromarray(grain).resize((300, 200)).save(found, "PNG")
    return found.getvalue()


@pytest.fixture
def make_runs(tmp_path: Path, make_record: Callable[..., RunRecord]) -> Callable[..., list[Path]]:
    """Folders of runs of `count` items by each model; `change` may alter the fields of an item."""

    def make(
        count: int = 64,
        models: Sequence[str] = ("first", "second"),
        change: Callable[[int], dict[str, Any]] | None = None,
    ) -> list[Path]:
        photos = tmp_path / "photos"
        photos.mkdir(exist_ok=True)
        for number in range(8):
            (photos / f"{number}.png").write_bytes(_png(number))
        items = []
        for number in range(count):
            fields: dict[str, Any] = {
                "id": f"made/{number:04}",
                "image": ImageRef(path=f"{number % 8}.png"),
                "caption": f"a cat number {number}",
                "positives": texts(f"one cat number {number}"),
                "negatives": texts(f"a dog number {number}"),
                "tags": {"type": ("colour", "size")[number % 3 == 0]},
            }
            items.append(Item(**fields | (change(number) if change else {})))
        return [write(tmp_path / "runs" / name, name, shift, items, photos) for shift, name in enumerate(models)]

    def write(folder: Path, name: str, shift: int, items: Sequence[Item], photos: Path) -> Path:
        rows = []
        for number, item in enumerate(items):
            c, p, n = ORDERS[(number + 2 * shift) % len(ORDERS)]
            counts = [len(part) for part in (item.positives, item.negatives)]
            others = [
                ImageScores(
                    image=ref.path, caption=n / 10, positives=[n / 10] * counts[0], negatives=[c / 10] * counts[1]
                )
                for ref in item.negative_images
            ]
            rows.append(
                ItemScores(
                    id=item.id,
                    image=item.image.path if item.image else None,
                    caption=c / 10,
                    positives=[p / 10] * len(item.positives),
                    negatives=[n / 10] * len(item.negatives),
                    negative_images=tuple(others),
                    tags=item.tags,
                )
            )
        outcomes = outcomes_of(rows)
        summary = summarise(outcomes, resamples=50)
        golden = make_record("made", items_sha256="0" * 64)
        full = {"images": str(photos)}
        record = golden.model_copy(
            update={
                "metrics": Metrics(overall=summary.overall, by=summary.by),
                "n": ItemCounts(items=len(rows), scored=len(rows), skipped=0),
                "arguments": full,
                "model": golden.model.model_copy(update={"spec": f"py:{name}"}),
            }
        )
        write_run(folder / "made", record, outcomes, {item.id: item for item in items})
        return folder

    return make

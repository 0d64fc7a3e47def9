"""Every reader against damaged files: it reads them, or says what is wrong. Nothing else, and not for long.

`make test` draws a few files per reader, `make fuzz` draws for about an hour (FUZZ=examples per reader).
"""

from __future__ import annotations

import contextlib
import os
import resource
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.fuzz import corpus

from equipoise.benchmarks import registry
from equipoise.benchmarks.fetching.archives import safe_unpack
from equipoise.core.errors import UserError
from equipoise.data.images import TarImages, decode_image
from equipoise.data.items import ImageRef, load_items
from equipoise.data.readers.captions.groups import read_captions
from equipoise.evaluation.results import read_result
from equipoise.evaluation.scores import read_scores

sugarcrepe = registry.get("sugarcrepe")

EXAMPLES = int(os.environ.get("FUZZ", "30"))
MOST_SECONDS = 20.0
MOST_MEGABYTES = 1_000


def captions(path: Path) -> None:
    for _ in read_captions(path):
        pass


def weights(path: Path) -> None:
    from equipoise.models.checkpoint import read_state

    read_state(path)


TABLE = b"id,image,caption,negative\n1,a.jpg,a dog,a cat\n2,b.jpg,x,y\n"
COCO = b'{"images": [{"id": 1, "file_name": "a.jpg"}], "annotations": [{"image_id": 1, "id": 2, "caption": "a dog"}]}'
SUGAR = b'{"0": {"filename": "a.jpg", "caption": "x", "negative_caption": "y"}}'
READERS: dict[str, tuple[str, Callable[[], bytes], Callable[[Path], Any]]] = {
    "items": ("x.jsonl", lambda: corpus.lines(corpus.ITEM), load_items),
    "items parquet": ("x.parquet", corpus.parquet, load_items),
    "scores": ("x.jsonl", lambda: corpus.lines(corpus.SCORE, 1), read_scores),
    "table": ("x.csv", lambda: TABLE, lambda p: registry.load_file(p, ())),
    "captions jsonl": ("x.jsonl", lambda: corpus.lines({"caption": "a dog", "image": "a.jpg"}), captions),
    "captions items": ("x.jsonl", lambda: corpus.lines(corpus.ITEM), captions),
    "captions json": ("x.json", lambda: b"[" + b",".join([b'{"caption": "a dog"}'] * 5) + b"]", captions),
    "captions coco": ("x.json", lambda: COCO, captions),
    "captions tsv": ("x.tsv", lambda: b"image\tcaption\na.jpg\ta dog\nb.jpg\ta cat\n", captions),
    "captions parquet": ("x.parquet", corpus.parquet, captions),
    "captions tar": ("x.tar", corpus.tar, captions),
    "annotations": ("add_att.json", lambda: SUGAR, lambda p: sugarcrepe.load(p.parent, ())),
    "tar images": ("x.tar", corpus.tar, lambda p: TarImages([p])),
    "zip": ("x.zip", corpus.packed_zip, lambda p: safe_unpack(p, p.parent / "out")),
    "png": ("x.png", lambda: corpus.image("PNG"), lambda p: decode_image(p.read_bytes(), ImageRef(path="x"))),
    "jpeg": ("x.jpg", lambda: corpus.image("JPEG"), lambda p: decode_image(p.read_bytes(), ImageRef(path="x"))),
    "result": ("result.json", corpus.result, read_result),
    "safetensors": ("x.safetensors", corpus.safetensors, weights),
    "checkpoint": ("x.pt", corpus.checkpoint, weights),
}


@pytest.mark.parametrize("name", READERS)
def test_a_damaged_file_is_read_or_refused(name: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    file, whole, read = READERS[name]
    folder = tmp_path_factory.mktemp("fuzz")
    (folder / file).write_bytes(whole())
    read(folder / file)  # the whole file is read: else nothing below means anything
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        derandomize=EXAMPLES < 100,  # the same files in every run of the tests
    )
    @given(st.data())
    def attack(data: st.DataObject) -> None:
        (folder / file).write_bytes(data.draw(corpus.damaged(whole)))
        started = time.monotonic()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with contextlib.suppress(UserError):
                read(folder / file)
        assert time.monotonic() - started < MOST_SECONDS

    attack()
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    assert grown < MOST_MEGABYTES, f"{grown:.0f} MB more"

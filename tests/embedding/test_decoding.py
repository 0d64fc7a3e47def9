"""Photos decoded beside the model: read once, the same for any kind and number of workers, nothing left behind."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from equipoise.core.errors import UserError
from equipoise.data.images import FolderImages
from equipoise.data.items import ImageRef, Item, texts
from equipoise.embedding import decoding
from equipoise.evaluation.scoring import score_items
from equipoise.models.inputs import Preprocess, clip_preprocess

COUNT = 70


@pytest.fixture(scope="module")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("photos")
    for index in range(COUNT):
        pixels = np.random.default_rng(index).integers(0, 255, (20, 30, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(folder / f"{index}.png")
    (folder / "3.png").write_bytes(b"no picture")
    (folder / "5.png").write_bytes((folder / "4.png").read_bytes())
    return folder


PATHS = [f"{index}.png" for index in range(COUNT)]


REFS = {path: [ImageRef(path=path)] for path in PATHS}


def everything(digests: Mapping[str, bytes]) -> tuple[None, list[ImageRef]]:
    return None, [ImageRef(path=path) for path in digests]


def all_of(photos: Path, workers: int, many: bool, make: Any = None) -> list[tuple[str, str | None, Any]]:
    preprocess = make or clip_preprocess(16)
    with decoding.decoded(FolderImages(photos), REFS, everything, preprocess, workers, many) as jobs:
        return [
            (ref.path, why, np.array(pixels))
            for job in jobs
            for (ref, why), pixels in zip(job.images, job.pictures, strict=True)
        ]


@pytest.mark.parametrize("many", [False, True])
@pytest.mark.parametrize(("workers", "shared"), [(1, 2**30), (3, 1), (2, 2**30)])
def test_the_same_for_any_workers(
    photos: Path, many: bool, workers: int, shared: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where shared memory has room for few jobs, so that each block is written several times."""
    monkeypatch.setattr(decoding, "PROCESSES_FROM", 1)
    monkeypatch.setattr(decoding, "SHARED", shared)
    rows = all_of(photos, workers, many)
    assert bool(multiprocessing.active_children()) is False
    assert "TOKENIZERS_PARALLELISM" not in os.environ  # a later fork would wait for threads that it does not have
    assert [path for path, _, _ in rows] == PATHS
    assert [path for path, why, _ in rows if why] == ["3.png"]
    for path, why, pixels in rows:
        if why is None:
            assert (pixels == np.asarray(clip_preprocess(16).pixels(Image.open(photos / path)))).all()


def test_each_photo_is_read_once(photos: Path) -> None:
    read: Counter[str] = Counter()

    class Counted(FolderImages):
        def read(self, path: str) -> bytes:
            read[path] += 1
            return super().read(path)

    items = [
        Item(
            id=f"{path} {box}",
            image=ImageRef(path=path, box=box),
            caption="a cat",
            negatives=texts("a dog"),
        )
        for path in PATHS
        for box in (None, (1.0, 1.0, 8.0, 8.0))
    ]
    scoring = score_items(Notebook(), items, images=Counted(photos), allow_missing=True)
    assert len(scoring.skipped) == 2 and len(scoring.rows) == 2 * COUNT - 2
    assert read == Counter(PATHS)


class Notebook:
    def embed_images(self, images: Sequence[Image.Image]) -> Any:
        return np.stack([np.asarray(image.resize((2, 2)), dtype=float).ravel() + 1 for image in images])

    def embed_texts(self, strings: Sequence[str]) -> Any:
        return np.random.default_rng(0).normal(size=(len(strings), 12))


def test_a_worker_that_is_killed_is_an_error_and_not_a_wait(photos: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decoding, "PROCESSES_FROM", 1)
    monkeypatch.setattr(decoding, "IN_PROCESS", 1)  # so that jobs are left when the workers are killed
    work = decoding.decoded(FolderImages(photos), REFS, everything, clip_preprocess(16), 2, True)
    with pytest.raises(UserError, match="was killed, perhaps because memory ran out"), work as jobs:
        next(jobs)
        workers = children_of(multiprocessing.active_children()[0].pid)
        assert len(workers) == 2
        for pid in workers:
            os.kill(pid, signal.SIGKILL)
        list(jobs)


def test_a_killed_child_that_forked_the_workers_is_an_error_too(photos: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decoding, "PROCESSES_FROM", 1)
    monkeypatch.setattr(decoding, "IN_PROCESS", 1)
    work = decoding.decoded(FolderImages(photos), REFS, everything, clip_preprocess(16), 2, True)
    with pytest.raises(UserError, match="was killed, perhaps because memory ran out"), work as jobs:
        next(jobs)
        multiprocessing.active_children()[0].kill()
        list(jobs)


def children_of(pid: int | None) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def test_the_caller_s_own_error_is_not_taken_for_a_killed_worker(photos: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decoding, "PROCESSES_FROM", 1)
    work = decoding.decoded(FolderImages(photos), REFS, everything, clip_preprocess(16), 2, True)
    with pytest.raises(OSError, match="disk full"), work as jobs:
        next(jobs)
        raise OSError("disk full")


def test_a_bug_in_a_thread_is_raised(photos: Path) -> None:
    def broken(image: Image.Image) -> Any:
        raise ZeroDivisionError("a bug")

    with pytest.raises(ZeroDivisionError, match="a bug"):
        all_of(photos, 2, False, broken)


def test_a_bug_in_a_process_is_raised_with_its_traceback(photos: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decoding, "PROCESSES_FROM", 1)

    def broken(self: Preprocess, image: Image.Image) -> Any:
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr(Preprocess, "pixels", broken)
    with pytest.raises(ZeroDivisionError, match="a bug") as found:
        all_of(photos, 2, True)
    assert "in broken" in str(found.value.__notes__)


SCRIPT = """
import multiprocessing, sys, time
from pathlib import Path
from equipoise.embedding import decoding
from equipoise.data.images import FolderImages
from equipoise.data.items import ImageRef
from equipoise.models.inputs import clip_preprocess

decoding.PROCESSES_FROM = 1
photos = Path(sys.argv[1])
paths = sorted(path.name for path in photos.iterdir())
refs = {path: [ImageRef(path=path)] for path in paths}
lookup = lambda digests: (None, [ImageRef(path=path) for path in digests])
with decoding.decoded(FolderImages(photos), refs, lookup, clip_preprocess(16), 3, True) as jobs:
    next(jobs)
    child = multiprocessing.active_children()[0].pid
    print(child, Path(f"/proc/{child}/task/{child}/children").read_text(), flush=True)
    time.sleep(60)
"""


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_nothing_is_left_behind(photos: Path, number: signal.Signals) -> None:
    """A script without `if __name__ == "__main__"`, killed while its processes decode or wait."""
    main = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(photos)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        # as from a terminal: where the tests run in the background Ctrl-C is ignored, and that is inherited
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert main.stdout is not None
    children = [int(pid) for pid in main.stdout.readline().split()]
    assert len(children) == 4 and all(alive(pid) for pid in children)
    started = time.monotonic()
    main.send_signal(number)
    main.wait(10)
    while any(alive(pid) for pid in children) and time.monotonic() - started < 10:
        time.sleep(0.05)
    assert not any(alive(pid) for pid in children)
    assert time.monotonic() - started < 5


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"  # nobody may be there to bury it


def test_preprocessing_can_be_sent() -> None:
    import pickle

    assert pickle.loads(pickle.dumps(clip_preprocess(16))) == Preprocess(resize=16, crop=(16, 16))

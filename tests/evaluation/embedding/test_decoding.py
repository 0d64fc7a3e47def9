"""Photos decoded beside the model: read once, the same for any kind and number of workers, nothing left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from equipoise.errors import UserError
from equipoise.evaluation.embedding import decoding
from equipoise.evaluation.embedding import workers as decoding_workers
from equipoise.evaluation.embedding.decoding import Decoder
from equipoise.evaluation.scoring import score_items
from equipoise.images.sources import FolderImages
from equipoise.items import ImageRef, Item, texts
from equipoise.models.preprocess import Preprocess, clip_preprocess

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


def everything(paths: Sequence[str], found: Sequence[Any]) -> list[ImageRef]:
    return [ImageRef(path=path) for path, digest in zip(paths, found, strict=True) if isinstance(digest, bytes)]


def decoded(
    photos: Path, workers: int, many: bool, make: Any = None, size: int = 8
) -> list[tuple[str, str | None, Any]]:
    preprocess = make or clip_preprocess(16)
    rows = []
    with Decoder(FolderImages(photos), PATHS, everything, preprocess, size, workers, many) as decoder:
        assert type(decoder._workers).__name__ == ("Processes" if many else "Threads")
        for pixels, content in decoder.batches():
            rows += [(ref.path, why, np.array(row)) for row, (ref, why) in zip(pixels, content, strict=True)]
    return rows


@pytest.mark.parametrize("many", [False, True])
@pytest.mark.parametrize(("workers", "size"), [(1, 8), (3, 1), (2, 64)])
def test_the_same_for_any_workers(
    photos: Path, many: bool, workers: int, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decoding, "PROCESSES_FROM", 1)
    rows = decoded(photos, workers, many, size=size)
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


def test_bytes_that_are_too_many_to_keep_are_read_again_and_must_be_the_same(
    photos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decoding_workers, "KEPT", 0)
    rows = decoded(photos, 2, False)
    assert [path for path, why, _ in rows if why] == ["3.png"]

    class Changing(FolderImages):
        count = 0

        def read(self, path: str) -> bytes:
            self.count += 1
            return super().read(path) + bytes([self.count])

    with Decoder(Changing(photos), ["1.png"], everything, clip_preprocess(16), 1, 1, False) as decoder:
        assert [why for _, content in decoder.batches() for _, why in content] == ["1.png: changed while it was read"]


class Notebook:
    def embed_images(self, images: Sequence[Image.Image]) -> Any:
        return np.stack([np.asarray(image.resize((2, 2)), dtype=float).ravel() + 1 for image in images])

    def embed_texts(self, strings: Sequence[str]) -> Any:
        return np.random.default_rng(0).normal(size=(len(strings), 12))


def test_a_worker_that_is_killed_is_an_error_and_not_a_wait(photos: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decoding, "PROCESSES_FROM", 1)
    decoder = Decoder(FolderImages(photos), PATHS, everything, clip_preprocess(16), 8, 2, True)
    with pytest.raises(UserError, match="was killed, perhaps because memory ran out"), decoder:
        for process, _ in decoder._workers._running:
            os.kill(process.pid, signal.SIGKILL)
        list(decoder.batches())


def test_a_bug_in_a_worker_is_told(photos: Path) -> None:
    def broken(image: Image.Image) -> Any:
        raise ZeroDivisionError("a bug")

    with (
        Decoder(FolderImages(photos), PATHS, everything, broken, 8, 2, False) as decoder,
        pytest.raises(RuntimeError, match="ZeroDivisionError: a bug"),
    ):
        list(decoder.batches())


SCRIPT = """
import sys, time
from pathlib import Path
from equipoise.evaluation.embedding import decoding
from equipoise.images.sources import FolderImages
from equipoise.items import ImageRef
from equipoise.models.preprocess import clip_preprocess

decoding.PROCESSES_FROM = 1
photos = Path(sys.argv[1])
paths = sorted(path.name for path in photos.iterdir())
choose = lambda some, found: [ImageRef(path=path) for path in some]
with decoding.Decoder(FolderImages(photos), paths, choose, clip_preprocess(16), 4, 3, True) as decoder:
    next(decoder.batches())
    print(*(process.pid for process, _ in decoder._workers._running), flush=True)
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
    assert len(children) == 3 and all(alive(pid) for pid in children)
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


def test_a_process_that_decodes_loads_nothing_that_it_does_not_need() -> None:
    """Photos wait for it to start."""
    code = "import sys; import equipoise.evaluation.embedding.workers, equipoise.models.preprocess; "
    code += "print([name for name in ('pydantic', 'torch', 'pyarrow', 'typer') if name in sys.modules])"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said == "[]\n"


def test_preprocessing_can_be_sent() -> None:
    import pickle

    assert pickle.loads(pickle.dumps(clip_preprocess(16))) == Preprocess(resize=16, crop=(16, 16))

"""A whole file of each kind, and the ways in which bytes go wrong."""

from __future__ import annotations

import io
import json
import tarfile
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

from hypothesis import strategies as st
from PIL import Image

from equipoise.data.items import Item, write_items

ITEM = {
    "id": "a/1",
    "image": {"path": "a.jpg", "box": [0, 0, 5, 5]},
    "caption": "a red dog",
    "positives": [{"text": "a crimson dog", "edit": {"op": "replace", "from": "red", "to": "crimson"}}],
    "negatives": [{"text": "a blue dog", "edit": None}],
    "tags": {"split": "x"},
}
SCORE = {"id": "1", "image": "a", "caption": 0.3, "positives": [0.2], "negatives": [0.1], "tags": {"split": "x"}}
# What a number, a text or a list may not be: put where a value stood.
ODD = [
    b"1" * 5_000,
    b"-1e999",
    b"NaN",
    b"[" * 5_000,
    b'{"a":' * 3_000,
    b'"\\ud800"',
    b'"\\u001b[31m"',
    b"null",
    b"\xff\xfe",
    b"\0" * 600,
    b'"id": "a/1", "id": "b", ',
    b"=cmd()",
    b"99999999999999999999",
    b"-0000000001\0",
]


def lines(value: object, count: int = 3) -> bytes:
    return b"".join(json.dumps(value).encode().replace(b"a/1", f"a/{n}".encode()) + b"\n" for n in range(count))


def parquet() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "items.parquet"
        write_items(path, [Item.model_validate_json(json.dumps({**ITEM, "id": str(n)})) for n in range(5)])
        return path.read_bytes()


def tar() -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name in ("a.jpg", "a.txt", "long" * 40 + ".txt"):
            info = tarfile.TarInfo(name)
            info.size = 9
            archive.addfile(info, io.BytesIO(b"a red dog"))
    return out.getvalue()


def packed_zip() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("folder/a.txt", "a red dog" * 50)
        archive.writestr("b.txt", "b")
    return out.getvalue()


def image(kind: str) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (20, 16), (200, 30, 30)).save(out, kind)
    return out.getvalue()


def result() -> bytes:
    return (Path(__file__).parents[1] / "golden" / "run" / "result.json").read_bytes()


def safetensors() -> bytes:
    import torch
    from safetensors.torch import save

    return save({"weight": torch.zeros(2, 2)})


def checkpoint() -> bytes:
    import torch

    out = io.BytesIO()
    torch.save({"weight": torch.zeros(2, 2)}, out)
    return out.getvalue()


def damaged(whole: Callable[[], bytes]) -> st.SearchStrategy[bytes]:
    """The file with a few pieces cut, doubled, flipped or replaced; now and then only noise."""
    base = whole()
    place = st.integers(0, len(base))
    change = st.tuples(st.sampled_from(["cut", "flip", "put", "twice", "end"]), place, place, st.sampled_from(ODD))

    def apply(changes: list[tuple[str, int, int, bytes]]) -> bytes:
        data = base
        for what, one, two, odd in changes:
            low, high = sorted((one, min(two, one + 64)))
            if what == "cut":
                data = data[:low] + data[high:]
            elif what == "flip":
                data = data[:low] + bytes([data[low] ^ (1 << (two % 8))]) + data[low + 1 :] if low < len(data) else data
            elif what == "put":
                data = data[:low] + odd + data[high:]
            elif what == "twice":
                data = data[:high] + data[low:]
            else:
                data = data[:low]
        return data

    return st.one_of(st.lists(change, min_size=1, max_size=4).map(apply), st.binary(max_size=200))

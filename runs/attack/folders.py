"""Kinds of input that are images, archives, folders of benchmarks, models and runs."""

from __future__ import annotations

import io
import json
import random
import shutil
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import damage
from PIL import Image
from texts import ROOT, Command, Kind, changed, item_rows, packed, records, said, verdict

# ---------------------------------------------------------------------------- images, archives


def image(kind: str) -> Kind:
    draw, out = random.Random(1), io.BytesIO()
    Image.frombytes("RGB", (24, 18), draw.randbytes(24 * 18 * 3)).save(out, kind)

    def judge(folder: Path, same: bool, command: Command) -> tuple[str, str]:
        from equipoise.images.opening import decode_image
        from equipoise.items import ImageRef

        found = decode_image((folder / "x").read_bytes(), ImageRef(path="x"))
        assert found.mode == "RGB" and found.size[0] * found.size[1] <= 100_000_000, str(found)
        return verdict(True)

    return Kind(455, changed("x", out.getvalue()), judge)


def hurt(data: bytes, draw: random.Random) -> bytes:
    """One byte wrong, or the end missing: what a bad disk or a broken download does."""
    place = draw.randrange(len(data))
    return (
        data[:place]
        if draw.random() < 0.3
        else data[:place] + bytes([data[place] ^ (1 << draw.randrange(8))]) + data[place + 1 :]
    )


def archive(file: str, mode: str) -> Kind:
    members = {
        "folder/a.txt": b"a red dog" * 50,
        "b.txt": b"b" * 600,
        "c" * 120 + ".txt": b"c",
        "folder/d.bin": bytes(range(256)),
    }
    whole = packed(members, mode)

    def prepare(folder: Path, draw: random.Random) -> bool:
        (folder / "beside.txt").write_text("mine")
        small = draw.random() < 0.6
        (folder / file).write_bytes((hurt if small else damage.of_bytes)(whole, draw))
        return small

    def judge(folder: Path, small: bool, command: Command) -> tuple[str, str]:
        from equipoise.benchmarks.fetching.archives import safe_unpack

        into = folder / "into"
        try:
            safe_unpack(folder / file, into)
            found = [path.read_bytes() for path in into.rglob("*") if path.is_file()]
            assert not small or len(found) == len(members), f"{len(found)} files of {len(members)}, and no error"
            assert mode != "zip" or not small or Counter(found) == Counter(members.values()), "other bytes"
        except Exception as error:
            left = sorted(str(p.relative_to(into)) for p in into.rglob("*")) if into.exists() else []
            assert not left or isinstance(error, AssertionError), f"refused, and left {left[:4]} behind"
            raise
        finally:
            assert sorted(p.name for p in folder.iterdir()) == sorted(["beside.txt", file, "into"]), "wrote outside"
        return verdict(True)

    return Kind(455, prepare, judge)


def shard(file: str, whole: bytes, count: int) -> Kind:
    def prepare(folder: Path, draw: random.Random) -> bool:
        small = draw.random() < 0.6
        (folder / file).write_bytes((hurt if small else damage.of_bytes)(whole, draw))
        return small

    def judge(folder: Path, small: bool, command: Command) -> tuple[str, str]:
        from equipoise.images.sources import open_source

        source = open_source(str(folder / file))
        there = [name for name in (f"{n}.png" for n in range(count)) if name in source]
        for name in there:
            source.read(name)
        renamed = len(there) < count and small and file.endswith("tar")
        assert not renamed, f"only {there} of {count} images, and no error"
        return verdict(True)

    return Kind(455, prepare, judge)


# ---------------------------------------------------------------------------- benchmarks


def cut(path: Path, most: int = 12) -> bytes:
    """The first records of a published file."""
    if path.suffix == ".json":
        value = json.loads(path.read_text())
        return json.dumps(dict(list(value.items())[:most]) if isinstance(value, dict) else value[:most]).encode()
    lines = path.read_bytes().split(b"\n")
    return b"\n".join(lines[: most + 1]) + b"\n"


def benchmark(name: str, files: list[Path], root: Path) -> Kind:
    whole = {str(path.relative_to(root)): cut(path) for path in files}
    by_suffix = {
        ".json": damage.json_file,
        ".jsonl": damage.json_lines,
        ".csv": damage.table(","),
        ".tsv": damage.table("\t"),
    }

    def prepare(folder: Path, draw: random.Random) -> None:
        hit = draw.choice(list(whole))
        for file, data in whole.items():
            path = folder / "source" / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        changed(f"source/{hit}", whole[hit], by_suffix[Path(hit).suffix])(folder, draw)

    def judge(folder: Path, wanted: None, command: Command) -> tuple[str, str]:
        where = ["--source", str(folder / "source")]
        read = said(command("bench", "build", name, *where, "--out", str(folder / "out.jsonl")))
        checked = said(command("bench", "check", name, *where), (0, 1))
        assert read == checked, f"build {read}, check {checked}"
        if read:
            rows = records(folder / "out.jsonl")
            assert len({row["id"] for row in rows}) == len(rows) > 0, "ids repeat"
            assert all(isinstance(row["caption"], str) and row["caption"].strip() for row in rows), "an empty caption"
        return verdict(read)

    return Kind(12, prepare, judge)


# ---------------------------------------------------------------------------- models, runs


def model(hit: str) -> Kind:
    base = ROOT / "src" / "equipoise" / "world" / "base"
    whole = (base / hit).read_bytes()
    header = 8 + int.from_bytes(whole[:8], "little")

    def prepare(folder: Path, draw: random.Random) -> None:
        for path in base.iterdir():
            (folder / path.name).symlink_to(path)
        (folder / hit).unlink()
        if hit.endswith(".json"):
            changed(hit, whole, damage.json_file)(folder, draw)
        elif draw.random() < 0.5:
            (folder / hit).write_bytes(damage.of_bytes(whole[:header], draw) + whole[header:])
        else:
            value = damage.of_value(json.loads(whole[8:header]), draw)
            text = damage.dumped(value, draw)
            (folder / hit).write_bytes(len(text).to_bytes(8, "little") + text + whole[header:])

    def judge(folder: Path, wanted: None, command: Command) -> tuple[str, str]:
        import numpy

        from equipoise.models import load_model

        loaded: Any = load_model(f"hf:{folder}", device="cpu")
        found = [loaded.embed_texts(["a red circle"]), loaded.embed_images([Image.new("RGB", (40, 30), (200, 0, 0))])]
        return ("read", "") if all(numpy.isfinite(one).all() for one in found) else ("read, not finite", "")

    return Kind(3, prepare, judge)


class Noise:
    """A model that scores by the bytes of the text."""

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def score_pairs(self, images: Sequence[Any], texts: Sequence[str]) -> Any:
        import numpy

        return numpy.array([random.Random(f"{self.seed}/{text}").random() for text in texts])


def runs() -> Kind:
    from equipoise.evaluation.run import evaluate
    from equipoise.items import load_items

    place = Path(tempfile.mkdtemp())
    for n in range(6):
        Image.new("RGB", (20, 20), (40 * n, 9, 9)).save(place / f"{n}.png")
    (place / "x.jsonl").write_bytes(b"".join(json.dumps(row).encode() + b"\n" for row in item_rows()))
    for seed in (1, 2):
        evaluate(Noise(seed), load_items(place / "x.jsonl"), images=place, out=place / str(seed))
    whole: list[str] = []

    def prepare(folder: Path, draw: random.Random) -> str:
        for seed in "12":
            shutil.copytree(place / seed, folder / seed)
        hit = draw.choice(("1/result.json", "2/items.jsonl", "1/items.jsonl", "2/result.json"))
        change = damage.json_file if hit.endswith("json") else damage.json_lines
        changed(hit, (folder / hit).read_bytes(), change)(folder, draw)
        return hit

    def judge(folder: Path, hit: str, command: Command) -> tuple[str, str]:
        if not whole:
            whole.append(command("compare", str(place / "1"), str(place / "2"), "--json")[1])
        answer = command("compare", str(folder / "1"), str(folder / "2"), "--json")
        if not said(answer):
            return verdict(False)
        names = ("n", "original", "augmented", "brittleness", "drop")
        numbers, wanted = (
            [[one[name] for name in names] for one in json.loads(text)["differences"]] for text in (answer[1], whole[0])
        )
        assert numbers == wanted, f"{hit}: other differences: {numbers} {wanted}"
        said(command("compare", str(folder / "1"), str(folder / "2")))
        return verdict(True)

    return Kind(60, prepare, judge)


def checkpoint() -> Kind:
    import torch

    out = io.BytesIO()
    torch.save({"a.weight": torch.arange(6.0).reshape(2, 3), "b": torch.zeros(2, dtype=torch.float16)}, out)

    def judge(folder: Path, same: bool, command: Command) -> tuple[str, str]:
        from equipoise.models.checkpoint import read_state

        read_state(folder / "x.pt")
        return verdict(True)

    return Kind(100, changed("x.pt", out.getvalue()), judge)

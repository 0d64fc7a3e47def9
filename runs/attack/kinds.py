"""The kinds of input: a whole file of each, how it is damaged, what reads it, and how the reading is checked."""

from __future__ import annotations

import csv
import io
import itertools
import json
import random
import shutil
import tarfile
import tempfile
import zipfile
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import damage
from PIL import Image

ROOT = Path(__file__).resolve().parents[2]
SAMPLES, SHARED = ROOT / "tests" / "data", ROOT.parent / "shared" / "data"
Command = Callable[..., tuple[int, str, str]]
Change = Callable[[bytes, random.Random], bytes]


@dataclass(frozen=True)
class Kind:
    share: float  # of 10,000 inputs; readers that take a millisecond get more than commands that take a hundred
    prepare: Callable[[Path, random.Random], Any]
    judge: Callable[[Path, Any, Command], tuple[str, str]]


def said(answer: tuple[int, str, str], fine: Sequence[int] = (0,)) -> bool:
    """Whether a command read its input; wrong answers are assertions."""
    code, out, err = answer
    assert code in (*fine, 2), f"exit {code}: {err[-500:]}"
    assert "Traceback" not in err and "a bug in equipoise" not in err, err[-500:]
    assert "not enough memory" not in err, err[-300:]
    assert "\x1b" not in out + err, f"escape code: {(out + err)[:300]!r}"
    assert code in fine or err.strip(), "exit 2 without a word"
    return code in fine


def verdict(read: bool) -> tuple[str, str]:
    return ("read" if read else "refused"), ""


def changed(file: str, whole: bytes, *changes: Change, same: Change | None = None) -> Callable[..., bool]:
    """Writes the file, damaged in one of the ways; True where the damage changes nothing of what it says."""

    def prepare(folder: Path, draw: random.Random) -> bool:
        keep = same is not None and draw.random() < 0.15
        change = same if keep else draw.choice((damage.of_bytes, *changes, *changes))
        assert change is not None
        path = folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(change(whole, draw))
        return keep

    return prepare


# ---------------------------------------------------------------------------- slow readings


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    assert len({key for key, _ in pairs}) == len(pairs), "read although a key stands there twice"
    return dict(pairs)


def records(path: Path) -> list[dict[str, Any]]:
    text = path.read_bytes().decode("utf-8-sig")
    return [json.loads(line, object_pairs_hook=once) for line in text.split("\n") if line.strip(" \r\t")]


def slow_numbers(rows: list[dict[str, Any]]) -> dict[str, float | int | None]:
    wins = augmented = brittle = ties = with_positive = with_negative = 0
    for row in rows:
        assert type(row["caption"]) in (int, float), f"read as a score: {row['caption']!r}"
        if not row.get("negatives"):
            continue
        with_negative += 1
        highest = max(map(float, row["negatives"]))
        right = [float(row["caption"]), *map(float, row.get("positives") or [])]
        wins += right[0] > highest
        ties += any(one == highest for one in right)
        if len(right) > 1:
            with_positive += 1
            augmented += all(one > highest for one in right)
            brittle += (
                any(one > highest for one in right)
                and any(one < highest for one in right)
                and not any(one == highest for one in right)
            )
    share = {"original": (wins, with_negative), "augmented": (augmented, with_positive), "brittleness": (brittle, with_positive)}
    found: dict[str, float | int | None] = {name: (a / b if b else None) for name, (a, b) in share.items()}
    return found | {"n": len(rows), "ties": ties, "n_positives": with_positive}


def near(found: dict[str, Any], wanted: dict[str, Any]) -> None:
    for name, value in wanted.items():
        there = found[name]
        assert (there is None) == (value is None) and (value is None or abs(there - value) < 1e-9), (
            f"{name}: printed {there}, slow reading {value}"
        )


# ---------------------------------------------------------------------------- scores


def scores() -> Kind:
    def prepare(folder: Path, draw: random.Random) -> None:
        rows = []
        for n in range(draw.choice((1, 3, 8, 20))):
            value = lambda: draw.choice((draw.random(), draw.randrange(4) / 4, draw.gauss(0, 1)))  # noqa: E731
            row = {"id": f"a/{n}", "image": f"{n // 2}.jpg", "caption": value(), "positives": [value() for _ in range(n % 3)]}
            rows.append(row | {"negatives": [value() for _ in range(1 + n % 2)], "tags": {"split": "xy"[n % 2]}})
        whole = b"".join(json.dumps(row).encode() + b"\n" for row in rows)
        changed("x.jsonl", whole, damage.json_lines, same=damage.same_lines)(folder, draw)

    def judge(folder: Path, wanted: None, command: Command) -> tuple[str, str]:
        answer = command("metrics", str(folder / "x.jsonl"), "--json")
        if not said(answer):
            return verdict(False)
        near(json.loads(answer[1])["overall"], slow_numbers(records(folder / "x.jsonl")))
        if len(answer[1]) % 8 == 0:  # its table for people
            said(command("metrics", str(folder / "x.jsonl"), "--format", "md"))
        return verdict(True)

    return Kind(300, prepare, judge)


def winoground() -> Kind:
    whole = (SHARED / "winoground_scores" / "clip.jsonl").read_bytes()

    def judge(folder: Path, wanted: bool, command: Command) -> tuple[str, str]:
        answer = command("metrics", str(folder / "x.jsonl"), "--bench", "winoground", "--json")
        if not said(answer):
            return verdict(False)
        by: dict[str, dict[str, float]] = {}
        for row in records(folder / "x.jsonl"):
            number, _, pair = row["label"].partition("_")
            by.setdefault(number, {})[pair] = float(row["score"])
        text = image = group = 0
        for s in by.values():
            t = s["c0_i0"] > s["c1_i0"] and s["c1_i1"] > s["c0_i1"]
            i = s["c0_i0"] > s["c0_i1"] and s["c1_i1"] > s["c1_i0"]
            text, image, group = text + t, image + i, group + (t and i)
        n = len(by)
        near(json.loads(answer[1])["overall"]["image_side"], {"text": text / n, "image": image / n, "group": group / n})
        return verdict(True)

    return Kind(20, changed("x.jsonl", whole, damage.json_lines, same=damage.same_lines), judge)


def published(bench: str, file: Path, change: Change) -> Kind:
    whole = file.read_bytes()

    def judge(folder: Path, wanted: bool, command: Command) -> tuple[str, str]:
        return verdict(said(command("metrics", str(folder / file.name), "--bench", bench, "--json")))

    return Kind(3, changed(file.name, whole, change), judge)


# ---------------------------------------------------------------------------- items, tables


def item_rows() -> list[dict[str, Any]]:
    edit = {"op": "replace", "target": "attribute", "from": "red", "to": "crimson", "by": "lexicon"}
    return [
        {
            "id": f"a/{n}",
            "image": {"path": f"{n}.png", "box": [0, 0, 5, 5] if n % 2 else None},
            "caption": f"a red dog {n}",
            "positives": [{"text": f"a crimson dog {n}", "edit": edit}],
            "negatives": [{"text": f"a blue dog {n}", "edit": None}, {"text": f"a red cat {n}", "edit": None}],
            "tags": {"split": "xy"[n % 2]},
        }
        for n in range(6)
    ]


def items() -> Kind:
    whole = b"".join(json.dumps(row).encode() + b"\n" for row in item_rows())

    def judge(folder: Path, same: bool, command: Command) -> tuple[str, str]:
        file, out = folder / "x.jsonl", folder / "out.jsonl"
        read = said(command("bench", "build", str(file), "--out", str(out)))
        assert read or not same, "refused although it says the same as the whole file"
        if file.stat().st_size % 6 == 0 and said(command("bench", "check", str(file)), (0, 1)) and read:
            said(command("bench", "show", str(file)))
        if read:
            pick = lambda row: (  # noqa: E731
                row["id"], row["caption"], [p["text"] for p in row.get("positives") or []],
                [p["text"] for p in row.get("negatives") or []], row.get("tags") or {}, (row.get("image") or {}).get("path"),
            )  # fmt: skip
            wrong = [pair for pair in itertools.zip_longest(map(pick, records(file)), map(pick, records(out))) if pair[0] != pair[1]]
            assert not wrong, f"built other items: {wrong[:1]}"
        return verdict(read)

    return Kind(150, changed("x.jsonl", whole, damage.json_lines, same=damage.same_lines), judge)


def items_parquet() -> Kind:
    from equipoise.items import Item, write_items

    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "x.parquet"
        write_items(path, [Item.model_validate_json(json.dumps(row)) for row in item_rows()])
        whole = path.read_bytes()

    def judge(folder: Path, same: bool, command: Command) -> tuple[str, str]:
        return verdict(said(command("bench", "build", str(folder / "x.parquet"), "--out", str(folder / "out.jsonl"))))

    return Kind(60, changed("x.parquet", whole), judge)


def own_table(mark: str, suffix: str) -> Kind:
    rows = [["id", "image", "caption", "negative", "positive", "kind"]]
    rows += [[str(n), f"{n}.png", f"a dog, {n}", f"a cat {n}", f'a "hound" {n}', "xy"[n % 2]] for n in range(5)]
    out = io.StringIO()
    csv.writer(out, delimiter=mark, lineterminator="\n").writerows(rows)

    def judge(folder: Path, same: bool, command: Command) -> tuple[str, str]:
        file, built = folder / f"x.{suffix}", folder / "out.jsonl"
        read = said(command("bench", "build", str(file), "--out", str(built)))
        if read:
            text = file.read_bytes().decode("utf-8-sig")
            there = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=mark) if any(map(str.strip, row))]
            got = [row["caption"] for row in records(built)]
            want = [row[there[0].index("caption")] for row in there[1:]]
            assert got == want, f"captions {got} of a table with {want}"
        return verdict(read)

    return Kind(50, changed(f"x.{suffix}", out.getvalue().encode(), damage.table(mark)), judge)


# ---------------------------------------------------------------------------- captions


def captions(file: str, whole: bytes, *changes: Change, same: Change | None = None) -> Kind:
    def texts(path: Path) -> list[str]:
        from equipoise.perturb.reading.captions import read_captions

        return [record.text for group in read_captions(path) for record in group.records]

    with tempfile.TemporaryDirectory() as name:
        (Path(name) / file).write_bytes(whole)
        wanted = texts(Path(name) / file)
    assert wanted, file

    def judge(folder: Path, kept: bool, command: Command) -> tuple[str, str]:
        try:
            found = texts(folder / file)
        except Exception:
            assert not kept, "refused although it says the same"
            raise
        assert not kept or found == wanted, f"{found} in place of {wanted}"
        assert not any("\x1b" in text or "\n" in text or "\x00" in text for text in found), "control codes in a caption"
        if sum(map(len, found)) % 400 == 0:  # one of 400 through the whole verb
            said(command("perturb", str(folder / file), "--out", str(folder / "out.jsonl"), "--workers", "1"))
        return verdict(True)

    return Kind(455, changed(file, whole, *changes, same=same), judge)


def crlf(data: bytes, draw: random.Random) -> bytes:
    return data.replace(b"\n", b"\r\n")


def packed(members: dict[str, bytes], mode: str) -> bytes:
    out = io.BytesIO()
    if mode == "zip":
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, data in members.items():
                archive.writestr(name, data)
        return out.getvalue()
    with tarfile.open(fileobj=out, mode=mode, format=tarfile.PAX_FORMAT) as tar:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return out.getvalue()


def parquet(columns: dict[str, list[Any]]) -> bytes:
    import pyarrow
    import pyarrow.parquet

    out = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table(columns), out)
    return out.getvalue()


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
    return data[:place] if draw.random() < 0.3 else data[:place] + bytes([data[place] ^ (1 << draw.randrange(8))]) + data[place + 1 :]


def archive(file: str, mode: str) -> Kind:
    members = {"folder/a.txt": b"a red dog" * 50, "b.txt": b"b" * 600, "c" * 120 + ".txt": b"c", "folder/d.bin": bytes(range(256))}
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
    by_suffix = {".json": damage.json_file, ".jsonl": damage.json_lines, ".csv": damage.table(","), ".tsv": damage.table("\t")}

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
        numbers, wanted = ([[one[name] for name in names] for one in json.loads(text)] for text in (answer[1], whole[0]))
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


def kinds() -> dict[str, Kind]:
    pictures = {f"{n}.png": (lambda o: (Image.new("RGB", (9, 9), (n, 9, 9)).save(o, "PNG"), o.getvalue())[1])(io.BytesIO()) for n in range(8)}
    rows = [{"caption": f"a red dog near {n} trees", "image": f"{n}.jpg"} for n in range(4)]
    lines = b"".join(json.dumps(row).encode() + b"\n" for row in rows)
    coco = {"images": [{"id": 1, "file_name": "a.jpg"}], "annotations": [{"image_id": 1, "id": n, "caption": f"a dog {n}"} for n in range(3)]}
    table = "image,caption\n" + "".join(f"{n}.jpg,a red dog near {n} trees\n" for n in range(4))
    texts = {f"{n:03}.{end}": data for n in range(3) for end, data in (("jpg", b"x"), ("txt", b"a red dog %d" % n))}
    found = {"scores": scores(), "items": items(), "items parquet": items_parquet(), "csv": own_table(",", "csv"), "tsv": own_table("\t", "tsv")}
    found |= {
        "captions txt": captions("x.txt", b"a red dog sits\na blue cat sleeps\n\nthe old man walks\n", same=crlf),
        "captions csv": captions("x.csv", table.encode(), damage.table(","), same=crlf),
        "captions tsv": captions("x.tsv", table.replace(",", "\t").encode(), damage.table("\t"), same=crlf),
        "captions json": captions("x.json", json.dumps(rows).encode(), damage.json_file),
        "captions coco": captions("x.json", json.dumps(coco).encode(), damage.json_file),
        "captions jsonl": captions("x.jsonl", lines, damage.json_lines, same=damage.same_lines),
        "captions items": captions("x.jsonl", b"".join(json.dumps(r).encode() + b"\n" for r in item_rows()), damage.json_lines),
        "captions parquet": captions("x.parquet", parquet({k: [r[k] for r in rows] for k in rows[0]})),
        "captions tar": captions("x.tar", packed(texts, "w")),
        "tar": archive("x.tar", "w"),
        "tar.gz": archive("x.tar.gz", "w:gz"),
        "zip": archive("x.zip", "zip"),
        "images tar": shard("x.tar", packed(pictures, "w"), 8),
        "images parquet": shard("x.parquet", parquet({"path": list(pictures), "image": list(pictures.values())}), 8),
        "checkpoint": checkpoint(),
        "runs": runs(),
    }
    found |= {kind.lower(): image(kind) for kind in ("PNG", "JPEG", "GIF", "TIFF", "WEBP", "BMP")}
    found |= {f"model {hit}": model(hit) for hit in ("config.json", "model.safetensors", "tokenizer.json", "preprocessor_config.json")}
    for name in ("sugarcrepe", "sugarcrepe_pp", "valse", "negclip"):
        found[f"bench {name}"] = benchmark(name.replace("_", "-"), [p for p in (SAMPLES / name).iterdir() if p.is_file()], SAMPLES / name)
    if SHARED.is_dir():
        found["published winoground"] = winoground()
        for name, file, change in (
            ("valse", "valse_scores/x-vlm_16m.jsonl", damage.json_lines),
            ("predicate-noun", "predicate_noun/scores/vilt.csv", damage.table(",")),
            ("bivlc", "bivlc/BiVLC_ViT-B-32.csv", damage.table(",")),
            ("sugarcrepe", "bivlc/SUGARCREPE_CORRECT_ViT-B-32.csv", damage.table(",")),
        ):
            found[f"published {name}"] = published(name, SHARED / file, change)
        for name in ("cola", "crepe", "fg_ovd", "negbench", "visla", "vsr", "vl_checklist"):
            root = SHARED / name
            files = [path for path in root.rglob("*") if path.suffix in {".json", ".jsonl", ".csv", ".tsv"}]
            found[f"bench {name}"] = benchmark(name.replace("_", "-"), files, root)
        found["bench bivlc"] = benchmark("bivlc", [SHARED / "bivlc" / "BiVLC_ViT-B-32.csv"], SHARED / "bivlc")
    return found

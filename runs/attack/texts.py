"""Kinds of input that are text: a whole file, how it is damaged, what reads it, and how the reading is checked."""

from __future__ import annotations

import csv
import io
import itertools
import json
import random
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import damage

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
    share = {
        "original": (wins, with_negative),
        "augmented": (augmented, with_positive),
        "brittleness": (brittle, with_positive),
    }
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
            row = {
                "id": f"a/{n}",
                "image": f"{n // 2}.jpg",
                "caption": value(),
                "positives": [value() for _ in range(n % 3)],
            }
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
                [p["text"] for p in row.get("negatives") or []], row.get("tags") or {},
                (row.get("image") or {}).get("path"),
            )  # fmt: skip
            wrong = [
                pair
                for pair in itertools.zip_longest(map(pick, records(file)), map(pick, records(out)))
                if pair[0] != pair[1]
            ]
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
            there = [
                row for row in csv.reader(io.StringIO(text, newline=""), delimiter=mark) if any(map(str.strip, row))
            ]
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
        if "items" not in str(folder):  # an items file goes through whole
            assert not any(set(text) & set("\x1b\n\x00") for text in found), "control codes in a caption"
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

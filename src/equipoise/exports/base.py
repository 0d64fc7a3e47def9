"""What every export needs: the run, what its model is called elsewhere, and files written whole or not at all."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from equipoise.errors import UserError
from equipoise.evaluation.record import Numbers, RunRecord
from equipoise.files import atomic_write, plain_target
from equipoise.run_folder import refuse_file


@dataclass(frozen=True)
class Export:
    """One run on its way to another format, and what only its user can say."""

    folder: Path
    record: RunRecord
    model: str  # ORGANISATION/NAME
    by: str  # who measured
    dataset: str | None = None  # of the hub


@dataclass(frozen=True)
class File:
    """What a format wants to have, below the folder that the user names."""

    path: str
    text: str


def model_id(spec: str) -> str:
    """ORGANISATION/NAME of a model spec, for formats that know models by it; a hub name stays as it is.

    A local model has no organisation: the kind of its spec stands there ("checkpoint/negclip.pt").
    """
    if spec == "world":
        return "equipoise/world"
    kind, _, rest = spec.partition(":")
    rest = rest.partition("?")[0] or kind
    if kind == "hf" and re.fullmatch(r"[\w.-]+/[\w.-]+", rest) and not rest.startswith((".", "/")):
        return rest
    if kind == "paper":
        rest = rest.partition("@")[0]
    name = rest.replace(":", ".") if kind == "py" else Path(rest).name
    return f"{safe(kind)}/{safe(name)}"


def checked_model(name: str) -> str:
    """A name the user gave; the formats build paths of it."""
    if not re.fullmatch(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*", name, re.ASCII):
        raise UserError(f"--model {name!r}: expected ORGANISATION/NAME of letters, digits, '.', '-' and '_'")
    return name


def safe(text: str) -> str:
    """A part of a path that every file system takes."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip(".-") or "unnamed"


def weights(record: RunRecord) -> str:
    """What tells this model's weights from others', short; the word "unknown" where its card has nothing."""
    return (record.model.weight_sha256 or record.model.digest or "unknown")[:12]


def parts(record: RunRecord) -> dict[str, Numbers]:
    """The headline under "", and where there are several splits each of them."""
    splits = record.metrics.by.get("split", {})
    return {"": record.metrics.headline} | (dict(splits) if len(splits) > 1 else {})


def flat(numbers: Numbers) -> dict[str, Any]:
    """Numbers and their intervals as one level of names, as tables want them; what was not measured is left out."""
    found: dict[str, Any] = {"n": numbers.n, "ties": numbers.ties}
    if numbers.image_ties is not None:
        found |= {"image_n": numbers.count("image_original"), "image_ties": numbers.image_ties}
    for name, one in numbers.metrics.items():
        found[name] = one.value
        if one.interval is not None:
            found |= {f"{name}_low": one.interval.low, f"{name}_high": one.interval.high}
    return {name: value for name, value in found.items() if value is not None}


def selection(numbers: Numbers) -> dict[str, float]:
    """Right by text, by image and by both, where the benchmark asks for images too (Winoground's three scores)."""
    names = {"text_acc": "text", "image_acc": "image", "acc": "group"}
    found = {theirs: value for theirs, ours in names.items() if (value := numbers[ours]) is not None}
    return found if len(found) == len(names) else {}


def as_json(value: Any) -> str:
    """JSON for strangers' readers: no NaN, and no lone surrogate, which UTF-8 cannot hold."""
    text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)
    return _encodable(text) + "\n"


def as_line(value: Any) -> str:
    return _encodable(json.dumps(value, ensure_ascii=False, allow_nan=False)) + "\n"


def _encodable(text: str) -> str:
    return re.sub("[\ud800-\udfff]", lambda found: f"\\u{ord(found[0]):04x}", text)


def write(files: Sequence[File], out: Path) -> list[str]:
    """Write the files below `out`, or a single file as `out` itself, and say for each what was done.

    Everything is looked at before anything is written: a file that holds something else is not ours to replace.
    """
    single = len(files) == 1 and out.suffix in {".json", ".yaml", ".yml"} and not out.is_dir()
    if out.suffix in {".json", ".yaml", ".yml", ".jsonl"} and not single and not out.is_dir():
        raise UserError(f"--out {out}: {len(files)} files are to be written; name a folder")
    places = {(out if single else out / file.path): file for file in files}
    if len(places) < len(files):
        raise UserError("two runs of one benchmark and one model would be the same file; export them one by one")
    there = {path for path in places if plain_target(path).exists()}
    for path in there:
        if plain_target(path).read_bytes() != places[path].text.encode():
            refuse_file(path)
    for path, file in places.items():
        if path not in there:
            with atomic_write(path) as handle:
                handle.write(file.text)
    return [f"{path} {'is already there' if path in there else 'written'}" for path in places]


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()

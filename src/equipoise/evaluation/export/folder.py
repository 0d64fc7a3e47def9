"""Writes the folder of an export: photos, data, task files, a card with source and licence. It appears whole."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from equipoise import __version__
from equipoise.benchmarks.base import Benchmark
from equipoise.core.errors import Problems, UserError, did_you_mean
from equipoise.core.files import make_folder
from equipoise.core.progress import progress
from equipoise.data.images import ImageProblem, ImageSource, decode_image, encoded
from equipoise.data.items import ImageRef, Item
from equipoise.evaluation.asking.variants import Ask
from equipoise.evaluation.export import harnesses, hub
from equipoise.evaluation.export.rows import rows_of

TARGETS = {
    "inspect": harnesses.RUN_INSPECT,
    "lmms-eval": harnesses.RUN_LMMS,
    "lm-eval": harnesses.RUN_LM,
    "hub": hub.RUN,
}
_TASKS = {"inspect": harnesses.inspect_files, "lm-eval": harnesses.lm_files, "lmms-eval": harnesses.lmms_files}
_ENDINGS = {b"\xff\xd8": "jpg", b"\x89P": "png", b"GI": "gif", b"RI": "webp", b"BM": "bmp"}
UNKNOWN = "unknown"


@dataclass(frozen=True)
class Origin:
    """Where the items come from; what is not given is the benchmark's own."""

    source: str = UNKNOWN
    licence: str = UNKNOWN

    def of(self, benchmark: Benchmark) -> tuple[str, str]:
        """A file of the user's own says neither, and its path is nobody's business."""
        known = "://" in benchmark.url
        return (
            benchmark.url if known and self.source == UNKNOWN else self.source,
            benchmark.licence if known and self.licence == UNKNOWN else self.licence,
        )


def export(
    items: Sequence[Item], benchmark: Benchmark, photos: ImageSource, to: str, out: Path, ask: Ask, origin: Origin
) -> list[str]:
    """Sentences on what was written."""
    if to not in TARGETS:
        raise UserError(f"--to {to}: expected one of {', '.join(TARGETS)}.{did_you_mean(to, TARGETS)}")
    here = out.absolute() == Path.cwd()  # a terminal there would be left in a folder that is gone
    if os.path.lexists(out) and (here or not out.is_dir() or any(out.iterdir())):
        raise UserError(f"--out {out}: it is already there; name a new folder")
    used = [item for item in items if item.image is not None and (to == "hub" or item.negatives)]
    if not used:
        raise UserError(f"{benchmark.name}: no item has a photo and a wrong text, so there is nothing to ask")
    name = re.sub(r"\W+", "_", benchmark.name, flags=re.ASCII).strip("_").lower() or "items"
    make_folder(out.parent)
    hidden = Path(tempfile.mkdtemp(dir=out.parent, prefix=f".{out.name}.", suffix=".part"))
    part = hidden / "export"
    (part / "images").mkdir(parents=True)
    try:
        refs = {item.id: item.shown() if to != "hub" else (*item.images(), *item.photos) for item in used}
        paths = _photos(part, photos, refs)
        count = 0
        if to == "hub":
            texts = hub.files(used, paths)
        else:
            with (part / "data.jsonl").open("w", encoding="utf-8") as handle:
                for row in rows_of(used, ask, paths):
                    handle.write(row.model_dump_json() + "\n")
                    count += 1
            texts = _TASKS[to](name) | {"equipoise_answers.py": _shipped()}
        texts["README.md"] = _card(name, benchmark, used, count, to, ask, origin)
        for path, text in texts.items():
            (part / path).write_text(text, encoding="utf-8")
        if out.exists():
            out.rmdir()  # empty
        part.rename(out)
    finally:
        shutil.rmtree(hidden, ignore_errors=True)
    said = [f"wrote {len(used):,} items" + f", {count:,} questions" * bool(count) + f", to {out}"]
    if len(used) < len(items):
        said.append(f"left out: {len(items) - len(used):,} items without a photo or a wrong text")
    if to != "hub" and any(item.negative_images for item in used):
        said.append("the other images of items are left out: a harness asks about one photo")
    if UNKNOWN in origin.of(benchmark):
        said.append(
            "the card says unknown: name where the items come from with --from and --licence before you share it"
        )
    return [*said, f"run it: cd {shlex.quote(str(out))} && {TARGETS[to].format(name=name)}"]


def _photos(folder: Path, source: ImageSource, refs: dict[str, tuple[ImageRef, ...]]) -> dict[str, list[str]]:
    """Copies each photo once, by its content; cut to its box where it has one."""
    names: dict[ImageRef, str] = {}
    problems = Problems("photos")
    wanted = list(dict.fromkeys(ref for some in refs.values() for ref in some))
    with progress(len(wanted), "photos", "photos") as advance:
        for ref in wanted:
            try:
                raw = source.read(ref.path)
                picture = decode_image(raw, ref)  # a broken photo is found now
                if ref.box is not None or raw[:2] not in _ENDINGS:
                    raw = encoded(picture, "PNG")
            except ImageProblem as problem:
                problems.add("", str(problem))
                continue
            names[ref] = f"images/{hashlib.sha256(raw).hexdigest()[:16]}.{_ENDINGS[raw[:2]]}"
            (folder / names[ref]).write_bytes(raw)
            advance(1)
    problems.raise_if_any("Name the folder of the photos with --images.")
    return {id_: [names[ref] for ref in some] for id_, some in refs.items()}


def _shipped() -> str:
    """Our parser and metrics, which need no Equipoise."""
    return resources.files("equipoise.evaluation.asking").joinpath("shipped.py").read_text(encoding="utf-8")


def _card(name: str, benchmark: Benchmark, items: Sequence[Item], count: int, to: str, ask: Ask, origin: Origin) -> str:
    source, licence = origin.of(benchmark)
    head = f"---\nlicense: other\nlicense_name: see-card\n{hub.CONFIG}---\n\n" if to == "hub" else ""
    asked = (
        f"\nEach item is asked in several ways ({ask.words()}): {count:,} questions. Report `right_every_time` next to "
        "the accuracy: a model that guesses is right now and then. `equipoise metrics LOG --out RUN` reads the log of "
        "the run and adds intervals.\n"
    )
    cells = [("source", source), ("licence of the texts", licence), ("cite", benchmark.citation)]
    rows = "".join(f"| {head} | {_cell(text)} |\n" for head, text in cells)
    return (
        f"{head}# {name}\n\n{_cell(benchmark.title)}: {len(items):,} items. Exported by Equipoise {__version__}.\n"
        f"{asked if to != 'hub' else ''}\n"
        f"Run it in this folder:\n\n```\n{TARGETS[to].format(name=name)}\n```\n\n"
        f"| | |\n| --- | --- |\n{rows}\nPhotos keep the licence of their own source.\n"
    )


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")

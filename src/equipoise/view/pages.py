"""The pages of `equipoise view`: the list, a run, two runs compared, a training. Parts of `report` draw them.

A run is opened by the name that the list gave it, so nothing else can be asked for.
"""

from __future__ import annotations

import base64
import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Lock
from typing import Any
from urllib.parse import urlencode

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray
from pydantic import ValidationError

from equipoise import __version__
from equipoise.core.errors import UserError, printable
from equipoise.core.run_folder import write_own
from equipoise.data.images import FolderImages, ImageProblem, ImageSource, open_source
from equipoise.evaluation.comparing.folders import compare_folders
from equipoise.evaluation.metrics import shown
from equipoise.evaluation.results import Shown, read_result
from equipoise.report.chapters import Chapter, read_chapters
from equipoise.report.comparison import change_words, conclusion, judged, render_compared
from equipoise.report.curves import curves, findings
from equipoise.report.gallery import (
    Gallery,
    embedded,
    frames,
    from_run,
    item_entry,
    pictures_of,
    share_of,
    small_picture,
)
from equipoise.report.html import page_part, policy, templates
from equipoise.report.page import finding, rendered, report_page
from equipoise.report.tables import render, result_rows
from equipoise.train.run.log import LOG, read_log
from equipoise.view.listing import RESULT, Listing, Row, refuse_links, version

MARK = '<meta name="generator" content="equipoise view">'
KEPT = 4  # opened runs in memory
MOST_ITEMS = 100  # of one request
Key = tuple[str, ...]


class Unknown(UserError):
    """Nothing of this name is in the list."""


@dataclass
class Opened:
    """A run, or two, with what its page and its gallery need."""

    page: str
    chapters: list[Chapter]
    sources: list[list[ImageSource]]
    lock: Lock = field(default_factory=Lock)
    begins: dict[Path, NDArray[np.int64]] = field(default_factory=dict)  # of the lines of each items.jsonl, in bytes

    def shown(self, chapter: Chapter, number: int) -> Shown | None:
        """The texts of an item, by its place in the file: a gallery turns pages faster than a file is read."""
        each = zip(chapter.entries, chapter.places, strict=True)
        run, place = next((entry.run, int(at[number])) for entry, at in each if at[number] >= 0)
        path = run.folder.parent / "items.jsonl"
        if path not in self.begins:
            ends = np.flatnonzero(np.frombuffer(path.read_bytes(), np.uint8) == ord("\n"))
            self.begins[path] = np.concatenate(([0], ends + 1))
        first, last = self.begins[path][place : place + 2].tolist()
        with path.open("rb") as handle:
            handle.seek(first)
            line = handle.read(last - first)
        try:
            return Shown.model_validate_json(line)
        except ValidationError:  # the file was exchanged
            return None


class Views:
    """The pages over a folder. Safe to call from several threads."""

    def __init__(self, root: Path, images: Path | None = None) -> None:
        self.listing = Listing(root)
        self.root, self.images = self.listing.root, None if images is None else open_source(images)
        self._lists, self._opens = Lock(), Lock()
        self._opened: OrderedDict[tuple[object, ...], Opened] = OrderedDict()
        self._rows: list[Row] = []
        self._looked = 0.0

    def rows(self) -> list[Row]:
        with self._lists:
            if time.monotonic() - self._looked > 0.5:  # many pages that ask at once get one answer
                self._rows = self.listing.rows()
                self._looked = time.monotonic()
            return self._rows

    def changes(self, have: str) -> dict[str, object]:
        """The rows, unless the page has them."""
        rows = self.rows()
        now = version(rows)
        return {"version": now, "now": time.time()} | ({} if have == now else {"rows": [row.value() for row in rows]})

    def list_page(self, frozen: bool = False) -> str:
        script = page_part("list.js", "view")
        about = {"folder": printable(str(self.root)), "frozen": frozen, "made": time.time()}
        return _page(
            "list.html", script, remote=not frozen, mark=Markup(MARK), folder=about["folder"], frozen=frozen,
            data=Markup(embedded(self.changes("") | about)), version=__version__,
        )  # fmt: skip

    def export(self, path: Path) -> None:
        """Freeze the list into one file."""
        write_own(path, self.list_page(frozen=True), MARK)

    def _place(self, at: str, kind: str) -> Path:
        """The record that a row stands for: only what the list found can be asked for."""
        if not any(row.at == at and row.kind == kind for row in self.rows()):
            raise Unknown("there is no such run in this folder")
        path = self.root / at
        refuse_links(self.root, path.parent)
        if path.parent.resolve() != path.parent:
            raise Unknown("there is no such run in this folder")
        return path

    def runs(self, ats: Key) -> Opened:
        """One run, or two to compare; the last few stay in memory."""
        if not 1 <= len(ats) <= 2:
            raise UserError("name one run, or two to compare")
        places = [self._place(at, "run") for at in ats]
        now = [place.stat() for place in places]
        stamp = *ats, *((stat.st_mtime_ns, stat.st_ino) for stat in now)
        with self._opens:
            if stamp not in self._opened:
                self._opened[stamp] = self._open(ats, places)
                while len(self._opened) > KEPT:
                    self._opened.popitem(last=False)
            self._opened.move_to_end(stamp)
            return self._opened[stamp]

    def _open(self, ats: Key, places: Sequence[Path]) -> Opened:
        names = [_named(at) for at in ats]
        records = [read_result(place) for place in places]
        parts = [] if len(places) == 1 else [self._compared(places, names)]
        if {record.kind for record in records} != {"items"}:
            parts += [_preformatted(render(result_rows(record), "text")) for record in records]
            return Opened(_page("plain.html", title=" and ".join(names), parts=parts), [], [])
        chapters = read_chapters(places, names=dict(zip((place.resolve() for place in places), names, strict=True)))
        notes: list[str] = []
        sources = [self._sources(chapter, notes) for chapter in chapters]
        asked = urlencode([("run", at) for at in ats])
        heading = " against ".join(reversed(names)) if parts else names[0]
        lead = () if parts else [finding(chapter) for chapter in chapters]
        page = replace(report_page(chapters), title=heading, lead=lead, findings=(), opening=parts)
        data = frames(chapters) | {"items": f"/items?{asked}"}
        text = rendered(page, Gallery(data, notes), home="/")
        return Opened(text, chapters, sources)

    def _compared(self, places: Sequence[Path], names: Sequence[str]) -> Markup:
        """The page of `equipoise compare`."""
        compared = compare_folders(places)
        before, after = names
        named = [
            comparison.model_copy(update={"before": before, "after": after}) for comparison in compared.differences
        ]
        compared = replace(compared, differences=named)
        rows = [
            (
                comparison.benchmark,
                row.title,
                change_words(comparison.changes[row.name]),
                judged(row, comparison.changes[row.name]),
            )
            for comparison in named
            for row in shown([comparison.changes])
        ]
        template = templates("equipoise.view").get_template("compared.html")
        whole = self._inside(render_compared(compared))
        warnings = map(self._inside, (*compared.left_out, *compared.warnings))
        said = conclusion(named).split("\n")
        return Markup(template.render(said=said, rows=rows, whole=whole, warnings=list(warnings)))

    def _inside(self, text: str) -> str:
        return printable(text.replace(f"{self.root}/", ""), lines=True)

    def _sources(self, chapter: Chapter, notes: list[str]) -> list[ImageSource]:
        """The photos of the runs as far as they lie in the folder, or what the user named."""
        if self.images is not None:
            return [self.images]
        sources: list[ImageSource] = []
        for entry in chapter.entries:
            for record in entry.run.records:
                place = from_run(record.arguments.get("images"), entry.run.folder)
                if place is None or self.root not in (there := Path(place).resolve()).parents or not there.exists():
                    continue
                source = open_source(there)
                shards = getattr(source, "paths", ())
                if all(self.root in Path(shard).resolve().parents for shard in shards):
                    sources.append(source)
        if not sources:
            notes.append("The photos lie outside this folder. To show them: equipoise view FOLDER --images PHOTOS")
        return sources[:1]

    def items(self, ats: Key, chapter: int, numbers: Sequence[int]) -> list[dict[str, Any]]:
        """Items of a gallery, with the addresses of their pictures."""
        run = self.runs(ats)
        of, sources = _at(run.chapters, chapter), _at(run.sources, chapter)
        chosen = [number for number in numbers[:MOST_ITEMS] if 0 <= number < len(of.ids)]
        with run.lock:
            entries = []
            for number in chosen:
                entry = item_entry(of, number, run.shown(of, number))
                for place, shown in enumerate([entry, *entry.get("others", [])] if sources else ()):
                    self._picture(shown, of, number, place, sources, (*ats, str(chapter)))
                entries.append(entry)
        return entries

    def _picture(
        self, entry: dict[str, Any], chapter: Chapter, number: int, place: int, sources: Sequence[ImageSource], key: Key
    ) -> None:
        path = pictures_of(chapter.row(number))[place]
        if path is None or not self._may_show(path, sources):
            entry.pop("box", None)
            return
        asked = [*(("run", at) for at in key[:-1]), ("chapter", key[-1]), ("i", number), ("other", place)]
        if "box" in entry:
            try:
                entry["box"] = share_of(entry["box"], small_picture(sources, path)[1])
            except ImageProblem:
                return
        entry["picture"] = f"/picture?{urlencode(asked)}"

    def _may_show(self, path: str, sources: Sequence[ImageSource]) -> bool:
        """Whether a photo is there and lies in the folder, its links followed; what the user named is the user's."""
        try:
            if not any(path in source for source in sources if hasattr(source, "__contains__")):
                return False
        except ImageProblem:
            return False
        folders = [source.root for source in sources if isinstance(source, FolderImages) and source is not self.images]
        return all(self.root in (folder / path).resolve().parents for folder in folders)

    def picture(self, ats: Key, chapter: int, number: int, other: int) -> bytes:
        """A small JPEG."""
        run = self.runs(ats)
        of, sources = _at(run.chapters, chapter), _at(run.sources, chapter)
        if not 0 <= number < len(of.ids):
            raise Unknown("there is no such item")
        with run.lock:
            path = _at(pictures_of(of.row(number)), other)
        if path is None or not self._may_show(path, sources):
            raise Unknown("there is no such picture")
        return base64.b64decode(small_picture(sources, path)[0])

    def training(self, at: str) -> str:
        script, address = page_part("training.js", "view"), f"/curves?{urlencode({'at': at})}"
        return _page("training.html", script, remote=True, title=_named(at), figures=self.curves(at), data=address)

    def curves(self, at: str) -> Markup:
        """The findings and figures of a training so far."""
        folder = self._place(at, "training").parent
        rows = read_log(folder)
        said = (Markup('<p class="lead">{}</p>').format(sentence) for sentence in findings(folder, rows))
        return Markup("").join([*said, curves(folder, rows)])


def _named(at: str) -> str:
    return printable(at.removesuffix(RESULT).removesuffix(LOG).strip("/") or ".")


def _at(several: Sequence[object], place: int) -> Any:
    if not 0 <= place < len(several):
        raise Unknown("there is no such part of this run")
    return several[place]


def _preformatted(text: str) -> Markup:
    return Markup('<pre class="scroll">{}</pre>').format(text)


def error_page(message: str) -> str:
    return _page("plain.html", title="This cannot be shown", parts=[_preformatted(printable(message, lines=True))])


def _page(name: str, script: str = "", remote: bool = False, **parts: object) -> str:
    template = templates("equipoise.view").get_template(name)
    return template.render(
        style=page_part("report.css") + page_part("view.css", "view"),
        script=script,
        policy=policy(script, remote),
        **parts,
    )

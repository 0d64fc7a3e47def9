"""One shard of work: the captions of some images -> the lines of their items, and the dropped texts with reasons.

Several recipes, and the item that was there before, make one item together, as in the training set of Kamath et al.
2024. Every recipe draws as it does alone, so a union holds what its parts hold. No text of the item goes; a text that
one recipe calls right and another wrong is kept from the first of them, and counted.

The finished parts of a long run lie next to its output, so that a killed run goes on where it stopped.
`OUT.parts/manifest.json` says whose parts these are: input, recipe, seed and the code and word lists that wrote them.
`NNNNNN.jsonl` are the items of one shard, `NNNNNN.json` its counts and the hash of its items; the counts are written
last, so a shard with counts is whole. A shard is a pure function of its captions and the manifest, which is why the
joined bytes do not depend on who wrote which part, or when.
"""

from __future__ import annotations

import contextlib
import gc
import hashlib
import os
import queue
import shutil
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from threadpoolctl import threadpool_limits

from equipoise.core import run_folder
from equipoise.core.errors import UserError
from equipoise.core.files import atomic_write, json_line, read_json, sha256_file, write_json
from equipoise.core.plugins import is_named, own_line
from equipoise.data.items import ImageRef, Item, Text
from equipoise.data.readers.captions.groups import CaptionRecord, Group
from equipoise.language.caption import Caption
from equipoise.perturb.recipe import TOGETHER, Candidate, Perturbed, Recipe, perturb_caption, prepare
from equipoise.perturb.recipes import Setup
from equipoise.perturb.run.counts import ASKED, Counts


class Parts:
    """The folder of parts of one output file."""

    def __init__(self, out: str | Path, listing: bool = False) -> None:
        self.out = Path(out).resolve()  # parts lie where the output will, so that it can be renamed in one step
        self.folder = self.out.with_name(self.out.name + ".parts")
        self.listing = listing  # whether each shard also lists dropped texts, with reasons

    @property
    def manifest(self) -> Path:
        return self.folder / "manifest.json"

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other processes from writing these parts; the folder goes afterwards if it is empty."""
        with run_folder.locked(self.folder, name=self.out):
            try:
                yield
            finally:
                with contextlib.suppress(OSError):
                    self.folder.rmdir()

    def open(self, identity: dict[str, object]) -> None:
        """Begin, or go on with parts of the same run; parts of another run are never mixed in."""
        if (claim := run_folder.claim_of(self.manifest)) is not None and claim["command"] in (None, "perturb"):
            run_folder.refuse_other(self.folder, *in_words(claim["run"], identity))
        run_folder.take(self.folder, "perturb", identity, claim=self.manifest.name)

    def _paths(self, number: int) -> tuple[Path, Path]:
        return self.folder / f"{number:06d}.jsonl", self.folder / f"{number:06d}.json"

    def finished(self, number: int) -> dict[str, object] | None:
        """The counts of a shard whose items are there and whole."""
        items, counts_file = self._paths(number)
        if not counts_file.is_file() or not items.is_file() or (self.listing and not self._listed(number).is_file()):
            return None
        try:
            counts: dict[str, Any] = read_json(counts_file)
        except UserError:  # damaged: the shard is done again
            return None
        whole = isinstance(counts, dict) and sha256_file(items) == counts.get("sha256")
        return counts if whole else None

    def _listed(self, number: int) -> Path:
        return self.folder / f"{number:06d}.dropped"

    def write(
        self, number: int, lines: Iterable[str], counts: dict[str, object], dropped: Iterable[str] = ()
    ) -> dict[str, Any]:
        """Write a shard, its counts last."""
        items, counts_file = self._paths(number)
        if self.listing:
            with atomic_write(self._listed(number), "wb") as handle:
                handle.write("".join(line + "\n" for line in dropped).encode())
        raw = "".join(line + "\n" for line in lines).encode()
        with atomic_write(items, "wb") as handle:
            handle.write(raw)
        counts = {**counts, "sha256": hashlib.sha256(raw).hexdigest()}
        write_json(counts_file, counts)
        return counts

    def join(self, shards: int) -> Path:
        """All shards in order as one file, still among the parts."""
        joined = self.folder / "joined.jsonl"
        _concatenate([self._paths(number)[0] for number in range(shards)], joined)
        return joined

    def join_dropped(self, shards: int, path: Path) -> None:
        """Write the texts that all shards dropped as one file of the user's."""
        _concatenate([self._listed(number) for number in range(shards)], path)

    def publish(self, joined: Path) -> None:
        """Give the joined file the output's name, and remove the parts. Through a symlink its target is replaced."""
        os.replace(joined, self.out)
        self.remove()

    def remove(self) -> None:
        """Remove the folder, the manifest last: whatever a kill leaves still says whose it is."""
        for path in self.folder.iterdir() if self.folder.is_dir() else ():
            if path != self.manifest and path.is_file():
                path.unlink(missing_ok=True)
        shutil.rmtree(self.folder, ignore_errors=True)

    def remove_if_of(self, identity: dict[str, object]) -> None:
        """Remove the parts that a kill during `publish` left behind."""
        claim = run_folder.claim_of(self.manifest)
        if claim is not None and not run_folder.differences(claim["run"], identity):
            self.remove()


def _concatenate(files: Iterable[Path], path: Path) -> None:
    with atomic_write(path, "wb") as target:
        for file in files:
            with file.open("rb") as handle:
                shutil.copyfileobj(handle, target, 1 << 20)


def in_words(before: dict[str, object], now: dict[str, object]) -> tuple[dict[str, object], dict[str, object]]:
    """Two identities for `run_folder.refuse_other`, with words where a hash would tell a person nothing."""
    identities: list[dict[str, Any]] = [dict(before), dict(now)]
    files = [identity.pop("input", None) or {} for identity in identities]
    if files[0] != files[1]:
        names = [", ".join(listed) or "nothing" for listed in files]
        since = ("as it was then", "which has changed since") if names[0] == names[1] else ("", "")
        for identity, name, when in zip(identities, names, since, strict=True):
            identity["the captions"] = f"{name}, {when}" if when else name
    codes = [identity.pop("code", None) for identity in identities]
    if codes[0] != codes[1]:
        identities[0]["the rules"], identities[1]["the rules"] = "those of another version", "this version's"
    return identities[0], identities[1]


def joined(results: Sequence[Perturbed], before: Item | None = None) -> Perturbed:
    """Join the results of several recipes for one caption, without the texts that its item has already."""
    together = Perturbed(refused=next((result.refused for result in results if result.refused), None))
    together.known = next((result.known for result in results if result.known is not None), None)
    said = {
        "positive": {_same(text.text) for text in before.positives} if before else set(),
        "negative": {_same(text.text) for text in before.negatives} if before else set(),
    }
    for result in results:
        together.dropped += result.dropped
        together.empty += result.empty
        for candidate in (*result.positives, *result.negatives):
            opposite = "negative" if candidate.kind == "positive" else "positive"
            if _same(candidate.text) in said[opposite]:
                together.dropped.append((candidate, f"already a {opposite} of this caption"))
            elif _same(candidate.text) in said[candidate.kind]:
                together.dropped.append((candidate, "the item has this text already"))
            else:
                said[candidate.kind].add(_same(candidate.text))
                (together.positives if candidate.kind == "positive" else together.negatives).append(candidate)
    return together


def _same(text: str) -> str:
    return " ".join(text.lower().split())


def before_of(record: CaptionRecord) -> Item | None:
    return None if record.item is None else Item.model_validate_json(record.item)


def item_of(group: Group, record: CaptionRecord, result: Perturbed, recipe: str) -> Item:
    """The item of a caption; an item that was there keeps its texts and gets the new ones after them."""
    before = before_of(record)
    if before is None:
        tags = {"recipe": recipe} | ({} if record.source_id is None else {"source_id": record.source_id})
        box = None if record.box is None else (*record.box,)
        return Item(
            id=f"{record.number:09d}",
            image=None if group.image is None else ImageRef(path=group.image, box=box),
            caption=record.text,
            positives=_texts(result.positives),
            negatives=_texts(result.negatives),
            tags=tags,
        )
    spans = before.caption == record.text  # else the places are those of the cleaned caption
    names = before.tags["recipe"].split(",") if before.tags.get("recipe") else []
    return before.model_copy(
        update={
            "positives": before.positives + _texts(result.positives, spans),
            "negatives": before.negatives + _texts(result.negatives, spans),
            "tags": before.tags | {"recipe": ",".join(dict.fromkeys((*names, *recipe.split(","))))},
        }
    )


def _texts(candidates: list[Candidate], spans: bool = True) -> tuple[Text, ...]:
    return tuple(
        Text(text=candidate.text, edit=candidate.edit if spans else candidate.edit.model_copy(update={"span": None}))
        for candidate in candidates
    )


SHARD = 500  # captions: a few a second; the last ones keep all workers busy


CountsByShard = dict[int, dict[str, object]]  # the counts of each shard
Advance = Callable[[int], None]


class Shard(NamedTuple):
    number: int
    groups: list[Group]

    @property
    def captions(self) -> int:
        return sum(group.captions for group in self.groups)


def shards_of(groups: Iterable[Group], size: int = SHARD) -> Iterator[Shard]:
    """Consecutive groups of at least `size` captions together; an image is never cut in two."""
    number, part, captions = 0, [], 0
    for group in groups:
        part.append(group)
        captions += group.captions
        if captions >= size:
            yield Shard(number, part)
            number, part, captions = number + 1, [], 0
    if part:
        yield Shard(number, part)


def run_shard(setup: Setup, parts: Parts, shard: Shard) -> dict[str, object]:
    """Perturb a shard and write it; returns its counts."""
    # The judge multiplies thousands of small matrices: BLAS threads cost more than they save (bench/perturb.py). Word
    # lists and nets stay, and a shard leaves no cycles: looking for garbage only takes time.
    collected = gc.isenabled()
    gc.disable()
    try:
        with threadpool_limits(1, user_api="blas"):
            return _run_shard(setup, parts, shard)
    finally:
        if collected:
            gc.enable()


def _run_shard(setup: Setup, parts: Parts, shard: Shard) -> dict[str, object]:
    jobs = [(group, record) for group in shard.groups for record in group.records]
    counts = Counts()
    listed: list[str] = []
    for group in shard.groups:
        for where, reason in group.refused:
            counts.refuse(where, reason)
            listed.append(json_line({"caption": where, "text": None, "left_out": reason}))
    lines = []
    for (group, record), outcome in zip(jobs, _perturb_all(setup.recipes(), setup, jobs), strict=True):
        result = Perturbed(refused=outcome) if isinstance(outcome, str) else outcome
        has_texts = bool(result.positives or result.negatives)
        where = f"caption {record.number + 1}"
        if result.refused:
            counts.refuse(where, result.refused)
        else:
            counts.add(result)
            counts.lack(where, record.text, result)
            if not has_texts:
                counts.miss(where, result)
        if parts.listing:
            listed += dropped_lines(where, record.text, result)
        if has_texts or setup.keep_all or record.item is not None:  # an items file is added to, never thinned
            item = item_of(group, record, result, setup.joined_name)
            counts.have(before_of(record), result, item)
            lines.append(json_line(item.to_json()))
    answered = {} if setup.asked is None else dict(zip(ASKED, setup.asked.answered(), strict=True))
    return parts.write(shard.number, lines, {"items": len(lines), **counts.to_json(shard.captions), **answered}, listed)


def dropped_lines(where: str, text: str, result: Perturbed) -> Iterator[str]:
    """The lines of `--dropped` for a caption: each text that was not written, with its reason."""
    about = {"caption": where, "text": text}
    if result.refused:
        yield json_line({**about, "left_out": result.refused})
    for slot, reason in result.empty:
        yield json_line({**about, "slot": slot, "reason": reason})
    for candidate, reason in result.dropped:
        yield json_line({**about, "kind": candidate.kind, "candidate": candidate.text, "reason": reason})


Job = tuple[Group, CaptionRecord]
Outcome = Perturbed | str  # text is why the caption was refused
_T = TypeVar("_T")


def _perturb_all(recipes: tuple[Recipe, ...], setup: Setup, jobs: list[Job]) -> Iterator[Outcome]:
    """The outcome of each caption, in order. Threads only help where a server does the work."""
    for start in range(0, len(jobs), TOGETHER):
        block = [(caption_of(*job), job[1]) for job in jobs[start : start + TOGETHER]]
        if setup.threads == 1:  # else each thread judges what it has asked for
            prepare(recipes, [caption for caption, _ in block])
        work: Callable[[tuple[Caption, CaptionRecord]], Outcome] = lambda job: _perturb(recipes, setup, *job)  # noqa: E731
        yield from map(work, block) if setup.threads == 1 else _on_threads(work, block, setup.threads)


def caption_of(group: Group, record: CaptionRecord) -> Caption:
    return Caption(record.text, tuple(other.text for other in group.records if other.number != record.number))


def _on_threads(work: Callable[[_T], Outcome], jobs: list[_T], count: int) -> list[Outcome]:
    """Work on daemon threads: neither an error nor Ctrl-C waits for a server that hangs."""
    todo: queue.SimpleQueue[int] = queue.SimpleQueue()
    done: queue.SimpleQueue[tuple[int, Outcome | BaseException]] = queue.SimpleQueue()
    stopped = threading.Event()
    for place in range(len(jobs)):
        todo.put(place)

    def run() -> None:
        with contextlib.suppress(queue.Empty):
            while not stopped.is_set():
                place = todo.get_nowait()
                try:
                    done.put((place, work(jobs[place])))
                except BaseException as error:
                    done.put((place, error))

    for _ in range(min(count, len(jobs))):
        threading.Thread(target=run, daemon=True).start()
    outcomes: dict[int, Outcome] = {}
    try:
        while len(outcomes) < len(jobs):
            place, outcome = done.get()
            if isinstance(outcome, BaseException):
                raise outcome
            outcomes[place] = outcome
    finally:
        stopped.set()
    return [outcomes[place] for place in range(len(jobs))]


def _perturb(recipes: tuple[Recipe, ...], setup: Setup, caption: Caption, record: CaptionRecord) -> Outcome:
    try:
        results = [perturb_caption(recipe, caption, setup.seed) for recipe in recipes]
    except UserError:
        raise
    except Exception as error:  # one odd caption must not cost the other 600,000; the report shows it
        if os.environ.get("EQUIPOISE_TRACEBACK"):
            raise
        if is_named(setup.name):  # the user's own, who wants to see the line
            return f"a bug in the recipe ({type(error).__name__}: {error}; {own_line(error)})"
        return f"a bug in the recipe ({type(error).__name__})"
    return results[0] if len(results) == 1 and record.item is None else joined(results, before_of(record))

"""One shard of work: the captions of some images -> the lines of their items and what was dropped, and why.

Several recipes, and the item that was there before, make one item together, as in the training set of Kamath et al.
2024. Every recipe draws as it does alone, so a union holds what its parts hold. Nothing that was there goes; what one
recipe calls right and another wrong is kept from whoever said it first, and counted.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import os
import queue
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

from threadpoolctl import threadpool_limits

from equipoise.core.errors import UserError
from equipoise.core.files import json_line
from equipoise.core.plugins import is_named, own_line
from equipoise.data.items import ImageRef, Item, Text
from equipoise.data.readers.captions.groups import Group, Record
from equipoise.language.caption import Caption
from equipoise.perturb.mix import Mix, sum_of_mixes
from equipoise.perturb.recipe import TOGETHER, Candidate, Perturbed, Recipe, edit_class, perturb_caption, prepare
from equipoise.perturb.recipes import Setup
from equipoise.perturb.run.parts import Parts


def joined(found: Sequence[Perturbed], before: Item | None = None) -> Perturbed:
    """The results of several recipes for one caption as one, beside what its item has already."""
    together = Perturbed(refused=next((one.refused for one in found if one.refused), None))
    together.known = next((one.known for one in found if one.known is not None), None)
    said = {
        "positive": {_same(text.text) for text in before.positives} if before else set(),
        "negative": {_same(text.text) for text in before.negatives} if before else set(),
    }
    for one in found:
        together.dropped += one.dropped
        together.empty += one.empty
        for candidate in (*one.positives, *one.negatives):
            other = "negative" if candidate.kind == "positive" else "positive"
            if _same(candidate.text) in said[other]:
                together.dropped.append((candidate, f"already a {other} of this caption"))
            elif _same(candidate.text) in said[candidate.kind]:
                together.dropped.append((candidate, "the item has this text already"))
            else:
                said[candidate.kind].add(_same(candidate.text))
                (together.positives if candidate.kind == "positive" else together.negatives).append(candidate)
    return together


def _same(text: str) -> str:
    return " ".join(text.lower().split())


def before_of(record: Record) -> Item | None:
    return None if record.item is None else Item.model_validate_json(record.item)


def item_of(group: Group, record: Record, found: Perturbed, recipe: str) -> Item:
    """The item of a caption; where there was one, it with the new texts after its own."""
    before = before_of(record)
    if before is None:
        tags = {"recipe": recipe} | ({} if record.source_id is None else {"source_id": record.source_id})
        box = None if record.box is None else (*record.box,)
        return Item(
            id=f"{record.number:09d}",
            image=None if group.image is None else ImageRef(path=group.image, box=box),
            caption=record.text,
            positives=_texts(found.positives),
            negatives=_texts(found.negatives),
            tags=tags,
        )
    spans = before.caption == record.text  # else the places are those of the cleaned caption
    names = before.tags["recipe"].split(",") if before.tags.get("recipe") else []
    return before.model_copy(
        update={
            "positives": before.positives + _texts(found.positives, spans),
            "negatives": before.negatives + _texts(found.negatives, spans),
            "tags": before.tags | {"recipe": ",".join(dict.fromkeys((*names, *recipe.split(","))))},
        }
    )


def texts_of(found: Perturbed) -> dict[str, tuple[Text, ...]]:
    """The new texts alone, as an item's fields."""
    return {"positives": _texts(found.positives), "negatives": _texts(found.negatives)}


def _texts(candidates: list[Candidate], spans: bool = True) -> tuple[Text, ...]:
    return tuple(
        Text(text=each.text, edit=each.edit if spans else each.edit.model_copy(update={"span": None}))
        for each in candidates
    )


HAVING = ("a positive", "a negative", "both", "both by swap", "both by replace", "neither")


def having(items: Iterable[Item]) -> dict[str, int]:
    """How many items have what a recipe of training may need; a loss that needs both learns nothing from the others."""
    counts = dict.fromkeys(HAVING, 0)
    for item in items:
        right, wrong = (
            {None if text.edit is None else text.edit.op for text in texts}
            for texts in (item.positives, item.negatives)
        )
        counts["a positive"] += bool(right)
        counts["a negative"] += bool(wrong)
        counts["both"] += bool(right and wrong)
        counts["both by swap"] += "swap" in right & wrong
        counts["both by replace"] += "replace" in right & wrong
        counts["neither"] += not (right or wrong)
    return counts


SHARD = 500  # captions: a few a second; the last ones keep all workers busy
_SHOWN = 5  # places of refused captions that a shard keeps for the report


Found = dict[int, dict[str, object]]  # the counts of each shard
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
        found = Perturbed(refused=outcome) if isinstance(outcome, str) else outcome
        made = bool(found.positives or found.negatives)
        where = f"caption {record.number + 1}"
        if found.refused:
            counts.refuse(where, found.refused)
        else:
            counts.add(found)
            counts.lack(where, record.text, found)
            if not made:
                counts.miss(where, found)
        if parts.listing:
            listed += dropped_lines(where, record.text, found)
        if made or setup.keep_all or record.item is not None:  # an items file is added to, never thinned
            item = item_of(group, record, found, setup.joined_name)
            counts.have(before_of(record), found, item)
            lines.append(json_line(item.to_json()))
    asked = {} if setup.asked is None else dict(zip(ASKED, setup.asked.answered(), strict=True))
    return parts.write(shard.number, lines, {"items": len(lines), **counts.to_json(shard.captions), **asked}, listed)


def dropped_lines(where: str, text: str, found: Perturbed) -> Iterator[str]:
    """A line for each text that was not made of a caption, with its reason: for `--dropped`."""
    about = {"caption": where, "text": text}
    if found.refused:
        yield json_line({**about, "left_out": found.refused})
    for slot, reason in found.empty:
        yield json_line({**about, "slot": slot, "reason": reason})
    for candidate, reason in found.dropped:
        yield json_line({**about, "kind": candidate.kind, "candidate": candidate.text, "reason": reason})


Job = tuple[Group, Record]
Outcome = Perturbed | str  # text is why the caption was refused
_T = TypeVar("_T")


def _perturb_all(recipes: tuple[Recipe, ...], setup: Setup, jobs: list[Job]) -> Iterator[Outcome]:
    """What became of each caption, in order. Threads only help where a server does the work."""
    for start in range(0, len(jobs), TOGETHER):
        block = [(caption_of(*job), job[1]) for job in jobs[start : start + TOGETHER]]
        if setup.threads == 1:  # else each thread judges what it has asked for
            prepare(recipes, [caption for caption, _ in block])
        work: Callable[[tuple[Caption, Record]], Outcome] = lambda one: _perturb(recipes, setup, *one)  # noqa: E731
        yield from map(work, block) if setup.threads == 1 else _on_threads(work, block, setup.threads)


def caption_of(group: Group, record: Record) -> Caption:
    return Caption(record.text, tuple(other.text for other in group.records if other.number != record.number))


def _on_threads(work: Callable[[_T], Outcome], jobs: list[_T], count: int) -> list[Outcome]:
    """The threads are daemons: neither an error nor Ctrl-C waits for a server that hangs."""
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
    found: dict[int, Outcome] = {}
    try:
        while len(found) < len(jobs):
            place, outcome = done.get()
            if isinstance(outcome, BaseException):
                raise outcome
            found[place] = outcome
    finally:
        stopped.set()
    return [found[place] for place in range(len(jobs))]


def _perturb(recipes: tuple[Recipe, ...], setup: Setup, caption: Caption, record: Record) -> Outcome:
    try:
        found = [perturb_caption(recipe, caption, setup.seed) for recipe in recipes]
    except UserError:
        raise
    except Exception as error:  # one odd caption must not cost the other 600,000; the report shows it
        if os.environ.get("EQUIPOISE_TRACEBACK"):
            raise
        if is_named(setup.name):  # the user's own, who wants to see the line
            return f"a bug in the recipe ({type(error).__name__}: {error}; {own_line(error)})"
        return f"a bug in the recipe ({type(error).__name__})"
    return found[0] if len(found) == 1 and record.item is None else joined(found, before_of(record))


_PARTICULAR = re.compile(r"(?<!\w)'[^']*'(?!\w)|(?<!\w)\"[^\"]*\"(?!\w)|: .*| \(.*\)$")


@functools.lru_cache(maxsize=1 << 12)
def reason_class(reason: str) -> str:
    """A reason without the words it speaks of, so that reasons can be counted."""
    return re.sub(r"\d[\d,]*", "N", _PARTICULAR.sub("…", reason)).replace("…,", "…").removesuffix("…").strip()


_NO_REASON = "every candidate was"  # refused by a check: the checks have their own
ASKED = ("answers", "answers_from_cache")  # of a language model
COUNTED = ("edits", "dropped", "refused", "empty", "lacking")
_WHEN = ("had", "added", "having")


class Counts:
    """What a shard kept and dropped, under the names of the report."""

    def __init__(self) -> None:
        self.nothing = 0
        self.had, self.added, self.having = (dict.fromkeys(HAVING, 0) for _ in range(3))  # before, by this run, now
        self.edits, self.dropped, self.refused, self.empty, self.lacking = (Counter[str]() for _ in COUNTED)
        self.refused_at: list[list[str]] = []
        self.nothing_at: list[list[str]] = []
        self.lacking_at: dict[str, list[str]] = {}
        self.mix = Mix()

    def lack(self, where: str, text: str, found: Perturbed) -> None:
        """Why a caption has no positive, or no negative: one reason for each, that of the text that came nearest."""
        made = {"positive": found.positives, "negative": found.negatives}
        first: dict[str, str] = {}
        for name, reason in (*((one.kind, why) for one, why in found.dropped), *found.empty):
            kind = name.split()[0]  # slots are called "negative object", or as their paper does
            if not made.get(kind, found.positives or found.negatives) and not reason.startswith(_NO_REASON):
                first.setdefault(kind if kind in made else "text", reason)
        for kind, reason in first.items():
            name = f"{kind}: {reason_class(reason)}"
            self.lacking[name] += 1
            self.lacking_at.setdefault(name, [where, text, reason])

    def miss(self, where: str, found: Perturbed) -> None:
        """A caption that gave nothing."""
        self.nothing += 1
        if len(self.nothing_at) < _SHOWN:
            why = [reason for _, reason in (*found.dropped, *found.empty) if not reason.startswith(_NO_REASON)]
            self.nothing_at.append([where, "; ".join(list(dict.fromkeys(why))[:2])])

    def refuse(self, where: str, reason: str) -> None:
        self.refused[reason] += 1
        if len(self.refused_at) < _SHOWN:
            self.refused_at.append([where, reason])

    def add(self, found: Perturbed) -> None:
        self.mix.add(found)
        for candidate in (*found.positives, *found.negatives):
            self.edits[edit_class(candidate.kind, candidate.edit)] += 1
        self.empty.update({f"{slot}: {reason_class(reason)}" for slot, reason in found.empty})
        for candidate, reason in found.dropped:
            self.dropped[f"{candidate.kind}: {reason_class(reason)}"] += 1

    def have(self, before: Item | None, found: Perturbed, now: Item) -> None:
        """What an item had before, what it got, and what it has now."""
        new = all_now = having([now])
        if before is not None:
            new = having([now.model_copy(update=texts_of(found))])
            for name, count in having([before]).items():
                self.had[name] += count
        for name in HAVING:
            self.added[name] += new[name]
            self.having[name] += all_now[name]

    def to_json(self, captions: int) -> dict[str, object]:
        counters = {name: dict(sorted(getattr(self, name).items())) for name in COUNTED}
        return {"captions": captions, **vars(self), **counters, "mix": self.mix.to_json()}


def summed(parts: Iterable[dict[str, Any]], shown: int = 20) -> dict[str, Any]:
    """The counts of all shards together; reasons by how often they occur."""
    parts = list(parts)
    asked = [name for name in ASKED if any(name in part for part in parts)]
    total: dict[str, Any] = {name: sum(part[name] for part in parts) for name in ("captions", "items", "nothing")}
    total |= {name: sum(part.get(name, 0) for part in parts) for name in asked}
    total |= {when: {name: sum(part[when][name] for part in parts) for name in HAVING} for when in _WHEN}
    for name in COUNTED:
        found = sum((Counter[str](part[name]) for part in parts), Counter[str]())
        total[name] = dict(sorted(found.items(), key=lambda pair: (-pair[1], pair[0])))
    for name in ("refused_at", "nothing_at"):
        total[name] = [place for part in parts for place in part[name]][:shown]
    examples: dict[str, list[str]] = {}
    for part in reversed(parts):
        examples |= part["lacking_at"]
    total["lacking_at"] = {name: examples[name] for name in total["lacking"]}
    return {**total, "mix": sum_of_mixes(part["mix"] for part in parts)}

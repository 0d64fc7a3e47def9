"""Checks REPLACE for its defects and writes the verdicts that `replace-clean` is made by.

    python -m studies.replace_clean VL_CHECKLIST

REPLACE was made by string replacement on VL-CheckList, itself made so. Each check below finds one kind of damage
and says so; a record with any is dropped, and only articles and spaces are repaired. The checks
read the texts, not the photos: that another white car stands in the photo of a "red car" they cannot know.
Where a rule must choose, it drops: the benchmark has records to spare, and a false negative costs the
model a point it deserved. replace_clean.toml has the words. Writes src/equipoise/benchmarks/data/replace/clean.json.
"""

from __future__ import annotations

import itertools
import json
import re
import tomllib
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from equipoise.audit.edits import NEAR
from equipoise.benchmarks.replace import build as replace
from equipoise.benchmarks.replace.clean import VERDICTS, Cleaned, fingerprint, sort, texts_of
from equipoise.core.files import atomic_write
from equipoise.data.items import Item
from studies.harness.inputs import arguments, existing

_WORDS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


def _words(text: str) -> frozenset[str]:
    """Words parted by commas; @name stands for the words of a set."""
    entries = [part.strip() for part in text.split(",")]
    shared = [words(part[1:]) for part in entries if part.startswith("@")]
    return frozenset(part for part in entries if not part.startswith("@")).union(*shared)


def words(name: str) -> frozenset[str]:
    return _words(_WORDS["sets"][name])


COMPATIBLE = {word: _words(text) for word, text in _WORDS["compatible"].items()}
EXCLUDES = {word: _words(text) for word, text in _WORDS["excludes"].items()}
OPPOSITE: dict[str, str] = _WORDS["opposite"]
ARTICLES = ("a", "an", "the")
WHILE_HOLDING = re.compile("|".join(_WORDS["while_holding"]["patterns"]))
COLOURS, GARMENTS, SIDES, MANNERS = map(words, ("colours", "garments", "sides", "manners"))
IN_COMPOUND, WORN_NOT_IN, WITH_HANDS = map(words, ("in_compound", "worn_not_in", "with_hands"))
FLAT_ON_WALL, WEARS_NOTHING, PEOPLE, PARTICLES = map(words, ("flat_on_wall", "wears_nothing", "people", "particles"))


class Record:
    """Caption, hard positive and hard negative as lower-case words, and what changed between them."""

    def __init__(self, item: Item) -> None:
        self.item = item
        self.caption = item.caption.lower().split()
        self.positive = item.positives[0].text.lower().split()
        self.negative = item.negatives[0].text.lower().split()
        self.relation = item.tags["split"] == "relations"
        self.spatial = item.tags.get("type") == "spatial"
        edit = item.positives[0].edit
        self.source = (edit and edit.source) or ""
        self.synonym = (edit and edit.to) or ""
        self.at = self._position()
        self.before = self.caption[: self.at]
        self.after = self.caption[self.at + len(self.source.split()) :]
        self.lost, self.gained, self.lost_at = self._negative_edit()

    def _position(self) -> int:
        """Where the one whole phrase stands whose replacement gives the hard positive; -1 if that is not how."""
        phrase, synonym = self.source.split(), self.synonym.split()
        for at in range(len(self.caption) if phrase else 0):
            end = at + len(phrase)
            if self.caption[at:end] == phrase and self.caption[:at] + synonym + self.caption[end:] == self.positive:
                return at
        return -1

    def _negative_edit(self) -> tuple[list[str], list[str], int]:
        """The words that the negative lost and gained, and where."""
        start = _common(self.caption, self.negative)
        end = _common(self.caption[start:][::-1], self.negative[start:][::-1])
        return self.caption[start : len(self.caption) - end], self.negative[start : len(self.negative) - end], start


def _common(first: Sequence[str], second: Sequence[str]) -> int:
    """How many words at the start are the same."""
    return next(
        (count for count, (a, b) in enumerate(zip(first, second, strict=False)) if a != b), min(len(first), len(second))
    )


def tie(record: Record) -> str | None:
    return "tie" if record.negative in (record.caption, record.positive) else None


def garbled(record: Record) -> str | None:
    pairs = zip(record.caption, record.caption[1:], strict=False)
    return "garbled" if any(word == following for word, following in pairs) else None


def compound(record: Record) -> str | None:
    """The word before or after the phrase belonged to it."""
    if not record.relation or record.at < 0 or not record.after:
        return None
    before = record.before[-1] if record.before else ""  # a caption may begin with the phrase
    after, then = record.after[0], record.after[1:2]
    if record.source == "in":
        broken = after in IN_COMPOUND or before in {"near", "out", "up", "on", "is", "are"}
        broken |= after in {"back", "center", "front", "middle", "rear", "side", "top"} and then in ([], ["of"])
    elif record.source == "riding":
        broken = after in PARTICLES
    elif record.source == "near":
        broken = after in {"by", "to", "top", "edge", "end", "center", "middle"}
    elif record.spatial:
        broken = after in {"of", "to", "by", "side"} or before in {"side", "close", "near", "from"}
    else:
        broken = False
    return "compound" if broken else None


def part_of_word(record: Record) -> str | None:
    """Several words changed, or pieces of them; records of unknown edits are not judged."""
    return "part of word" if record.source and record.at < 0 else None


def other_word(record: Record) -> str | None:
    if not record.source or not record.lost:
        return None
    if record.at < 0:
        return None if set(record.source.split()) & set(record.lost) else "other word"
    end = record.at + len(record.source.split())
    overlap = record.lost_at < end and record.at < record.lost_at + len(record.lost)
    return None if overlap else "other word"


def corrupt_negative(record: Record) -> str | None:
    """Pieces of "out of" or "above" inside what were words of the caption."""
    pieces = re.search(r"\w(out of)|out of\w|\babove\w", " ".join(record.negative))
    return "corrupt negative" if pieces and record.relation else None


def wordy_negative(record: Record) -> str | None:
    """Beyond the phrase a negative may lose an article, and with a verb its preposition."""
    if record.at < 0 or not record.lost:
        return None
    lost = " ".join(word for word in record.lost if word not in ARTICLES)
    if record.source in ("wearing", "wears", "holding") or record.spatial or not record.relation:
        fine = lost == record.source
    else:
        fine = lost.startswith(record.source) and set(lost.removeprefix(record.source).split()) <= PARTICLES
    if record.spatial:
        fine &= " ".join(record.gained) in (OPPOSITE[record.source], "nearby")
    return None if fine else "wordy negative"


def not_within(record: Record) -> str | None:
    if record.source != "in" or record.at < 0:
        return None
    rest = [word for word in record.after if word not in ARTICLES]
    if not rest:
        return None
    side = rest[0] in SIDES | MANNERS and not (rest[0] in {"left", "right", "top", "back"} and len(rest) > 1)
    clothes = bool(set(rest) & GARMENTS) or set(rest) <= COLOURS
    return "not within" if side or clothes else None


def not_in(record: Record) -> str | None:
    if record.source not in ("wearing", "wears") or record.at < 0:
        return None
    return "not in" if not record.after or record.after[-1].strip(".") in WORN_NOT_IN else None


def no_synonym(record: Record) -> str | None:
    """Words that are synonyms, but not for everything."""
    if record.at < 0:
        return None
    who = record.before[-1] if record.before else ""
    what = record.after[0] if record.after else ""
    wrong = record.source == "above"  # lamps above a table are not on top of it
    if record.relation:
        wrong |= record.source in ("holding", "sitting") and who not in WITH_HANDS
        wrong |= record.source == "hanging" and who in FLAT_ON_WALL
        wrong |= record.synonym == "in" and who in WEARS_NOTHING
        wrong |= record.source in ("sitting", "walking", "hanging") and what not in PARTICLES  # strolling a dog
        wrong |= record.source == "by" and who.endswith("ed")
    else:
        wrong |= record.source in ("sitting", "standing") and not set(record.after) & WITH_HANDS
        wrong |= record.source == "hanging" and what in FLAT_ON_WALL
        wrong |= record.source == "clear" and what not in ("sky", "skies")
        wrong |= record.source in ("white", "black", "brown", "red") and what in PEOPLE
        wrong &= not (what == "hair" and record.source != "red")
    return "no synonym" if wrong else None


def near_synonym(record: Record) -> str | None:
    gained = " ".join(record.gained)
    near = NEAR.get(record.source, frozenset())
    return "near synonym" if not record.relation and any(gained.startswith(word) for word in near) else None


def both_true(record: Record) -> str | None:
    if not record.gained:
        return None
    word = record.gained[0]
    true = word in COMPATIBLE.get(record.source, ()) or record.gained == ["nearby"]
    if record.source in EXCLUDES and not record.relation:
        true |= word not in EXCLUDES[record.source] | NEAR.get(record.source, frozenset())
    if record.source == "holding":
        true |= bool(WHILE_HOLDING.search(" ".join(record.negative)))
    if {"zebra", "zebras"} & set(record.after):
        true |= {record.source, word} <= {"black", "white", "gray"}
    return "both true" if true else None


def symmetric(record: Record) -> str | None:
    if not record.spatial or record.at < 0:
        return None
    rest = [word for word in record.after if word not in (*ARTICLES, "other", "another")]
    return "symmetric" if rest == [word for word in record.before if word not in ARTICLES] else None


CHECKS: tuple[Callable[[Record], str | None], ...] = (
    tie,
    garbled,
    compound,
    part_of_word,
    other_word,
    corrupt_negative,
    wordy_negative,
    not_within,
    not_in,
    no_synonym,
    near_synonym,
    both_true,
    symmetric,
)


class Verdicts(NamedTuple):
    dropped: dict[str, tuple[str, ...]]  # by the record's id, every reason
    lost: dict[str, tuple[int, str]]  # the negative's missing article, and how many words stand before it


def judge(items: Sequence[Item]) -> Verdicts:
    """Every record that is dropped or lacks an article."""
    captions_of = _captions_by_image(items)
    result = Verdicts({}, {})
    seen: set[tuple[str, ...]] = set()
    for item in items:
        key = (item.image.path if item.image else "", *(_plain(text) for text in texts_of(item)))
        reasons = ["duplicate"] if key in seen else []
        seen.add(key)
        record = Record(item)
        reasons += [reason for check in CHECKS if (reason := check(record))]
        negative, caption = _plain(item.negatives[0].text), _plain(item.caption)
        if "tie" not in reasons and _is_written(negative, caption, captions_of[key[0]]):
            reasons.append("contradiction")
        if reasons:
            result.dropped[item.id] = tuple(reasons)
        elif (
            record.lost and record.lost[-1] in ARTICLES
        ):  # VL-CheckList replaced it together with the verb or preposition
            result.lost[item.id] = (record.lost_at + len(record.gained), record.lost[-1])
    return result


def clean(items: Sequence[Item]) -> Cleaned:
    return sort(items, *judge(items))


def _plain(text: str) -> str:
    """The text as it is compared with another: no case, no articles, single spaces."""
    return " ".join(word for word in text.lower().split() if word not in ARTICLES)


def _captions_by_image(items: Sequence[Item]) -> dict[str, set[str]]:
    """The captions of Visual Genome's annotators for each image."""
    captions: dict[str, set[str]] = defaultdict(set)
    for item in items:
        captions[item.image.path if item.image else ""].add(_plain(item.caption))
    return captions


def _is_written(negative: str, caption: str, captions: set[str]) -> bool:
    return any(f" {negative} " in f" {other} " for other in captions if other != caption)


def as_json(items: Sequence[Item]) -> str:
    """clean.json of these items: a line for every record that is dropped or lacks an article."""
    judgement = judge(items)
    splits = itertools.groupby(items, lambda item: item.tags["split"])
    tables: dict[str, Mapping[str, str | tuple[object, ...]]] = {
        "sha256": {split: fingerprint(list(group)) for split, group in splits},
        "dropped": judgement.dropped,
        "lost article": judgement.lost,
    }
    rows = {
        name: ",\n".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in table.items())
        for name, table in tables.items()
    }
    return "{\n" + ",\n".join(f"{json.dumps(name)}: {{\n{lines}\n}}" for name, lines in rows.items()) + "\n}\n"


def main() -> None:
    parser = arguments(__doc__)
    folders = existing("Relation/vg", "Attribute/vg")
    parser.add_argument("source", type=folders, help="folder of VL-CheckList's annotations")
    items = replace.load(parser.parse_args().source)
    with atomic_write(VERDICTS) as handle:
        handle.write(as_json(items))
    print(f"{len(items):,} records checked; wrote {VERDICTS}")


if __name__ == "__main__":
    main()

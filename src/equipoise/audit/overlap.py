"""Training data in a test: items whose photo or caption is also in a training file (`audit --against`).

A photo is known by the id in its file name, else by its path; where both folders are given, also by its bytes. Half of
Visual Genome's photos are COCO's under other numbers: names do not show that.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from equipoise.audit.checks import Flagged, counted
from equipoise.audit.record import TextCheck
from equipoise.core.errors import UserError
from equipoise.data.identity import photo_digests
from equipoise.data.images import open_source
from equipoise.data.items import Item
from equipoise.data.readers.captions.groups import read_captions

log = logging.getLogger(__name__)

_COCO = re.compile(r"(?:coco_(?:train|val|test)\d{4}_)?0{6}(\d{6})")
_FLICKR = re.compile(r"(\d{5,11})_[0-9a-f]{10}(?:_[a-z])?|([1-9]\d{7,10})")  # Flickr30k leaves the second part out
_FOLDERS = (
    ("COCO", re.compile(r"(?:^|/)(?:ms)?coco(?![a-z])|(?:^|/)(?:train|val|test)20(?:14|15|17)(?:/|$)")),
    ("Visual Genome", re.compile(r"(?:^|/)(?:vg|visual_?genome)(?:_100k|_2|/|$)")),
)


def photo_id(path: str) -> tuple[str, str]:
    """(the set, the photo's id in it); ("", the number) where the set is not known; ("path", the path) without one."""
    folder, _, name = path.lower().rpartition("/")
    stem = re.sub(r"\.\w{2,5}$", "", name)
    if match := _COCO.fullmatch(stem):
        return "COCO", str(int(match[1]))
    if stem.isascii() and stem.isdigit():
        for kind, pattern in _FOLDERS:
            if pattern.search(folder):
                return kind, str(int(stem))
        if re.fullmatch(r"[1-9]\d{6}", stem):  # COCO's ids have up to six digits
            return "Visual Genome", stem
    if match := _FLICKR.fullmatch(stem):
        return "Flickr", match[1] or match[2]
    return ("", stem) if re.fullmatch(r"[1-9]\d{0,5}", stem) else ("path", path)


def photo_ids(paths: Iterable[str], file: str) -> dict[str, tuple[str, str]]:
    """The id of each photo of a file. Numbers alone are of the set of its other photos, where these are of one set."""
    ids = {path: photo_id(path) for path in paths}
    sets = {kind for kind, _ in ids.values()} & {"COCO", "Visual Genome"}
    plain = [path for path, (kind, _) in ids.items() if not kind]
    if len(sets) == 1:
        return ids | {path: (next(iter(sets)), ids[path][1]) for path in plain}
    if plain:
        log.warning(
            f"{file}: {len(plain):,} photos are numbers of an unknown set, such as {plain[0]!r}: compared by path. "
            "If they are COCO's or Visual Genome's, put coco/ or vg/ before them"
        )
    return ids | {path: ("path", path) for path in plain}


def as_words(caption: str) -> str:
    """Lower case, without punctuation."""
    return " ".join(re.sub(r"[^\w\s]|_", "", caption.lower()).split())


def _digests(paths: dict[str, None], folder: Path) -> dict[str, bytes]:
    if not (read := photo_digests(paths, open_source(folder), workers=8)):
        raise UserError(f"{folder}: none of the {len(paths):,} photos is here, the first {next(iter(paths))}")
    if missing := len(paths) - len(read):
        log.warning(f"{folder}: {missing:,} of {len(paths):,} photos could not be read")
    return read


def overlap(
    items: Sequence[Item], train: Path, images: Path | None = None, train_images: Path | None = None
) -> list[TextCheck]:
    """A check each for photos by id, photos by content (where both folders are given) and captions."""
    said, photos = {as_words(item.caption): "" for item in items}, dict[str, None]()
    for group in read_captions(train):
        for record in group.records:
            if (words := as_words(record.text)) and words in said:
                said[words] = said[words] or record.text
            held = Item.model_validate_json(record.item).images() if record.item else ()
            photos |= dict.fromkeys([ref.path for ref in held] or ([group.image] if group.image else []))
    splits = {item.id: item.tags.get("split", "all") for item in items}
    own = dict.fromkeys(ref.path for item in items for ref in item.images())

    def of_photos(name: str, same: Callable[[str], str | None]) -> TextCheck:
        twins = {path: twin for path in own if (twin := same(path)) is not None}
        pairs = [(item.id, path) for item in items for path in dict.fromkeys(ref.path for ref in item.images())]
        findings = [Flagged(id_, "", f"{path} is {twins[path]}") for id_, path in pairs if path in twins]
        return counted(name, findings, sum(item.image is not None for item in items), splits)

    checks: list[TextCheck] = []
    if not photos or not own:
        log.warning(f"{train if own else 'the items'}: no photo is named, so only captions are compared")
    else:
        here, there = photo_ids(own, "the items"), photo_ids(photos, str(train))
        digests, trained = {}, {}
        if images is not None and train_images is not None:
            digests, trained = _digests(own, images), _digests(photos, train_images)
        names = {key: path for path, key in reversed(there.items())}

        def by_id(path: str) -> str | None:
            """Two folders may both have a 1.jpg: their bytes decide, where they are there."""
            twin = names.get(here[path])
            other = here[path][0] == "path" and path in digests and path in trained and digests[path] != trained[path]
            return None if other else twin

        checks.append(of_photos("train_photos", by_id))
        if trained:
            contents = {digest: path for path, digest in reversed(trained.items())}
            checks.append(of_photos("train_contents", lambda path: contents.get(digests.get(path, b""))))
    both = [(item, said[as_words(item.caption)]) for item in items]
    findings = [Flagged(item.id, "", f"{item.caption!r} is {text!r}") for item, text in both if text]
    return [*checks, counted("train_captions", findings, len(items), splits)]

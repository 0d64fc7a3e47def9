"""Makes the world's splits: which scenes and sentences are for finetuning, validation and test.

A scene is drawn from a random stream named by (split, test, seed, index). So splits share no scene, a name always gives
the same scene, and an image's path is enough to draw it at any size.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from random import Random

from PIL import Image

from equipoise.core import run_folder
from equipoise.core.errors import UserError
from equipoise.core.files import atomic_write
from equipoise.core.progress import progress
from equipoise.data.identity import of_code
from equipoise.data.images import encoded
from equipoise.data.items import Edit, ImageRef, Item, Target, Text, holds_items, write_items
from equipoise.world.cases import MAKERS, WorldCase, matched
from equipoise.world.draw import PIXELS, draw
from equipoise.world.scenes import Scene, sample_acting, sample_crowd, sample_scene
from equipoise.world.sentences import text
from equipoise.world.vocabulary import FAMILIES, Word

SPLITS = ("finetune", "finetune-matched", "finetune-objects", "finetune-actions", "validation", "test")
MATCHED = "finetune-matched"  # the scenes of `finetune`, without words that give a negative away
TESTS = ("replace-attributes", "replace-relations", "swap")  # types in finetuning
UNSEEN = ("count", "without")  # types that finetuning never sees
# types whose texts alone give nothing away
BALANCED = ("balanced-attributes", "balanced-relations", "balanced-count", "balanced-without")
# Half of the items are swaps: with a third, 200 steps of hard negatives changed SWAP by less than two points.
TURNS = {
    "finetune": ("replace-attributes", "swap", "replace-relations", "swap"),
    MATCHED: ("replace-attributes", "swap", "replace-relations", "swap"),
    # for CE-CLIP, which has a threshold for each type; separate splits, so that the demo's items do not change
    "finetune-objects": ("replace-attributes", "swap", "replace-relations", "replace-objects"),
    # the four types of its paper; the base model never saw the verbs
    "finetune-actions": ("replace-attributes", "swap", "replace-relations", "replace-objects", "replace-actions"),
}
KEPT = 40_000  # drawn pictures in memory, at most 280 MB, shared by the demo's models
_NO_CASE = 1000
_SAMPLERS = {**dict.fromkeys((*UNSEEN, *BALANCED[2:]), sample_crowd), "replace-actions": sample_acting}


def case_at(split: str, test: str, seed: int, index: int) -> WorldCase:
    """The case of that name. Finetuning uses only seen synonyms, other splits alternate between seen and unseen."""
    if split == MATCHED:
        return matched(case_at("finetune", test, seed, index), Random(f"{split}/{test}/{seed}/{index}"))
    rng = Random(f"{split}/{test}/{seed}/{index}")
    synonym = "seen" if split.startswith("finetune") or index % 2 else "unseen"
    for _ in range(_NO_CASE):
        scene = _SAMPLERS.get(test, sample_scene)(rng)
        case = MAKERS[test](scene, rng, synonym)
        if case is not None:
            return case
    raise AssertionError(f"no case of {test} in {_NO_CASE} scenes")


def scene_of(path: str) -> Scene:
    """The scene of an image's path."""
    try:
        split, test, seed, name = PurePosixPath(path).parts
        if split in SPLITS and test in MAKERS:
            return case_at(split, test, int(seed), int(name.removesuffix(".png"))).scene
    except ValueError:
        pass
    raise UserError(f"{path}: not an image of the drawn world; expected SPLIT/TEST/SEED/INDEX.png")


def item_of(case: WorldCase, name: str) -> Item:
    """The case as an Item; `name` is SPLIT/TEST/SEED/INDEX."""
    positive, negative = _edits(case)
    scene = name.replace(MATCHED, "finetune")  # the same picture
    tags = {"split": case.test, "type": case.family, "synonym": case.synonym}
    if case.changed is not None:
        tags["negative"] = _rarity(case.changed[2])
        if case.test in BALANCED:
            tags["caption"] = _rarity(case.changed[0])
    return Item(
        id=f"world/{name}",
        image=ImageRef(path=f"{scene}.png"),
        caption=text(case.caption),
        positives=(Text(text=text(case.positive), edit=positive),),
        negatives=(Text(text=text(case.negative), edit=negative),),
        tags=tags,
    )


def _rarity(word: Word) -> str:
    return "common" if word.text == FAMILIES[word.family][word.value][0] else "rare"


_TARGETS: dict[str, Target] = {
    "replace-relations": "relation",
    "balanced-relations": "relation",
    "replace-objects": "object",
    "replace-actions": "action",
}


def _edits(case: WorldCase) -> tuple[Edit, Edit]:
    if case.test == "swap":
        return Edit(op="swap", target="object", by="world"), Edit(op="swap", target="attribute", by="world")
    target: Target | None = _TARGETS.get(case.test, "attribute")
    if case.changed is None:  # without: "no" is reworded, and the two things are swapped
        return Edit(op="replace", by="world"), Edit(op="swap", target="object", by="world")
    old, to, wrong = case.changed
    return (
        Edit(op="replace", target=target, source=old.text, to=to.text, by="world"),
        Edit(op="replace", target=target, source=old.text, to=wrong.text, by="world"),
    )


def world_items(split: str, n: int, seed: int = 0, tests: Sequence[str] = ()) -> Iterator[Item]:
    """Items of a split, alternating between its tests (or the given ones)."""
    if split not in SPLITS:
        raise UserError(f"no split {split!r} of the world; there are {', '.join(SPLITS)}")
    turns = tests or TURNS.get(split, TESTS)
    made: Counter[str] = Counter()
    for number in range(n):
        test = turns[number % len(turns)]
        index = made[test]
        made[test] += 1
        yield item_of(case_at(split, test, seed, index), f"{split}/{test}/{seed}/{index:06d}")


def picture(path: str, pixels: int = PIXELS, clean: bool = False) -> Image.Image:
    return Image.fromarray(draw(scene_of(path), pixels, clean))


class DrawnImages:
    """An image source without files: a picture is drawn when its path is first read."""

    def __init__(self) -> None:
        self._kept: dict[str, bytes] = {}

    @property
    def digest(self) -> str:
        """Identifies the pictures by the code that draws them."""
        return f"drawn from the path by {of_code('world')}"

    def read(self, path: str) -> bytes:
        if (raw := self._kept.get(path)) is None:
            raw = encoded(picture(path), "BMP")
            if len(self._kept) < KEPT:
                self._kept[path] = raw
        return raw


def write_world(items: Sequence[Item], out: Path, name: str, *, wait: bool = True) -> Path:
    """Draw the items' images below `out`, then write the items to OUT/NAME.jsonl.

    The file comes last, so if it exists, the images do too, and nothing is drawn again. Each picture is written
    atomically, also when a larger world is drawn over a smaller one and killed.
    """
    file = out / f"{name}.jsonl"
    paths = [item.image.path for item in items if item.image is not None]
    identity = {"code": of_code("world")}  # another version draws other pictures
    if (there := run_folder.claim_of(out / run_folder.CLAIM)) is not None and there["command"] == "bench build world":
        run_folder.refuse_other(out, there["run"], identity)
    if holds_items(file, items) and not _missing(out, paths):
        return file
    with run_folder.locked(out, wait=wait):
        same = holds_items(file, items)  # another process may have drawn them meanwhile
        run_folder.take(out, "bench build world", identity, writes=() if same else (file.name, *paths))
        todo = _missing(out, paths) if same else paths
        with progress(len(todo), f"drawing {name}", "images") as advance:
            for path in todo:
                with atomic_write(out / path, "wb", flush=False) as handle:
                    handle.write(encoded(picture(path), "PNG", compress_level=1))
                advance(1)
        if not same:
            write_items(file, items)
    return file


def _missing(out: Path, paths: Sequence[str]) -> list[str]:
    """Pictures that are missing or, after a power cut, empty."""
    return [path for path in paths if not (target := out / path).is_file() or not target.stat().st_size]


def make_world(n: int, seed: int, out: str | Path, split: str = "finetune") -> Path:
    """Write `n` items of a split and their images below `out`; returns the items file, OUT/SPLIT-SEED.jsonl."""
    if n < 1:
        raise UserError(f"expected a number of items above 0, found {n}")
    return write_world(list(world_items(split, n, seed)), Path(out), f"{split}-{seed}", wait=False)

"""The demo on a user's own photos, captions and model.

Captions are perturbed, a fifth of the photos is held out, and the same five models are finetuned and measured. The
usual negatives are NegCLIP's swaps; matched negatives and rewordings come from `balanced`. A share of the
substitutions, chosen by a hash of their words, is kept out of training: the unseen words.
"""

from __future__ import annotations

import hashlib
import os
import random
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from equipoise.core.errors import UserError
from equipoise.core.files import sha256_file
from equipoise.core.provenance import cores
from equipoise.data.identity import photo_digests
from equipoise.data.images import decode_image, open_source
from equipoise.data.items import Edit, ImageRef, Item, Text, load_items
from equipoise.data.readers.sets.captions import caption_set, from_items
from equipoise.demo.stories import RETRIEVAL, REWORDED, ROWS, Data, Story, StoryColumn
from equipoise.perturb import Setup, perturb_file

HELD_OUT, UNSEEN = 0.2, 0.3  # of photos; of substitutions
RECIPES: Mapping[Data, str] = {
    "usual": "negclip_yuksekgonul_2023",
    "matched": "hard_positives_rules,balanced,swap_pairs",
}
LEAST, SEARCHED = 50, 1_000  # items of a column; photos of the retrieval test
# Forty steps read 5,120 captions: a quarter of an hour on two cores for any number of photos.
SETTINGS: Mapping[str, object] = {"freeze": "vision", "batch_size": 128, "epochs": 2, "max_steps": 40, "lr": 1e-4}


def photo_story(captions: Path, images: str, model: str, work: Path, given: Mapping[str, Any], device: str) -> Story:
    """`work` is the folder of the perturbed captions; `given` are settings as for `train --set`."""
    from equipoise.models import load_model
    from equipoise.train.recipes import get_recipe

    settings = {**SETTINGS, **given}
    recipe = get_recipe("control", **settings)  # refuses unknown settings before the long work
    base, source = load_model(model, device=device), open_source(images)
    sets: dict[Data, list[Item]] = {}
    for kind, name in RECIPES.items():
        out = work / f"{kind}.jsonl"
        out.parent.mkdir(parents=True, exist_ok=True)
        perturb_file(captions, out, Setup(name, keep_all=True), workers=2)
        sets[kind] = list(load_items(out))
    if missing := sum(item.image is None for item in sets["usual"]):
        raise UserError(f"{captions}: {missing:,} captions do not name a photo; the demo needs a column with its path")
    digests = photo_digests((ref.path for items in sets.values() for ref in _photos(items)), source, cores())
    held_out = {path for path, digest in digests.items() if _share(f"photo {digest.hex()}") < HELD_OUT}
    train = {kind: [_shown(item) for item in items if _path(item) not in held_out] for kind, items in sets.items()}
    test = {kind: [item for item in items if _path(item) in held_out] for kind, items in sets.items()}
    if len(train["usual"]) < 2 * recipe.batch_size:
        raise UserError(
            f"{captions}: {len(train['usual']):,} captions to train on; expected at least two batches of "
            f"{recipe.batch_size}. Bring more captions, or --set batch_size=N."
        )
    tests = {
        "usual": [_one(item, "usual", item.negatives) for item in test["usual"] if item.negatives],
        "reworded": [pair for item in test["matched"] for pair in _reworded(item)],
        "swap": [pair for item in test["matched"] for pair in _pairs(item, "swap", lambda edit: True)],
    }
    columns = [
        StoryColumn("usual score", "the caption scores above the wrong caption (Original accuracy)", "usual",
                    "original"),
        StoryColumn("reworded, seen words", f"{REWORDED} (Augmented accuracy)", "reworded", "augmented", "seen"),
        StoryColumn("reworded, unseen words", "the same, with substitutions that training never shows", "reworded",
                    "augmented", "unseen"),
        StoryColumn("swapped words", f"{REWORDED}; two parts change places", "swap", "augmented"),
    ]  # fmt: skip
    counts = {column.title: sum(not column.words or item.tags["synonym"] == column.words for item in tests[column.test])
              for column in columns}  # fmt: skip
    kept = [column for column in columns if counts[column.title] >= LEAST]
    if kept[:2] != columns[:2]:
        held = ", ".join(f"{title}: {count}" for title, count in counts.items())
        raise UserError(
            f"{captions}: too few test items of held-out photos ({held}); each needs {LEAST}. Bring more captions."
        )
    photos = set(_photos(test["usual"])[:SEARCHED])
    searched = from_items([item for item in test["usual"] if item.image in photos])
    used = {test: items for test, items in tests.items() if any(column.test == test for column in kept)}
    return Story(
        title=f"the photos of {captions.name}",
        base=base,
        training=train,
        tests=[(items, f"photos-{name}") for name, items in used.items()],
        joins={name: (f"photos-{name}",) for name in used},
        retrieval=caption_set("photos-retrieval", "test", source, searched),
        images=source,
        columns=[*kept, RETRIEVAL],
        chapters={"reworded": ("One word replaced", "the reworded caption has a synonym, the wrong one another word")},
        settings=settings,
        device=device,
        processes=min(2, os.cpu_count() or 1) if device == "cpu" else 1,
        notes=[
            f"{len(train['usual']):,} captions to train on, {len(test['usual']):,} of held-out photos to test with. "
            "Usual negatives are NegCLIP's swaps of two parts of a caption. Matched negatives and rewordings are those "
            "of `equipoise perturb --recipe balanced`, so the same recipe wrote the training texts and the tests of "
            "rewordings.",
        ],
        identity={
            "captions": sha256_file(captions), "model": model, "settings": {k: str(v) for k, v in settings.items()}
        },
    )  # fmt: skip


def estimate(story: Story) -> float:
    """The duration in minutes, from the model's time for a few photos and texts."""
    few = [decode_image(story.images.read(photo.path), photo) for photo in _photos(story.training["usual"])[:8]]
    texts = sorted((item.caption for item in story.training["usual"]), key=len)
    middle = texts[len(texts) // 2 :][:32]  # of similar length, as in training and evaluation
    story.base.embed_texts(middle[:2])
    image, text = _seconds(story.base.embed_images, few), _seconds(story.base.embed_texts, middle)
    seen = story.steps() * story.recipe("control").batch_size
    tested = len({text for items, _ in story.tests for item in items for text in item.texts()})
    photos = len(_photos(story.training["usual"])) + len(story.retrieval.photos)
    # A step reads one to four texts per caption, ten over all rows, forward and backward (three times a forward pass);
    # our recipe also reads four of them with the base.
    return (photos * image + (seen * (10 * 3 + 4) + len(ROWS) * tested) * text) / 60


def _photos(items: Sequence[Item]) -> list[ImageRef]:
    return list(dict.fromkeys(item.image for item in items if item.image is not None))


def _seconds(ask: Callable[[Sequence[object]], object], inputs: Sequence[object]) -> float:
    started = time.perf_counter()
    ask(inputs)
    return (time.perf_counter() - started) / max(1, len(inputs))


def _share(text: str) -> float:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big") / 2**32


def _path(item: Item) -> str:
    assert item.image is not None
    return item.image.path


def _unseen(edit: Edit | None) -> bool:
    """Both directions of a substitution count as one."""
    if edit is None or edit.op != "replace" or not edit.source or not edit.to:
        return False
    return _share("|".join(sorted((edit.source.lower(), edit.to.lower())))) < UNSEEN


def _shown(item: Item) -> Item:
    positives = tuple(text for text in item.positives if not _unseen(text.edit))
    negatives = tuple(text for text in item.negatives if not _unseen(text.edit))
    return item.model_copy(update={"positives": positives, "negatives": negatives})


def _reworded(item: Item) -> list[Item]:
    return _pairs(item, "replace", lambda edit: not _unseen(edit), "seen") + _pairs(item, "replace", _unseen, "unseen")


def _pairs(item: Item, operation: str, wanted: Callable[[Edit], bool], words: str = "none") -> list[Item]:
    """An item with one positive and one negative of an operation, drawn by its id; empty if it lacks one."""
    positives = [text for text in item.positives if text.edit and text.edit.op == operation and wanted(text.edit)]
    negatives = [text for text in item.negatives if text.edit and text.edit.op == operation]
    if not positives or not negatives:
        return []
    rng = random.Random(f"{operation}/{words}/{item.id}")
    return [_one(item, words, (rng.choice(negatives),), (rng.choice(positives),))]


def _one(item: Item, words: str, negatives: Sequence[Text], positives: Sequence[Text] = ()) -> Item:
    edit = negatives[0].edit
    tags = {"synonym": words, "type": (edit and edit.target) or "none"}
    texts = {"positives": tuple(positives), "negatives": tuple(negatives[:1])}
    return item.model_copy(update={"id": f"{item.id}/{words}", "tags": tags, **texts})

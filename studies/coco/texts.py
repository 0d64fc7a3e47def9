"""The texts that run.py and matching.py train on, out of what data.py wrote."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from equipoise.data.items import Edit, Item, Text, load_items
from equipoise.models.clip import ClipModel
from equipoise.train.run.mining import TAG
from studies.coco import judging


def training_texts(data: Path, wanted: set[str]) -> dict[str, list[Item]]:
    def read(name: str) -> list[Item]:
        return list(load_items(data / f"train-{name}.jsonl"))

    found = {"balanced": read("balanced")}
    if wanted & {"both", "shuffled", "half"}:
        found["both"] = [
            one.model_copy(
                update={"positives": one.positives + two.positives, "negatives": one.negatives + two.negatives}
            )
            for one, two in zip(found["balanced"], read("swaps"), strict=True)
        ]
    if "half" in wanted:
        found["half"] = [item for item in found["both"] if item.image and int(item.image.path[:12]) % 2]
    if "shuffled" in wanted:
        found["shuffled"] = [shuffled(item) for item in found["both"]]
    if "negclip" in wanted:
        found["negclip"] = read("negclip")
    if wanted & {"phrases", "thesaurus", "known"}:
        found["phrases"] = found["balanced"] + read("phrases")
        found |= {name: found["phrases"] + read(name) for name in ("thesaurus", "known")}
    return found


def shuffled(item: Item) -> Item:
    """With FSC-CLIP's third negative: the caption's pairs of words in another order."""
    words = item.caption.split()
    pairs = [" ".join(words[start : start + 2]) for start in range(0, len(words), 2)]
    random.Random(item.id).shuffle(pairs)
    text = Text(text=" ".join(pairs), edit=Edit(op="shuffle", target="order", by="rules"))
    more = (text,) if text.text != " ".join(words) else ()
    return item.model_copy(update={"negatives": item.negatives + more})


def with_hard_images(items: Sequence[Item], model: ClipModel, rows: judging.Vectors, device: str) -> list[Item]:
    """As `perturb --hard-images`: each item names items of the three photos that are most like its own to the base."""
    photos: dict[str, list[str]] = {}
    places = []
    for item in items:
        own = photos.setdefault(item.image.path if item.image else "", [])
        places.append(len(own))
        own.append(item.id)
    names = list(photos)
    unit = torch.from_numpy(np.stack(list(judging.projected(model, rows, names).values()))).to(device)
    near = [(part @ unit.T).topk(4).indices.tolist() for part in torch.split(unit, 2000)]
    like = {
        name: [photos[names[other]] for other in own if names[other] != name][:3]
        for name, own in zip(names, (own for part in near for own in part), strict=True)
    }
    found = []
    for item, place in zip(items, places, strict=True):
        others = [own[place % len(own)] for own in like[item.image.path]] if item.image else []
        found.append(item.model_copy(update={"tags": {**item.tags, TAG: json.dumps(others)}}))
    return found

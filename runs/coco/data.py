"""COCO's photos and human captions as Items, and test items that other people wrote, on real photographs.

    python runs/coco/data.py photos --git MIRROR --shared ../shared/data --out DATA    captions, test items, photos
    python runs/coco/data.py edits --out DATA --workers 16                             hard texts for the captions

MIRROR is a git copy of hai4h/cnn-edge-detection, which has COCO's train2017 at 256 px; the photos are kept at 128 px.

DATA/photos/*.tar                      every photo of DATA
DATA/{train,dev,test}-captions.jsonl   24,000, 1,000 and the Karpathy test photos that are in train2017
DATA/extra-captions.jsonl              the photos of the test items below
DATA/test-replace_{attributes,relations}.jsonl   REPLACE (Kamath et al. 2024) on Visual Genome photos that are COCO's
DATA/test-negclip.jsonl                NegCLIP's published negatives; the positive is another caption of the photo
DATA/test-vsr_{symmetric,inverse}.jsonl   VSR statements with a true rewording and a false one (vsr-pairs)
DATA/train.jsonl, DATA/{dev,test}-{seen,unseen,swap,type}.jsonl   as in runs/flickr8k/data.py, written by our engine

A photo that is in any benchmark is not in train or dev.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import hashlib
import io
import json
import re
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[1] / "flickr8k"))

from needs import existing
from PIL import Image

from equipoise.benchmarks import registry
from equipoise.data.items import ImageRef, Item, Text, load_items, write_items
from equipoise.perturb import Setup, perturb_file

TRAIN, DEV, NEGCLIP = 24_000, 1_000, 1_500
SIDE, QUALITY = 128, 66
STYLES = {
    "balanced": "hard_positives_rules,balanced,swap_pairs",
    "negclip": "hard_positives_rules,negclip_yuksekgonul_2023",
}


def name_of(number: int) -> str:
    return f"{number:012d}.jpg"


def drawn(number: int) -> str:
    """A fixed order of photos that knows nothing of them."""
    return hashlib.sha256(f"coco/{number}".encode()).hexdigest()


def photos_of(rows: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """The photos of each split: by use, never by content."""
    whole = [row for row in rows if row["photo"]]
    pool = sorted(
        (row for row in whole if row["use"] == "train" and len(row["captions"]) >= 4), key=lambda row: drawn(row["id"])
    )
    test = [row for row in whole if "karpathy_test" in row["benchmarks"]]
    return {"dev": pool[:DEV], "train": pool[DEV : DEV + TRAIN], "test": test}


def captions(rows: list[dict[str, Any]]) -> Iterator[Item]:
    for row in rows:
        for number, text in enumerate(row["captions"][:5]):
            yield Item(
                id=f"{row['id']}#{number}", image=ImageRef(path=name_of(row["id"])), caption=" ".join(text.split())
            )


def replace_items(shared: Path) -> dict[str, list[Item]]:
    """REPLACE's items whose Visual Genome photo is one of train2017."""
    with gzip.open(shared / "coco/vg_to_coco.csv.gz", "rt") as handle:
        coco = {row["vg_id"]: int(row["coco_id"]) for row in csv.DictReader(handle) if row["train2017_photo"] == "1"}
    found: dict[str, list[Item]] = {"replace_attributes": [], "replace_relations": []}
    for item in registry.load("replace", shared / "vl_checklist")[0]:
        if item.image and (number := coco.get(Path(item.image.path).stem)) and item.positives and item.negatives:
            kind = f"replace_{item.tags['split']}"
            found[kind].append(item.model_copy(update={"image": ImageRef(path=name_of(number))}))
    return found


def negclip_items(shared: Path, rows: dict[int, dict[str, Any]]) -> list[Item]:
    """NegCLIP's first negative of a caption; its positive is another caption of the same photo."""
    found = []
    for item in registry.load("negclip", shared / "negclip")[0]:
        number = int(Path(item.image.path).stem.rpartition("_")[2]) if item.image else 0
        others = [" ".join(text.split()) for text in rows.get(number, {"captions": []})["captions"]]
        others = [text for text in others if _plain(text) != _plain(item.caption)]
        if (
            number in rows
            and rows[number]["photo"]
            and others
            and item.negatives
            and _plain(item.negatives[0].text) != _plain(item.caption)
        ):
            update = {"image": ImageRef(path=name_of(number)), "positives": (Text(text=others[0], edit=None),)}
            found.append(
                item.model_copy(update=update | {"negatives": item.negatives[:1], "tags": {"split": "negclip"}})
            )
    return sorted(found, key=lambda item: drawn(int(item.image.path[:12]) if item.image else 0))[:NEGCLIP]


def _plain(text: str) -> str:
    return " ".join(re.sub(r"[^a-z0-9 ]", "", text.lower()).split())


def vsr_items(shared: Path, rows: set[str]) -> list[Item]:
    found = registry.load("vsr-pairs", shared / "vsr")[0]
    asked = [item for item in found if item.tags["law"] != "complement"]
    return [item for item in asked if item.image and Path(item.image.path).name in rows]


def make(options: argparse.Namespace) -> None:
    shared, out = options.shared, options.out
    with gzip.open(shared / "coco/captions_train2017_part.jsonl.gz", "rt") as handle:
        rows = [json.loads(line) for line in handle]
    by_id = {row["id"]: row for row in rows}
    blobs = {}
    listed = subprocess.run(
        ["git", "-C", options.git, "ls-tree", "HEAD:train2017"], capture_output=True, text=True, check=True
    )
    for line in listed.stdout.splitlines():
        blobs[line.split("\t")[1]] = line.split()[2]
    wanted: dict[str, None] = {}
    splits = photos_of(rows)
    for split, own in splits.items():
        own = [row for row in own if name_of(row["id"]) in blobs]
        write_items(out / f"{split}-captions.jsonl", list(captions(own)))
        wanted |= dict.fromkeys(name_of(row["id"]) for row in own)
        print(f"{split}: {len(own):,} photos")
    vsr = vsr_items(shared, set(blobs))
    kept = {f"vsr_{law}": [item for item in vsr if item.tags["law"] == law] for law in ("symmetric", "inverse")}
    kept |= {"negclip": negclip_items(shared, by_id)} | replace_items(shared)
    training = {name_of(row["id"]) for split in ("train", "dev") for row in splits[split]}
    extra: dict[str, Item] = {}
    for kind, items in kept.items():
        items = [
            item.model_copy(update={"image": ImageRef(path=Path(item.image.path).name)})
            for item in items
            if item.image and Path(item.image.path).name in blobs
        ]
        assert not {item.image.path for item in items if item.image} & training, f"{kind}: a test photo is in training"
        write_items(out / f"test-{kind}.jsonl", items)
        extra |= {item.image.path: item for item in items if item.image}
        print(f"test-{kind}: {len(items):,} items of {len({item.image for item in items}):,} photos")
    write_items(
        out / "extra-captions.jsonl",
        [Item(id=f"extra/{path}", image=ImageRef(path=path), caption=item.caption) for path, item in extra.items()],
    )
    pack(options.git, blobs, list(dict.fromkeys([*wanted, *extra])), out / "photos")


def pack(git: str, blobs: dict[str, str], names: list[str], folder: Path, a_file: int = 4_000) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    process = subprocess.Popen(["git", "-C", git, "cat-file", "--batch"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin and process.stdout
    for start in range(0, len(names), a_file):
        with tarfile.open(folder / f"{start // a_file:02d}.tar", "w") as tar:
            for name in names[start : start + a_file]:
                process.stdin.write(f"{blobs[name]}\n".encode())
                process.stdin.flush()
                size = int(process.stdout.readline().split()[2])
                image = Image.open(io.BytesIO(process.stdout.read(size + 1)[:size])).convert("RGB")
                small = io.BytesIO()
                image.resize((SIDE, SIDE), Image.Resampling.BICUBIC, reducing_gap=2).save(
                    small, "JPEG", quality=QUALITY
                )
                info = tarfile.TarInfo(name)
                info.size = small.tell()
                small.seek(0)
                tar.addfile(info, small)
    process.stdin.close()
    process.wait()
    print(f"{len(names):,} photos packed")


def edit(options: argparse.Namespace) -> None:
    from data import for_testing, for_training  # of runs/flickr8k: what is held out, and what a test item is

    out = options.out
    for style, recipe in STYLES.items():
        for split in ("train", "dev", "test") if style == "balanced" else ("train",):
            perturbed = out / f"{split}-perturbed-{style}.jsonl"
            perturb_file(
                out / f"{split}-captions.jsonl", perturbed, Setup(recipe, keep_all=True), workers=options.workers
            )
            items = load_items(perturbed)
            if split == "train":
                items = [for_training(item) for item in items]
                write_items(out / ("train.jsonl" if style == "balanced" else f"train-{style}.jsonl"), items)
                both = sum(bool(item.positives and item.negatives) for item in items)
                print(f"{style}: {len(items):,} captions, {both:,} with a positive and a negative", flush=True)
                continue
            for kind in ("seen", "unseen", "swap", "type"):
                found = for_testing(items, kind)
                write_items(out / f"{split}-{kind}.jsonl", found)
                print(f"{split}-{kind}: {len(found):,} items", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", choices=("photos", "edits"))
    parser.add_argument("--git", type=existing())
    parser.add_argument("--shared", type=existing("coco", "negclip", "vsr", "vl_checklist"))
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    make(options) if options.part == "photos" else edit(options)


if __name__ == "__main__":
    main()

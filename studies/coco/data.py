"""COCO's photos and human captions as Items, and test items that other people wrote, on real photographs.

    python -m studies.coco.data photos --git MIRROR --shared ../shared/data --out DATA    captions, test items, photos
    python -m studies.coco.data edits --out DATA --workers 16                             hard texts for the captions
    python -m studies.coco.data texts --out DATA --workers 16       of these, what `run.py --only every` trains on
    python -m studies.coco.data reword --out DATA                                         short phrases by thesaurus
    python -m studies.coco.data check --out DATA                                          what training and test share

MIRROR is a git copy of hai4h/cnn-edge-detection, which has COCO's train2017 at 256 px; the photos are kept at 224 px.

DATA/photos/*.tar                      every photo of DATA
DATA/photos/ExpertAnnotations.txt, captions.tsv   CxC's ratings of (caption, photo) pairs, in Flickr8k's layout
DATA/{train,dev,test}-captions.jsonl   all training photos, 1,000, and the Karpathy test photos that are in train2017
DATA/extra-captions.jsonl              the photos of the items below
DATA/test-replace_{attributes,relations}.jsonl   REPLACE (Kamath et al. 2024) on Visual Genome photos that are COCO's
DATA/{dev,test}-negclip.jsonl          NegCLIP's published negatives; the positive is another caption of the photo
DATA/{dev,test}-vsr_{symmetric,inverse}.jsonl   VSR statements with a true rewording and a false one (vsr-pairs)
DATA/{dev,test}-human.jsonl            three human captions: two of the photo, one of the photo with the nearest words
DATA/test-foil.jsonl                   VALSE's foil-it; the positive is another caption of the photo
DATA/train*.jsonl, DATA/{dev,test}-{seen,unseen,swap}.jsonl   written by our engine, cut by splits.py
DATA/{train,dev,test}-phrases.jsonl    short phrases out of the captions, with their edits (phrases.py)
DATA/train-{thesaurus,known}.jsonl     short phrases reworded without and with REPLACE's words (thesaurus.py)
DATA/dev-replace.jsonl                 short phrases reworded with REPLACE's words

A photo that is in any benchmark is not in train or dev. Dev items are on photos without test items.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import hashlib
import io
import json
import random
import re
import subprocess
import tarfile
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from itertools import combinations
from pathlib import Path
from typing import Any

from PIL import Image

from equipoise.benchmarks import registry
from equipoise.data.items import ImageRef, Item, Text, load_items, write_items
from equipoise.perturb import Setup, perturb_file
from studies.coco.phrases import phrases, written
from studies.coco.splits import for_testing, held_out
from studies.coco.thesaurus import published, reworded
from studies.harness.inputs import arguments, existing

DEV, NEGCLIP, PHRASES = 1_000, 1_500, 2_000
COMMON = 200  # captions that have a word
SIDE, QUALITY, A_FILE = 224, 40, 4_000
STYLES = {
    "balanced": "hard_positives_rules,balanced",
    "swaps": "swap_pairs",
    "negclip": "hard_positives_rules,negclip_yuksekgonul_2023",
}


def name_of(number: int) -> str:
    return f"{number:012d}.jpg"


def drawn(number: int | str) -> str:
    """A fixed order of photos that knows nothing of them."""
    return hashlib.sha256(f"coco/{number}".encode()).hexdigest()


def photos_of(rows: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """The photos of each split: by use, never by content."""
    whole = [row for row in rows if row["photo"]]
    pool = sorted((row for row in whole if row["use"] == "train"), key=lambda row: drawn(row["id"]))
    dev = [row for row in pool if len(row["captions"]) >= 4][:DEV]
    test = [row for row in whole if "karpathy_test" in row["benchmarks"]]
    held = {row["id"] for row in dev}
    return {"dev": dev, "train": [row for row in pool if row["id"] not in held], "test": test}


def captions(rows: list[dict[str, Any]]) -> Iterator[Item]:
    for row in rows:
        for number, text in enumerate(row["captions"][:5]):
            yield Item(
                id=f"{row['id']}#{number}", image=ImageRef(path=name_of(row["id"])), caption=" ".join(text.split())
            )


def in_train2017(shared: Path) -> dict[str, int]:
    """Visual Genome's photos that are COCO's: theirs -> COCO's number."""
    with gzip.open(shared / "coco/vg_to_coco.csv.gz", "rt") as handle:
        return {row["vg_id"]: int(row["coco_id"]) for row in csv.DictReader(handle) if row["train2017_photo"] == "1"}


def replace_items(shared: Path) -> dict[str, list[Item]]:
    """REPLACE's items whose Visual Genome photo is one of train2017."""
    coco = in_train2017(shared)
    found: dict[str, list[Item]] = {"replace_attributes": [], "replace_relations": []}
    for item in registry.load("replace", shared / "vl_checklist")[0]:
        if item.image and (number := coco.get(Path(item.image.path).stem)) and item.positives and item.negatives:
            kind = f"replace_{item.tags['split']}"
            edit = item.positives[0].edit
            word = {"relation": edit.source} if edit and edit.source else {}  # by which table.py groups the items
            update = {"image": ImageRef(path=name_of(number)), "tags": item.tags | word}
            found[kind].append(item.model_copy(update=update))
    return found


def negclip_items(shared: Path, rows: dict[int, dict[str, Any]]) -> list[Item]:
    """NegCLIP's first negative of a caption; its positive is another caption of the same photo."""
    found = []
    for item in registry.load("negclip", shared / "negclip")[0]:
        number = _number(item)
        whole = with_caption(item, rows.get(number), "negclip")
        if whole and _plain(item.negatives[0].text) != _plain(item.caption):
            found.append(whole)
    return sorted(found, key=lambda item: drawn(_number(item)))


def foil_items(shared: Path, rows: dict[int, dict[str, Any]]) -> list[Item]:
    """VALSE's foil-it: one noun of the caption is wrong."""
    found = []
    for item in registry.load("valse", shared / "valse", ["foil-it"])[0]:
        number = _number(item)
        found.append(with_caption(item, rows.get(number), "foil"))
    return [item for item in found if item]


def with_caption(item: Item, row: dict[str, Any] | None, split: str) -> Item | None:
    """The item with its first negative, and as positive another caption of its photo."""
    if row is None or not row["photo"] or not item.negatives:
        return None
    others = [" ".join(text.split()) for text in row["captions"]]
    others = [text for text in others if _plain(text) != _plain(item.caption)]
    if not others:
        return None
    positives = (Text(text=others[0], edit=None),)
    update = {"image": ImageRef(path=name_of(row["id"])), "positives": positives, "negatives": item.negatives[:1]}
    return item.model_copy(update=update | {"tags": {"split": split}})


def human_items(rows: list[dict[str, Any]]) -> list[Item]:
    """The first two captions of a photo, and the caption of another photo that shares most with the first: words count
    by how rare they are, common ones not at all, and none may share everything."""
    texts = [[" ".join(text.split()) for text in row["captions"]] for row in rows]
    words = [[frozenset(_plain(text).split()) for text in own] for own in texts]
    seen = Counter(word for own in words for one in own for word in one)
    weight = {word: 1 / count for word, count in seen.items()}
    posting: dict[str, list[tuple[int, int]]] = {}
    for photo, own in enumerate(words):
        for place, one in enumerate(own):
            for word in one:
                posting.setdefault(word, []).append((photo, place))
    found = []
    for photo, row in enumerate(rows):
        if len(texts[photo]) < 2:
            continue
        shared: dict[tuple[int, int], float] = {}
        for word in sorted(words[photo][0]):
            for where in posting[word] if len(posting[word]) <= COMMON else ():
                if where[0] != photo:
                    shared[where] = shared.get(where, 0.0) + weight[word]
        fit = [(-value, where) for where, value in shared.items() if words[where[0]][where[1]] != words[photo][0]]
        if not fit:
            continue
        other, place = min(fit)[1]
        found.append(
            Item(
                id=f"human/{row['id']}",
                image=ImageRef(path=name_of(row["id"])),
                caption=texts[photo][0],
                positives=(Text(text=texts[photo][1]),),
                negatives=(Text(text=texts[other][place]),),
                tags={"split": "human"},
            )
        )
    return found


def _number(item: Item) -> int:
    return int(Path(item.image.path).stem.rpartition("_")[2]) if item.image else 0


def _plain(text: str) -> str:
    return " ".join(re.sub(r"[^a-z0-9 ]", "", text.lower()).split())


def vsr_items(shared: Path, split: str) -> dict[str, list[Item]]:
    """The pairs of one of VSR's own splits, by law."""
    with tempfile.TemporaryDirectory() as folder, gzip.open(shared / f"vsr/vsr_random_{split}.jsonl.gz", "rb") as rows:
        (Path(folder) / "test.jsonl").write_bytes(rows.read())
        found = registry.load("vsr-pairs", Path(folder))[0]
    laws: dict[str, list[Item]] = {"symmetric": [], "inverse": []}
    for item in found:
        if item.tags["law"] in laws and item.image and item.image.path.startswith("train2017/"):
            image = ImageRef(path=Path(item.image.path).name)
            laws[item.tags["law"]].append(item.model_copy(update={"image": image, "id": f"{split}/{item.id}"}))
    return laws


def ratings(shared: Path) -> tuple[list[tuple[str, str, str]], dict[str, str]]:
    """CxC's test ratings whose caption is in val2017's file: (photo, caption id, rating), and the captions."""
    with gzip.open(shared / "coco/captions_val2017.json.gz") as handle:
        texts = {str(one["id"]): " ".join(one["caption"].split()) for one in json.load(handle)["annotations"]}
    with gzip.open(shared / "published_scores/cxc/sits_test.csv.gz", "rt") as handle:
        found = [
            (row["image"][-16:], row["caption"].rpartition(":")[2], row["agg_score"]) for row in csv.DictReader(handle)
        ]
    found = [row for row in found if row[1] in texts]
    return found, {row[1]: texts[row[1]] for row in found}


def make(options: argparse.Namespace) -> None:
    shared, out = options.shared, options.out
    with gzip.open(shared / "coco/captions_train2017_part.jsonl.gz", "rt") as handle:
        rows = [json.loads(line) for line in handle]
    by_id = {row["id"]: row for row in rows}
    blobs = blobs_of(options.git, "HEAD:train2017")
    wanted: dict[str, None] = {}
    splits = {split: [row for row in own if name_of(row["id"]) in blobs] for split, own in photos_of(rows).items()}
    for split, own in splits.items():
        write_items(out / f"{split}-captions.jsonl", list(captions(own)))
        wanted |= dict.fromkeys(name_of(row["id"]) for row in own)
        print(f"{split}: {len(own):,} photos, {sum(len(row['captions'][:5]) for row in own):,} captions")
    training = {name_of(row["id"]) for split in ("train", "dev") for row in splits[split]}
    negclip = negclip_items(shared, by_id)
    test = {f"vsr_{law}": items for law, items in vsr_items(shared, "test").items()} | replace_items(shared)
    test |= {"negclip": negclip[:NEGCLIP], "foil": foil_items(shared, by_id)}
    dev = {"negclip": negclip[NEGCLIP:]}
    for law, items in vsr_items(shared, "train").items():
        dev[f"vsr_{law}"] = [*items, *vsr_items(shared, "dev")[law]]
    rated, texts = ratings(shared)
    rated = [row for row in rated if row[0] in blobs and row[0] not in training]
    tested = {item.image.path for items in test.values() for item in items if item.image} | {row[0] for row in rated}
    tested |= {name_of(row["id"]) for row in splits["test"]}
    extra = dict.fromkeys(row[0] for row in rated)
    for split, kinds, without in (("test", test, training), ("dev", dev, training | tested)):
        allowed = blobs.keys() - without
        for kind, items in kinds.items():
            items = [item for item in items if item.image and item.image.path in allowed]
            write_items(out / f"{split}-{kind}.jsonl", items)
            extra |= dict.fromkeys(item.image.path for item in items if item.image)
            print(f"{split}-{kind}: {len(items):,} items of {len({item.image for item in items}):,} photos")
        items = human_items(splits[split])
        write_items(out / f"{split}-human.jsonl", items)
        print(f"{split}-human: {len(items):,} items")
    assert not extra.keys() & training, "a photo of a test or dev item is in training"
    write_items(out / "extra-captions.jsonl", placeholders("extra", extra))
    (out / "photos").mkdir(exist_ok=True)
    (out / "photos/ExpertAnnotations.txt").write_text(
        "".join("\t".join([*row, row[2], row[2]]) + "\n" for row in rated)
    )
    (out / "photos/captions.tsv").write_text("".join(f"{name}\t{text}\n" for name, text in texts.items()))
    print(f"CxC: {len(rated):,} ratings")
    names = list(dict.fromkeys([*wanted, *extra]))
    for start in range(0, len(names), A_FILE):
        some = {name: (str(options.git), blobs[name]) for name in names[start : start + A_FILE]}
        pack(some, out / "photos" / f"{start // A_FILE:02d}.tar")
    print(f"{len(names):,} photos packed")


def pack(blobs: Mapping[str, tuple[str, str]], path: Path) -> None:
    """Photos as a tar, each out of a git copy (folder, blob)."""
    with ExitStack() as stack, tarfile.open(path, "w") as tar:
        readers: dict[str, subprocess.Popen[bytes]] = {}
        for name, (git, blob) in blobs.items():
            if git not in readers:
                command = ["git", "-C", git, "cat-file", "--batch"]
                pipes = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
                readers[git] = stack.enter_context(pipes)
            asked, given = readers[git].stdin, readers[git].stdout
            assert asked and given
            asked.write(f"{blob}\n".encode())
            asked.flush()
            size = int(given.readline().split()[2])
            photo = given.read(size + 1)[:size]
            data = photo if name.startswith("cifar10/") else small(photo)
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))


def small(photo: bytes) -> bytes:
    """Squeezed to a square."""
    held = io.BytesIO()
    image = Image.open(io.BytesIO(photo)).convert("RGB")
    image.resize((SIDE, SIDE), Image.Resampling.BICUBIC, reducing_gap=2).save(held, "AVIF", quality=QUALITY, speed=9)
    return held.getvalue()


def blobs_of(git: Path, *where: str) -> dict[str, str]:
    """Path -> blob of a git copy."""
    listed = subprocess.run(["git", "-C", git, "ls-tree", *where], capture_output=True, text=True, check=True)
    return {line.split("\t")[1]: line.split()[2] for line in listed.stdout.splitlines()}


def placeholders(split: str, names: Iterable[str]) -> list[Item]:
    """Photos that only items of others need."""
    return [Item(id=f"{split}/{path}", image=ImageRef(path=path), caption="a photo") for path in names]


def edit(options: argparse.Namespace) -> None:
    out = options.out
    for split in ("test", "dev"):
        found = {style: perturbed(options, split, style) for style in ("balanced", "swaps")}
        for kind, style in (("seen", "balanced"), ("unseen", "balanced"), ("swap", "swaps")):
            items = for_testing(found[style], kind)
            write_items(out / f"{split}-{kind}.jsonl", items)
            print(f"{split}-{kind}: {len(items):,} items", flush=True)
        whole = [item for item in cut(found["balanced"]) if item.positives and item.negatives]
        write_items(out / f"{split}-phrases.jsonl", sorted(whole, key=lambda item: drawn(_number(item)))[:PHRASES])
    balanced = train(options, *STYLES)["balanced"]
    write_items(out / "train-phrases.jsonl", cut([item for item in balanced if item.id.endswith("#0")]))


def perturbed(options: argparse.Namespace, split: str, style: str) -> list[Item]:
    path = options.out / f"{split}-perturbed-{style}.jsonl"
    setup = Setup(STYLES[style], keep_all=True)
    perturb_file(options.out / f"{split}-captions.jsonl", path, setup, workers=options.workers)
    return list(load_items(path))


def train(options: argparse.Namespace, *styles: str) -> dict[str, list[Item]]:
    """Texts of training captions, without the positives that are held out."""
    found = {}
    for style in styles:
        found[style] = [
            item.model_copy(update={"positives": tuple(t for t in item.positives if not held_out(t.edit))})
            for item in perturbed(options, "train", style)
        ]
        write_items(options.out / f"train-{style}.jsonl", found[style])
        print(f"{style}: {Counter(t.edit.op for i in found[style] for t in i.negatives if t.edit)}", flush=True)
    return found


def cut(items: list[Item]) -> list[Item]:
    return [phrase for item in items for phrase in phrases(item, random.Random(item.id))]


def reword(options: argparse.Namespace) -> None:
    train, dev = (list(load_items(options.out / f"{split}-captions.jsonl")) for split in ("train", "dev"))
    first = [item for item in train if item.id.endswith("#0")]
    for name, known in (("thesaurus", False), ("known", True)):
        items = [one for item in first for one in reworded(item, random.Random(item.id), known)]
        write_items(options.out / f"train-{name}.jsonl", items)
        print(f"{name}: {len(items):,} phrases")
    items = [one for item in dev for one in published(item, random.Random(item.id))]
    write_items(options.out / "dev-replace.jsonl", sorted(items, key=lambda item: drawn(_number(item)))[:PHRASES])


def check(options: argparse.Namespace) -> None:
    """What training and test share: photos, captions, sentences."""
    out = options.out

    def items(name: str) -> list[Item]:
        return list(load_items(out / f"{name}.jsonl"))

    known = {split: items(f"{split}-captions") for split in ("train", "dev", "test")}
    photos = {split: {item.image for item in own} for split, own in known.items()}
    shared = {f"{a} and {b}": len(photos[a] & photos[b]) for a, b in combinations(photos, 2)}
    print(f"photos in two of the splits: {shared}")
    trained = {_plain(item.caption) for item in known["train"]}
    for name in ("test-captions", *(f"test-{kind}" for kind in ("negclip", "human", "foil"))):
        own = items(name)
        same = sum(_plain(item.caption) in trained for item in own)
        print(f"{name}: {same:,} of {len(own):,} captions are also captions of training photos")
    bare = {written(text, True) for kind in ("phrases", "thesaurus") for item in items(f"train-{kind}")
            for text in (item.caption, *(own.text for own in item.positives))}  # fmt: skip
    own = [item for part in ("attributes", "relations") for item in items(f"test-replace_{part}")]
    same = sum(written(item.caption, True) in bare for item in own)
    print(f"test-replace: {same:,} of {len(own):,} captions are true texts of training phrases, ignoring articles")
    for law in ("symmetric", "inverse"):
        test = {item.caption for item in items(f"test-vsr_{law}")}
        own = items(f"dev-vsr_{law}")
        print(f"dev-vsr_{law}: {sum(item.caption in test for item in own)} of {len(own)} statements are in test too")
    far = [item for item in items("test-vsr_symmetric") if "far away from" in item.negatives[0].text]
    print(f"test-vsr_symmetric: {len(far)} false versions say far away from")
    for name, kind in (("balanced", "negatives"), ("phrases", "negatives"), ("negclip", "positives")):
        ops = Counter(text.edit.op for item in items(f"train-{name}") for text in getattr(item, kind) if text.edit)
        print(f"train-{name}: {ops['swap']:,} of {ops.total():,} {kind} exchange words")


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("part", choices=("photos", "edits", "texts", "reword", "check"))
    parser.add_argument("--git", type=existing())
    parser.add_argument("--shared", type=existing("coco", "negclip", "vsr", "vl_checklist"))
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    if options.part == "texts":
        train(options, "balanced", "swaps")
    else:
        {"photos": make, "edits": edit, "reword": reword, "check": check}[options.part](options)


if __name__ == "__main__":
    main()

"""More to judge a model by: other people's pairs on COCO's photos, SugarCrepe's layouts, and photos with classes.

    python -m studies.coco.more photos --git MIRROR --sets MIRRORS --shared ../shared/data --out DATA   after data.py
    python -m studies.coco.more edits --out DATA                                          after `data.py edits`

MIRRORS has git copies of the repositories in `SETS`. These test items have no positive; Original accuracy is their
only number. `relation` in their tags is the group by which table.py prints them.

DATA/test-vl_checklist.jsonl   VL-CheckList's records of Visual Genome whose photo is in train2017, not in training
DATA/test-coreference.jsonl    VALSE's coreference-standard
DATA/test-sugarcrepe.jsonl     the seven layouts of SugarCrepe, written by our engine for captions of test photos
DATA/classes.jsonl             photos with classes: the caption is the name of the class, the set is in the tags
DATA/more-captions.jsonl, DATA/photos/more.tar   the photos that the items above need and DATA did not have
"""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path

from equipoise.benchmarks import registry
from equipoise.data.items import ImageRef, Item, Text, load_items, write_items
from equipoise.perturb import Setup, perturb_file
from studies.coco.data import blobs_of, drawn, in_train2017, name_of, pack, placeholders
from studies.harness.inputs import arguments, existing

SETS = {  # folder of photos in a public repository, photos of a class
    "imagenet": ("EliSchwartz+imagenet-sample-images", "", 1),  # one photo for each of ImageNet's 1,000 classes
    "cifar10": ("YoongiKim+CIFAR-10-images", "test", 200),
    "pets": ("ml4py+dataset-iiit-pet", "images", 20),
    "scenes": ("ndb796+Scene-Classification-Dataset-Split", "val", 150),  # Intel's
}
WRITTEN = {  # layout: how it was perturbed, operation and targets
    "replace_obj": (("balanced",), "replace", ("object",)),
    "replace_att": (("balanced",), "replace", ("attribute",)),
    "replace_rel": (("balanced",), "replace", ("relation", "action")),
    "swap_obj": (("checked",), "swap", ("object",)),
    "swap_att": (("checked", "balanced", "swaps"), "swap", ("attribute",)),
    "add_obj": (("adds",), "add", ("object",)),
    "add_att": (("adds",), "add", ("attribute",)),
}
STYLES = {"adds": "sugarcrepe_add_hsieh_2023", "checked": "negclip_yuksekgonul_2023_checked"}
EACH = 500  # items of a layout


def class_of(name: str, path: str) -> str:
    """The class of a photo: its folder, or what its name says."""
    stem = Path(path).stem
    said = {"imagenet": stem.partition("_")[2], "pets": stem.rpartition("_")[0]}.get(name, Path(path).parent.name)
    return said.replace("_", " ")


def class_items(sets: Path) -> tuple[list[Item], dict[str, tuple[str, str]]]:
    """Photos with the name of their class, and where each lies: repository and blob."""
    items, blobs = [], {}
    for name, (repository, folder, each) in SETS.items():
        git = sets / repository / "repo"
        listed = blobs_of(git, "-r", "HEAD", *filter(None, [folder]))
        photos = {path: blob for path, blob in listed.items() if path.lower().endswith(("g", "jpeg"))}
        taken: Counter[str] = Counter()
        for path in sorted(photos, key=drawn):
            said = class_of(name, path)
            if taken[said] < each:
                taken[said] += 1
                image = f"{name}/{Path(path).relative_to(folder or '.').as_posix().replace('/', '-')}"
                items.append(Item(id=image, image=ImageRef(path=image), caption=said, tags={"set": name}))
                blobs[image] = (str(git), photos[path])
        print(f"{name}: {taken.total():,} photos of {len(taken):,} classes")
    return items, blobs


def vl_checklist(shared: Path) -> list[Item]:
    coco = in_train2017(shared)
    found = []
    for item in registry.load("vl-checklist", shared / "vl_checklist")[0]:
        if item.image and (number := coco.get(Path(item.image.path).stem)):
            tags = {"relation": item.tags["column"]}
            found.append(item.model_copy(update={"image": ImageRef(path=name_of(number)), "tags": tags}))
    return found


def coreference(shared: Path) -> list[Item]:
    found = []
    for item in registry.load("valse", shared / "valse", ["coreference-standard"])[0]:
        if item.image:
            image = ImageRef(path=name_of(int(Path(item.image.path).stem.rpartition("_")[2])))
            found.append(item.model_copy(update={"image": image, "tags": {"relation": "coreference"}}))
    return found


def photos(options: argparse.Namespace) -> None:
    out = options.out
    known = {
        split: {item.image.path for item in load_items(out / f"{split}-captions.jsonl") if item.image}
        for split in ("train", "dev", "test", "extra")
    }
    coco = blobs_of(options.git, "HEAD:train2017")
    items, blobs = class_items(options.sets)
    write_items(out / "classes.jsonl", items)
    for kind, own in (("vl_checklist", vl_checklist(options.shared)), ("coreference", coreference(options.shared))):
        own = [item for item in own if item.image and item.image.path in coco.keys() - known["train"] - known["dev"]]
        write_items(out / f"test-{kind}.jsonl", own)
        new = {item.image.path for item in own if item.image} - known["test"] - known["extra"]
        blobs |= {name: (str(options.git), coco[name]) for name in sorted(new)}
        print(f"test-{kind}: {len(own):,} items of {len({item.image for item in own}):,} photos, {len(new):,} new")
    write_items(out / "more-captions.jsonl", placeholders("more", blobs))
    pack(blobs, out / "photos" / "more.tar")


def edits(options: argparse.Namespace) -> None:
    """Of each layout one item a photo, in an order that knows nothing of the photo."""
    out = options.out
    for style, recipe in STYLES.items():
        path = out / f"test-perturbed-{style}.jsonl"
        perturb_file(out / "test-captions.jsonl", path, Setup(recipe, keep_all=True), workers=options.workers)
    texts = {style: load_items(out / f"test-perturbed-{style}.jsonl") for style in ("balanced", "swaps", *STYLES)}
    found: list[Item] = []
    for layout, (styles, op, targets) in WRITTEN.items():
        own: dict[ImageRef, Item] = {}
        for item in sorted((item for style in styles for item in texts[style]), key=lambda item: drawn(item.id)):
            fit = [one for one in item.negatives if one.edit and one.edit.op == op and one.edit.target in targets]
            if fit and item.image:
                update = {"positives": (), "negatives": (Text(text=fit[0].text),), "tags": {"relation": layout}}
                own.setdefault(item.image, item.model_copy(update=update | {"id": f"{layout}/{item.id}"}))
        found += list(own.values())[:EACH]
        print(f"{layout}: {min(EACH, len(own)):,} items of {len(own):,}")
    write_items(out / "test-sugarcrepe.jsonl", found)


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("part", choices=("photos", "edits"))
    parser.add_argument("--git", type=existing())
    parser.add_argument("--sets", type=existing(*(repository for repository, _, _ in SETS.values())))
    parser.add_argument("--shared", type=existing("coco", "valse", "vl_checklist"))
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    {"photos": photos, "edits": edits}[options.part](options)


if __name__ == "__main__":
    main()

"""SugarCrepe (Hsieh et al. 2023): hard negatives that a language model cannot tell from captions by their style.

Seven files of pairs on COCO val2017. Keys are not contiguous (one swap_obj record was withdrawn), so they, not
their order, name the items.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from equipoise.benchmarks.base import PAIR_CHANCE, Average, Benchmark, github
from equipoise.benchmarks.photos import COCO_VAL2017
from equipoise.benchmarks.reading import Case, Raw, choose, read
from equipoise.data.items import Edit, ImageRef, Item, Target, texts

SPLITS: dict[str, int | None] = {
    "add_att": 692,
    "add_obj": 2062,
    "replace_att": 788,
    "replace_obj": 1652,
    "replace_rel": 1406,
    "swap_att": 666,
    "swap_obj": 245,
}
_TARGETS: dict[str, Target] = {"att": "attribute", "obj": "object", "rel": "relation"}


class Record(Raw):
    filename: str
    caption: str
    negative_caption: str


def edit_of(split: str) -> Edit:
    """What a split's name says about its negatives: "swap_att" swaps attributes."""
    operation, target = split.split("_")
    return Edit(op=operation, target=_TARGETS[target], by="ChatGPT")


def cases(split: str, key: str, record: Record) -> Iterator[Case]:
    yield Case(
        key,
        image=ImageRef(path=record.filename),
        caption=record.caption,
        negatives=texts(record.negative_caption, edit=edit_of(split)),
        tags={"group": split.split("_")[0]},
    )


def load(source: Path, splits: Sequence[str]) -> list[Item]:
    files = choose("sugarcrepe", source, {s: f"{s}.json" for s in SPLITS}, splits)
    return read("sugarcrepe", files, Record, cases)


_FILES = github(
    "RAIVNLab/sugar-crepe",
    "main",
    "data/",
    [
        ("add_att.json", 158_863, "012d88d729693d193760e6f3393b06a1cf874380a9db0062e937201199fe044d"),
        ("add_obj.json", 484_593, "1b9d76b93139a937b8dc1ada92a4f05ecc821bb3c291d752428bafadd4bb0682"),
        ("replace_att.json", 176_843, "9fe55fd4c0a9ad1f85d486d9f6d0215b41f867eb025026e7f7b5ce44352545ee"),
        ("replace_obj.json", 361_126, "9d299600639947e9d15281a9ded1382b376cf4ea088a8d08a1314bfe76e81898"),
        ("replace_rel.json", 312_629, "356bcc2fc4c6aed3f4d9fd50acc58489bb1fe70c28791f9368d4cbf9ea39cdc9"),
        ("swap_att.json", 154_665, "7a7ce04e5c4c80412b48c6f0c1347fb1a2f5d54c0be6aa429b64d390e442f8d0"),
        ("swap_obj.json", None, None),
    ],
)

BENCHMARK = Benchmark(
    name="sugarcrepe",
    title="SugarCrepe: caption against one fluent hard negative",
    splits=SPLITS,
    chance=PAIR_CHANCE,
    ties="a tie is wrong (strictly greater wins)",
    licence="MIT (annotations); COCO images under their Flickr licences",
    citation="Hsieh et al. 2023, SugarCrepe: Fixing Hackable Benchmarks for Vision-Language Compositionality, NeurIPS",
    url="https://github.com/RAIVNLab/sugar-crepe",
    get="Clone the repository (the files are in data/); images: COCO val2017, --images is the folder val2017.",
    load=load,
    downloads=(*_FILES, COCO_VAL2017),
    averages={
        "vl_compo": Average(("group",), "vl_compo's table of 202 models: the mean over replace, swap and add"),
        "ce_clip": Average(("split",), "Zhang et al. 2024, Table 5: the mean of the seven splits"),
    },
    notes="The headline is the mean over replace, swap and add of their plain accuracies, as later tables have it "
    "(vl_compo); the paper itself prints the seven splits, and CE-CLIP their mean (87.5 where "
    "this gives 87.3). swap_obj holds 245 pairs; some tables still divide by 246.",
)

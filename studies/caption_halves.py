"""Which captions the word tables of language/data may learn from, and which are kept for measuring.

Learned from: Flickr8k without its test images, the captions of NegCLIP's file (COCO's, of other images), and the COCO
images of Karpathy's test half and of train2017 whose name hashes to it. Measured: the other COCO images, and Flickr8k's
test images.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from equipoise.language.caption import Caption
from studies.harness import read_lines, read_rows


def captions_of(texts: Sequence[str]) -> list[Caption]:
    """The captions of one photo, each with the others."""
    clean = [" ".join(text.split()) for text in texts]
    return [Caption(text, tuple(o for k, o in enumerate(clean) if k != place)) for place, text in enumerate(clean)]


def is_learned(image: str) -> bool:
    """Half of the COCO images, whatever their order."""
    return zlib.crc32(f"half{image}".encode()) % 4 < 2


def coco(path: Path, learned: bool) -> list[dict[str, object]]:
    """Records of Karpathy's JSON, of one half."""
    return [record for record in json.loads(path.read_text(encoding="utf-8")) if is_learned(record["image"]) == learned]


def flickr(shared: Path, learned: bool) -> dict[str, list[str]]:
    """Image -> captions of Flickr8k: all but the test images, or these."""
    test = set((shared / "flickr8k" / "Flickr_8k.testImages.txt").read_text(encoding="utf-8").split())
    by_image: dict[str, list[str]] = {}
    for line in (shared / "flickr8k" / "captions.tsv").read_text(encoding="utf-8").splitlines():
        name, text = line.split("\t")
        image = name.partition("#")[0]
        if (image not in test) == learned:
            by_image.setdefault(image, []).append(text)
    return by_image


def train2017(shared: Path, learned: bool) -> dict[str, list[str]]:
    """Image -> captions of the photos of train2017 that are in no benchmark: three eighths of them, or the others."""
    rows = read_lines(shared / "coco" / "captions_train2017_part.jsonl.gz")
    rows = [row for row in rows if row["use"] == "train" and not row["benchmarks"]]
    mine = [row for row in rows if (zlib.crc32(f"sheet{row['id']}".encode()) % 8 < 3) == learned]
    return {f"train2017/{row['id']}": row["captions"] for row in mine}


def learning(shared: Path) -> Iterator[tuple[str, list[str]]]:
    """(corpus, captions of one image) of all that may be learned from."""
    for record in coco(shared / "coco" / "karpathy_test_first_half.json", learned=True):
        yield "coco", [str(text) for text in record["caption"]]  # type: ignore[attr-defined]
    for row in read_rows(shared / "negclip" / "valid_neg_clip.tsv"):
        yield "coco", [row["title"]]
    for captions in flickr(shared, learned=True).values():
        yield "flickr8k", captions

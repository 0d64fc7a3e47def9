"""Photo sets that several benchmarks share, at their official addresses; `photos` in a benchmark's TOML names them.

COCO's and Visual Genome's sizes, COCO's hashes and that COCO's bucket has a valid certificate only under the
s3.amazonaws.com name are what several public download scripts agree on. Not here, because there is no stable public
address: HAKE's, Visual7W's (plain http) and VisDial's photos, and ARO's (Google Drive).
"""

from __future__ import annotations

from dataclasses import replace

from equipoise.benchmarks.base import Download

_COCO = "https://s3.amazonaws.com/images.cocodataset.org/zips/"  # https://images.cocodataset.org fails its certificate
_COCO_VAL2017 = "4f7e2ccb2866ec5041993c9cf2a952bbed69647b115d0f74da7ce8f4bef82f05"
_VISUAL_GENOME = "https://cs.stanford.edu/people/rak248/VG_100K_2/"
_SWIG = "https://swig-data-weights.s3.us-east-2.amazonaws.com/images_512.zip"
SETS = {
    "coco_val2017": (Download(_COCO + "val2017.zip", "images/val2017.zip", 815_585_330, _COCO_VAL2017, True),),
    "coco_val2014": (Download(_COCO + "val2014.zip", "images/val2014.zip", 6_645_013_297, unpack=True),),
    "coco_train2014": (Download(_COCO + "train2014.zip", "images/train2014.zip", 13_510_573_713, unpack=True),),
    "visual_genome": (  # unpack to VG_100K/ and VG_100K_2/
        Download(_VISUAL_GENOME + "images.zip", "images/images.zip", 9_731_705_982, unpack=True),
        Download(_VISUAL_GENOME + "images2.zip", "images/images2.zip", 5_471_658_058, unpack=True),
    ),
    "swig": (Download(_SWIG, "images/images_512.zip", unpack=True),),  # unpacks to images_512/; about 13 GB
}


def photos(name: str, folder: str) -> list[Download]:
    """The archives of a set, to be unpacked in images/, or in a folder of it where a benchmark writes its paths so."""
    below = f"images/{folder}/" if folder else "images/"
    return [replace(part, to=part.to.replace("images/", below, 1)) for part in SETS[name]]

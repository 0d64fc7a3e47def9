"""Photo sets that several benchmarks share, at their official addresses.

COCO's and Visual Genome's sizes, COCO's hashes and that COCO's bucket has a valid certificate only under the
s3.amazonaws.com name are what several public download scripts agree on. Not here, because there is no stable public
address: HAKE's, Visual7W's (plain http) and VisDial's photos, and ARO's (Google Drive).
"""

from __future__ import annotations

from dataclasses import replace

from equipoise.benchmarks.base import Download

_COCO = "https://s3.amazonaws.com/images.cocodataset.org/"  # https://images.cocodataset.org fails certificate checks
COCO_VAL2017 = Download(
    _COCO + "zips/val2017.zip",
    "images/val2017.zip",
    815_585_330,
    "4f7e2ccb2866ec5041993c9cf2a952bbed69647b115d0f74da7ce8f4bef82f05",
    unpack=True,
)
COCO_VAL2014 = Download(_COCO + "zips/val2014.zip", "images/val2014.zip", 6_645_013_297, unpack=True)
COCO_TRAIN2014 = Download(_COCO + "zips/train2014.zip", "images/train2014.zip", 13_510_573_713, unpack=True)
# They unpack to VG_100K/ and VG_100K_2/.
_VISUAL_GENOME = "https://cs.stanford.edu/people/rak248/VG_100K_2/"
VISUAL_GENOME = (
    Download(_VISUAL_GENOME + "images.zip", "images/images.zip", 9_731_705_982, unpack=True),
    Download(_VISUAL_GENOME + "images2.zip", "images/images2.zip", 5_471_658_058, unpack=True),
)
# Unpacks to images_512/; about 13 GB.
SWIG = Download(
    "https://swig-data-weights.s3.us-east-2.amazonaws.com/images_512.zip", "images/images_512.zip", unpack=True
)
SWIG_LINK = "SWiG's photos unpack to images/images_512/ and are looked for in swig/: ln -s images_512 OUT/images/swig"


def below(folder: str, *sets: Download) -> tuple[Download, ...]:
    """The same archives, unpacked in a folder of images/, where a benchmark writes its paths so."""
    return tuple(replace(part, to=part.to.replace("images/", f"images/{folder}/", 1)) for part in sets)

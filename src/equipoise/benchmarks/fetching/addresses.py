"""Official addresses of benchmark files. A benchmark that is not here has steps for people instead (`Benchmark.get`).

How they were verified, without a network: sizes and hashes of annotation files are those of copies that were compared
with the repositories (length and end of each file at the commit named). COCO's and Visual Genome's sizes, COCO's hashes
and that COCO's bucket has a valid certificate only under the s3.amazonaws.com name are what several public download
scripts agree on. Where nothing could be compared, size and hash are None; the server is asked for the size, and the
loader counts the records.

Not here, because there is no stable public address: ARO and SWAP (Google Drive), Winoground (a form on the hub), CREPE
(zip files kept elsewhere), HAKE's, Visual7W's (plain http) and VisDial's photos.
"""

from __future__ import annotations

from dataclasses import replace

from equipoise.benchmarks.base import Download

_Row = tuple[str, int | None, str | None]  # path, bytes, sha256


def _github(repository: str, commit: str, folder: str, rows: list[_Row], below: str = "") -> tuple[Download, ...]:
    """Files of a repository. A commit where one is known to hold these very bytes; else the branch, for the newest."""
    base = f"https://raw.githubusercontent.com/{repository}/{commit}/{folder}"
    return tuple(Download(base + path, below + path, size, sha256) for path, size, sha256 in rows)


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

SUGARCREPE = _github(
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
# data/ and VLMs/data/ hold the same files; of each the copy that could be compared.
SUGARCREPE_PP = _github(
    "Sri-Harsha/scpp",
    "cfdcd827e2725427752fdc582f82d1695d983417",
    "data/",
    [
        ("replace_att.json", 226_275, "6826413592894754eeca02aeebbcbbc8b95a7456998abcc714e71c033ce6fe87"),
        ("replace_rel.json", 392_738, "040fb95d3f0619bf515db60879e99709a87a5e9b4f524ec3403b127243480fd4"),
    ],
) + _github(
    "Sri-Harsha/scpp",
    "a70a831f6ee3f8233f177fa61e1564f5ad3b82d2",
    "VLMs/data/",
    [
        ("replace_obj.json", 456_601, "5c6dc499ec8f511a8aa4ec1b7b5eb0eca90317488abe36ec39573355e2d361ab"),
        ("swap_att.json", 198_206, "450d0fd9fcad3e6f44950dc634e7f901ab1c6d9c60a569ade5ae8ffb3d203ad8"),
        ("swap_obj.json", None, None),
    ],
)
VALSE = _github(
    "Heidelberg-NLP/VALSE",
    "main",
    "data/",
    [
        ("actant-swap.json", 503_017, "915294ac3ade7c4c067b1c6841d0db93b60cb8a61ac8e2fb6b125c2a1c0ca93a"),
        ("action-replacement.json", 664_129, "336ba134f29a3475d0508809067218909a6bd30f079c59309d19244eccb7917f"),
        ("coreference-hard.json", None, None),
        ("coreference-standard.json", 592_329, "dae1d9eb018acb54e29a1c4983f3563f86ec3b6beb4037a261564270b0473e95"),
        ("counting-adversarial.json", None, None),
        ("counting-hard.json", 537_197, "2cc83615653675fb50914ce2d8ab4041cce1278eed7ac0abf6f319dbce5c967a"),
        ("counting-small-quant.json", 534_996, "ca0645885b05738f6c6df2dffec70c669aaff64114017f33425821faab4bc374"),
        ("existence.json", 420_403, "b20fca52eba86c544083d423345a2e28e60e601ef61c56c9ac1c73a95a3a6d18"),
        ("foil-it.json", 538_911, "6f6f0d7494271ed28f6e6f075c3ba36ba1bc45d00ecf7403920f060915130460"),
        ("plurals.json", 1_097_122, "43760db7fc8c6f2a21d3536d52f81539cb101f3370e8d2effb09de43d91486a3"),
        ("relations.json", 664_587, "061fc557459c318ccd6734d07c21cfa5bf5ae87aa6b1110b8f5ec3d6b2911043"),
    ],
)
NEGCLIP = _github(
    "mertyg/vision-language-models-are-bows",
    "3554a013091a286954deedc2bdb9aced7c831382",
    "temp_data/",
    [
        ("valid_neg_clip.tsv", 1_018_978, "a9d00160062384faa2423df728ee3c15db05503fcbb28c212de11a6c8741eff4"),
    ],
)
# The paper's own four files, which the rebuild from VL-CheckList equals.
REPLACE = _github(
    "amitakamath/hard_positives",
    "8397123a9fb0140c174765df38c08309fdd197ea",
    "data/",
    [
        ("vl_checklist_attributes.json", 1_522_662, "4c7d262e77e1a1fd5a89ee0de43191fe697d4cf1c044e76c496761f07d824950"),
        ("vl_checklist_relations.json", 2_484_434, "f4aee47194df09f73c4bdb13e2f24c17901d71fbb15ab629b40c8667a841d535"),
    ],
    below="data/",
) + _github(
    "amitakamath/hard_positives",
    "bab28ba0825c27680540db2fae36c5ec4d2be511",
    "swapped_data/",
    [
        ("vl_checklist_attributes.json", 1_535_707, "7f6d2f2614ff8a037780ab4b6243c6e1165ceabc5e4db506ad70c63fd95f6441"),
        ("vl_checklist_relations.json", 2_499_572, "25174b3f0286c124cd7c2c844c1e57bb85179e37cdee0d55fc2857387dede9b5"),
    ],
    below="swapped_data/",
)
# The attribute files were corrected once: those of ae487f14 have other captions and give another REPLACE.
VL_CHECKLIST_VG = (
    _github(
        "om-ai-lab/VL-CheckList",
        "ae487f14d8c95699cc014181db13ebd6274ce547",
        "data/",
        [
            ("Relation/vg/action.json", 1_216_888, "2722201353c885670315f935d53cb4e08f462e629c3f88c73da9a286ea66d7a1"),
            ("Relation/vg/spatial.json", 2_753_305, "2582095a4b8515048ba2e33d37d2bffc109e6734924b47bf977236b7f9b72303"),
        ],
    )
    + _github(
        "om-ai-lab/VL-CheckList",
        "e42e1d6be38af8981e6c97744f725685748c88b9",
        "data/",
        [
            ("Attribute/vg/action.json", 175_956, "a20b1ee682ab2fb62978cca3a95fc27aa6b35f9238ca7c8847f74671c40db7ba"),
            ("Attribute/vg/color.json", 1_040_049, "93e5d316cfc964c7b4bce2182c9916533ec3aa6e006830859af7c0d2de9f76c7"),
            ("Attribute/vg/size.json", 239_074, "0a2a929d9dce990cfd4b05299e2d2a7fe59b5c679a3e7f52419a5375ea42f24b"),
        ],
    )
    + _github(
        "om-ai-lab/VL-CheckList",
        "0f7906839a27ebf58bdc66927523945f7680420e",
        "data/",
        [
            ("Attribute/vg/material.json", 226_906, "b2c1e312cba0a8efdc5113dd451e21f7fd9d0e96a222a5406ffa8dd67b30d094"),
            ("Attribute/vg/state.json", 84_899, "d13bc1292de364cd787fc651f4abc0ffaafe9fbf09ec8ce25af76bb349415a2e"),
        ],
    )
)
_SWIG_ROLES = ("agent", "destination", "item", "tool")
_OBJECTS: list[str] = [
    f"Object/{kind}/{stem}_{part}.json"
    for kind, parts in (("Location", ("center", "margin", "mid")), ("Size", ("large", "medium", "small")))
    for stem in (
        f"vg_{kind.lower()}/vg_obj",
        f"vg_{kind.lower()}/vg_subj",
        f"hake_{kind.lower()}/hake_obj",
        *(f"swig_{kind.lower()}/swig_{role}/swig_{role}" for role in _SWIG_ROLES),
    )
    for part in parts
]
VL_CHECKLIST_REST = _github(
    "om-ai-lab/VL-CheckList",
    "main",
    "data/",
    [
        (path, None, None)
        for path in (
            *(f"Attribute/vaw/{kind}.json" for kind in ("action", "color", "material", "size", "state")),
            *_OBJECTS,
            "Relation/hake_action.json",
            "Relation/swig_action.json",
        )
    ],
)

ADDRESSES: dict[str, tuple[Download, ...]] = {
    "replace": (*REPLACE, *VISUAL_GENOME),
    "replace-clean": (*VL_CHECKLIST_VG, *VISUAL_GENOME),
    "sugarcrepe": (*SUGARCREPE, COCO_VAL2017),
    "sugarcrepe-pp": (*SUGARCREPE_PP, COCO_VAL2017),
    "valse": (*VALSE, COCO_VAL2017, COCO_VAL2014, COCO_TRAIN2014, SWIG),
    "vl-checklist": (
        *VL_CHECKLIST_VG,
        *VL_CHECKLIST_REST,
        *(replace(part, to=part.to.replace("images/", "images/vg/", 1)) for part in VISUAL_GENOME),
        SWIG,
    ),
    "negclip": (*NEGCLIP, replace(COCO_VAL2014, to="images/coco/val2014.zip")),  # as the file writes its paths
}

_SWIG_LINK = "SWiG's photos unpack to images/images_512/ and are looked for in swig/: ln -s images_512 OUT/images/swig"

# What these still lack.
BY_HAND: dict[str, str] = {
    "valse": (
        "Photos of Visual7W (existence, counting) as images/visual7w/: "
        "http://vision.stanford.edu/yukezhu/visual7w_images.zip (plain http, so not fetched here)\n"
        "Photos of VisDial's validation set (coreference-hard) as images/VisualDialog_val2018/: "
        f"https://visualdialog.org/data\n{_SWIG_LINK}"
    ),
    "vl-checklist": (
        f"Photos of HAKE as images/hake/: https://github.com/DirtyHarryLYL/HAKE/tree/master/Images\n{_SWIG_LINK}"
    ),
    "negclip": (
        "The training table, train_neg_clip.tsv, and COCO's train2014 as images/coco/train2014/, if you want to train: "
        "https://github.com/mertyg/vision-language-models-are-bows"
    ),
}

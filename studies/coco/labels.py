"""The names of models and test items in the tables of COCO, and the models that they compare."""

from __future__ import annotations

from itertools import product

TOWERS = {"m": "MiniLM", "s": "text tower from scratch"}
NAMES = {
    "base": "base",
    "control": "captions alone",
    "hn-negclip": "NegCLIP's negatives",
    "hp-hn-negclip": "NegCLIP's negatives, hard positives",
    "hn": "`balanced` negatives",
    "hp-hn": "`balanced`, the paper's recipe",
    "ce-clip": "`balanced`, CE-CLIP",
    "ours": "`balanced`, `equipoise_2026`",
    "hn-swaps": "`balanced` and swaps, negatives alone",
    "hp-hn-swaps": "`balanced` and swaps, the paper's recipe",
    "ce-clip-swaps": "`balanced` and swaps, CE-CLIP",
    "ours-swaps": "`balanced` and swaps, `equipoise_2026`",
    "hn-best": "chosen on dev: negatives alone",
    "hp-hn-best": "chosen on dev: the paper's recipe",
    "ce-clip-best": "chosen on dev: CE-CLIP",
    "ours-best": "chosen on dev: `equipoise_2026`",
    "ours-best-known": "... and REPLACE's words in training",
}
SHOWN = {  # the rows of docs/coco.md
    "base": "nothing (the base)",
    "control": "captions alone",
    "hn-negclip": "negatives that exchange words (NegCLIP's)",
    "hn": "negatives that replace words (`balanced`)",
    "hp-hn": "the same and hard positives (Kamath et al.)",
    "hp-hn-best": "Kamath et al., best setting",
    "ce-clip-best": "CE-CLIP, best setting",
    "ours-best": "ours, best setting",
    "ours-best-known": "ours, with REPLACE's words in training",
}
CHANCE = {"original": "50.0", "augmented": "33.3", "brittleness": "33.3"}
MIXED = {  # averaged with the model that was finetuned on captions alone
    "hn-best+captions": "negatives alone",
    "hp-hn-best+captions": "the paper's recipe",
    "ce-clip-best+captions": "CE-CLIP",
    "ours-best+captions": "`equipoise_2026`",
    "hp-hn-best-as-ours+captions": "the paper's recipe with the training chosen for ours",
    "hp-hn-best-known+captions": "the same and REPLACE's words in training",
    "ours-best-known+captions": "`equipoise_2026` and REPLACE's words in training",
}
LIMIT = 0.5  # points of the mean of six recalls on dev that the averaged model may lose against captions alone
MORE = {
    "hp-hn-best-as-ours": "the paper's recipe with the setting chosen for ours",
    "hp-hn-0": "the paper's recipe, weight of negatives 0",
    "hp-hn-0.25": "... 0.25",
    "hp-hn-0.5": "... 0.5",
    "hp-hn-0.75": "... 0.75",
    "hp-hn-replace-only": "the paper's recipe, replaced words only",
    "hp-hn-swap-only": "the paper's recipe, exchanged words only",
    "ce-clip-itc": "CE-CLIP, ITC(hn) alone",
    "ce-clip-imc": "... and IMC",
    "ce-clip-cmr": "... and CMR",
    "ce-clip-fixed": "CE-CLIP with a fixed threshold",
    "hp-hn-keep": "the paper's recipe, keeping the base's preferences",
    "hp-hn-margin": "the paper's recipe, two negatives and a margin",
    "ce-clip-positives": "CE-CLIP with hard positives",
    "control-equal": "captions alone, 1,024 a step",
    "hn-equal": "negatives alone, 512 captions a step",
    "hp-hn-equal": "the paper's recipe, 341 captions a step",
    "ce-clip-equal": "CE-CLIP, 205 captions a step",
    "svlc": "SVLC",
    "dac": "DAC",
    "ours-no-rank": "`equipoise_2026` without ranking",
    "ours-no-text": "... without the loss between texts",
    "ours-no-agreement": "... without equal scores",
    "ours-no-keep": "... without keeping the base's preferences",
    "ours-no-second-caption": "... without the positive as second caption",
    "ours-one-negative": "... with one negative",
}
FUSED = {  # with a matching head
    "base": "base, matching head trained on captions",
    "control": "captions alone: ITC + ITM",
    "hn": "`balanced`: negatives for the head",
    "ce-xvlm": "`balanced`: CE-XVLM",
    "ce-xvlm-hp": "`balanced`: CE-XVLM and hard positives",
    "hn-swaps": "`balanced` and swaps: negatives for the head",
    "ce-xvlm-swaps": "`balanced` and swaps: CE-XVLM",
    "ce-xvlm-hp-swaps": "`balanced` and swaps: CE-XVLM and hard positives",
}
FUSED_PAIRS = [
    (f"{after}{swaps}{part}", f"{before}{part}")
    for swaps, part in product(("", "-swaps"), ("", "-itm"))
    for after, before in (
        ("hn", "control"), ("ce-xvlm", "control"), ("ce-xvlm-hp", "control"), ("ce-xvlm", f"hn{swaps}"),
        ("ce-xvlm-hp", f"ce-xvlm{swaps}"),
    )
]  # fmt: skip
ABLATIONS = {  # title: models, all trained on the same texts
    "hard-positive paper, Tables 3 and 1d (`balanced` and swaps)": [
        "control", "hp-hn-0", "hp-hn-0.25", "hp-hn-0.5", "hp-hn-0.75", "hp-hn-swaps", "hn-swaps", "hp-hn-replace-only",
        "hp-hn-swap-only",
    ],
    "CE-CLIP, Table 4 (`balanced` and swaps)": [
        "control", "ce-clip-itc", "ce-clip-imc", "ce-clip-cmr", "ce-clip-swaps", "ce-clip-fixed",
    ],
    "1,024 texts a step (`balanced`)": ["control-equal", "hn-equal", "hp-hn-equal", "ce-clip-equal", "ours"],
}  # fmt: skip
CHANGES = [  # against captions alone, on the bases that each has
    "hn", "hp-hn", "hp-hn-keep", "hp-hn-margin", "ce-clip", "ce-clip-positives", "svlc", "dac", "ours",
    *(name for name in MORE if name.startswith("ours-")), "hp-hn-best", "hp-hn-best-as-ours", "ours-best",
]  # fmt: skip
PRINTED = {  # in the papers: table, row, places
    "hp-hn-0": ("hp_table_3", "hp", (1, 6)),
    "hp-hn-0.25": ("hp_table_3", "hn-25", (1, 6)),
    "hp-hn-0.5": ("hp_table_3", "hn-50", (1, 6)),
    "hp-hn-0.75": ("hp_table_3", "hn-75", (1, 6)),
    "hp-hn-swaps": ("hp_table_3", "hp-hn", (1, 6)),
    "hn-swaps": ("hp_table_3", "hn", (1, 6)),
    "ce-clip-itc": ("ce_table_4", "ce-itc", (4,)),
    "ce-clip-imc": ("ce_table_4", "ce-imc", (4,)),
    "ce-clip-cmr": ("ce_table_4", "ce-itc-cmr", (4,)),
    "ce-clip-swaps": ("ce_table_4", "ce-clip", (4,)),
}
PUBLISHED = {1: "mean of four benchmarks", 2: "REPLACE: Augmented accuracy / Brittleness"}
KINDS = {
    "replace": "REPLACE",
    "negclip": "NegCLIP's pairs",
    "vsr_symmetric": "VSR symmetric",
    "vsr_inverse": "VSR inverse",
    "human": "human captions",
    "foil": "VALSE foil-it",
    "seen": "our items, seen words",
    "unseen": "our items, unseen words",
    "swap": "our items, swaps",
    "phrases": "our items, phrases",
}
JOINED = {"replace": ("replace_relations", "replace_attributes")}  # its number is the mean of both, as in the paper
SHARES = (0.0, 0.4, 0.5, 0.6, 0.8, 1.0)  # of the finetuned weights
METRICS = ("original", "augmented", "brittleness")
SHORT = {"original": "Orig.", "augmented": "Aug.", "brittleness": "Brit."}
SUMMARY = [
    ("replace", "augmented"), ("replace", "brittleness"), ("negclip", "original"), ("vsr_symmetric", "augmented"),
    ("vsr_inverse", "augmented"), ("foil", "augmented"), ("unseen", "augmented"),
]  # fmt: skip
PAIRS = [
    ("hn-negclip", "control"), ("hp-hn-negclip", "control"), ("hn", "control"), ("hp-hn", "control"),
    ("ce-clip", "control"), ("ours", "control"), ("ours", "base"), ("hp-hn", "hn"), ("ours", "hp-hn"),
    ("hn-swaps", "hn"), ("hp-hn-swaps", "hp-hn"), ("ours-swaps", "ours"),
    ("hn-best", "control"), ("hp-hn-best", "control"), ("ce-clip-best", "control"), ("ours-best", "control"),
    ("hp-hn-best", "base"), ("ours-best", "base"), ("hp-hn-best", "hn-best"), ("ours-best", "hp-hn-best"),
    ("ours-best", "ce-clip-best"),
    *(("ours-best-known", before) for before in ("base", "control", "ours-best")),
    ("ours", "hp-hn-equal"), ("ours", "ce-clip-equal"), ("hp-hn-0", "control"), ("hp-hn-swaps", "hp-hn-0"),
    ("hp-hn-replace-only", "hp-hn-swaps"), ("hp-hn-swap-only", "hp-hn-swaps"), ("ce-clip-itc", "control"),
    ("ce-clip-imc", "ce-clip-itc"), ("ce-clip-cmr", "ce-clip-itc"), ("ce-clip-swaps", "ce-clip-itc"),
    ("ce-clip-fixed", "ce-clip-swaps"), ("ours-best", "hp-hn-best-as-ours"), ("hp-hn-best-as-ours", "control"),
    ("ours-best+captions", "base"), ("ours-best+captions", "hp-hn-best+captions"),
    ("ours-best+captions", "hp-hn-best-as-ours+captions"), ("ours-best-known+captions", "base"),
    ("ours-best-known+captions", "hp-hn-best-known+captions"),
    *((name, "control") for name in ("hp-hn-keep", "hp-hn-margin", "ce-clip-positives", "svlc", "dac")),
]  # fmt: skip
WORDS = {  # of REPLACE, by the word that is replaced; the others are in no group
    "in training": ["wearing", "on top of", "sitting", "large", "big", "huge"],  # training rewords them as REPLACE does
    "colours": ["white", "black", "blue", "brown", "red", "green", "silver"],
    "behind": ["behind"],
}
RELATIONS = {
    "vsr_symmetric": [("touching",), ("far away from", "far from", "away from", "detached from")],
    "vsr_inverse": [("on top of", "above", "in", "inside", "within"), ("under", "beneath", "below")],
}
CONTEST = {"hn": "negatives alone", "hp-hn": "the paper's recipe", "ce-clip": "CE-CLIP", "ours": "`equipoise_2026`"}
TAUGHT_ON = {"balanced": "`balanced`", "phrases": "... and phrases", "thesaurus": "... and thesaurus"}
CLASSES = {"imagenet": "ImageNet", "cifar10": "CIFAR-10", "pets": "pets", "scenes": "scenes"}
LAYOUTS = {
    "replace_obj": "replace object", "replace_att": "attribute", "replace_rel": "relation", "swap_obj": "swap object",
    "swap_att": "swap attribute", "add_obj": "add object", "add_att": "add attribute",
}  # fmt: skip
CHECKED = {  # of VL-CheckList, the records of Visual Genome
    "Attribute_action": "attribute action", "Attribute_color": "colour", "Attribute_material": "material",
    "Attribute_size": "size", "Attribute_state": "state", "Relation_action": "relation action",
    "Relation_spatial": "relation spatial",
}  # fmt: skip

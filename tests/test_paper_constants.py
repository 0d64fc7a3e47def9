"""Every published constant, pinned to its place in a paper: change one in the code and a test goes red.

The loss formulas are held by tests/train/losses against slow loops; here are the numbers around them. "HP" is Kamath
et al. 2024 (The Hard Positive Truth), "CE" is Zhang et al. 2024 (CE-CLIP). Numbers that a paper leaves to the code it
builds on name that code.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from equipoise.benchmarks import registry
from equipoise.train.recipe import Lora, Needs, Recipe
from equipoise.train.recipes import RECIPES, get_recipe

# What open_clip trains with where a paper says "default values" (CE 4.1), and SVLC, which HP follows (appendix D.1).
OPEN_CLIP = {
    "batch_size": 256,
    "epochs": 5,
    "max_steps": None,
    "lr": 5e-6,
    "warmup_steps": 50,
    "warmup_share": 0.1,
    "weight_decay": 0.1,
    "betas": (0.9, 0.98),
    "eps": 1e-6,
    "grad_clip": None,
    "max_scale": 100.0,
    "lora": None,
    "freeze": None,
    "crop": None,
    "wise_ft": None,
    "seed": 0,
}
KAMATH = {"batch_size": 512, "warmup_steps": 500}  # SVLC's 128 on each of the 4 GPUs of appendix D.1; 5 epochs
XVLM = {  # CE 4.1: 5 epochs, batch 64, defaults: X-VLM's configs/Retrieval_coco.yaml and optim.py
    "batch_size": 64,
    "lr": 3e-5,
    "warmup_steps": 4_400,  # num_warmup_steps 0.1 of 5 x 8,850 steps
    "weight_decay": 0.01,
    "eps": 1e-8,
    "max_scale": 1000.0,  # temp.clamp_(0.001, 0.5)
    "seed": 42,
}
PINNED: dict[str, dict[str, Any]] = {
    "control": KAMATH,
    "hn_only": KAMATH,
    "hp_only": KAMATH,
    "hard_positives_kamath_2024": KAMATH,
    "negclip_yuksekgonul_2023": {"lr": 1e-6, "weight_decay": 0.2},  # ARO, appendix; open_clip's decay
    "svlc_doveh_2023": {"batch_size": 128, "warmup_steps": 10_000, "warmup_share": 0.35, "lora": Lora(4, 1.0)},
    "dac_doveh_2023": {"batch_size": 32, "warmup_steps": 10_000, "warmup_share": 0.35, "lora": Lora(4, 1.0)},
    "ce_clip_zhang_2024": {"seed": 42},  # CE 4.1: 5 epochs, batch 256, defaults; seed 42 is the code's
    "ce_xvlm_zhang_2024": XVLM,
    "control_itm": XVLM,
    "fsc_clip_oh_2024": {},
    "read_clip_kwon_2025": {  # the code's trainer; its scale is not held
        "lr": 1e-5,
        "betas": (0.9, 0.999),
        "eps": 1e-8,
        "grad_clip": 1.0,
        "max_scale": 10_000.0,
        "seed": 2025,
    },
    "clic_peleg_2025": {  # 200 on each of 4 GPUs; 1M pairs are 1,250 steps, a fifth of them warm-up
        "freeze": "vision",
        "batch_size": 800,
        "epochs": 1,
        "lr": 1e-6,
        "warmup_steps": 250,
        "warmup_share": 0.2,
        "eps": 1e-8,
        "max_scale": 10_000.0,
    },
    "degla_hu_2025": {"lr": 1e-6, "seed": 42},  # 32 on each of 8 GPUs
    "cs_clip_kargi_2026": {  # warm-up: 3 epochs of 82,783 x 5 captions in batches of 128
        "batch_size": 128,
        "weight_decay": 0.01,
        "warmup_steps": 9_700,
        "warmup_share": 0.6,
        "grad_clip": 1.0,
        "max_scale": 10_000.0,
        "seed": 42,
    },
    "control_siglip": {"max_scale": 10_000.0},
}
OPTIONS: dict[str, dict[str, Any]] = {
    "hard_positives_kamath_2024": {"hn_weight": 1.0, "swap_only": False, "replace_only": False},
    "negclip_yuksekgonul_2023": {"hard_images": True},
    "svlc_doveh_2023": {"negative_weight": 1.0, "positive_weight": 1.0, "negatives_in_contrastive": True},
    "dac_doveh_2023": {"dense_captions": 10, "dense_negatives": True},
    "ce_clip_zhang_2024": {
        "itc": "hn",
        "imc_weight": 0.2,  # alpha, CE 4.1 and figure 6
        "cmr_weight": 0.4,  # beta
        "imc_form": "all",
        "cmr_mean": "paper",  # eq. 6 sums over the negatives that there are; the code counts the missing ones
        "fixed_threshold": None,
        "upper_threshold": 10.0,  # u, CE 4.4 and figure 5c
        "types": ["relation", "attribute", "object", "action"],
    },
    "ce_xvlm_zhang_2024": {"imc_weight": 0.2, "cmr_weight": 0.4},
    "fsc_clip_oh_2024": {"global_weight": 0.5, "local_weight": 0.2, "gamma": 2.0, "smoothing": 0.02, "lora": 0},
    "read_clip_kwon_2025": {"alignment_weight": 0.5},
    "clic_peleg_2025": {"plain_weight": 1.0, "contrast_weight": 0.5, "negative_weight": 0.5, "uni_weight": 1.0},
    "degla_hu_2025": {
        "image_weight": 0.1,
        "text_weight": 0.1,
        "distillation_weight": 0.005,
        "teacher_decay": 0.9996,
    },
    "cs_clip_kargi_2026": {"unit_weight": 0.5, "units": 2},
}
QUICK = {
    "batch_size": 128,
    "epochs": 100,
    "max_steps": 200,
    "lr": 6e-4,
    "warmup_steps": 20,
    "warmup_share": 0.1,
}  # ours, for the world


def settings(recipe: Recipe) -> dict[str, Any]:
    return {name: getattr(recipe, name) for name in OPEN_CLIP}


def test_every_recipe_is_pinned() -> None:
    reproduced = {name for name in RECIPES if "equipoise" not in name}  # ours are not published
    assert reproduced == set(PINNED), "a new recipe's constants belong into this file"


@pytest.mark.parametrize("name", PINNED)
def test_settings(name: str) -> None:
    assert settings(get_recipe(name)) == OPEN_CLIP | PINNED[name]


@pytest.mark.parametrize("name", PINNED)
def test_quick_settings(name: str) -> None:
    """The world's form changes size and rate, and nothing of the method."""
    rate = 6e-3 if "lora" in PINNED[name] else 6e-4
    assert settings(get_recipe(name, quick=True)) == OPEN_CLIP | PINNED[name] | QUICK | {"lr": rate}


@pytest.mark.parametrize("name", PINNED)
def test_options(name: str) -> None:
    assert dict(get_recipe(name).options) == OPTIONS.get(name, {})


def test_options_reach_the_loss() -> None:
    """An option that is recorded and then ignored is worse than none."""
    ce_clip = get_recipe("ce_clip_zhang_2024", upper_threshold=3, imc_form="own", imc_weight=0.7, cmr_weight=0.9)
    terms = ce_clip.loss().terms  # type: ignore[attr-defined]
    assert terms["cmr"][1].upper == 3.0 and terms["imc"][1].form == "own"
    assert (terms["itc"][0], terms["imc"][0], terms["cmr"][0]) == (1, 0.7, 0.9)
    fsc = get_recipe("fsc_clip_oh_2024", gamma=1, smoothing=0.3, global_weight=0.6, local_weight=0.1).loss().terms  # type: ignore[attr-defined]
    assert [(fsc[name][0], fsc[name][1].gamma, fsc[name][1].smoothing) for name in ("global", "local")] == [
        (0.6, 1.0, 0.3),
        (0.1, 1.0, 0.3),
    ]
    default = get_recipe("fsc_clip_oh_2024").loss().terms["global"][1]  # type: ignore[attr-defined]
    assert (default.gamma, default.smoothing) == (2.0, 0.02)
    assert get_recipe("fsc_clip_oh_2024", lora=4).lora == Lora(4, 1.0)
    assert get_recipe("fsc_clip_oh_2024", lora=4).lr == 5e-5


def test_which_texts_each_recipe_asks_for() -> None:
    def slots(name: str, **options: Any) -> tuple[str | None, list[str]]:
        needs = get_recipe(name, **options).needs
        return needs.positive and needs.positive.name, [slot.name for slot in needs.negatives]

    assert slots("control") == (None, [])
    assert slots("hn_only") == (None, ["any"])
    assert slots("hp_only") == ("any", [])
    assert slots("hard_positives_kamath_2024") == ("any", ["any"])
    assert slots("hard_positives_kamath_2024", swap_only=True) == ("swap", ["swap"])
    assert slots("hard_positives_kamath_2024", replace_only=True) == ("replace", ["replace"])
    assert slots("svlc_doveh_2023") == ("any", ["any"])
    assert slots("ce_clip_zhang_2024") == (None, ["relation", "attribute", "object", "action"])
    assert slots("ce_xvlm_zhang_2024") == slots("ce_clip_zhang_2024") and slots("control_itm") == (None, [])
    assert get_recipe("ce_xvlm_zhang_2024").needs.matching and get_recipe("control_itm").needs.matching
    assert slots("fsc_clip_oh_2024") == (None, ["swap", "replace", "shuffle"])
    assert get_recipe("fsc_clip_oh_2024").needs.tokens
    assert slots("clic_peleg_2025") == ("any", ["any"])
    assert slots("cs_clip_kargi_2026") == (None, ["any"])
    assert slots("degla_hu_2025") == (None, ["any"] * 4)
    assert get_recipe("degla_hu_2025").needs.teacher == 0.9996
    assert get_recipe("degla_hu_2025", text_weight=0, distillation_weight=0).needs.teacher is None
    units = get_recipe("cs_clip_kargi_2026").needs
    assert (units.dense, units.dense_negatives) == (2, True)
    assert slots("read_clip_kwon_2025") == ("any", ["swap"] * 3)
    assert slots("read_clip_kwon_2025", alignment_weight=0) == (None, ["swap"] * 3)
    assert get_recipe("negclip_yuksekgonul_2023").needs.hard_images
    dac = get_recipe("dac_doveh_2023").needs
    assert (dac.dense, dac.dense_negatives) == (10, True)


# ------------------------------------------------------------------ prompts (HP, appendix C.1)


@pytest.mark.parametrize(
    ("name", "digest"),
    [
        ("REPLACE", "5d170345b60953a8"),
        ("SWAP", "801d1f2628f39720"),
        ("REPLACE_VERB", "efea363b8a3f5a46"),
        ("REPLACE_SPATIAL", "b137a4e7ee8ed9a2"),
    ],
)
def test_prompts(name: str, digest: str) -> None:
    """The prompt is the method: a reworded one is another method, and gets another name."""
    from equipoise.perturb.llm.recipes import PROMPTS

    prompt = PROMPTS[name]  # type: ignore[index]
    assert hashlib.sha256(prompt.template.encode()).hexdigest()[:16] == digest
    assert prompt.op == ("swap" if name == "SWAP" else "replace")
    assert prompt.max_tokens == (20 if name == "SWAP" else 30)  # appendix C.2; the public code has 20 for both


def test_only_short_captions_are_swapped() -> None:
    """HP, appendix C.2: captions with "and" and fewer than 15 words."""
    from equipoise.perturb.llm.recipes import SWAP_BELOW

    assert SWAP_BELOW == 15


# ------------------------------------------------------------------ averages (rule: tags, least group)

ONE = 1
SPLITS = (("split",), ONE)
CORPUS = (("type", "test", "source", "file"), ONE)
AVERAGES: dict[str, dict[str, tuple[tuple[str, ...], int]]] = {
    "replace": {"paper": SPLITS},  # HP, Table 1: "REPLACE averages performance on Attributes and Relations"
    "replace-clean": {"paper": SPLITS},
    "swap": {},  # HP, Table 1: one plain accuracy over 28,748 items
    "sugarcrepe": {"vl_compo": (("group",), ONE), "ce_clip": SPLITS},  # CE, Table 5: the mean of seven splits
    "sugarcrepe-pp": {"equipoise": SPLITS},
    "aro-vg-r": {"paper": (("relation",), ONE)},  # the mean of 48 relations
    "aro-vg-a": {"paper": (("pair",), 25)},  # of attribute pairs with 25 items or more
    "aro-coco-order": {},
    "aro-flickr-order": {},
    "valse": {"paper": SPLITS, "ce_clip": SPLITS, "vl_compo": (("phenomenon", "split"), ONE)},
    "vl-checklist": {"paper": CORPUS, "vl_compo": CORPUS, "ce_clip": (("column", *CORPUS[0][1:]), ONE)},
    "winoground": {},
    "bivlc": {},  # the mean over 2,933 items
    "cola": {},
    "colorswap": {},
    "eqben": {"equipoise": SPLITS},  # never the mean over items: one of seven subsets is 78 % of them
    "vismin": {"equipoise": (("category",), ONE)},
    "visla": {"equipoise": SPLITS},  # the paper prints each part
    "predicate-noun": {},
    "predicate-noun-cropped": {},
    "crepe": {"equipoise": (("kind", "type", "split"), ONE)},
    "negbench": {"equipoise": SPLITS},
    "whatsup": {"equipoise": SPLITS, "groups": (("group", "split"), ONE)},
    "fg-ovd": {"equipoise": SPLITS},
}


@pytest.mark.parametrize("name", AVERAGES)
def test_averages(name: str) -> None:
    """The first is the headline; tests/evaluation/test_averages.py computes the papers' cells by them."""
    averages = registry.get(name).averages
    assert {rule: (one.path, one.least) for rule, one in averages.items()} == AVERAGES[name]
    assert list(averages) == list(AVERAGES[name]) and all(one.cite for one in averages.values())


def test_what_is_averaged() -> None:
    """A rule is no more than its groups."""
    from equipoise.benchmarks import aro, crepe, registry, valse, vl_checklist

    sugarcrepe = registry.get("sugarcrepe")

    assert len(aro.KINDS) == 48
    assert set(registry.get("replace").splits) == {"attributes", "relations"}
    assert len(valse.SPLITS) == 11 and len({valse.phenomenon(split) for split in valse.SPLITS}) == 7
    assert len(sugarcrepe.splits) == 7 and len({split.split("_")[0] for split in sugarcrepe.splits}) == 3
    tags = [vl_checklist.tags_of(split) for split in vl_checklist.SPLITS]
    assert [len({one[tag] for one in tags}) for tag in ("type", "column", "test")] == [3, 9, 13]
    kinds = {(table.tags["kind"], table.tags["type"]) for table in crepe.TABLES.values()}
    corpora = {f"{corpus}-{what}" for corpus in ("cc12m", "yfcc", "laion") for what in ("atom", "comp")}
    assert {name for kind, name in kinds if kind == "systematicity"} == corpora
    assert {name for kind, name in kinds if kind == "productivity"} == {"atom", "swap", "negate"}
    assert len(crepe.TABLES) == 39


# ------------------------------------------------------------------ facts of benchmarks, parts of recipes

FACTS = Path(__file__).parent / "golden" / "facts.json"


def facts() -> dict[str, Any]:
    """Counts, chance and addresses of every benchmark; slots, sources and checks of every perturbation recipe."""
    from equipoise.benchmarks import registry
    from equipoise.perturb.recipes import RECIPES as PERTURBATIONS

    def named(part: Any) -> str:
        given = sorted(getattr(part, "keywords", {}).items())
        options = "".join(f" {name}={getattr(value, '__name__', value)}" for name, value in given)
        return getattr(part, "func", part).__name__ + options

    benchmarks = {}
    for name in registry.names():
        one = registry.get(name)
        downloads = [[file.url, file.to, file.size, file.sha256, file.unpack] for file in one.downloads]
        benchmarks[name] = {"splits": dict(one.splits), "chance": dict(one.chance), "downloads": downloads}
        benchmarks[name]["metrics"] = list(one.metrics)
        benchmarks[name]["averages"] = {rule: [list(way.path), way.least] for rule, way in one.averages.items()}
    recipes = {}
    for name, recipe in PERTURBATIONS.items():
        recipes[name] = {
            "slots": [[slot.name, [named(op) for op in slot.ops], slot.unless, slot.drawn] for slot in recipe.slots],
            "sources": [source.name for source in recipe.sources],
            "checks": [named(check) for check in recipe.checks],
            "pick": recipe.pick,
            "masked_lm": recipe.masked_lm,
        }
    return {"benchmarks": benchmarks, "perturbation recipes": recipes}


def test_facts_of_benchmarks_and_recipes() -> None:
    """Pinned facts change only on purpose: python -c 'from tests.test_paper_constants import *; write()' in the
    repository. A new one is pinned by the same command."""
    found = json.loads(json.dumps(facts()))
    for kind, pinned in json.loads(FACTS.read_text(encoding="utf-8")).items():
        assert {name: found[kind].get(name) for name in pinned} == pinned


def write() -> None:
    FACTS.write_text(json.dumps(facts(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def test_defaults_of_losses() -> None:
    """CE 4.4: u = 10; the paper's threshold starts at 0."""
    from equipoise.train.losses.cmr import Cmr

    assert Cmr(["any"]).upper == 10.0 and Cmr(["any"]).thresholds.tolist() == [0.0]
    from equipoise.train.losses import degla

    assert degla.DeglaText().scale == 10.0 and degla.BATCH == 256  # the code's fixed scale; 32 on each of 8 GPUs
    assert {name: weight for name, (weight, _) in get_recipe("control_siglip").terms.items()} == {"siglip": 1}
    assert {name: weight for name, (weight, _) in get_recipe("negclip_yuksekgonul_2023").terms.items()} == {
        "negclip": 1
    }
    assert [slot.kinds for slot in get_recipe("fsc_clip_oh_2024").needs.negatives] == [
        (("swap", None),),
        (("replace", None),),
        (("shuffle", None),),
    ]


def test_answers_of_a_language_model_are_checked() -> None:
    from equipoise.perturb.llm import recipes

    assert [check.__name__ for check in recipes.llm_recipe("hard_positives_kamath_2024", _Silent()).checks] == [
        "valid",
        "keeps_meaning",
        "grammar",
    ]


class _Silent:
    """A language model that is never asked."""

    class settings:
        model = "none"


def test_weights_of_the_terms() -> None:
    """Every loss term and its weight, by default: none may gain weight unseen."""
    found = {name: {term: weight for term, (weight, _) in get_recipe(name).terms.items()} for name in PINNED}
    kamath = {"clip": 1, "negative": 1, "positive": 1}
    assert found == {
        "control": {**kamath, "negative": 0, "positive": 0},
        "hn_only": {**kamath, "positive": 0},
        "hp_only": {**kamath, "negative": 0},
        "hard_positives_kamath_2024": kamath,
        "negclip_yuksekgonul_2023": {"negclip": 1},
        "svlc_doveh_2023": kamath,
        "dac_doveh_2023": {"clip": 1, "mil": 1, "mil_negative": 1, "negative": 1},
        "ce_clip_zhang_2024": {"itc": 1, "imc": 0.2, "cmr": 0.4},
        "ce_xvlm_zhang_2024": {"itc": 1, "imc": 0.2, "cmr": 0.4, "itm": 1},
        "control_itm": {"itc": 1, "itm": 1},
        "fsc_clip_oh_2024": {"clip": 1, "global": 0.5, "local": 0.2},
        "read_clip_kwon_2025": {"itc": 1, "alignment": 0.5},
        "clic_peleg_2025": {"clip": 1, "contrast": 0.5, "negative": 0.5, "uni": 1},
        "degla_hu_2025": {"itc": 1, "image": 0.1, "text": 0.1, "distillation": 0.005},
        "cs_clip_kargi_2026": {"itc": 1, "unit": 0.5},
        "control_siglip": {"siglip": 1},
    }


def test_a_recipe_needs_nothing_that_it_does_not_name() -> None:
    assert asdict(Needs()) == {
        "positive": None,
        "negatives": (),
        "hard_images": False,
        "dense": 0,
        "dense_negatives": False,
        "tokens": False,
        "distinct_images": False,
        "matching": False,
        "teacher": None,
    }


def test_aros_order_is_frozen() -> None:
    """ARO's shuffles are unseeded and cut at 30 words (pre_caption); ours have a seed, and so are always the same."""
    from equipoise.benchmarks import aro_order

    assert (aro_order.SEED, aro_order.TRIES, aro_order.MAX_WORDS) == (0, 20, 30)

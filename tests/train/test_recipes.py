"""Recipes: the papers' numbers, options by name, and messages for the wrong ones."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from equipoise.core.errors import UserError
from equipoise.core.files import sha256_file
from equipoise.data.items import Edit
from equipoise.train.losses.base import Features
from equipoise.train.losses.clip import clip_loss
from equipoise.train.losses.cmr import Cmr
from equipoise.train.losses.imc import Imc
from equipoise.train.losses.itc_hn import itc_hn
from equipoise.train.losses.svlc import svlc_analogy, svlc_negative
from equipoise.train.recipes import RECIPES, SETTINGS, Lora, Needs, Recipe, about, get_recipe, hints_of, named


def batch_for(needs: Needs, samples: int = 4) -> Features:
    """Random features with what the recipe asked for, and nothing else: a loss that wants more fails."""
    draw = torch.Generator().manual_seed(0)

    def vectors(*shape: int) -> Tensor:
        return torch.nn.functional.normalize(torch.randn(*shape, 6, generator=draw, dtype=torch.float64), dim=-1)

    b, k, m = samples, len(needs.negatives), needs.dense
    features = Features(vectors(b), vectors(b), torch.tensor(5.0, dtype=torch.float64))
    if needs.positive:
        features.positive = vectors(b)
    if k:
        features.negative = vectors(b, k)
    if needs.hard_images:
        features.hard_image, features.hard_caption, features.hard_negative = vectors(b), vectors(b), vectors(b, k)
    if m:
        features.dense = vectors(b, m)
    if needs.dense_negatives:
        features.dense_negative = vectors(b, m)
    if needs.tokens:
        features.patches, features.caption_tokens = vectors(b, 5), vectors(b, 3)
        features.negative_tokens = vectors(b, k, 3)
    if needs.matching:
        features.match, features.matching = torch.randn(3 * b, generator=draw), torch.zeros(3 * b)
    if needs.teacher is not None:
        features.teacher_image, features.teacher_caption = vectors(b), vectors(b)
        features.teacher_negative = vectors(b, k)
    return features


def total(recipe: Recipe, features: Features) -> float:
    return float(recipe.loss()(features).total)


@pytest.mark.parametrize("quick", [False, True])
@pytest.mark.parametrize("name", RECIPES)
def test_every_recipe_computes_its_loss_from_what_it_asks_for(name: str, quick: bool) -> None:
    recipe = get_recipe(name, quick=quick)
    assert recipe.name == name
    result = recipe.loss()(batch_for(recipe.needs))
    assert result.total.isfinite()
    assert result.parts
    assert set(recipe.options) <= set(hints_of(named(name)))


@pytest.mark.parametrize("name", RECIPES)
def test_every_recipe_has_a_record(name: str) -> None:
    recipe = get_recipe(name, quick=True)
    record = json.loads(json.dumps(recipe.describe()))
    assert record["name"] == name and record["lr"] == recipe.lr and record["citation"]
    assert get_recipe(name, quick=True).describe() == recipe.describe()
    assert (recipe.max_steps or 0) <= 1000 and recipe.batch_size <= 256


def test_the_papers_numbers() -> None:
    svlc, ce_clip, fsc = (get_recipe(name) for name in ("svlc_doveh_2023", "ce_clip_zhang_2024", "fsc_clip_oh_2024"))
    assert (svlc.lr, svlc.batch_size, svlc.warmup_steps, svlc.lora) == (5e-6, 128, 10_000, Lora(4, 1.0))
    assert (ce_clip.lr, ce_clip.batch_size, ce_clip.warmup_steps, ce_clip.seed, ce_clip.lora) == (
        5e-6,
        256,
        50,
        42,
        None,
    )
    assert (fsc.lr, get_recipe("fsc_clip_oh_2024", lora=4).lr) == (5e-6, 5e-5)
    assert [slot.name for slot in fsc.needs.negatives] == ["swap", "replace", "shuffle"]
    assert get_recipe("negclip_yuksekgonul_2023").lr == 1e-6
    dac = get_recipe("dac_doveh_2023")
    assert (dac.batch_size, dac.needs.dense) == (32, 10)


# ---------------------------------------------------------------- Kamath et al.


@pytest.mark.parametrize("weight", [0.25, 0.5, 0.75, 1])
def test_hn_weight_weighs_the_negative_loss_alone(weight: float) -> None:
    recipe = get_recipe("hard_positives_kamath_2024", hn_weight=str(weight))
    features = batch_for(recipe.needs)
    expected = clip_loss(features) + weight * svlc_negative(features) + svlc_analogy(features)
    assert total(recipe, features) == pytest.approx(float(expected))


def test_without_negatives_it_is_hp_only() -> None:
    recipe, hp_only = get_recipe("hard_positives_kamath_2024", hn_weight=0), get_recipe("hp_only")
    assert recipe.needs == hp_only.needs == Needs(positive=recipe.needs.positive)
    features = batch_for(recipe.needs)
    assert total(recipe, features) == pytest.approx(total(hp_only, features))


def test_the_controls_leave_the_other_half_out() -> None:
    everything = batch_for(get_recipe("hard_positives_kamath_2024").needs)
    clip = float(clip_loss(everything))
    assert total(get_recipe("control"), everything) == pytest.approx(clip)
    assert total(get_recipe("hn_only"), everything) == pytest.approx(clip + float(svlc_negative(everything)))
    assert total(get_recipe("hp_only"), everything) == pytest.approx(clip + float(svlc_analogy(everything)))
    assert get_recipe("control").needs == Needs()


@pytest.mark.parametrize(
    ("option", "op", "other"), [("swap_only", "swap", "replace"), ("replace_only", "replace", "swap")]
)
def test_one_operation_only(option: str, op: str, other: str) -> None:
    needs = get_recipe("hard_positives_kamath_2024", **{option: "true"}).needs
    assert needs.positive is not None
    for slot in (needs.positive, *needs.negatives):
        assert slot.accepts(Edit(op=op))
        assert not slot.accepts(Edit(op=other))
        assert not slot.accepts(None)


def test_any_slot_takes_a_text_without_an_edit() -> None:
    assert get_recipe("hn_only").needs.negatives[0].accepts(None)


def test_swap_only_and_replace_only_exclude_each_other() -> None:
    with pytest.raises(UserError, match="exclude each other"):
        get_recipe("hard_positives_kamath_2024", swap_only=True, replace_only=True)


# ---------------------------------------------------------------- CE-CLIP


def test_ce_clip_is_the_weighted_sum_of_its_losses() -> None:
    recipe = get_recipe("ce_clip_zhang_2024")
    features = batch_for(recipe.needs)
    cmr = Cmr(("relation", "attribute", "object", "action"))
    expected = itc_hn(features) + 0.2 * Imc("all")(features) + 0.4 * cmr(features)
    assert total(recipe, features) == pytest.approx(float(expected))


@pytest.mark.parametrize(
    ("options", "parts"),
    [
        ({"itc": "off"}, {"imc", "cmr"}),
        ({"imc_weight": 0}, {"itc", "cmr"}),
        ({"cmr_weight": "0"}, {"itc", "imc"}),
        ({"itc": "off", "cmr_weight": 0}, {"imc"}),
    ],
)
def test_each_ce_clip_loss_can_be_switched_off(options: dict[str, object], parts: set[str]) -> None:
    recipe = get_recipe("ce_clip_zhang_2024", **options)
    found = recipe.loss()(batch_for(recipe.needs)).parts
    assert {name for name in found if not name.startswith("threshold")} == parts


def test_ce_clip_without_negatives_is_clip() -> None:
    recipe = get_recipe("ce_clip_zhang_2024", itc="plain", imc_weight=0, cmr_weight=0)
    assert recipe.needs == Needs()
    features = batch_for(recipe.needs)
    assert total(recipe, features) == pytest.approx(float(clip_loss(features)))


def test_each_ce_clip_type_can_be_switched_off() -> None:
    recipe = get_recipe("ce_clip_zhang_2024", types="object, relation")
    assert [slot.name for slot in recipe.needs.negatives] == ["object", "relation"]
    parts = recipe.loss()(batch_for(recipe.needs)).parts
    assert {name for name in parts if name.startswith("threshold")} == {"threshold_object", "threshold_relation"}
    for wrong in ("", "colour", "object,object"):
        with pytest.raises(UserError, match="types"):
            get_recipe("ce_clip_zhang_2024", types=wrong)


def test_a_negative_fits_at_most_one_ce_clip_type() -> None:
    slots = get_recipe("ce_clip_zhang_2024").needs.negatives
    fits = {
        (op, target): [slot.name for slot in slots if slot.accepts(Edit(op=op, target=target))]
        for op in ("swap", "replace", "add")
        for target in ("object", "attribute", "relation", "action", None)
    }
    assert fits["swap", "object"] == fits["swap", None] == fits["replace", "relation"] == ["relation"]
    assert fits["replace", "attribute"] == ["attribute"]
    assert fits["replace", "object"] == ["object"]
    assert fits["replace", "action"] == ["action"]
    assert fits["replace", None] == fits["add", "object"] == []
    assert all(len(names) <= 1 for names in fits.values())


def test_thresholds_of_two_runs_are_apart() -> None:
    recipe = get_recipe("ce_clip_zhang_2024")
    first, second = recipe.loss(), recipe.loss()
    features = batch_for(recipe.needs)
    features.caption = features.image
    first(features)
    first.step()
    assert any(first.state_dict()["cmr"]["thresholds"])
    assert not any(second.state_dict()["cmr"]["thresholds"])


def test_fixed_thresholds() -> None:
    recipe = get_recipe("ce_clip_zhang_2024", fixed_threshold="5")
    assert float(recipe.loss()(batch_for(recipe.needs)).parts["threshold_action"]) == 5
    assert get_recipe("ce_clip_zhang_2024", fixed_threshold="none").options["fixed_threshold"] is None


# ---------------------------------------------------------------- other options, and wrong ones


def test_svlc_options_change_what_is_needed() -> None:
    negatives = get_recipe("svlc_doveh_2023", positive_weight=0)
    assert negatives.needs.positive is None and len(negatives.needs.negatives) == 1
    features = batch_for(negatives.needs)
    assert total(negatives, features) == pytest.approx(float(itc_hn(features) + svlc_negative(features)))
    plain = get_recipe("svlc_doveh_2023", positive_weight=0, negatives_in_contrastive="no")
    assert total(plain, features) == pytest.approx(float(clip_loss(features) + svlc_negative(features)))
    assert get_recipe("svlc_doveh_2023", negative_weight=0).needs.negatives == ()


def test_negclip_without_hard_images_is_itc_with_negatives() -> None:
    recipe = get_recipe("negclip_yuksekgonul_2023", hard_images=False)
    features = batch_for(recipe.needs)
    assert not recipe.needs.hard_images
    assert total(recipe, features) == pytest.approx(float(itc_hn(features)))


def test_settings_of_every_recipe() -> None:
    recipe = get_recipe(
        "svlc_doveh_2023", quick=True, lora="0", wise_ft="0.5", distinct_images="yes", lr="1e-4", max_steps="none"
    )
    assert (recipe.lora, recipe.wise_ft, recipe.lr, recipe.max_steps) == (None, 0.5, 1e-4, None)
    assert recipe.needs.distinct_images and recipe.needs.positive
    assert get_recipe("control", lora=8).lora == Lora(8)


def test_wrong_names_are_told_with_what_there_is() -> None:
    with pytest.raises(UserError, match=r"no recipe 'ce_clip'.*ce_clip_zhang_2024"):
        get_recipe("ce_clip")


def test_all_wrong_options_are_told_at_once() -> None:
    with pytest.raises(UserError) as error:
        get_recipe("hard_positives_kamath_2024", hn_wieght=0.5, hn_weight=-1, epochs=0.5, wise_ft="2", lr="nan")
    message = str(error.value)
    assert "5 problems" in message
    assert "unknown option 'hn_wieght'. Did you mean hn_weight" in message
    assert "hn_weight: input should be greater than or equal to 0; found -1" in message
    assert "epochs:" in message and "wise_ft:" in message and "lr:" in message
    assert "takes: hn_weight, swap_only, replace_only, batch_size" in message


def test_everything_switched_off_is_refused() -> None:
    with pytest.raises(UserError, match="every loss is switched off"):
        get_recipe("ce_clip_zhang_2024", itc="off", imc_weight=0, cmr_weight=0)


@pytest.mark.parametrize(
    ("name", "options", "idle"),
    [
        ("ce_clip_zhang_2024", {"imc_weight": 0, "imc_form": "paper"}, "imc_form: paper changes nothing"),
        ("ce_clip_zhang_2024", {"cmr_weight": 0, "fixed_threshold": "5"}, "fixed_threshold: 5.0 changes nothing"),
        ("ce_clip_zhang_2024", {"fixed_threshold": 5, "upper_threshold": 3}, "upper_threshold bounds"),
        (
            "svlc_doveh_2023",
            {"negative_weight": 0, "negatives_in_contrastive": "no"},
            "contrastive: false changes",
        ),
        ("fsc_clip_oh_2024", {"global_weight": 0, "local_weight": 0, "gamma": 1}, "gamma: 1.0 changes nothing"),
    ],
)
def test_an_option_that_would_change_nothing_is_refused(name: str, options: dict[str, object], idle: str) -> None:
    with pytest.raises(UserError, match=idle):
        get_recipe(name, **options)


def test_an_option_at_its_default_may_always_be_given() -> None:
    recipe = get_recipe(
        "ce_clip_zhang_2024", imc_weight=0, imc_form="all", upper_threshold="10", fixed_threshold="none"
    )
    assert recipe.describe() == get_recipe("ce_clip_zhang_2024", imc_weight=0).describe()


@pytest.mark.parametrize("value", ["nan", "inf", "-inf"])
def test_no_setting_takes_what_is_no_number(value: str) -> None:
    for setting in SETTINGS:
        with pytest.raises(UserError, match=setting):
            get_recipe("control", **{setting: f"{value},1" if setting == "crop" else value})


def test_crop_is_two_shares_in_order() -> None:
    assert get_recipe("control", crop="0.9, 1").crop == (0.9, 1.0)
    assert get_recipe("control", crop="none").crop is None
    for wrong in ("0.9", "0,1", "0.9,1.1", "1,0.9", "a,b", "0.5,0.7,0.9"):
        with pytest.raises(UserError, match="crop: "):
            get_recipe("control", crop=wrong)


def test_what_is_told_of_a_recipe() -> None:
    told = about("ce_clip_zhang_2024")
    options = {option["name"]: (option["type"], option["default"]) for option in told["options"]}
    assert set(options) == set(hints_of(named("ce_clip_zhang_2024")))
    assert options["itc"] == ("hn | plain | off", "hn")
    assert options["fixed_threshold"] == ("number >= 0 or none", None)
    assert options["types"] == (
        "some of relation, attribute, object, action",
        ["relation", "attribute", "object", "action"],
    )
    assert options["seed"] == ("whole number >= 0", 42) and options["distinct_images"] == ("true | false", False)
    assert options["wise_ft"][0] == "number >= 0 and <= 1 or none"
    assert told["needs"] == ["hard negatives (relation, attribute, object, action)"] and "CVPR" in told["citation"]
    assert about("control")["needs"] == [] and json.dumps(told)
    assert told["about"].startswith("CE-CLIP: four types of negatives")


def test_an_option_without_a_type_has_that_of_its_default() -> None:
    def own(*, steps=7, given, maybe=None):  # type: ignore[no-untyped-def]
        return Recipe(terms={})

    hints = hints_of(own)
    assert (hints["steps"], hints["given"], hints["maybe"]) == (int, Any, Any)


# ---------------------------------------------------------------- a recipe of one's own

OWN = """
from equipoise.train.losses.clip import clip_loss
from equipoise.train.recipe import Needs, Recipe, Slot

def gentle(*, weight: float = 0.5, steps=7, loud=False):
    if loud:
        raise RuntimeError("too loud")
    return Recipe(citation="me", terms={"clip": (weight, clip_loss)}, needs=Needs(negatives=(Slot(),)), max_steps=steps)

def asks(*, weight: float):
    return Recipe(terms={"clip": (weight, clip_loss)})

def other():
    return 7

ready = Recipe(terms={"clip": (2.0, clip_loss)}, lr=1e-3)
"""


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "own_recipes.py").write_text(OWN)
    yield tmp_path / "own_recipes.py"
    sys.modules.pop("own_recipes", None)


def test_a_recipe_of_ones_own(own: Path) -> None:
    recipe = get_recipe("py:own_recipes:gentle", weight="0.25", steps="9", batch_size=16)
    assert (recipe.name, recipe.batch_size, recipe.max_steps) == ("py:own_recipes:gentle", 16, 9)
    assert recipe.options == {"weight": 0.25, "steps": 9, "loud": False}
    assert recipe.describe()["source"] == sha256_file(own)
    features = batch_for(recipe.needs)
    assert total(recipe, features) == pytest.approx(float(0.25 * clip_loss(features)))
    assert get_recipe("py:own_recipes:gentle", quick=True).max_steps == 200
    assert get_recipe("py:own_recipes:ready").lr == 1e-3
    assert get_recipe("control").describe()["source"] is None


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("gentle", {"wieght": 1}, "Did you mean weight"),
        ("gentle", {"steps": "many"}, "steps: input should be a valid integer"),
        ("gentle", {"loud": "yes"}, r"your recipe failed \(RuntimeError: too loud\)(.|\n)*own_recipes.py, line"),
        ("gentle", {"weight": 0}, "every loss is switched off"),
        ("asks", {}, "weight: must be given"),
        ("other", {}, "returned int"),
        ("gental", {}, "Did you mean gentle"),
    ],
)
def test_what_is_wrong_with_ones_own_recipe(own: Path, name: str, options: dict[str, object], said: str) -> None:
    with pytest.raises(UserError, match=said):
        get_recipe(f"py:own_recipes:{name}", **options)


def test_a_warm_up_that_a_user_asks_for_is_kept() -> None:
    """A recipe's own is cut to its share of a short run, which would never reach its rate otherwise."""
    from equipoise.train.step.backward import warmup_used

    assert warmup_used(get_recipe("control"), 20) == 2
    assert warmup_used(get_recipe("control", warmup_steps=8, max_steps=20), 20) == 8
    assert warmup_used(get_recipe("cs_clip_kargi_2026"), 16_170) == 9_700, "three of its five epochs of COCO"

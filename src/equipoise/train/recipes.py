"""Recipes: each a function that returns everything a finetuning needs, named after its paper.

A recipe says which loss, which texts it needs of the items, and how to optimise. It holds no model
and no data, so that `equipoise train RECIPE --items F --model M --out DIR` is the whole of a run,
and the same recipe serves a laptop (`quick=True`, sized for the built-in world) and eight GPUs.
A new recipe is one function here and one row in RECIPES.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Annotated, Any, Literal, get_type_hints

from pydantic import Field, TypeAdapter, ValidationError

from equipoise.errors import Problems, UserError, did_you_mean
from equipoise.train.losses import (
    Cmr,
    FscGlobal,
    FscLocal,
    Imc,
    Sum,
    clip_loss,
    dac_mil,
    dac_negative,
    itc_hn,
    negclip_loss,
    siglip_loss,
    svlc_analogy,
    svlc_negative,
)
from equipoise.train.losses.sum import Term
from equipoise.train.recipe import Lora, Needs, Recipe, Slot

__all__ = ["RECIPES", "SETTINGS", "Lora", "Needs", "Recipe", "Slot", "get_recipe", "options_of"]

Weight = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=1)]
Share = Annotated[float, Field(ge=0, le=1)]
NegativeType = Literal["relation", "attribute", "object", "action"]

ANY = Slot()
SWAP = Slot("swap", (("swap", None),))
REPLACE = Slot("replace", (("replace", None),))
SHUFFLE = Slot("shuffle", (("shuffle", None),))
# CE-CLIP makes its relation negatives by swapping two nouns, the other three by replacing a word.
CE_CLIP_SLOTS: dict[NegativeType, Slot] = {
    "relation": Slot("relation", (("swap", None), (None, "relation"))),
    "attribute": Slot("attribute", (("replace", "attribute"),)),
    "object": Slot("object", (("replace", "object"),)),
    "action": Slot("action", (("replace", "action"),)),
}

KAMATH = "Kamath et al. 2024, The Hard Positive Truth about Vision-Language Compositionality, arXiv:2409.17958"


def _quick(recipe: Recipe) -> Recipe:
    """The same recipe for the built-in world: a model of 1.4 million parameters, a minute or two on two cores.

    Batch, steps and rate were chosen on the world's validation scenes (src/equipoise/world/README.md).
    """
    lr = 6e-3 if recipe.lora else 6e-4
    return replace(recipe, batch_size=128, epochs=100, max_steps=200, lr=lr, warmup_steps=20)


# ------------------------------------------------------------------ Kamath et al. and its controls


def control(*, quick: bool = False) -> Recipe:
    """Finetuning on the captions alone, with CLIP's loss: what the data does without hard texts.

    equipoise train control --items ITEMS.jsonl --model hf:openai/clip-vit-base-patch32 --out DIR
    """
    return _kamath("control", {}, quick, hn=0, hp=0)


def hn_only(*, quick: bool = False) -> Recipe:
    """Hard negatives alone ("Our HN" of Kamath et al.): the recipe that makes a model oversensitive.

    equipoise train hn_only --items ITEMS.jsonl --model hf:openai/clip-vit-base-patch32 --out DIR
    """
    return _kamath("hn_only", {}, quick, hn=1, hp=0)


def hp_only(*, quick: bool = False) -> Recipe:
    """Hard positives alone ("0 HN" of Kamath et al.): learns that a change of words never matters.

    equipoise train hp_only --items ITEMS.jsonl --model hf:openai/clip-vit-base-patch32 --out DIR
    """
    return _kamath("hp_only", {}, quick, hn=0, hp=1)


def hard_positives_kamath_2024(
    *, hn_weight: Weight = 1.0, swap_only: bool = False, replace_only: bool = False, quick: bool = False
) -> Recipe:
    """Hard positives and hard negatives together (section 5): L = L_clip + hn_weight L_neg + L_pos.

    equipoise train hard_positives_kamath_2024 --items ITEMS.jsonl --model hf:openai/clip-vit-base-patch32 --out DIR

    `hn_weight` 0, 0.25, 0.5, 0.75, 1 are the rows of the paper's Table 3. Its text (5.3) makes them
    the weight of the hard-negative loss at a fixed weight of the hard-positive loss, not a share of
    the data. `swap_only` and `replace_only` (Table 1d) use only positives and negatives of that operation.

    The contrastive term has no negatives: appendix D.1 says "as in CLIP", and SVLC's code, which the
    authors follow, drops them on the four GPUs they used. Every weight is trained: the authors' loader
    builds these models without SVLC's LoRA. Batch and warm-up are not published: SVLC's 128 for
    each of 4 GPUs, and a warm-up of 500, as SVLC's 10,000 steps outlast the run (5,779 steps).
    """
    if swap_only and replace_only:
        raise UserError("hard_positives_kamath_2024: swap_only and replace_only exclude each other; give one of them")
    options = {"hn_weight": hn_weight, "swap_only": swap_only, "replace_only": replace_only}
    slot = SWAP if swap_only else REPLACE if replace_only else ANY
    return _kamath("hard_positives_kamath_2024", options, quick, hn=hn_weight, hp=1, slot=slot)


def _kamath(name: str, options: dict[str, Any], quick: bool, *, hn: float, hp: float, slot: Slot = ANY) -> Recipe:
    recipe = Recipe(
        name=name,
        citation=KAMATH,
        loss=partial(Sum, {"clip": (1, clip_loss), "negative": (hn, svlc_negative), "positive": (hp, svlc_analogy)}),
        needs=Needs(positive=slot if hp else None, negatives=(slot,) if hn else ()),
        options=options,
        batch_size=512,
        warmup_steps=500,
    )
    return _quick(recipe) if quick else recipe


# ------------------------------------------------------------------ other papers


def negclip_yuksekgonul_2023(*, hard_images: bool = True, quick: bool = False) -> Recipe:
    """NegCLIP: swapped captions as negatives, and for each image a similar one with its own texts.

    equipoise train negclip_yuksekgonul_2023 --items ITEMS.jsonl --model hf:openai/clip-vit-base-patch32 --out DIR

    The items name their hard images in tags["hard_images"]. A batch of 256 encodes 512 images and
    1,024 texts. `hard_images=false` leaves the negatives alone. Weight decay: open_clip's default, 0.2.
    """
    recipe = Recipe(
        name="negclip_yuksekgonul_2023",
        citation="Yuksekgonul et al. 2023, When and why vision-language models behave like bags-of-words, ICLR",
        loss=partial(Sum, {"negclip": (1, negclip_loss if hard_images else itc_hn)}),
        needs=Needs(negatives=(ANY,), hard_images=hard_images),
        options={"hard_images": hard_images},
        lr=1e-6,
        weight_decay=0.2,
    )
    return _quick(recipe) if quick else recipe


def svlc_doveh_2023(
    *,
    negative_weight: Weight = 1.0,
    positive_weight: Weight = 1.0,
    negatives_in_contrastive: bool = True,
    quick: bool = False,
) -> Recipe:
    """SVLC: contrastive, negative and analogy losses on LoRA adapters.

    equipoise train svlc_doveh_2023 --items ITEMS.jsonl --model hf:openai/clip-vit-base-patch32 --out DIR

    The published models: negatives from rules or a language model (`positive_weight=0`), positives
    alone (`negative_weight=0`), both. `negatives_in_contrastive=false` is what the code does on two
    or more GPUs, unasked. One negative a sample, from SVLC's rules or anybody's.
    """
    contrastive = itc_hn if negatives_in_contrastive and negative_weight else clip_loss
    terms = {
        "clip": (1, contrastive),
        "negative": (negative_weight, svlc_negative),
        "positive": (positive_weight, svlc_analogy),
    }
    recipe = Recipe(
        name="svlc_doveh_2023",
        citation="Doveh et al. 2023, Teaching Structured Vision & Language Concepts to Vision & Language Models, CVPR",
        loss=partial(Sum, terms),
        needs=Needs(positive=ANY if positive_weight else None, negatives=(ANY,) if negative_weight else ()),
        options={
            "negative_weight": negative_weight,
            "positive_weight": positive_weight,
            "negatives_in_contrastive": negatives_in_contrastive,
        },
        batch_size=128,
        warmup_steps=10_000,
        lora=Lora(),
    )
    return _quick(recipe) if quick else recipe


def dac_doveh_2023(*, dense_captions: Count = 10, dense_negatives: bool = True, quick: bool = False) -> Recipe:
    """DAC: many captions of each image, some of them right, learnt as multiple instances.

    equipoise train dac_doveh_2023 --items ITEMS.jsonl --model hf:openai/clip-vit-base-patch32 --out DIR

    The dense captions are given, not made: all items of an image, each with its caption and, for
    `dense_negatives`, its own negatives. DAC-LLM and DAC-SAM differ in who wrote them.
    """
    terms = {
        "clip": (1, itc_hn),
        "mil": (1, dac_mil),
        "mil_negative": (int(dense_negatives), dac_negative),
        "negative": (1, svlc_negative),
    }
    recipe = Recipe(
        name="dac_doveh_2023",
        citation="Doveh et al. 2023, Dense and Aligned Captions Promote Compositional Reasoning in VL Models, NeurIPS",
        loss=partial(Sum, terms),
        needs=Needs(negatives=(ANY,), dense=dense_captions, dense_negatives=dense_negatives),
        options={"dense_captions": dense_captions, "dense_negatives": dense_negatives},
        batch_size=32,
        warmup_steps=10_000,
        lora=Lora(),
    )
    return _quick(recipe) if quick else recipe


def ce_clip_zhang_2024(
    *,
    itc: Literal["hn", "plain", "off"] = "hn",
    imc_weight: Weight = 0.2,
    cmr_weight: Weight = 0.4,
    imc_form: Literal["all", "own", "paper"] = "all",
    fixed_threshold: Weight | None = None,
    upper_threshold: Weight = 10.0,
    types: tuple[NegativeType, ...] = ("relation", "attribute", "object", "action"),
    quick: bool = False,
) -> Recipe:
    """CE-CLIP: four types of negatives, contrasted with the caption (IMC) and ranked below it (CMR).

    equipoise train ce_clip_zhang_2024 --items ITEMS.jsonl --model hf:openai/clip-vit-base-patch32 --out DIR

    L = L_itc(hn) + 0.2 L_imc + 0.4 L_cmr. A weight of 0 switches a loss off; `itc` "plain" takes the
    negatives out of the contrastive term, "off" all of it; `types=relation,object` keeps only those
    negatives. `imc_form` and the defects of the public code: see losses/imc.py and losses/cmr.py.
    The code's latest script has weights 0.3 (IMC) and 0.2 (CMR), 10 epochs and a batch of 1,512.
    """
    if not types or len(set(types)) != len(types):
        raise UserError(
            f"ce_clip_zhang_2024: types: expected some of {', '.join(CE_CLIP_SLOTS)}, each once; found {types}"
        )
    used = itc == "hn" or imc_weight or cmr_weight
    recipe = Recipe(
        name="ce_clip_zhang_2024",
        citation="Zhang et al. 2024, Contrasting Intra-Modal and Ranking Cross-Modal Hard Negatives, CVPR",
        loss=partial(_ce_clip_loss, itc, imc_weight, cmr_weight, imc_form, fixed_threshold, upper_threshold, types),
        needs=Needs(negatives=tuple(CE_CLIP_SLOTS[one] for one in types) if used else ()),
        options={
            "itc": itc,
            "imc_weight": imc_weight,
            "cmr_weight": cmr_weight,
            "imc_form": imc_form,
            "fixed_threshold": fixed_threshold,
            "upper_threshold": upper_threshold,
            "types": list(types),
        },
        seed=42,
    )
    return _quick(recipe) if quick else recipe


def _ce_clip_loss(
    itc: Literal["hn", "plain", "off"],
    imc_weight: float,
    cmr_weight: float,
    imc_form: Literal["all", "own", "paper"],
    fixed: float | None,
    upper: float,
    types: tuple[NegativeType, ...],
) -> Sum:
    return Sum(
        {
            "itc": (0 if itc == "off" else 1, itc_hn if itc == "hn" else clip_loss),
            "imc": (imc_weight, Imc(imc_form)),
            "cmr": (cmr_weight, Cmr(types, upper, fixed)),
        }
    )


def fsc_clip_oh_2024(
    *,
    global_weight: Weight = 0.5,
    local_weight: Weight = 0.2,
    gamma: Weight = 2.0,
    smoothing: Share = 0.02,
    lora: Annotated[int, Field(ge=0)] = 0,
    quick: bool = False,
) -> Recipe:
    """FSC-CLIP: hard negatives weighed so gently that zero-shot knowledge survives.

    equipoise train fsc_clip_oh_2024 --items ITEMS.jsonl --model hf:openai/clip-vit-base-patch32 --out DIR

    L = L_clip + 0.5 L_global + 0.2 L_local (1.0 for the global loss on CC3M, 0.5 for the local loss with
    ViT-B/16 and L/14). Three negatives a caption: swap, replace, shuffle. `lora=4` trains adapters, at
    ten times the rate.
    """
    terms: dict[str, tuple[float, Term]] = {
        "clip": (1, clip_loss),
        "global": (global_weight, FscGlobal(gamma, smoothing)),
        "local": (local_weight, FscLocal(gamma, smoothing)),
    }
    recipe = Recipe(
        name="fsc_clip_oh_2024",
        citation="Oh et al. 2024, Preserving Multi-Modal Capabilities of Pre-trained VLMs, EMNLP",
        loss=partial(Sum, terms),
        needs=Needs(
            negatives=(SWAP, REPLACE, SHUFFLE) if global_weight or local_weight else (), tokens=local_weight > 0
        ),
        options={
            "global_weight": global_weight,
            "local_weight": local_weight,
            "gamma": gamma,
            "smoothing": smoothing,
            "lora": lora,
        },
        lr=5e-5 if lora else 5e-6,
        lora=Lora(lora) if lora else None,
    )
    return _quick(recipe) if quick else recipe


def control_siglip(*, quick: bool = False) -> Recipe:
    """Finetuning a SigLIP model on the captions alone, with its own sigmoid loss.

    equipoise train control_siglip --items ITEMS.jsonl --model hf:google/siglip-base-patch16-224 --out DIR

    SigLIP's scale is about 117 and was never held below 100; holding it would change the model at the first step.
    """
    recipe = Recipe(
        name="control_siglip",
        citation="Zhai et al. 2023, Sigmoid Loss for Language Image Pre-Training, ICCV",
        loss=partial(Sum, {"siglip": (1, siglip_loss)}),
        max_scale=10_000.0,
    )
    return _quick(recipe) if quick else recipe


RECIPES: dict[str, Callable[..., Recipe]] = {
    recipe.__name__: recipe
    for recipe in (
        control,
        hn_only,
        hp_only,
        hard_positives_kamath_2024,
        negclip_yuksekgonul_2023,
        svlc_doveh_2023,
        dac_doveh_2023,
        ce_clip_zhang_2024,
        fsc_clip_oh_2024,
        control_siglip,
    )
}

# ------------------------------------------------------------------ by name, with options

# What a user may set in any recipe. `lora` is a rank, 0 for full finetuning.
SETTINGS: dict[str, Any] = {
    "batch_size": Count,
    "epochs": Count,
    "max_steps": Count | None,
    "lr": Annotated[float, Field(gt=0, allow_inf_nan=False)],
    "warmup_steps": Annotated[int, Field(ge=0)],
    "weight_decay": Weight,
    "grad_clip": Annotated[float, Field(gt=0)] | None,
    "lora": Annotated[int, Field(ge=0)],
    "wise_ft": Share | None,
    "distinct_images": bool,
    "seed": Annotated[int, Field(ge=0)],
}


def options_of(name: str) -> dict[str, Any]:
    """The options a recipe takes and their types: its own, then the settings all recipes share."""
    recipe = _named(name)
    hints = get_type_hints(recipe, include_extras=True)
    own = {option: hints[option] for option in inspect.signature(recipe).parameters if option != "quick"}
    return own | {setting: hint for setting, hint in SETTINGS.items() if setting not in own}


def get_recipe(name: str, *, quick: bool = False, **options: Any) -> Recipe:
    """The recipe of that name. Values may be strings, as a command line has them: hn_weight="0.25",
    types="relation,object", wise_ft="none". All wrong options are told at once."""
    function = _named(name)
    allowed = options_of(name)
    problems = Problems(f"recipe {name}")
    values = {}
    for option, value in options.items():
        if option not in allowed:
            problems.add("", f"unknown option {option!r}.{did_you_mean(option, allowed)}")
            continue
        try:
            values[option] = TypeAdapter(allowed[option]).validate_python(_untyped(value, allowed[option]))
        except ValidationError as error:
            detail = error.errors()[0]["msg"]
            problems.add(option, f"{detail[0].lower()}{detail[1:]}; found {value!r}")
    problems.raise_if_any(f"{name} takes: {', '.join(allowed)}")
    own = inspect.signature(function).parameters
    recipe = function(quick=quick, **{option: value for option, value in values.items() if option in own})
    recipe.loss()  # a recipe with every loss switched off fails here, not after the images are read
    return _with_settings(recipe, {option: value for option, value in values.items() if option not in own})


def _named(name: str) -> Callable[..., Recipe]:
    if name not in RECIPES:
        raise UserError(f"no recipe {name!r}.{did_you_mean(name, RECIPES)}\nThere are: {', '.join(RECIPES)}")
    return RECIPES[name]


def _untyped(value: Any, hint: Any) -> Any:
    """A string of the command line as what it stands for, where pydantic would not know: lists and none."""
    if not isinstance(value, str):
        return value
    if value.lower() == "none" and type(None) in getattr(hint, "__args__", ()):
        return None
    return tuple(part.strip() for part in value.split(",")) if getattr(hint, "__origin__", None) is tuple else value


def _with_settings(recipe: Recipe, settings: dict[str, Any]) -> Recipe:
    if "lora" in settings:
        settings["lora"] = Lora(settings["lora"]) if settings["lora"] else None
    if "distinct_images" in settings:
        settings["needs"] = replace(recipe.needs, distinct_images=settings.pop("distinct_images"))
    return replace(recipe, **settings)

"""The parts of extensions: metrics, benchmarks, edits, losses, models. docs/extending.md has an example of each.

`equipoise`, `equipoise.extend` and `equipoise.integrations` are public, and nothing else is. A public name that goes
away warns for one minor version first. What a file format holds is stated in docs/files.md and has a version of its
own.

Names are loaded when first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from equipoise.benchmarks.base import PAIR_CHANCE as PAIR_CHANCE
    from equipoise.benchmarks.base import Average as Average
    from equipoise.benchmarks.base import Benchmark as Benchmark
    from equipoise.benchmarks.reading import Case as Case
    from equipoise.benchmarks.reading import Raw as Raw
    from equipoise.benchmarks.reading import choose as choose
    from equipoise.benchmarks.reading import read as read
    from equipoise.data.items import texts as texts
    from equipoise.evaluation.answers import Answer as Answer
    from equipoise.evaluation.metrics import Metric as Metric
    from equipoise.language.caption import Caption as Caption
    from equipoise.language.language_model import load_lm as load_lm
    from equipoise.models import WORLD as WORLD
    from equipoise.models.base import Answerer as Answerer
    from equipoise.models.clip import ClipModel as ClipModel
    from equipoise.models.convert import to_open_clip as to_open_clip
    from equipoise.models.inputs import clip_preprocess as clip_preprocess
    from equipoise.models.inputs import clip_tokenizer as clip_tokenizer
    from equipoise.models.openclip import import_open_clip as import_open_clip
    from equipoise.perturb.checks.form import changed as changed
    from equipoise.perturb.checks.form import grammar as grammar
    from equipoise.perturb.llm.answers import edit_between as edit_between
    from equipoise.perturb.llm.meaning import keeps_meaning as keeps_meaning
    from equipoise.perturb.recipe import Candidate as Candidate
    from equipoise.perturb.recipe import perturb_caption as perturb_caption
    from equipoise.perturb.recipes import Setup as Setup
    from equipoise.perturb.run.engine import perturb_file as perturb_file
    from equipoise.published.measuring import published_run as published_run
    from equipoise.train.losses.base import Features as Features
    from equipoise.train.losses.base import need as need
    from equipoise.train.losses.base import valid as valid
    from equipoise.train.losses.clip import clip_loss as clip_loss
    from equipoise.train.recipe import Needs as Needs
    from equipoise.world.splits import make_world as make_world

_HOMES = {
    "benchmarks.base": ("Average", "Benchmark", "PAIR_CHANCE"),
    "benchmarks.reading": ("Case", "Raw", "choose", "read"),
    "data.items": ("texts",),
    "evaluation.answers": ("Answer",),
    "evaluation.metrics": ("Metric",),
    "language.caption": ("Caption",),
    "language.language_model": ("load_lm",),
    "models": ("WORLD",),
    "models.base": ("Answerer",),
    "models.clip": ("ClipModel",),
    "models.convert": ("to_open_clip",),
    "models.openclip": ("import_open_clip",),
    "models.inputs": ("clip_preprocess", "clip_tokenizer"),
    "perturb.checks.form": ("changed", "grammar"),
    "perturb.llm.answers": ("edit_between",),
    "perturb.llm.meaning": ("keeps_meaning",),
    "perturb.recipe": ("Candidate", "EditRecipe", "EditSlot", "perturb_caption"),
    "perturb.recipes": ("Setup", "get_edit_recipe"),
    "perturb.run.engine": ("perturb_file",),
    "published.measuring": ("published_run",),
    "train.losses.base": ("Features", "need", "valid"),
    "train.losses.clip": ("clip_loss",),
    "train.recipe": ("Needs", "TrainRecipe", "TrainSlot"),
    "train.recipes": ("get_train_recipe",),
    "world.splits": ("make_world",),
}
_OTHERWISE = {  # two rooms have each of these
    "EditRecipe": "Recipe",
    "EditSlot": "Slot",
    "TrainRecipe": "Recipe",
    "TrainSlot": "Slot",
    "get_edit_recipe": "get_recipe",
    "get_train_recipe": "get_recipe",
}
_PLACES = {name: home for home, names in _HOMES.items() for name in names}
__all__ = sorted(_PLACES)


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module 'equipoise.extend' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"equipoise.{_PLACES[name]}"), _OTHERWISE.get(name, name))
    globals()[name] = value
    return value

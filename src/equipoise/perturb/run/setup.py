"""A recipe and what it needs from outside (a server, a model folder), small enough to send to every worker."""

from __future__ import annotations

import dataclasses
import functools
import os
from typing import Any

from equipoise.errors import UserError, did_you_mean
from equipoise.identity import of_folder
from equipoise.perturb.llm.prompts import PROMPTS
from equipoise.perturb.llm.recipes import LLM_RECIPES, llm_recipe
from equipoise.perturb.recipe import Recipe
from equipoise.perturb.recipes import RECIPES, get_recipe
from equipoise.plugins import is_named, source_sha256
from equipoise.served.client import Llm, LlmSettings, llm_for


@dataclasses.dataclass(frozen=True)
class Setup:
    name: str  # of a recipe, or py:module:name; or several, joined by commas: every caption gets the texts of all
    seed: int = 0
    llm: LlmSettings | None = None
    masked_lm: str | None = None  # a model folder; its guesses come before the recipe's own word sources
    # Where py: looks first, in every worker: on another machine the current folder is another.
    folder: str = dataclasses.field(default_factory=os.getcwd, compare=False)
    keep_all: bool = False  # captions without an edit stay in the output, as in the paper's training set

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name.strip() for name in self.name.split(","))

    @property
    def joined_name(self) -> str:
        return ",".join(self.names)

    @property
    def threads(self) -> int:
        return self.llm.concurrency if self.llm is not None and self._asks else 1

    @property
    def _asks(self) -> bool:
        return any(name in LLM_RECIPES for name in self.names)

    @property
    def asked(self) -> Llm | None:
        """The language model that writes, where one does."""
        return llm_for(self.llm) if self.llm is not None and self._asks else None

    def recipe(self) -> Recipe:
        """The recipe, where there is one."""
        return _build(self)

    def recipes(self) -> tuple[Recipe, ...]:
        """All recipes, each as it would be alone."""
        if len(set(self.names)) < len(self.names):
            raise UserError(f"--recipe {self.name}: a recipe twice would only write the same texts again")
        bare = [dataclasses.replace(self, name=name, masked_lm=None).recipe() for name in self.names]
        if self.masked_lm is not None and not any(recipe.takes_masked_lm for recipe in bare):
            takers = ", ".join(name for name, recipe in RECIPES.items() if recipe.takes_masked_lm)
            raise UserError(f"--masked-lm: {self.joined_name} asks none for words; {takers} do")
        return tuple(dataclasses.replace(self, name=name).recipe() for name in self.names)

    def notes(self) -> list[str]:
        """What a reader of the report must know about how the recipes ran."""
        lacking = (recipe for recipe in self.recipes() if self.masked_lm is None and recipe.without_masked_lm)
        return [f"{recipe.name}: {recipe.without_masked_lm}" for recipe in lacking]

    def identity(self) -> dict[str, Any]:
        """What decides the output, as JSON."""
        found: dict[str, Any] = {"recipe": self.joined_name, "seed": self.seed}
        if own := {name: source_sha256(name, self.folder) for name in self.names if is_named(name)}:
            found["source"] = own
        if self.keep_all:
            found["keep_all"] = True
        if self.llm is not None and self._asks:
            prompts = [[prompt.template, self.llm.max_tokens or prompt.max_tokens] for prompt in PROMPTS.values()]
            found["llm"] = {**self.llm.identity(), "prompts": prompts}
        if self.masked_lm is not None:
            found["masked_lm"] = of_folder(self.masked_lm)
        return found


def recipe_names() -> dict[str, str]:
    """Every recipe with what it makes."""
    return {name: recipe.about for name, recipe in RECIPES.items()} | LLM_RECIPES


@functools.cache
def _build(setup: Setup) -> Recipe:
    names = recipe_names()
    if setup.name not in names and not is_named(setup.name):
        raise UserError(
            f"no recipe {setup.name!r}; there are {', '.join(names)}, and py:module:name for your own."
            f"{did_you_mean(setup.name, names)}"
        )
    if setup.name in LLM_RECIPES:
        if setup.llm is None:
            raise UserError(
                f"recipe {setup.name} asks a language model: give --llm URL and --llm-model NAME of an "
                "OpenAI-compatible server (offline, take hard_positives_rules)"
            )
        recipe = llm_recipe(setup.name, llm_for(setup.llm))
    else:
        recipe = get_recipe(setup.name, setup.folder)
    if setup.masked_lm is not None and recipe.takes_masked_lm:
        from equipoise.perturb.sources.masked_lm import FourthGuess, MaskedLM, masked_lm_for

        kind = FourthGuess if recipe.masked_lm == "fourth guess" else MaskedLM
        recipe = dataclasses.replace(recipe, sources=(masked_lm_for(setup.masked_lm, kind), *recipe.sources))
    return recipe

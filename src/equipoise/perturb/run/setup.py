"""A recipe and what it needs from outside (a server, a model folder), small enough to send to every worker."""

from __future__ import annotations

import dataclasses
import functools
import os
from typing import Any

from equipoise.errors import UserError, did_you_mean
from equipoise.perturb.checks import named
from equipoise.perturb.english.caption import Caption
from equipoise.perturb.llm.client import LlmSettings, llm_for
from equipoise.perturb.llm.prompts import PROMPTS
from equipoise.perturb.llm.recipes import LLM_RECIPES, llm_recipe
from equipoise.perturb.recipe import Recipe
from equipoise.perturb.recipes import RECIPES, get_recipe
from equipoise.plugins import is_named, source_sha256
from equipoise.words import spacy_tagging


@dataclasses.dataclass(frozen=True)
class Setup:
    name: str  # of a recipe, or py:module:name
    seed: int = 0
    llm: LlmSettings | None = None
    masked_lm: str | None = None  # a model folder; its guesses come before the recipe's own word sources
    tagger: str = "brill"  # or spacy:MODEL
    checks: tuple[str, ...] = ()  # beside the recipe's own: link-grammar, embedding:FOLDER
    # Where py: looks first, in every worker: on another machine the current folder is another.
    folder: str = dataclasses.field(default_factory=os.getcwd, compare=False)

    @property
    def threads(self) -> int:
        return self.llm.concurrency if self.llm is not None and self.name in LLM_RECIPES else 1

    def recipe(self) -> Recipe:
        return _build(self)

    def identity(self) -> dict[str, Any]:
        """What decides the output, as JSON."""
        found: dict[str, Any] = {"recipe": self.name, "seed": self.seed}
        if is_named(self.name):
            found["source"] = source_sha256(self.name, self.folder)
        if self.llm is not None and self.name in LLM_RECIPES:
            found["llm"] = {**self.llm.identity(), "prompts": [prompt.template for prompt in PROMPTS.values()]}
        if self.masked_lm is not None:
            from equipoise.perturb.english.lm_folder import folder_hash

            found["masked_lm"] = folder_hash(self.masked_lm)
        if self.tagger != "brill":
            found["tagger"] = spacy_tagging.identity_of(self.tagger)
        if self.checks:
            found["checks"] = [named.identity_of(name) for name in self.checks]
        return found

    def caption(self, text: str, others: tuple[str, ...] = ()) -> Caption:
        """A caption read by this setup's tagger."""
        return Caption(text, others, spacy_tagging.tagger_named(self.tagger))


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
    if setup.masked_lm is not None:
        from equipoise.perturb.sources.masked_lm import masked_lm_for

        recipe = dataclasses.replace(recipe, sources=(masked_lm_for(setup.masked_lm), *recipe.sources))
    # Last, because they are slow: only what passed the others comes before them.
    return dataclasses.replace(recipe, checks=(*recipe.checks, *map(named.check_named, setup.checks)))

"""Named recipes: operations, word sources and checks, called after their paper and year.

`Setup` is a recipe with its settings (a server, a model folder), small enough to send to every worker.
"""

from __future__ import annotations

import dataclasses
import functools
import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, cast

from equipoise.core.errors import UserError, did_you_mean
from equipoise.core.plugins import is_named, load_named, source_sha256
from equipoise.language.caption import Caption
from equipoise.language.vocabulary import SECTIONS, Section
from equipoise.perturb.checks import form, meaning
from equipoise.perturb.dial import HIGHEST, LOWEST, PRECISION, Dial
from equipoise.perturb.llm import LLM_RECIPES
from equipoise.perturb.operations import papers
from equipoise.perturb.operations import replace as replacing
from equipoise.perturb.operations import swap_negative as swap
from equipoise.perturb.operations.contrast import contrast
from equipoise.perturb.operations.converse import converse_positive
from equipoise.perturb.operations.swap_candidates import prepare_swaps, swap_judged
from equipoise.perturb.operations.swap_positive import swap_positive
from equipoise.perturb.recipe import Both, EditCheck, Op, Recipe, Slot, Source
from equipoise.perturb.sources.captions import OtherCaptions
from equipoise.perturb.sources.fillers import Fillers
from equipoise.perturb.sources.lexicon import Lexicon, WordNetSource
from equipoise.perturb.trivial import Alternations

if TYPE_CHECKING:
    from equipoise.core.llm_client import Llm, LlmSettings

CHECKS: tuple[EditCheck, ...] = (
    form.changed,
    meaning.plausible,
    meaning.can_be_told,
    meaning.not_there_too,
    form.small_edit,
    form.grammar,
    meaning.shares_sense,
    meaning.not_true_already,
    meaning.not_true_elsewhere,
    meaning.really_swapped,
)


def _replace_negative(target: Section) -> Op:
    return functools.partial(replacing.replace_negative, target=target)


def _negative(target: Section) -> Slot:
    return Slot(f"negative {target}", (_replace_negative(target),))


_SWAP_POSITIVE = Slot("positive swap", (swap_positive,))
_LEXICON, _WORDNET = Lexicon(), WordNetSource()
_WORDS = Both(_LEXICON, Alternations())
_NO_GUESSES = "no masked language model was used (--masked-lm FOLDER): words come from our lists and WordNet"


def _prepare(captions: Sequence[Caption], sources: Sequence[Source]) -> None:
    replacing.prepare(captions, sources)
    prepare_swaps(captions)


_ALONE = 0.045  # the only positive of a caption may be so much less precise


# The judge already knows what goes with a new word's neighbours, and what may be in the photo as well. Among the edits
# that it keeps, readers accept those that `plausible` and `not_there_too` would drop as often as the rest.
_ASKED_BEFORE = (meaning.plausible, meaning.not_there_too, meaning.shares_sense)
_BALANCED_CHECKS = (*(check for check in CHECKS if check not in _ASKED_BEFORE), meaning.confirmed)


def balanced(precision: float = PRECISION, writer: Source | None = None) -> Recipe:
    """Negatives that readers accept as often as the dial asks. A `writer` proposes more words (--llm)."""
    words: Source = Both(_WORDS, Fillers())
    dial = Dial(precision)

    def positive(targets: Sequence[Section], strict: bool = False, trivial: bool = False) -> Op:
        return functools.partial(replacing.replace_positive, targets=targets, dial=dial, strict=strict, trivial=trivial)

    def slots(target: Section) -> Iterator[Slot]:
        yield Slot(f"positive {target}", (positive((target,), strict=True),))
        negative = functools.partial(replacing.replace_judged, target=target, dial=dial)
        yield Slot(f"negative {target}", (negative,))

    lower = Dial(precision - _ALONE)
    alone = functools.partial(replacing.replace_positive, dial=lower, trivial=False)
    others = positive(SECTIONS), alone, positive(SECTIONS, trivial=True)

    return Recipe(
        "balanced",
        "Positives and negatives of every kind that applies, the negatives past a learned judge. The default; "
        "--precision says how many of a hundred a strict reader should accept.",
        (
            *(slot for target in SECTIONS for slot in slots(target)),
            *(
                Slot(f"positive {name}", (functools.partial(replacing.measured, op=op, dial=dial),))
                for name, op in (("swap", swap_positive), ("converse", converse_positive))
            ),
            Slot("positive replace", others, unless="positive"),
            Slot("negative swap", (functools.partial(swap_judged, dial=dial),)),
            Slot("negative alone", (functools.partial(replacing.replace_best, dial=dial),), unless="negative"),
            *(
                Slot(f"{kind} contrast", (functools.partial(contrast, _BALANCED_CHECKS, kind=kind, dial=dial),))
                for kind in ("positive", "negative")
            ),
        ),
        (OtherCaptions(), words if writer is None else Both(words, writer)),
        _BALANCED_CHECKS,
        prepare=_prepare,
    )


RECIPES: dict[str, Recipe] = {
    recipe.name: recipe
    for recipe in (
        Recipe(
            "hard_positives_rules",
            'One replace positive and, where an "and" allows it, one swap positive; offline.',
            (Slot("positive replace", (replacing.replace_positive,)), _SWAP_POSITIVE),
            (_WORDS,),
            CHECKS,
            masked_lm="none",  # its guesses are fillers, not synonyms
        ),
        balanced(),
        Recipe(
            "swap_pairs",
            'A swap positive around "and" and a swap negative, for training on swaps alone; offline.',
            (
                _SWAP_POSITIVE,
                Slot(
                    "negative swap",
                    (swap.swap_attributes, swap.swap_alike, swap.swap_phrases, swap.swap_nouns, swap.swap_across),
                ),
            ),
            (),
            (*CHECKS, meaning.not_a_positive),
        ),
        Recipe(
            "crepe_ma_2023",
            "CREPE's productivity negatives: replace (antonyms, co-hyponyms) of any type, swap, negate.",
            (
                # Of the types that apply, one is drawn: nearly every caption has an object to replace, and taken in
                # turn there were 3,765 objects, 72 attributes, 31 actions and 9 relations in 4,000 captions.
                Slot("replace", tuple(map(_replace_negative, SECTIONS)), drawn=True),
                Slot("swap", (swap.swap_attributes, swap.swap_phrases, swap.swap_nouns)),
                Slot("negate", (papers.negate,)),
            ),
            (_LEXICON, _WORDNET),
            CHECKS,
        ),
        Recipe(
            "ce_clip_zhang_2024",
            "CE-CLIP's four types: relation (two nouns swapped), attribute, action, object; all checked.",
            (Slot("relation", (swap.swap_nouns,)), _negative("attribute"), _negative("action"), _negative("object")),
            (_LEXICON, _WORDNET),
            CHECKS,
            without_masked_lm=_NO_GUESSES,
        ),
        Recipe(
            "ce_clip_zhang_2024_faithful",
            "CE-CLIP's four types by the paper's rule: any two nouns, any adjective, verb, noun; unchecked.",
            (
                Slot("relation", (papers.swap_any_nouns,)),
                *(Slot(kind, (functools.partial(papers.fill_any, target=kind),)) for kind in papers.FILLED),
            ),
            (_LEXICON, _WORDNET),
            (form.changed,),
            masked_lm="fourth guess",
            without_masked_lm=_NO_GUESSES,
        ),
        Recipe(
            "negclip_yuksekgonul_2023",
            "NegCLIP's swaps of two spans of one type: phrases, nouns, verbs, adverbs or adjectives.",
            (Slot("swap", (swap.swap_spans,)),),
            (),
            (form.changed, meaning.really_swapped),
        ),
        Recipe(
            "negclip_yuksekgonul_2023_checked",
            "NegCLIP's swaps without those that say the same as before, or no English.",
            (Slot("swap", (swap.swap_spans,)),),
            (),
            (*CHECKS, meaning.not_a_positive),
        ),
        Recipe(
            "svlc_doveh_2023",
            "SVLC's rule-based negatives: one word of a list (colour, action, material, size, state) for another.",
            (_negative("attribute"), _negative("action")),
            (_LEXICON,),
            CHECKS,
            pick=1,
        ),
        Recipe(
            "aro_order_yuksekgonul_2023",
            "ARO's four order shuffles, seeded.",
            (
                Slot("nouns and adjectives", (functools.partial(papers.shuffle_words, nouns=True),)),
                Slot("all but nouns and adjectives", (functools.partial(papers.shuffle_words, nouns=False),)),
                Slot("within trigrams", (functools.partial(papers.shuffle_trigrams, within=True),)),
                Slot("trigrams", (functools.partial(papers.shuffle_trigrams, within=False),)),
            ),
            (),
            (form.changed,),
        ),
        Recipe(
            "sugarcrepe_add_hsieh_2023",
            "SugarCrepe's ADD by rules: an object or an attribute that the photo does not have.",
            (Slot("add object", (papers.add_object,)), Slot("add attribute", (papers.add_attribute,))),
            (),
            CHECKS,
        ),
        Recipe(
            "half_truth",
            "The caption and a false detail as negative; with a true one, which another caption names, as positive.",
            (Slot("false detail", (papers.add_false_detail,)), Slot("true detail", (papers.add_true_detail,))),
            (),
            CHECKS,
        ),
    )
}


QUESTIONS = "questions"
_REWORDED = (
    "Of a file of questions (image, question, options, answer): rewordings with the same answer, and questions with "
    "the opposite answer; offline."
)
TAKE_LLM = ("balanced", *LLM_RECIPES)  # the first can do without


def get_recipe(name: str, folder: str | None = None) -> Recipe:
    """The recipe of that name, or the user's own: `py:module:name`, looked for in `folder`."""
    if is_named(name):
        what = "a recipe (equipoise.perturb.Recipe)"
        return cast(Recipe, load_named(name, what, lambda value: isinstance(value, Recipe), folder))
    if name in LLM_RECIPES:
        raise UserError(
            f"recipe {name} asks a language model: take equipoise.perturb.Setup({name!r}, llm=equipoise.core."
            "llm_client.LlmSettings(url, model)).recipe(); on the command line: equipoise perturb CAPTIONS --recipe "
            f"{name} --llm URL --llm-model NAME --out F.jsonl"
        )
    if name == QUESTIONS:
        raise UserError(
            f"recipe {name} is for a file of questions and goes alone: equipoise perturb QUESTIONS --recipe {name} "
            "--out F.jsonl; in Python: equipoise.perturb.questions.perturb_questions(items)"
        )
    if name not in RECIPES:
        known = recipe_names()
        raise UserError(
            f"no recipe {name!r}.{did_you_mean(name, known)}\nThere are: {', '.join(known)}; your own is py:module:name"
        )
    return RECIPES[name]


@dataclasses.dataclass(frozen=True)
class Setup:
    name: str  # of a recipe, or py:module:name; or several, joined by commas: every caption gets the texts of all
    seed: int = 0
    llm: LlmSettings | None = None
    masked_lm: str | None = None  # a model folder; its guesses come before the recipe's own word sources
    # The first place where py: looks, in every worker: another machine has another current folder.
    folder: str = dataclasses.field(default_factory=os.getcwd, compare=False)
    precision: float = PRECISION  # of `balanced`: the share that a strict reader should accept
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
        return any(name in TAKE_LLM for name in self.names)

    @property
    def asked(self) -> Llm | None:
        """The language model that writes, if one does."""
        if self.llm is None or not self._asks:
            return None
        from equipoise.core.llm_client import llm_for

        return llm_for(self.llm)

    def recipe(self) -> Recipe:
        """The recipe, if there is only one."""
        return _build(self, source_sha256(self.name, self.folder) if is_named(self.name) else "")

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
        """Notes for the report on how the recipes ran."""
        lacking = (recipe for recipe in self.recipes() if self.masked_lm is None and recipe.without_masked_lm)
        return [f"{recipe.name}: {recipe.without_masked_lm}" for recipe in lacking]

    def identity(self) -> dict[str, object]:
        """The settings that decide the output, as JSON."""
        identity: dict[str, object] = {"recipe": self.joined_name, "seed": self.seed}
        if own := {name: source_sha256(name, self.folder) for name in self.names if is_named(name)}:
            identity["source"] = own
        if self.keep_all:
            identity["keep_all"] = True
        if "balanced" in self.names:
            identity["precision"] = self.precision
        if self.llm is not None and self._asks:
            from equipoise.perturb.llm.recipes import PROMPTS

            prompts = [[prompt.template, self.llm.max_tokens or prompt.max_tokens] for prompt in PROMPTS.values()]
            identity["llm"] = {**self.llm.identity(), "prompts": prompts}
        if self.masked_lm is not None:
            from equipoise.data.identity import of_folder

            identity["masked_lm"] = of_folder(self.masked_lm)
        return identity


def recipe_names() -> dict[str, str]:
    """Every recipe with its description."""
    return {name: recipe.about for name, recipe in RECIPES.items()} | LLM_RECIPES | {QUESTIONS: _REWORDED}


@functools.cache
def _build(setup: Setup, source: str) -> Recipe:  # the source is there for the cache
    llm = setup.asked
    if setup.name in LLM_RECIPES:
        if llm is None:
            raise UserError(
                f"recipe {setup.name} asks a language model: give --llm URL and --llm-model NAME of an "
                "OpenAI-compatible server (offline, take hard_positives_rules)"
            )
        from equipoise.perturb.llm.recipes import llm_recipe

        recipe = llm_recipe(setup.name, llm)
    elif setup.name == "balanced":
        if not LOWEST <= setup.precision <= HIGHEST:
            raise UserError(f"--precision {setup.precision}: expected a share from {LOWEST} to {HIGHEST}")
        recipe = balanced(setup.precision, None if llm is None else _writer(llm))
    else:
        recipe = get_recipe(setup.name, setup.folder)
    if setup.masked_lm is not None and recipe.takes_masked_lm:
        from equipoise.perturb.sources.masked_lm import FourthGuess, MaskedLM, masked_lm_for

        kind = FourthGuess if recipe.masked_lm == "fourth guess" else MaskedLM
        recipe = dataclasses.replace(recipe, sources=(masked_lm_for(setup.masked_lm, kind), *recipe.sources))
    return recipe


def _writer(llm: Llm) -> Source:
    from equipoise.perturb.llm.recipes import LlmWriter

    return LlmWriter(llm)

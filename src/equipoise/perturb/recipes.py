"""Named recipes: operations, word sources and checks, called after their paper and year."""

from __future__ import annotations

import functools
from typing import cast

from equipoise.errors import UserError, did_you_mean
from equipoise.perturb import checks
from equipoise.perturb.english.word_lists import SECTIONS, Section
from equipoise.perturb.llm.recipes import LLM_RECIPES
from equipoise.perturb.operations.add import add_attribute, add_object
from equipoise.perturb.operations.ce_clip import fill_any, swap_any_nouns
from equipoise.perturb.operations.half_truth import add_false_detail, add_true_detail
from equipoise.perturb.operations.judged import LENIENT, STRICT, Least, replace_judged, swap_judged
from equipoise.perturb.operations.negate import negate
from equipoise.perturb.operations.replace import replace_any_positive, replace_negative, replace_positive
from equipoise.perturb.operations.shuffle import (
    shuffle_all_but_nouns_and_adjectives,
    shuffle_nouns_and_adjectives,
    shuffle_trigrams,
    shuffle_within_trigrams,
)
from equipoise.perturb.operations.swap_negative import (
    swap_across,
    swap_alike,
    swap_attributes,
    swap_nouns,
    swap_phrases,
    swap_spans,
)
from equipoise.perturb.operations.swap_positive import swap_positive
from equipoise.perturb.recipe import Check, Op, Recipe, Slot
from equipoise.perturb.sources.alternations import Alternations
from equipoise.perturb.sources.base import Both
from equipoise.perturb.sources.captions import OtherCaptions
from equipoise.perturb.sources.details import Details
from equipoise.perturb.sources.fillers import Fillers
from equipoise.perturb.sources.gender import Gender
from equipoise.perturb.sources.lexicon import Lexicon
from equipoise.perturb.sources.wordnet import WordNetSource
from equipoise.plugins import is_named, load_named

CHECKS: tuple[Check, ...] = (
    checks.changed,
    checks.plausible,
    checks.can_be_told,
    checks.not_there_too,
    checks.small_edit,
    checks.grammar,
    checks.shares_sense,
    checks.not_true_already,
    checks.not_true_elsewhere,
    checks.really_swapped,
)


def _matched_positive(target: Section) -> Slot:
    return Slot(f"positive {target}", (functools.partial(replace_positive, target=target, strict=True),))


def _replace_negative(target: Section) -> Op:
    return functools.partial(replace_negative, target=target)


def _negative(target: Section) -> Slot:
    return Slot(f"negative {target}", (_replace_negative(target),))


_SWAP_POSITIVE = Slot("positive swap", (swap_positive,))
_OTHERS, _LEXICON, _WORDNET = Both(OtherCaptions(), Details()), Lexicon(), WordNetSource()
_WORDS = Both(_LEXICON, Alternations())
_PEOPLE = Both(_WORDS, Gender())
_PROPOSED = Both(_PEOPLE, Fillers())
_NO_GUESSES = (
    "no masked language model was used (the paper's is RoBERTa; --masked-lm FOLDER): words come from our lists and "
    "WordNet"
)


def _balanced(least: Least) -> tuple[Slot, ...]:
    """Negatives as likely to pass a strict reader as `least` asks."""

    def judged(target: Section) -> Slot:
        return Slot(f"negative {target}", (functools.partial(replace_judged, target=target, least=least),))

    return (
        *(slot(target) for target in SECTIONS for slot in (_matched_positive, judged)),
        _SWAP_POSITIVE,
        Slot("positive replace", (replace_any_positive,), unless="positive"),
        Slot("negative swap", (functools.partial(swap_judged, least=least),)),
    )


# The judge has asked before what goes with a new word's neighbours, and what may be in the photo as well. Of the edits
# that it keeps, readers pass what `plausible` and `not_there_too` would drop as often as the rest.
_BALANCED_CHECKS: tuple[Check, ...] = (
    checks.changed,
    checks.can_be_told,
    checks.small_edit,
    checks.grammar,
    checks.not_true_already,
    checks.not_true_elsewhere,
    checks.really_swapped,
    checks.confirmed,
)

RECIPES: dict[str, Recipe] = {
    recipe.name: recipe
    for recipe in (
        Recipe(
            "hard_positives_rules",
            'One replace positive and, where an "and" allows it, one swap positive; offline.',
            (Slot("positive replace", (replace_any_positive,)), _SWAP_POSITIVE),
            (_WORDS,),
            CHECKS,
            masked_lm="none",  # its guesses are fillers, not synonyms
        ),
        Recipe(
            "balanced",
            "A positive and a negative of every type that applies, matched in type and word frequency; every negative "
            "past a learned judge. The default. For test sets, and wherever each text counts.",
            _balanced(STRICT),
            (_OTHERS, _PEOPLE, Fillers()),
            _BALANCED_CHECKS,
        ),
        Recipe(
            "balanced_proposed",
            "The same, and words that the learned judge proposes beside those of our lists: more negatives, more "
            "varied, about one in ten doubtful. For training sets where number counts.",
            _balanced(LENIENT),
            (_OTHERS, _PROPOSED),
            _BALANCED_CHECKS,
        ),
        Recipe(
            "swap_pairs",
            'A swap positive around "and" and a swap negative, for training on swaps alone; offline.',
            (
                _SWAP_POSITIVE,
                Slot("negative swap", (swap_attributes, swap_alike, swap_phrases, swap_nouns, swap_across)),
            ),
            (),
            (*CHECKS, checks.not_a_positive),
        ),
        Recipe(
            "crepe_ma_2023",
            "CREPE's productivity negatives: replace (antonyms, co-hyponyms) of any type, swap, negate.",
            (
                # Of the types that apply, one is drawn: nearly every caption has an object to replace, and taken in
                # turn there were 3,765 objects, 72 attributes, 31 actions and 9 relations in 4,000 captions.
                Slot("replace", tuple(map(_replace_negative, SECTIONS)), drawn=True),
                Slot("swap", (swap_attributes, swap_phrases, swap_nouns)),
                Slot("negate", (negate,)),
            ),
            (_LEXICON, _WORDNET),
            CHECKS,
        ),
        Recipe(
            "ce_clip_zhang_2024",
            "CE-CLIP's four types: relation (two nouns swapped), attribute, action, object; all checked.",
            (
                Slot("relation", (swap_nouns,)),
                _negative("attribute"),
                _negative("action"),
                _negative("object"),
            ),
            (_LEXICON, _WORDNET),
            CHECKS,
            without_masked_lm=_NO_GUESSES,
        ),
        Recipe(
            "ce_clip_zhang_2024_faithful",
            "CE-CLIP's four types by the paper's rule: any two nouns, any adjective, verb, noun; unchecked.",
            (
                Slot("relation", (swap_any_nouns,)),
                Slot("attribute", (functools.partial(fill_any, target="attribute"),)),
                Slot("action", (functools.partial(fill_any, target="action"),)),
                Slot("object", (functools.partial(fill_any, target="object"),)),
            ),
            (_LEXICON, _WORDNET),
            (checks.changed,),
            masked_lm="fourth guess",
            without_masked_lm=_NO_GUESSES,
        ),
        Recipe(
            "negclip_yuksekgonul_2023",
            "NegCLIP's swaps of two spans of one type: phrases, nouns, verbs, adverbs or adjectives.",
            (Slot("swap", (swap_spans,)),),
            (),
            (checks.changed, checks.really_swapped),
        ),
        Recipe(
            "negclip_yuksekgonul_2023_checked",
            "NegCLIP's swaps without those that say the same as before, or no English.",
            (Slot("swap", (swap_spans,)),),
            (),
            (*CHECKS, checks.not_a_positive),
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
                Slot("nouns and adjectives", (shuffle_nouns_and_adjectives,)),
                Slot("all but nouns and adjectives", (shuffle_all_but_nouns_and_adjectives,)),
                Slot("within trigrams", (shuffle_within_trigrams,)),
                Slot("trigrams", (shuffle_trigrams,)),
            ),
            (),
            (checks.changed,),
        ),
        Recipe(
            "sugarcrepe_add_hsieh_2023",
            "SugarCrepe's ADD by rules: an object or an attribute that the photo does not have.",
            (Slot("add object", (add_object,)), Slot("add attribute", (add_attribute,))),
            (),
            CHECKS,
        ),
        Recipe(
            "half_truth",
            "The caption and a false detail as negative; with a true one, which another caption names, as positive.",
            (Slot("false detail", (add_false_detail,)), Slot("true detail", (add_true_detail,))),
            (),
            CHECKS,
        ),
    )
}


def get_recipe(name: str, folder: str | None = None) -> Recipe:
    """The recipe of that name, or the user's own that `py:module:name` names (looked for in `folder`)."""
    if is_named(name):
        what = "a recipe (equipoise.perturb.Recipe)"
        return cast(Recipe, load_named(name, what, lambda value: isinstance(value, Recipe), folder))
    if name in LLM_RECIPES:
        raise UserError(
            f"recipe {name} asks a language model, so a name is not enough: Setup({name!r}, llm="
            f"LlmSettings(url, model)).recipe() makes it (equipoise.perturb.Setup, "
            "equipoise.served.client.LlmSettings); on the command "
            f"line: equipoise perturb CAPTIONS --recipe {name} --llm URL --llm-model NAME --out F.jsonl"
        )
    if name not in RECIPES:
        known = (*RECIPES, *LLM_RECIPES)
        raise UserError(f"no recipe {name!r}; there are {', '.join(known)}.{did_you_mean(name, known)}")
    return RECIPES[name]

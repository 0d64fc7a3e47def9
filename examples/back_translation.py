"""A perturbation recipe of your own: a hard positive is the caption, translated and translated back.

    EN_FR=opus-mt-en-fr FR_EN=opus-mt-fr-en equipoise perturb captions.txt --recipe py:back_translation:RECIPE \
        --out items.jsonl

The folders are Marian models of transformers. What comes back must have changed, break no article or plural, keep what
our exclusive sets know (red, blue), the numbers, and half of the words. A translator may still say something else: a
check of your own (a sentence encoder, say) goes into RECIPE's `checks`. Measured in
docs/appendix/language_models.md.
"""

import functools
import os
import re
from collections import Counter

from equipoise import UserError
from equipoise.extend import (
    Candidate,
    EditRecipe,
    EditSlot,
    changed,
    edit_between,
    grammar,
    keeps_meaning,
    load_lm,
)

NUMBERS = {"one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "several", "many", "some"}


@functools.cache
def model(variable):
    if variable not in os.environ:
        raise UserError(f"set {variable} to the folder of a Marian model (EN_FR and FR_EN)")
    import torch

    torch.set_num_threads(1)  # sums in another order could choose another word
    return load_lm(os.environ[variable], "AutoModelForSeq2SeqLM")


def translated(text, variable):
    import torch

    tokenizer, network = model(variable)
    with torch.inference_mode():
        tokens = network.generate(**tokenizer(text, return_tensors="pt"), num_beams=4, max_length=80)
    return tokenizer.decode(tokens[0], skip_special_tokens=True)


def back_translated(caption, sources, rng):
    text = translated(translated(caption.text, "EN_FR"), "FR_EN").strip()
    if text:
        text = (text[0].upper() if caption.text[0].isupper() else text[0].lower()) + text[1:]
        text = text.rstrip(" .") + (caption.text[len(caption.text.rstrip(" .")) :])  # its own full stop, or none
        yield Candidate(text, "positive", edit_between(caption, text, "replace", "back-translation"))


def keeps_most(caption, candidate):
    before, after = (Counter(re.findall(r"[\w'-]+", text.lower())) for text in (caption.text, candidate.text))
    if sum((before & after).values()) * 2 < sum(before.values()):
        return "less than half of the words are left"
    told = [Counter({word: n for word, n in words.items() if word in NUMBERS}) for words in (before, after)]
    return None if told[0] == told[1] else "the numbers changed"


RECIPE = EditRecipe(
    "back_translation",
    "The caption, translated and translated back.",
    (EditSlot("positive back-translation", (back_translated,)),),
    checks=(changed, keeps_most, keeps_meaning, grammar),
)

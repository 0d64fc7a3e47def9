"""CE-CLIP's word source: a masked language model's guesses for a word's place, with the paper's defects fixed.

CE-CLIP (Zhang et al. 2024) takes the fourth guess of distilroberta-base, whatever it is. Here a guess must be a whole
word, another word than the original (also as a lemma), of the same part of speech in the new sentence, and neither a
synonym of the original nor above or below it in WordNet (docs/appendix/language_models.md compares both).
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from pathlib import Path

from equipoise.core.errors import UserError
from equipoise.language.caption import Caption, Unit
from equipoise.language.forms import lemma_of, write_edit
from equipoise.language.language_model import load_lm, longest
from equipoise.language.tagging import tag
from equipoise.language.vocabulary import Section, count
from equipoise.language.wordnet import LETTERS, WORDNET, Letter
from equipoise.perturb.recipe import Proposal, Source

GUESSES = 10
_KINDS: dict[Section, str] = {"object": "noun", "attribute": "adjective", "action": "verb", "relation": "preposition"}


class MaskedLM(Source):
    """A source of contrasts; it offers no synonyms, since its guesses are fillers and not paraphrases."""

    name = "masked_lm"

    def __init__(self, folder: str | Path, guesses: int = GUESSES) -> None:
        self.guesses, self.folder = guesses, folder
        self._tokenizer, self._model = load_lm(folder, "AutoModelForMaskedLM")
        if self._tokenizer.mask_token is None:
            raise UserError(f"{folder}: the tokenizer has no mask token; a masked language model was expected")

    def contrasts(self, caption: Caption, target: Section) -> Iterator[Proposal]:
        for unit in caption.units:
            if unit.kind != _KINDS[target] or not unit.word.isalpha():  # compounds are not one word to a masked LM
                continue
            for word in self._guess(caption.text, unit):
                if self._fits(caption, unit, word, target):
                    yield Proposal(unit.start, unit.end, word, target, self.name, float(count(word)))

    def _guess(self, text: str, unit: Unit) -> list[str]:
        """The whole words among the first guesses for the unit, the likeliest first."""
        import torch

        tokenizer = self._tokenizer
        masked = text[: unit.start] + tokenizer.mask_token + text[unit.end :]
        encoded = tokenizer(masked, return_tensors="pt", truncation=True, max_length=longest(self._model))
        places = (encoded["input_ids"][0] == tokenizer.mask_token_id).nonzero()
        if len(places) != 1:  # the mask was cut off with the end of a long text
            return []
        with torch.inference_mode():
            logits = self._model(**encoded).logits[0, int(places[0])]
        if not bool(torch.isfinite(logits).all()):
            raise UserError(f"{self.folder}: its guesses are no numbers; are its weights whole?")
        # Sorted by number where scores are equal, so that the order never depends on the machine.
        order = torch.sort(logits, descending=True, stable=True).indices[: self.guesses].tolist()
        return [word for number in order if (word := self._whole_word(number)) is not None]

    def _whole_word(self, number: int) -> str | None:
        """The token as a word in lower case; None for pieces of words, marks, numbers and special tokens."""
        piece: str = self._tokenizer.convert_ids_to_tokens(number)
        if number in self._tokenizer.all_special_ids:
            return None
        if self._marks_beginnings and piece[:1] not in {"Ġ", "▁"}:
            return None
        word = self._tokenizer.decode([number]).strip()  # WordPiece leaves the ## of a piece, which is no letter
        return word.lower() if word.isascii() and word.isalpha() and len(word) > 1 else None

    @functools.cached_property
    def _marks_beginnings(self) -> bool:
        """Byte-level and SentencePiece vocabularies mark where words begin; WordPiece marks where they go on."""
        return any(piece[:1] in {"Ġ", "▁"} for piece in self._tokenizer.get_vocab())

    def _fits(self, caption: Caption, unit: Unit, word: str, target: Section) -> bool:
        if lemma_of(word, target) == lemma_of(unit.word, target):
            return False
        letter = LETTERS.get(target)
        if letter is not None and not self._is_a(word, target, letter):
            return False
        if letter and WORDNET.related(lemma_of(unit.word, target), lemma_of(word, target), letter):
            return False
        new = write_edit(caption.text, unit.start, unit.end, word)
        shift = len(new) - len(caption.text)  # an article before the word may have grown or shrunk
        return any(token.pos == unit.pos and token.end == unit.end + shift for token in tag(new))

    def _is_a(self, word: str, target: Section, letter: Letter) -> bool:
        """Whether the word alone has the kind: in context the tagger takes "a quickly dog" for an adjective."""
        known = WORDNET.senses(lemma_of(word, target), letter)
        return bool(known) and tag(word)[0].pos[:2] in {"NN", "VB", "JJ"}


class FourthGuess(MaskedLM):
    """CE-CLIP's own rule: the fourth guess, whatever it is, if it is a whole word and another one; else the nearest."""

    def contrasts(self, caption: Caption, target: Section) -> Iterator[Proposal]:
        for unit in caption.units:
            if unit.kind == _KINDS[target] and unit.word.isalpha():
                guesses = self._guess(caption.text, unit)
                ordered = (*guesses[3:], *reversed(guesses[:3]))
                for word in [guess for guess in ordered if guess != unit.word][:1]:
                    yield Proposal(unit.start, unit.end, word, target, self.name, 1.0)


@functools.cache
def masked_lm_for(folder: str, kind: type[MaskedLM] = MaskedLM) -> MaskedLM:
    """One model per process. One thread, because sums in another order could rank two guesses the other way round."""
    import torch

    torch.set_num_threads(1)
    return kind(folder)

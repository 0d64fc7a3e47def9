"""spaCy's tags in place of Brill's, where the user has an English model (extra `spacy`).

The tokens are ours (`tagging.split`), only the tags are spaCy's: whatever reads captions can count on "t-shirt" being
one word whichever tagger is at work. No English model is on PyPI, so none can be a default.
"""

from __future__ import annotations

import functools
from typing import Any

from equipoise.errors import UserError
from equipoise.identity import of_folder
from equipoise.words.tagging import Tagger, Token, split, tag

# The tags that spaCy has beside Penn's.
_PENN = {
    "-LRB-": "(",
    "-RRB-": ")",
    "HYPH": ":",
    "NFP": ":",
    "AFX": "JJ",
    "ADD": "NN",
    "XX": "FW",
    "_SP": "SYM",
    "": "SYM",
}
_NOT_NEEDED = ["parser", "ner", "lemmatizer", "entity_linker", "textcat", "senter"]


@functools.cache
def tagger_named(name: str) -> Tagger:
    """`brill`, which is ours and always there, or `spacy:MODEL`."""
    return tag if name == "brill" else _tagger(_load(name))


def _tagger(nlp: Any) -> Tagger:
    from spacy.tokens import Doc

    def tagged(text: str) -> list[Token]:
        found = split(text)
        if not found:
            return []
        spaces = [text[end : end + 1].isspace() for _, _, end in found]
        doc = Doc(nlp.vocab, words=[word for word, _, _ in found], spaces=spaces)
        for _, part in nlp.pipeline:
            doc = part(doc)
        return [Token(*token, _PENN.get(told.tag_, told.tag_)) for token, told in zip(found, doc, strict=True)]

    return tagged


@functools.cache
def _load(name: str) -> Any:
    """The pipeline called `spacy:MODEL`, MODEL being an installed package or a folder."""
    kind, _, model = name.partition(":")
    if kind != "spacy" or not model:
        raise UserError(f"no tagger {name!r}; there are brill and spacy:MODEL (an installed model or a folder)")
    try:
        import spacy
    except ImportError:
        raise UserError(f"--tagger {name} needs spaCy: pip install 'equipoise[spacy]'") from None
    try:
        nlp = spacy.load(model, exclude=_NOT_NEEDED)
    except (OSError, ValueError, KeyError, ImportError) as error:
        raise UserError(
            f"--tagger {name}: cannot be loaded ({str(error).splitlines()[0]}). Name an installed spaCy model or its "
            "folder; with a network, `python -m spacy download en_core_web_sm` gets one"
        ) from None
    if "tagger" not in nlp.pipe_names:
        raise UserError(f"--tagger {name}: has no tagger, only {', '.join(nlp.pipe_names) or 'a tokenizer'}")
    return nlp


@functools.cache
def identity_of(name: str) -> str:
    """What decides the tags. Ours are part of the code; of a model, its name, its version and its bytes."""
    if name == "brill":
        return name
    nlp = _load(name)
    import spacy

    model = f"{nlp.meta.get('lang')}_{nlp.meta.get('name')} {nlp.meta.get('version')}"
    return f"spacy {spacy.__version__}, {model}, {of_folder(nlp.path)}"

"""Tokenizers: CLIP's own, built offline from its merges, and whether a tokenizer fits a text tower.

CLIP was trained on cleaned text: mojibake repaired (ftfy), HTML entities resolved twice, white space
squeezed, lower case. transformers' CLIPTokenizer leaves the first two out, so the same caption could get
other tokens through `hf:` than through open_clip. Here every CLIP tokenizer gets cleaned text, whichever
way the model was loaded; the tests hold the tokens equal to open_clip's.
"""

from __future__ import annotations

import functools
import gzip
import html
import importlib
import logging
import re
import string
from collections.abc import Callable, Sequence
from importlib import resources
from typing import TYPE_CHECKING, Any

from equipoise.core.errors import Problems, UserError
from equipoise.core.files import sha256_json

if TYPE_CHECKING:
    from transformers import CLIPTokenizer, PreTrainedTokenizerBase

log = logging.getLogger(__name__)

CLIP_VOCABULARY = 49408
# Text that neither ftfy nor unescape changes: ASCII without control characters and without what may be an entity.
PLAIN = re.compile(r"(?:[\t\n\r\x20-\x25\x27-\x7e]|&(?![#0-9A-Za-z]))*")


@functools.cache
def clip_tokenizer() -> CLIPTokenizer:
    """CLIP's tokenizer (transformers' class), from the merges shipped with the package."""
    from transformers import CLIPTokenizer

    packed = resources.files("equipoise.models").joinpath("assets/clip_merges.txt.gz").read_bytes()
    merges = [tuple(line.split(" ")) for line in gzip.decompress(packed).decode().splitlines()]
    letters = _byte_letters()
    words = letters + [letter + "</w>" for letter in letters] + ["".join(merge) for merge in merges]
    words += ["<|startoftext|>", "<|endoftext|>"]
    return CLIPTokenizer(vocab={word: number for number, word in enumerate(words)}, merges=merges, model_max_length=77)


def _byte_letters() -> list[str]:
    """A printable letter for each of the 256 bytes, in the order of CLIP's vocabulary (GPT-2's byte-level BPE)."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    return [chr(code) for code in printable] + [chr(256 + n) for n in range(256 - len(printable))]


def clean_clip(text: str) -> str:
    """The cleaning CLIP's training text went through."""
    if not PLAIN.fullmatch(text):
        text = html.unescape(html.unescape(_fix_text(text)))
    return " ".join(text.split()).lower()


def clean_siglip(text: str) -> str:
    """SigLIP's cleaning: lower case, no ASCII punctuation. Doing it twice (SiglipTokenizer does it too) is harmless."""
    return " ".join(text.lower().translate(str.maketrans("", "", string.punctuation)).split())


def _fix_text(text: str) -> str:
    try:
        ftfy: Any = importlib.import_module("ftfy")
    except ImportError:
        raise UserError(
            f"text that is not plain ASCII ({text[:40]!r}) needs ftfy, as CLIP's own text did: pip install ftfy"
        ) from None
    return str(ftfy.fix_text(text))


CLEANERS: dict[str, Callable[[str], str]] = {
    "clip": clean_clip,
    "siglip": clean_siglip,
    "lower": str.lower,
    "none": str,
}


def cleaning_for(tokenizer: PreTrainedTokenizerBase) -> str:
    """Which cleaning a tokenizer's text needs; a tokenizer of a user's own is given the text as it is."""
    name = type(tokenizer).__name__
    if name.startswith("CLIPTokenizer"):
        return "clip"
    if name.startswith("SiglipTokenizer"):
        return "siglip"
    if name.startswith(("Gemma", "Siglip2")):  # SigLIP 2 was trained on lower case; Gemma's vocabulary has both
        return "lower"
    return "none"


def token_ids(tokenizer: PreTrainedTokenizerBase, texts: Sequence[str]) -> list[list[int]]:
    """The tokens of clean texts, neither padded nor cut. CLIP's tokenizer is called without transformers, which spends
    more time on unused masks and offsets than on the tokens."""
    backend: Any = getattr(tokenizer, "backend_tokenizer", None)
    if not type(tokenizer).__name__.startswith("CLIPTokenizer") or not hasattr(backend, "encode_batch_fast"):
        return [list(ids) for ids in tokenizer(list(texts), verbose=False)["input_ids"]]
    backend.no_truncation()
    backend.no_padding()
    return [one.ids for one in backend.encode_batch_fast(list(texts))]


def tokenizer_sha256(tokenizer: PreTrainedTokenizerBase) -> str:
    """Hash of everything that decides a token: the whole fast tokenizer, or the vocabulary of a slow one."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    return sha256_json(backend.to_str() if backend is not None else tokenizer.get_vocab())


def end_token(tokenizer: PreTrainedTokenizerBase) -> int:
    """The id that ends a text; BERT's tokenizers call it the separator."""
    return int(tokenizer.sep_token_id if tokenizer.eos_token_id is None else tokenizer.eos_token_id)


def check_tokenizer(tokenizer: PreTrainedTokenizerBase, rows: int, *, causal: bool, where: str) -> None:
    """Refuse a tokenizer that was not made for this text tower: its scores would be noise, not an error.

    `rows` is the number of token embeddings: more than tokens is common (tables are padded to a round number), fewer
    is another model's. CLIP pools at the end token, so its absence is silent there.
    """
    problems = Problems(f"{where}: the tokenizer does not fit the text tower")
    highest = max(tokenizer.get_vocab().values(), default=-1)
    if highest >= rows:
        problems.add(
            "vocabulary",
            f"token ids up to {highest}, but the text tower has {rows} embeddings: the tokenizer is larger than the "
            "model's table, so it is another model's",
        )
    elif 2 * highest < rows:
        log.warning(
            "%s: the tokenizer uses %d of the %d embeddings of the text tower; is it this model's own?",
            where, highest + 1, rows,
        )  # fmt: skip
    end = tokenizer.sep_token_id if tokenizer.eos_token_id is None else tokenizer.eos_token_id
    if end is None:
        problems.add("end token", "the tokenizer has none")
    else:
        ids = tokenizer("a photo")["input_ids"]
        if not ids or ids[-1] != end:
            problems.add("end token", f"a text becomes {ids}, which does not end with the end token {end}")
        elif causal and (ids[0] != tokenizer.bos_token_id or ids.index(end) != len(ids) - 1):
            problems.add("start token", f"a text becomes {ids}: CLIP expects start, words, end")
    problems.raise_if_any("Put the tokenizer files of the model itself into its folder.")

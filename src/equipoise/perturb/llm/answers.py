"""Turn a language model's answer into a caption, or refuse it with a reason.

`tidy` removes the words that models put around an answer and restores the caption's style (capital, full stop), which
must not betray it. `valid` is a check like the others: None to keep it, or the reason.
"""

from __future__ import annotations

import itertools
import json
import re
from collections import Counter

from equipoise.core.answer_store import KeptAnswer
from equipoise.data.items import Edit, Operation, Target
from equipoise.data.readers.captions.groups import clean
from equipoise.data.readers.captions.json_layouts import LONGEST
from equipoise.language.caption import Caption
from equipoise.language.forms import noun_lemma
from equipoise.language.tagging import Token, tag
from equipoise.perturb.recipe import Candidate

CUT = "…"  # stands at the end of an answer that the token limit cut off
REFUSED = "\ufffc"  # stands for the answer to a request that the server refused
_MOST = 4 * LONGEST  # characters of an answer that are looked at; a caption and some talk around it

_PREAMBLE = re.compile(
    r"^(?:(?:sure|sure thing|certainly|of course|okay|ok|absolutely)[!,.:]"
    r"|here(?:'s|’s| is| are| you)\b[^:\n]{0,120}:"
    r"|(?:the )?(?:changed|new|modified|rewritten|revised|updated|swapped|resulting|output)?\s*"
    r"(?:sentence|caption|output|answer|result|version)\s*(?:is|would be)?\s*:)\s*",
    re.IGNORECASE,
)
_AFTERWORD = re.compile(
    r"\n\s*(?:\(?(?:note|explanation|input|output|in this|i (?:have |'ve )?(?:replaced|swapped|changed)|the word|here,|"
    r"let me know|this (?:sentence|keeps))\b).*",
    re.IGNORECASE | re.DOTALL,
)
_THOUGHT = re.compile(r"^<think>.*?</think>\s*", re.DOTALL)
_QUOTES = {'"': '"', "'": "'", "“": "”", "‘": "’", "«": "»", "`": "`"}
_DECLINED = re.compile(
    r"^(?:i'?m sorry|i am sorry|sorry|i can(?:no|')t|i am unable|i'm unable|as an ai)\b", re.IGNORECASE
)
_MARKUP = re.compile(r"</?[a-z!?]|javascript:|&(?:#\d+|#x[0-9a-f]+|[a-z]+);", re.IGNORECASE)
_BRACKETS = re.compile(r"[()\[\]{}]")
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_NEW_SENTENCE = re.compile(r"[.!?]+[\"')\]]*\s+(?=[^\W\d_])")


def tidy(answer: KeptAnswer, caption: str) -> str:
    """The answer without preamble, quotes, fences and afterword; an answer that was cut ends in `CUT`."""
    if answer.finish == "refused":
        return REFUSED
    text = _THOUGHT.sub("", answer.text[:_MOST].strip())
    text = re.sub(r"^```\w*\s*|\s*```$", "", text).strip()
    text = _from_json(text)
    for _ in range(3):  # "Sure! Here is the sentence: Output: ..."
        text = _PREAMBLE.sub("", text, count=1).strip()
    text = _AFTERWORD.sub("", text).strip()
    if len(text) > 1 and _QUOTES.get(text[0]) == text[-1] and caption[:1] != text[0]:
        text = text[1:-1].strip()
    if answer.finish == "length":
        return text + CUT
    return _in_style(text, caption)


def _from_json(text: str) -> str:
    """The only string of a JSON object, list or string; any other text unchanged."""
    if text[:1] not in '{["':
        return text
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    return value if isinstance(value, str) else text


def _in_style(text: str, caption: str) -> str:
    if not text:
        return text
    if caption[:1].islower() and text[:1].isupper() and not text[:2].isupper():
        text = text[0].lower() + text[1:]
    elif caption[:1].isupper() and text[:1].islower():
        text = text[0].upper() + text[1:]
    if text.endswith(".") and not text.endswith("..") and not caption.endswith("."):
        text = text[:-1].rstrip()
    elif caption.endswith(".") and text[-1:].isalnum():
        text += " ." if caption.endswith(" .") else "."
    return text


def any_text(caption: Caption, candidate: Candidate) -> str | None:
    """The faithful recipe's check: None for any text that an items file can hold."""
    if candidate.text == REFUSED:
        return "the server refused the request"
    return clean(candidate.text)[1] if candidate.text.strip() else "no answer"


def valid(caption: Caption, candidate: Candidate) -> str | None:
    """None for a usable answer, or the reason against it."""
    text = candidate.text
    if text == REFUSED:
        return "the server refused the request"
    if reason := _unfit(caption.text, text):
        return reason
    if text.endswith(CUT) and not caption.text.endswith(CUT):
        return "the answer was cut off"
    if _DECLINED.match(text):
        return "the model declined"
    if text[0] in "{[" and caption.text[0] not in "{[":
        return "JSON instead of a sentence"
    if "\n" in text:
        return "more than one line"
    _, reason = clean(text)
    if reason:
        return f"the answer is {reason}" if reason.startswith("not") else f"the answer: {reason}"
    before, after = plain_words(caption.text), plain_words(text)
    if len(after) > 1.5 * len(before) + 4:
        return "the answer is too long"
    if len(_NEW_SENTENCE.findall(text)) > len(_NEW_SENTENCE.findall(caption.text)):
        return "more than one sentence"
    if ":" in text and ":" not in caption.text:
        return "a preamble in the answer"
    if after == before:
        return "the edit changes nothing"
    left = sum((Counter(before) & Counter(after)).values())
    if left * 2 < len(before):
        return "another language or a rewrite: less than half of the words are left"
    if candidate.edit.op == "swap" and _swappable(before) != _swappable(after):
        return "the swap changed other words"
    return None


def spoiled(caption: Caption, candidate: Candidate) -> bool:
    """Whether an answer is a remark instead of a caption; it is not cached, so that the next run asks again."""
    return candidate.text != REFUSED and _unfit(caption.text, candidate.text) is not None


def _unfit(caption: str, text: str) -> str | None:
    """The reason why a text is no caption, whatever the prompt."""
    if not text.strip():
        return "no answer"
    if _MARKUP.search(text) and not _MARKUP.search(caption):
        return "markup in the answer"
    if text[0] not in "{[" and len(_BRACKETS.findall(text)) > len(_BRACKETS.findall(caption)):
        return "a remark in brackets"
    return None


def plain_words(text: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(text)]


def _swappable(words: list[str]) -> Counter[str]:
    """The words that a swap may not change; it may change articles and number (the paper's own example makes antelope
    antelopes)."""
    return Counter(noun_lemma(word) for word in words if word not in {"a", "an"})


_TARGETS: dict[str, Target] = {
    "noun": "object", "adjective": "attribute", "number": "attribute", "adverb": "attribute", "verb": "action",
    "preposition": "relation",
}  # fmt: skip


def edit_between(caption: Caption, new: str, op: Operation, by: str) -> Edit:
    """The edit from the first to the last word that differs; its target is the kind of the first of them."""
    old, tokens = caption.tokens, tag(new)
    start = _agree(old, tokens)
    end = _agree(old[start:][::-1], tokens[start:][::-1])
    before, after = old[start : len(old) - end], tokens[start : len(tokens) - end]
    span = (before[0].start, before[-1].end) if before else None
    kinds = (unit.kind for unit in caption.units if span and unit.start >= span[0] and unit.kind in _TARGETS)
    target = None if op == "swap" else next((_TARGETS[kind] for kind in kinds), None)
    source = caption.text[span[0] : span[1]] if span else None
    to = new[after[0].start : after[-1].end] if after else None
    return Edit(op=op, target=target, source=source, to=to, by=by, span=span)


def _agree(first: tuple[Token, ...] | list[Token], second: tuple[Token, ...] | list[Token]) -> int:
    """The number of equal tokens at the start."""
    alike = (left.text.lower() == right.text.lower() for left, right in zip(first, second, strict=False))
    return sum(itertools.takewhile(bool, alike))

"""Which option an answer names: by its letter, by its text, or by yes and no. None where it names none, or two."""

from __future__ import annotations

import re
import string
from collections.abc import Sequence

LETTERS = string.ascii_uppercase  # not imported: this file is copied into exported benchmarks (evaluation/export)
_THINKING = re.compile(r"<think>.*?(</think>|$)|<\|?begin_of_box\|?>|<\|?end_of_box\|?>", re.DOTALL)
_LEAD = r"(?:(?:the )?(?:correct |best |final )?(?:answer|caption|option|choice)\b\W*(?:is\b\W*)?)?"
_YES_NO = re.compile(r"\b(yes|no)\b", re.IGNORECASE)


def option_of(said: str, options: Sequence[str], lettered: bool) -> int | None:
    """The place of the named option among `options` as they were shown."""
    said = _THINKING.sub(" ", said).strip()
    if not lettered:
        return _yes_or_no(said, options)
    letters = LETTERS[: len(options)]
    # "B", "(B)", "Answer: B.", "B: a dog"; but "A dog runs" begins with an article.
    if first := re.match(rf"^\W*{_LEAD}\W*([{letters}])(?=\s*$|\s*[).:,;\]*\n]|\s+-)", said, re.IGNORECASE):
        return letters.index(first[1].upper())
    marked = rf"(?:(?i:option|answer|caption|choice)(?: is)?:?\W*|\(|\*\*)([{letters}])(?=[).:,\]*]|\s|$)"
    named = {one.upper() for one in re.findall(marked, said)}
    if len(named) == 1:
        return letters.index(named.pop())
    plain = _plain(said)
    texts = [place for place, option in enumerate(options) if _plain(option) and _plain(option) in plain]
    longest = [place for place in texts if not any(_inside(options[place], options[other]) for other in texts)]
    if len(longest) == 1 and not named:
        return longest[0]
    bare = set(re.findall(rf"\b([{letters}])\b", said))
    return letters.index(bare.pop()) if len(bare) == 1 and said[:1] in bare and not (named or longest) else None


def _inside(text: str, other: str) -> bool:
    """Whether one option is a part of another that was named too: "dog" in "hot dog"."""
    return text != other and _plain(text) in _plain(other)


def _yes_or_no(said: str, options: Sequence[str]) -> int | None:
    words = [word.lower() for word in _YES_NO.findall(said)]
    first = re.match(r"^\W*(yes|no)\b", said, re.IGNORECASE)
    word = first[1].lower() if first else words[0] if len(set(words)) == 1 else None
    plain = [option.lower() for option in options]
    return plain.index(word) if word in plain else None


def _plain(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.lower()))

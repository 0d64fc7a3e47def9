"""A grammar check by Link Grammar's parser, where it is installed.

Captions come with mistakes of their own and are noun phrases more often than sentences. So an edit is dropped only
when its caption parses and it does not: a sentence as it stands, a noun phrase after "I see" (alone, it would be read
as something strange or not at all). What cannot be judged is kept. The parser runs beside us as one process that
answers a line at a time.
"""

from __future__ import annotations

import contextlib
import functools
import re
import shutil
import subprocess
import threading

from equipoise.errors import UserError
from equipoise.perturb.candidate import Candidate
from equipoise.perturb.english.caption import Caption

INSTALL = "apt install link-grammar link-grammar-dictionaries-en"
# Plain words and marks only: a line that begins with "!" is a command to the parser. Long texts parse for minutes.
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9 ,.'-]*")
_LONGEST = 40  # words
# Neither the clock nor guesses at spelling may decide, or the output would depend on the machine.
_OPTIONS = ("-graphics=0", "-limit=1000", "-null=0", "-spell=0", "-panic=0", "-timeout=1000000")
# What ends an answer: a setting, whose echo cannot be taken for one, and a text that cannot be parsed, because only
# after such a text does the program hand out what it has to say.
_ASK_END, _END, _AFTER_END = "!width=1000\nof of the\n", "width set to", "No complete linkages"


class LinkGrammarCheck:
    def __init__(self) -> None:
        self._lock = threading.Lock()  # recipes that ask a server check their answers on several threads
        self._process = subprocess.Popen(
            [_program(), "en", *_OPTIONS],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
            bufsize=1,
            cwd="/",  # it would take a dictionary from the working folder before its own
        )
        self.parses = functools.lru_cache(maxsize=4096)(self._parses)
        if not self.parses("A dog sits on the grass."):
            raise UserError(
                f"link-parser cannot read a plain English sentence; its dictionary may be missing: {INSTALL}"
            )

    def __call__(self, caption: Caption, candidate: Candidate) -> str | None:
        if not _PLAIN.fullmatch(candidate.text) or len(candidate.text.split()) > _LONGEST:
            return None
        frame = "" if any(token.pos in {"VBZ", "VBP", "VBD", "MD"} for token in caption.tokens) else "I see "
        if not self.parses(caption.text, frame) or self.parses(candidate.text, frame):
            return None
        return "not grammatical to link-grammar, though the caption is"

    def _parses(self, text: str, frame: str = "") -> bool:
        if not _PLAIN.fullmatch(text) or len(text.split()) > _LONGEST:
            return False
        return self._ask(f"{frame}{text[0].lower()}{text[1:].rstrip(' .')}." if frame else text)

    def _ask(self, line: str) -> bool:
        assert self._process.stdin is not None and self._process.stdout is not None
        answer: list[str] = []
        with self._lock, contextlib.suppress(OSError):
            self._process.stdin.write(f"{line}\n{_ASK_END}")
            self._process.stdin.flush()
            while said := self._process.stdout.readline():
                if said.startswith(_AFTER_END) and answer and answer[-1].startswith(_END):
                    return any(one.startswith("Found") for one in answer) and not any(
                        one.startswith("No complete linkages") for one in answer
                    )
                answer.append(said)
        raise UserError(f"link-parser stopped in the middle of its work. Is its English dictionary there? {INSTALL}")


@functools.cache
def link_grammar_check() -> LinkGrammarCheck:
    """One parser a process."""
    return LinkGrammarCheck()


@functools.cache
def version() -> str:
    found = subprocess.run([_program(), "--version"], capture_output=True, text=True, check=False).stdout
    return found.partition("\n")[0].removeprefix("Version:").strip() or "unknown"


def _program() -> str:
    found = shutil.which("link-parser")
    if found is None:
        raise UserError(f"--checks link-grammar: link-parser is not installed. On Debian and Ubuntu: {INSTALL}")
    return found

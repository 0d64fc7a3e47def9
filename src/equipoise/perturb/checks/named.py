"""Checks that need something from outside, and are asked for by name: `--checks link-grammar,lm:FOLDER`."""

from __future__ import annotations

from collections.abc import Callable

from equipoise.errors import UserError, did_you_mean
from equipoise.identity import of_folder
from equipoise.perturb.candidate import Candidate
from equipoise.perturb.english.caption import Caption

Check = Callable[[Caption, Candidate], str | None]
NAMES = ("link-grammar", "embedding:FOLDER", "lm:FOLDER")


def check_named(name: str) -> Check:
    if name == "link-grammar":
        from equipoise.perturb.checks.link_grammar import link_grammar_check

        return link_grammar_check()
    if name.startswith("embedding:"):
        from equipoise.perturb.checks.embedding import embedding_check

        return embedding_check(name.removeprefix("embedding:"))
    if name.startswith("lm:"):
        from equipoise.perturb.checks.likelihood import likelihood_check

        return likelihood_check(name.removeprefix("lm:"))
    raise UserError(f"no check {name!r}; there are {', '.join(NAMES)}.{did_you_mean(name, NAMES)}")


def identity_of(name: str) -> str:
    """What of a check decides the output: the version of a program, the bytes of a model."""
    if name == "link-grammar":
        from equipoise.perturb.checks.link_grammar import version

        return f"{name} {version()}"
    kind, _, folder = name.partition(":")
    return f"{kind} {of_folder(folder)}"

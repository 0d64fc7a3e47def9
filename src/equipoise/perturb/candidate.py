"""A text that an operation proposes, before the checks have seen it."""

from __future__ import annotations

from typing import Literal, NamedTuple

from equipoise.items import Edit, Operation, Target
from equipoise.perturb.english.forms import write_edit
from equipoise.perturb.sources.base import Proposal

Kind = Literal["positive", "negative"]


class Candidate(NamedTuple):
    text: str
    kind: Kind
    edit: Edit
    mark: str = ""  # of the line its new word is from: "sure", "kin" or "wide"


class Refused(NamedTuple):
    """An operation's word that it makes nothing here, and why; yielded like a candidate."""

    reason: str


def edited(
    text: str, kind: Kind, op: Operation, target: Target, span: tuple[int, int], to: str, by: str, new: str
) -> Candidate:
    """The candidate `new`, in which characters `span` of `text` were changed to `to`."""
    edit = Edit(op=op, target=target, source=text[span[0] : span[1]], to=to, by=by, span=span)
    return Candidate(new, kind, edit)


def edit_class(kind: str, edit: Edit) -> str:
    """How an edit is counted: "negative replace object"."""
    return " ".join(filter(None, (kind, edit.op, edit.target)))


def replaced(text: str, kind: Kind, proposal: Proposal) -> Candidate:
    """A proposal written into the caption."""
    new = write_edit(text, proposal.start, proposal.end, proposal.to)
    span = (proposal.start, proposal.end)
    made = edited(text, kind, "replace", proposal.target, span, proposal.to, proposal.by, new)
    return made._replace(mark=proposal.mark)

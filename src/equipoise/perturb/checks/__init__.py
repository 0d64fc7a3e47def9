"""Checks: each looks at a candidate and returns None to keep it, or the reason to drop it."""

from equipoise.perturb.checks.form import changed, grammar, small_edit
from equipoise.perturb.checks.meaning import (
    can_be_told,
    confirmed,
    not_a_positive,
    not_there_too,
    not_true_already,
    not_true_elsewhere,
    plausible,
    really_swapped,
    shares_sense,
)

__all__ = [
    "can_be_told",
    "changed",
    "confirmed",
    "grammar",
    "not_a_positive",
    "not_there_too",
    "not_true_already",
    "not_true_elsewhere",
    "plausible",
    "really_swapped",
    "shares_sense",
    "small_edit",
]

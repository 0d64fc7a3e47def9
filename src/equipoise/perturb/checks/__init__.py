"""Checks: each looks at a candidate and returns None to keep it, or the reason to drop it."""

from equipoise.perturb.checks.form import changed, grammar, small_edit
from equipoise.perturb.checks.meaning import not_true_already, not_true_elsewhere, really_swapped, shares_sense

__all__ = [
    "changed",
    "grammar",
    "not_true_already",
    "not_true_elsewhere",
    "really_swapped",
    "shares_sense",
    "small_edit",
]

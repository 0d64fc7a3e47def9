"""The new word of a negative must make sense to a causal language model, where one is given.

The judge is the log-likelihood of the whole text less that of its caption: what comes after the new word counts as much
as the word. Models differ in scale, so no threshold is asked for: the model is measured first on captions of our own
(data/plausible.txt), and an edit is dropped when it loses more than all but a few of the sensible words there. A model
that cannot tell those from senseless ones is refused. Positives and swaps are not judged: a rare synonym and another
order lose likelihood too and are right all the same (measured: docs/perturbation.md).
"""

from __future__ import annotations

import functools
from collections.abc import Callable

from equipoise.perturb.candidate import Candidate
from equipoise.perturb.checks.trials import CAUGHT, least_kept
from equipoise.perturb.english.caption import Caption

Likelihood = Callable[[str], float]  # text -> sum of the log-probabilities of its tokens

_LOST = 0.1  # of the sensible words that lie below the threshold


class LikelihoodCheck:
    """Drops replace negatives that are far less likely than their caption."""

    def __init__(self, likelihood: Likelihood, name: str) -> None:
        self._likelihood = functools.lru_cache(maxsize=1024)(likelihood)  # the caption comes again with each candidate

        def complaint(others: int, caught: str) -> str:
            return (
                f"{name}: does not tell sense from nonsense: of {others} senseless words in plain captions only "
                f"{caught} are less likely than sensible ones, {CAUGHT:.0%} were expected. "
                "Is it a causal language model that reads English (Gemma-3-270M, for one)?"
            )

        self.least = least_kept("plausible", self._gain, _LOST, complaint)

    def __call__(self, caption: Caption, candidate: Candidate) -> str | None:
        if candidate.kind != "negative" or candidate.edit.op != "replace":
            return None
        found = self._gain(caption.text, candidate.text)
        if found >= self.least:
            return None
        return f"unlikely for the language model: {found:.1f} beside the caption, sensible words have {self.least:.1f}"

    def _gain(self, caption: str, text: str) -> float:
        return self._likelihood(text) - self._likelihood(caption)


@functools.cache
def likelihood_check(folder: str) -> LikelihoodCheck:
    """One a process; one thread and one text at a time, so that the last bits never depend on the company."""
    import torch

    from equipoise.perturb.bias.fluency import CausalLM

    torch.set_num_threads(1)
    model = CausalLM(folder, total=True)
    return LikelihoodCheck(lambda text: model([text])[0], folder)

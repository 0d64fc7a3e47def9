"""Checks of a model that only chooses between two texts, or whose every answer costs: few questions, asked once."""

from __future__ import annotations

from typing import Any

import numpy as np

from equipoise.core.plugins import own_code
from equipoise.evaluation.preflight import probes
from equipoise.evaluation.preflight.checks import Verdict, check
from equipoise.evaluation.record import Check

FEW = 6  # pictures of the probe set; two questions each


def of_chooser(model: Any, spec: str) -> list[Check]:
    """24 answers about pictures and 24 about a blank one, each pair of texts in both orders."""
    duels = _duels()
    before = dict(getattr(model, "counts", {}))
    model.counts = {}
    shares = np.array(_preferred(model, spec, [(picture, right, other) for picture, right, other in duels]))
    counts = dict(model.counts)
    blank = probes.blank()
    unseen = np.array(_preferred(model, spec, [(blank, right, other) for _, right, other in duels]))
    model.counts = before  # those of the run are counted from here
    return [
        *_position(shares, counts),
        _refusals(counts),
        *_outcomes(shares, unseen, "choices"),
    ]


def of_served(model: Any, spec: str) -> list[Check]:
    """The same questions, of a server that gives a probability: 24 answers and 12 about a blank picture."""
    duels = _duels()
    blank = probes.blank()
    pairs = [(picture, text) for picture, *texts in duels for text in texts]
    with own_code(spec, f"score_pairs failed for {len(pairs)} pairs"):
        scores = np.array(model.score_pairs([one for one, _ in pairs], [text for _, text in pairs])).reshape(-1, 2)
        texts = list(dict.fromkeys(text for _, text in pairs))
        empty = dict(zip(texts, model.score_pairs([blank] * len(texts), texts), strict=True))
    shares = (np.sign(scores[:, 0] - scores[:, 1]) + 1) / 2
    unseen = np.array([(np.sign(empty[right] - empty[other]) + 1) / 2 for _, right, other in duels])
    answers = scores.ravel()
    one = bool(np.ptp(answers) == 0)
    why = "A model that always answers the same says nothing about any item."
    found = f"{len(np.unique(answers))} different scores in {len(answers)} answers"
    fix = "Look at the answers: the prompt, the picture in the message, and which token's probability is read."
    constant = check("constant answers", len(np.unique(answers)), found, "wrong" if one else "fine", why, fix)
    return [constant, *_outcomes(shares, unseen, "orders")]


def _duels() -> list[tuple[Any, str, str]]:
    """A picture, its text, and the same with another colour or another thing."""
    found = []
    for picture, place in probes.probe_set()[:FEW]:
        for other in (place ^ 1, (place + 2) % len(probes.SHORT)):
            found.append((picture, probes.SHORT[place], probes.SHORT[other]))
    return found


def _preferred(model: Any, spec: str, duels: list[tuple[Any, str, str]]) -> list[float]:
    with own_code(spec, f"prefer failed for {len(duels)} choices"):
        images, right, other = (list(column) for column in zip(*duels, strict=True))
        return [float(share) for share in model.prefer(images, right, other)]


def _position(shares: Any, counts: dict[str, int]) -> list[Check]:
    duels = counts.get("duels", len(shares))
    by_order = counts.get("duels_by_position", int((shares == 0.5).sum())) / max(1, duels)
    clear = counts.get("choices", 0) - counts.get("choices_unclear", 0)
    first = counts.get("choices_first", 0) / clear if clear else 0.5
    verdict: Verdict = "wrong" if by_order > 0.9 else "suspicious" if by_order > 0.3 else "fine"
    found = (
        f"{100 * first:.0f}% of the choices went to the text that came first; the order decided {100 * by_order:.0f}%"
    )
    why = "A model that takes the first option, or the letter A, has not compared the texts. Its choices are ties here."
    fix = "Look at the prompt and at how the letter is read from the answer; ask both orders, as equipoise does."
    return [check("position bias", by_order, found, verdict, why, fix)]


def _refusals(counts: dict[str, int]) -> Check:
    share = counts.get("choices_unclear", 0) / max(1, counts.get("choices", 1))
    verdict: Verdict = "wrong" if share > 0.5 else "suspicious" if share > 0.1 else "fine"
    why = "An answer that is no choice counts as a tie, and a tie is never a win."
    fix = "Ask for the letter alone, allow a few more tokens, and check that the picture is accepted."
    return check("refusals", share, f"{100 * share:.0f}% of the answers are no choice", verdict, why, fix)


def _outcomes(shares: Any, unseen: Any, what: str) -> list[Check]:
    """Right, upside down, and how much of it without the photo."""
    right, wrong, n = int((shares > 0.5).sum()), int((shares < 0.5).sum()), len(shares)
    probe = check(
        "probe set",
        right,
        f"{right} of {n} easy {what} are right (chance {n // 2})",
        "fine" if right > 0.75 * n else "suspicious",
        "At chance on drawn things in red and blue, a model says nothing about harder pictures.",
        "Look at one question and its answer: does the picture arrive whole, and is the answer read as it is meant?",
    )
    sign = check(
        "sign",
        wrong,
        f"{wrong} of {n} easy {what} are the wrong way round",
        "wrong" if wrong > 0.8 * n else "fine",
        "A swapped letter, or the probability of 'no', ranks every item upside down.",
        "Check which letter, word or logit stands for the text that was asked about.",
    )
    same = (
        float((np.sign(shares - 0.5) == np.sign(unseen - 0.5))[shares != 0.5].mean()) if (shares != 0.5).any() else 1.0
    )
    knows = right > 0.75 * n
    blind = check(
        "blind",
        same,
        f"with a blank photo {100 * same:.0f}% of the {what} stay the same",
        "suspicious" if same > 0.9 and knows else "wrong" if same == 1 and wrong + right == n else "fine",
        "Where a blank photo gives the same answers, the numbers are about the texts.",
        "Check that the picture reaches the model: the image in the message, its size, its encoding.",
    )
    return [probe, sign, blind]

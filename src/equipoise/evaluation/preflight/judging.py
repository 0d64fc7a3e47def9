"""Runs all checks; defines those of scores and weights: is the model above chance on the probe set, and if not, why?

The checks are made once. The second time they are read from the cache folder, and the model gives only a few answers,
to see that it is still the same.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import BaseModel, ValidationError

from equipoise.core.errors import UserError
from equipoise.core.files import atomic_write, sha256_json
from equipoise.core.garbage import known_objects
from equipoise.core.plugins import own_code
from equipoise.core.run_folder import UNKNOWN
from equipoise.data import identity
from equipoise.data.items import ImageRef, Item, texts
from equipoise.embedding.cache import Vector
from equipoise.embedding.embed import unit
from equipoise.evaluation.answers import Answer
from equipoise.evaluation.asking.live import read
from equipoise.evaluation.asking.variants import Ask, questions
from equipoise.evaluation.preflight import probes
from equipoise.evaluation.preflight.checks import BASIC, READING, CheckVerdict, check, pixels_seen, run
from equipoise.evaluation.preflight.tested_model import HARMFUL, TestedModel, drift, other_activation
from equipoise.evaluation.record import Check, Preflight
from equipoise.models import OF_PHOTOS
from equipoise.models.base import Answerer, PairScorer, device_of, keep_answers, kind_of, reads_images

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from PIL import Image

COLOURS, KINDS = len(probes.COLOURS), len(probes.KINDS)
WORKING = 0.8  # of the things, and of the colours, are right
SENTENCE = "there is no dog, but 2 cats' toys"
OTHER_RESIZE = 0.15  # drift; another filter has 0.11 at 48 pixels
LARGEST = 10**9  # weights: a larger network is not loaded a second time


class _Kept(BaseModel):
    answers: list[Any]  # of `identity.answers`: pictures, texts; or the scores of pairs
    checks: list[Check]


def checked(model: object, spec: str, folder: Path | None) -> Preflight | None:
    """The checks, from `folder` where the model was checked before; None where none applies."""
    if kind_of(model) == "taught" or not reads_images(model):
        return None
    keep_answers(model, folder)
    # Each answer of a server costs, and its digest knows no weights: what it says is believed.
    answers = None if device_of(model) == "server" else identity.answers(model)
    card = dict(identity.card_now(model))
    if not (card.get("weight_sha256") or card.get("digest")):
        card["digest"] = identity.or_unknown(lambda: identity.of_own(model, answers or []))
        card |= {"state": card["digest"]} if card["digest"].startswith(UNKNOWN) else {}
    about = identity.of_card(card)
    if folder is None or about is None:
        return Preflight(checks=preflight(model, spec))
    code = identity.of_code("evaluation/preflight", "embedding", "world")
    path = folder / "preflight" / f"{sha256_json([about, str(getattr(model, 'device', '')), code])}.json"
    now = [array.tolist() for array in answers or []]
    kept = _read(path)
    other = None if kept is None else _drift(kept.answers, now)
    if kept is not None and other is not None and other <= HARMFUL:
        return Preflight(checks=kept.checks)
    checks = preflight(model, spec)
    if other is not None and not any(check.name == "determinism" and check.verdict == "wrong" for check in checks):
        words = f"a model with this very card was checked before and gave other answers: drift {other:.2g}"
        return Preflight(checks=[*checks, check("identity", other, words, "wrong")])
    with atomic_write(path) as handle:
        handle.write(_Kept(answers=now, checks=checks).model_dump_json())
    return Preflight(checks=checks)


def preflight(model: Any, spec: str) -> list[Check]:
    """The checks that apply."""
    if kind_of(model) == "answers":
        return of_answers(model, spec)
    return of_served(model, spec) if device_of(model) == "server" else all_checks(model, spec)


def _drift(before: list[object], now: list[object]) -> float:
    try:
        pairs = [np.array([first, second], np.float32) for first, second in zip(before, now, strict=True)]
    except ValueError:  # of another width
        return 1.0
    finite = [np.isfinite(pair) for pair in pairs]  # JSON keeps NaN and infinity as null
    if any((first != second).any() for first, second in finite):
        return 1.0
    same = [np.where(mask, pair, 0) for mask, pair in zip(finite, pairs, strict=True)]
    return max((drift(np.atleast_2d(first), np.atleast_2d(second)) for first, second in same), default=0.0)


def _read(path: Path) -> _Kept | None:
    try:
        return _Kept.model_validate_json(path.read_bytes())
    except (OSError, ValidationError):
        return None


def _kinds(scores: Vector, right: list[int]) -> int:
    """In how many pictures the thing is named, one of five; each picture's scores and each text's count from their
    mean, so that a text that all pictures like decides nothing."""
    level = scores - scores.mean(0) - scores.mean(1, keepdims=True)
    return int((level.reshape(-1, KINDS, COLOURS).mean(2).argmax(1) == np.array(right) // COLOURS).sum())


def _colours(scores: Vector, right: list[int]) -> int:
    level = (scores - scores.mean(0)).reshape(-1, KINDS, COLOURS)
    rows = np.arange(len(right))
    return int((level[rows, np.array(right) // COLOURS].argmax(1) == np.array(right) % COLOURS).sum())


def _probe_set(tested: TestedModel) -> Check:
    """Pictures of one thing stand or fall together: chance is what the things' names in other orders get. A model whose
    pictures of one thing lie together sees; one that then knows neither thing nor colour has no link to its texts. A
    random network, and one that never saw such pictures, does not see."""
    scores, right = tested.probe_scores
    count, n = _kinds(scores, right), len(right)
    found = f"{count} of {n} drawn things named, each one of {KINDS} (chance {n // KINDS})"
    guess = _by_chance(scores, right)
    colour_guess = _colours(scores, right) <= n / 2 + n**0.5  # two standard errors
    if tested.encodes and guess > 0.05 and colour_guess and (seen := _alike(tested, right)) >= WORKING * n:
        found += f", as with their names in another order (p = {guess:.2g}), though {seen} look like their kind"
        return check("probe set", count, found, "wrong", "unlinked towers")
    return check("probe set", count, found, "fine" if count >= WORKING * n else "suspicious")


def _by_chance(scores: Vector, right: list[int]) -> float:
    """The share of all orders of the things' names that fit the pictures at least as well as the right one."""
    level = (scores - scores.mean(0) - scores.mean(1, keepdims=True)).reshape(-1, KINDS, COLOURS).mean(2)
    kinds = np.array(right) // COLOURS
    fit = np.stack([level[kinds == kind].mean(0) for kind in range(KINDS)])
    orders = list(itertools.permutations(range(KINDS)))  # the first is the right one
    totals = np.array([fit[range(KINDS), order].sum() for order in orders])
    return float((totals >= totals[0] - 1e-9).mean())


def _alike(tested: TestedModel, right: list[int]) -> int:
    """In how many pictures the thing is the one whose pictures in other places are nearest on average."""
    rows = tested.rows_of_pictures([picture for picture, _ in probes.probe_set()])
    rows, kinds = rows - rows.mean(0), np.array(right) // COLOURS
    place = np.arange(len(rows)) // len(probes.SHORT)
    near = (rows @ rows.T) * (place[:, None] != place)
    return int((np.stack([near[:, kinds == kind].sum(1) for kind in range(KINDS)]).argmax(0) == kinds).sum())


def _sign(tested: TestedModel) -> Check:
    scores, right = tested.probe_scores
    count, n = _kinds(-scores, right), len(right)
    verdict: CheckVerdict = "wrong" if count >= 0.8 * n else "fine"  # a guesser gets as many in 1 of 150 tries
    found = f"the right thing has the lowest score in {count} of {n} pictures (chance {n // KINDS})"
    return check("sign", count, found, verdict)


def _channels(tested: TestedModel) -> Check | None:
    """Meant for a model that knows the things: of another one the colours say nothing."""
    scores, right = tested.probe_scores
    n = len(right)
    if _kinds(scores, right) <= 0.6 * n:
        return None
    count = _colours(scores, right)
    found = f"red and blue distinguished in {count} of {n} pictures (chance {n // 2})"
    text = "channels" if count <= n / 2 - n**0.5 else "colours"
    return check("channels", count, found, "fine" if count >= WORKING * n else "suspicious", text)


def _lengths(tested: TestedModel) -> Check | None:
    """`eval` computes cosines whatever a model returns. A dot product of raw rows, as other code has it, may differ."""
    if not tested.encodes:
        return None
    scores, _ = tested.probe_scores
    lengths = np.array([tested.text_norms[text] for text in probes.SHORT], np.float32)
    left, right = np.triu_indices(scores.shape[1], 1)
    raw = scores * lengths
    changed = int(((scores[:, left] > scores[:, right]) != (raw[:, left] > raw[:, right])).sum())
    total = scores.shape[0] * scores.shape[1] * (scores.shape[1] - 1) // 2
    found = (
        f"embeddings of texts are {lengths.min():.3g} to {lengths.max():.3g} long; without normalisation {changed} of "
    )
    found += f"{total} pairs of texts change places"
    return check("normalisation", changed, found, "suspicious" if changed > total / 100 else "fine")


def _precision(tested: TestedModel) -> Check:
    """Ties between different texts, which float32 does not have, and what rounding to bfloat16 would do."""
    scores, _ = tested.probe_scores
    left, right = np.triu_indices(scores.shape[1], 1)
    ties, total = int((scores[:, left] == scores[:, right]).sum()), len(scores) * len(left)
    half = sorted(tested.network.pictures.half | tested.network.texts.half)
    found = f"{ties} of {total} pairs of different texts tie; computed in {' and '.join(half) or 'float32'}"
    rounded = _bfloat16(scores)
    lost = int((rounded[:, left] == rounded[:, right]).sum())
    found += f" (scores rounded to bfloat16 would tie in {lost})"
    verdict: CheckVerdict = "wrong" if ties > total / 100 else "suspicious" if ties or half else "fine"
    return check("precision", ties, found, verdict)


def _bfloat16(values: Vector) -> Vector:
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) & np.uint32(0xFFFF0000)).view(np.float32)


def _activation(tested: TestedModel) -> Check | None:
    """Compares the activation that runs with the configuration's, and tries the other one."""
    if "torch" not in sys.modules:
        return None
    seen = set.union(*(tower.activations for tower in tested.network))
    stated = set.union(*(tower.stated for tower in tested.network))
    if not seen:
        return None
    scores, right = tested.probe_scores
    few = slice(0, 10) if tested.encodes else slice(0, 4)
    pictures = [picture for picture, _ in probes.probe_set()[few]]
    with other_activation():
        other = tested.scores(pictures, probes.SHORT)
    ours = scores[few]
    changed = int((ours.argmax(1) != other.argmax(1)).sum())
    better = _margin(other, right[few]) - _margin(ours, right[few])
    gain = float(better.mean() / (better.std() / np.sqrt(len(better)) + 1e-9))
    mixed = len(seen) == 1 and bool(stated) and not (stated & seen)
    found = f"{' and '.join(sorted(seen))}; with the other one {changed} of {len(ours)} first choices change"
    verdict: CheckVerdict = "fine"
    if mixed or (len(stated) > 1 and len(seen) == 1):
        verdict, found = "wrong", f"{found}; the configuration says {' and '.join(sorted(stated))}"
    elif gain > 3 and better.mean() > 0.1:
        verdict, found = "suspicious", f"{found}, and the right text stands out more (t = {gain:.1f})"
    return check("activation", changed, found, verdict)


def _margin(scores: Vector, right: list[int]) -> Vector:
    """How far the right text stands above the others, in units of the spread of all scores."""
    rows = np.arange(len(right))
    mine = scores[rows, right]
    others = (scores.sum(1) - mine) / (scores.shape[1] - 1)
    return np.asarray((mine - others) / max(1e-9, float(scores.std())), np.float32)


def _blind(tested: TestedModel) -> Check | None:
    """How often a pair scorer keeps the order of two texts with a blank photo."""
    if tested.encodes:
        return None
    scores, right = tested.probe_scores
    left, other = np.triu_indices(scores.shape[1], 1)
    blank = tested.scores([probes.blank()], probes.SHORT)
    same = float(((scores[:, left] > scores[:, other]) == (blank[:, left] > blank[:, other])).mean())
    knows = _by_chance(scores, right) <= 0.05
    found = f"with a blank photo {100 * same:.0f}% of the orders of two texts stay the same"
    return check("blind", same, found, "suspicious" if same > 0.9 and knows else "fine")


def _untrained(tested: TestedModel) -> Check | None:
    """Training changes every layer norm. Of weights that were never loaded they are still ones and zeros; where all
    are, the whole model is random, and the probe set shows it."""
    norms = tested.network.pictures.norms | tested.network.texts.norms
    if not norms or all(norms.values()):
        return None
    many = sum(norms.values())
    found = f"{many} of {len(norms)} layer norms are as they were initialised"
    return check("loaded weights", many, found, "suspicious" if many else "fine")


def _reference(tested: TestedModel) -> Check | None:
    """A network of transformers knows the folder that it came from. The folder as equipoise loads it must answer the
    same; a template, an adapter or training in memory may be the reason where it does not."""
    if not tested.encodes or tested.kind_of_spec in OF_PHOTOS or (folder := _folder(tested)) is None:
        return None
    from equipoise.models.hf import load_folder

    try:
        other = load_folder(folder, spec=f"hf:{folder}", device="cpu")
    except UserError:  # of a family that hf: does not load
        return None
    texts = [*probes.SHORT[::3], *probes.WORDS[-12:], probes.endings(8)[0], probes.SAME_WORDS[0][0], SENTENCE]
    pictures = [picture for picture, _ in probes.probe_set()[::13]]
    moved = {
        "texts": _away(other.embed_texts(texts), tested.rows_of_texts(texts)),
        "pictures": _away(other.embed_images(pictures), tested.rows_of_pictures(pictures)),
    }
    pixels = tested.network.pictures.pixels  # a model may look at several views of a picture
    if [picture.shape[::2] for picture in pixels] == [(1, other.preprocess.image_size[0])] * len(tested.watched_rows):
        moved["the same pixels"] = _away(other.encode_images(np.concatenate(pixels)), tested.watched_rows)
    parts = ", ".join(f"{name} drift {value:.2g}" for name, value in moved.items())
    bad = moved.pop("pictures") > OTHER_RESIZE or max(moved.values()) > HARMFUL
    found = f"against hf:{folder}, which the network came from: {parts}"
    return check("reference", max(moved.values()), found, "suspicious" if bad else "fine")


def _away(reference: Vector, rows: Vector) -> float:
    if len(reference[0]) != rows.shape[1]:
        return 1.0  # of another width
    return drift(unit(reference, len(rows), ""), rows)


def _folder(tested: TestedModel) -> Path | None:
    """Where the network that ran was loaded from, if that is on this machine."""
    if "transformers" not in sys.modules:
        return None
    from transformers import PreTrainedModel

    from equipoise.models.hf import local_folder

    ran = tested.network.pictures.ran | tested.network.texts.ran
    kinds = set(_subclasses(PreTrainedModel))
    objects = known_objects()  # a million: `compress` looks their types up without a loop in Python
    for network in itertools.compress(objects, map(kinds.__contains__, map(type, objects))):
        name = getattr(network.config, "_name_or_path", "")
        if name and network.num_parameters() <= LARGEST and any(id(module) in ran for module in network.modules()):
            try:
                return local_folder(str(name))
            except Exception:  # no name that the hub's client accepts
                return None
    return None


def _subclasses(kind: type[object]) -> Iterator[type[object]]:
    yield kind
    for subclass in kind.__subclasses__():
        yield from _subclasses(subclass)


JUDGING = (_probe_set, _sign, _channels, _lengths, _precision, _activation, _blind, _untrained, _reference)


def all_checks(model: object, spec: str) -> list[Check]:
    """The checks that apply. Where a basic one is wrong, those after it would mean nothing and are left out. The
    pixel check still runs, since it may explain the failure."""
    tested = TestedModel(model, spec)
    done = run(BASIC, tested, stop=True)
    if done[-1].verdict != "wrong":
        return done + run([*READING, *JUDGING], tested)
    reason = [] if done[-1].name == "shape" else run([pixels_seen], tested)
    return [*(check for check in reason if check.verdict == "wrong"), *done]


# Of a model that answers, or whose every answer costs: few questions, asked once.

FEW = 6  # pictures of the probe set; two questions each
REQUESTS = 12  # of the check of a model that answers


def of_answers(model: Answerer, spec: str) -> list[Check]:
    """Eight answers about four pictures, in both orders of the options, and four about a blank picture."""
    asked = []
    for number, (picture, right, other) in enumerate(_duels()[: REQUESTS // 3]):
        item = Item(id=str(number), image=ImageRef(path="-"), caption=right, negatives=texts(other))
        asked += [(picture, question) for question in questions(item, Ask(wordings=False))]
        asked.append((probes.blank(), asked[-2][1]))
    with own_code(spec, f"answer failed for {len(asked)} questions"):
        said = model.answer([picture for picture, _ in asked], [question.prompt for _, question in asked])
    answers = [read(question, text) for (_, question), text in zip(asked, said, strict=True)]
    seen, blank = [answers[at : at + 2] for at in range(0, len(answers), 3)], answers[2::3]
    clear = [answer for answer in answers if answer.choice is not None]
    unclear = 1 - len(clear) / len(answers)
    refused: CheckVerdict = "wrong" if unclear > 0.5 else "suspicious" if unclear > 0.1 else "fine"
    orders = [answer.choice != other.choice for answer, other in seen if answer.choice and other.choice]
    by_order = sum(orders) / max(1, len(orders))
    first = sum(answer.place == 0 for answer in clear) / max(1, len(clear))
    found = f"{100 * first:.0f}% of the answers name the first option; the order decides {100 * by_order:.0f}%"
    biased: CheckVerdict = "suspicious" if by_order > 0.3 else "fine"  # what a run then measures, no fault of a loader
    shares = np.array([(_share(answer) + _share(other)) / 2 for answer, other in seen])
    unseen = np.array([_share(answer) for answer in blank])
    return [
        check("position bias", by_order, found, biased),
        check("refusals", unclear, f"{100 * unclear:.0f}% of the answers name no option", refused),
        *_outcomes(shares, unseen, "choices"),
    ]


def _share(answer: Answer) -> float:
    return 0.5 if answer.choice is None else float(bool(answer.right))


def of_served(model: PairScorer, spec: str) -> list[Check]:
    """Asks a server that gives a probability the same questions: 24 answers and 12 about a blank picture."""
    duels = _duels()
    blank = probes.blank()
    pairs = [(picture, text) for picture, *texts in duels for text in texts]
    with own_code(spec, f"score_pairs failed for {len(pairs)} pairs"):
        scores = np.array(model.score_pairs([picture for picture, _ in pairs], [text for _, text in pairs])).reshape(
            -1, 2
        )
        texts = list(dict.fromkeys(text for _, text in pairs))
        empty = dict(zip(texts, model.score_pairs([blank] * len(texts), texts), strict=True))
    shares = (np.sign(scores[:, 0] - scores[:, 1]) + 1) / 2
    unseen = np.array([(np.sign(empty[right] - empty[other]) + 1) / 2 for _, right, other in duels])
    answers = scores.ravel()
    alike = bool(np.ptp(answers) == 0)
    found = f"{len(np.unique(answers))} different scores in {len(answers)} answers"
    constant = check("constant answers", len(np.unique(answers)), found, "wrong" if alike else "fine")
    return [constant, *_outcomes(shares, unseen, "orders")]


def _duels() -> list[tuple[Image.Image, str, str]]:
    """A picture, its text, and the same with another colour or another thing."""
    duels = []
    for picture, place in probes.probe_set()[:FEW]:
        for other in (place ^ 1, (place + 2) % len(probes.SHORT)):
            duels.append((picture, probes.SHORT[place], probes.SHORT[other]))
    return duels


def _outcomes(shares: NDArray[np.float64], unseen: NDArray[np.float64], what: str) -> list[Check]:
    """Accuracy, inverted sign, agreement with a blank photo."""
    right, wrong, n = int((shares > 0.5).sum()), int((shares < 0.5).sum()), len(shares)
    knows, clear = right > 0.75 * n, shares != 0.5
    same = float((np.sign(shares - 0.5) == np.sign(unseen - 0.5))[clear].mean()) if clear.any() else 1.0
    blind: CheckVerdict = (
        "suspicious" if same > 0.9 and knows else "wrong" if same == 1 and wrong + right == n else "fine"
    )
    found = f"{right} of {n} easy {what} are right (chance {n // 2})"
    turned = f"{wrong} of {n} easy {what} are the wrong way round"
    stay = f"with a blank photo {100 * same:.0f}% of the {what} stay the same"
    return [
        check("probe set", right, found, "fine" if knows else "suspicious", "probe set, chosen"),
        check("sign", wrong, turned, "wrong" if wrong > 0.8 * n else "fine", "sign, chosen"),
        check("blind", same, stay, blind, "blind, chosen"),
    ]

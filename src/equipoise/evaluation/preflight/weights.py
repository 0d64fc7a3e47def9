"""Checks of a torch network's weights: were all of them loaded, and does the folder they came from answer the same?"""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from equipoise.core.errors import UserError
from equipoise.embedding.cache import Vector
from equipoise.embedding.embed import unit
from equipoise.evaluation.preflight import probes
from equipoise.evaluation.preflight.checks import check
from equipoise.evaluation.preflight.distances import HARMFUL, drift
from equipoise.evaluation.preflight.tested_model import TestedModel
from equipoise.evaluation.record import Check
from equipoise.models import OF_PHOTOS

SENTENCE = "there is no dog, but 2 cats' toys"
OTHER_RESIZE = 0.15  # drift; another filter has 0.11 at 48 pixels
LARGEST = 10**9  # weights: a larger network is not loaded a second time


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
    if [one.shape[::2] for one in pixels] == [(1, other.preprocess.image_size[0])] * len(tested.watched_rows):
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
    kinds = set(_subclasses(PreTrainedModel))  # a million objects: looking their types up is five times as fast
    for network in [one for one in gc.get_objects() if type(one) in kinds]:
        name = getattr(network.config, "_name_or_path", "")
        if name and network.num_parameters() <= LARGEST and any(id(module) in ran for module in network.modules()):
            try:
                return local_folder(str(name))
            except Exception:  # no name that the hub's client accepts
                return None
    return None


def _subclasses(kind: type[object]) -> Iterator[type[Any]]:
    yield kind
    for one in kind.__subclasses__():
        yield from _subclasses(one)


WEIGHTS = (_untrained, _reference)

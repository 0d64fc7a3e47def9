"""Recall on the split's photos, and agreement with the experts who judged caption-photo pairs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.evaluation.sets.ratings import spearman
from studies.coco.scores import numbers


def ranks(images: NDArray[Any], captions: NDArray[Any], order: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """How many photos score as high as each caption's own or higher, and how many others' captions as high as the best
    of each photo's own: a tie counts against the model. captions[i] belongs to images[order[i]]."""
    scores = captions @ images.T
    own = scores[np.arange(len(order)), order]
    best = np.full(len(images), -np.inf)
    np.maximum.at(best, order, own)
    others = scores.T.copy()
    others[order, np.arange(len(order))] = -np.inf
    return (scores >= own[:, None]).sum(1) - 1, (others >= best[:, None]).sum(1)


def recalls(images: NDArray[Any], captions: NDArray[Any], order: NDArray[Any]) -> dict[str, float]:
    """Recall@1, 5, 10 both ways, in percent."""
    found = zip(("t2i", "i2t"), ranks(images, captions, order), strict=True)
    return {f"{way}@{k}": 100 * float((rank < k).mean()) for way, rank in found for k in (1, 5, 10)}


def outcomes(
    c: NDArray[Any], p: NDArray[Any], n: NDArray[Any]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.bool_]]:
    """Original, Augmented, Brittle of scores of captions, positives and negatives, as `outcomes_of` has
    them of one positive and one negative; a tie is never a win."""
    return c > n, (c > n) & (p > n), ((c > n) & (p < n)) | ((c < n) & (p > n))


def tidy(text: str) -> str:
    """As a person would write it: some captions have a space before every full stop."""
    return text.strip().replace(" .", ".").replace(" ,", ",").replace(" 's", "'s")


def rated_photos(photos: str) -> set[str]:
    path = Path(photos) / "ExpertAnnotations.txt"
    return {line.split("\t")[0] for line in path.read_text().splitlines()} if path.exists() else set()


def experts(
    images: Mapping[str, NDArray[Any]], embed: Callable[[list[str]], NDArray[Any]], photos: str
) -> tuple[dict[str, float], dict[str, NDArray[Any]]]:
    """Spearman's correlation (in percent) of the score with the mean of three ratings, over the pairs whose photo is
    here; and the pairs themselves."""
    path = Path(photos) / "ExpertAnnotations.txt"
    if not path.exists():
        return {}, {}
    captions = dict(line.split("\t") for line in (Path(photos) / "captions.tsv").read_text().splitlines())
    rows = [line.split("\t") for line in path.read_text().splitlines()]
    rows = [row for row in rows if row[0] in images and row[1] in captions]
    if not rows:  # the experts judged test photos only
        return {"experts": float("nan"), "experts/n": 0}, {}
    vectors = embed([tidy(captions[row[1]]) for row in rows])
    scores = (vectors * np.stack([images[row[0]] for row in rows])).sum(1)
    ratings = np.array([[float(value) for value in row[2:5]] for row in rows]).mean(1)
    rho = spearman(scores.astype(np.float64), ratings, np.ones((1, len(rows))))
    kept = {"experts/photo": numbers([row[0] for row in rows], list(images)), "experts/scores": scores}
    return {"experts": 100 * float(rho[0]), "experts/n": len(rows)}, kept | {"experts/ratings": ratings}

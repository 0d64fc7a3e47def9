"""How far a model's answers to the same inputs lie apart."""

from __future__ import annotations

import numpy as np

from equipoise.embedding.cache import Vector

HARMFUL = 0.02  # drift; the world model in bfloat16 has 0.005


def drift(before: Vector, after: Vector) -> float:
    """How far the rows of the same inputs move, as a share of the median distance of different inputs: so one limit
    serves every model, however far apart its embeddings lie."""
    return float(np.linalg.norm(before - after, axis=1).max()) / scale(before)


def scale(rows: Vector) -> float:
    """The median distance of different rows. Where all are one, distances count as they are."""
    median = float(np.median(distances(rows)[np.triu_indices(len(rows), 1)])) if len(rows) > 1 else 0.0
    return median if median > 1e-9 else 1.0


def distances(rows: Vector) -> Vector:
    return np.asarray(np.linalg.norm(rows[:, None] - rows[None], axis=2), dtype=np.float32)

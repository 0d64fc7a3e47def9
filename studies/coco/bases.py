"""The settings of a base, a dual encoder before finetuning, and the number by which the best on dev is chosen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

RECALLS = tuple(f"{way}@{top}" for way in ("t2i", "i2t") for top in (1, 5, 10))


@dataclass(frozen=True)
class Base:
    name: str
    tower: str  # "scratch", or "minilm": all-MiniLM-L6-v2 to begin with
    embedding: int = 256
    parts: int = 3  # parts of each training photo that are shown beside the whole (views.py); 0: the whole alone
    photos: int = 512  # of a step
    captions: int = 2  # of each of them, all of them right for it
    epochs: int = 8  # one is five captions of every photo
    text_rate: float = 6e-4
    head_rate: float = 5e-4
    layer_decay: float = 0.85  # of the rate, from each layer of the text tower to the one below it
    weight_decay: float = 0.05
    smoothing: float = 0.05  # of the labels
    hidden: float = 0.1  # share of the words that are hidden in training
    dropout: float = 0.1  # of a text tower from scratch
    scale: float = 20.0  # on the cosine, at first; learnt at ten times the heads' rate
    average: float = 0.98  # of the weights, from step to step; the average is what is judged and kept
    seed: int = 0  # of what is new in the base, and of the order of its training
    begin: str = ""  # the base whose weights it begins with
    teachers: tuple[str, ...] = ()  # bases whose mean preferences it learns beside the labels
    taught: float = 0.0  # their share of the loss


MINILM = Base("m", "minilm")
SCRATCH = Base("s", "scratch", text_rate=1e-3, layer_decay=1.0, hidden=0.0, epochs=6)


def named(letter: str, seed: int) -> str:
    return f"{letter}.{seed}" if seed else letter


def score(recalls: Mapping[str, float]) -> float:
    return sum(recalls[name] for name in RECALLS) / len(RECALLS)

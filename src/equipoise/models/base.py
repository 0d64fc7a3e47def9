"""The protocols of models: which methods a model must have.

An object in a notebook needs two methods (`Embedder`) or one (`PairScorer`). A model that also offers its parts
(`TokenEmbedder`) is scored faster, and its embeddings do not depend on the rest of the batch. Nothing has to inherit
from these protocols; `kind_of` decides which one a model follows.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias, runtime_checkable
from urllib.parse import parse_qsl

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from equipoise.core.errors import UserError, did_you_mean
from equipoise.data.items import Item

Floats: TypeAlias = NDArray[np.float32]
MOST_TOKENS = 64  # of an answer
QUESTION = 'Does this figure show "{}"? Please answer yes or no.'  # VQAScore's own
DEVICES = ("auto", "cpu", "cuda", "mps", "xpu")


@runtime_checkable
class Embedder(Protocol):
    """A dual encoder: an image and a text are scored by the cosine of their embeddings, one row each."""

    def embed_images(self, images: Sequence[Image.Image]) -> NDArray[np.generic]: ...

    def embed_texts(self, texts: Sequence[str]) -> NDArray[np.generic]: ...


@runtime_checkable
class PairScorer(Protocol):
    """A model that reads image and text together (a matching head, a generative model): one score for each pair.

    Optional attributes:
    `card`, a dict: if it has "weight_sha256" or "digest", scores are cached under the whole card.
    `reads_images = False`: it scores texts alone. No image is opened, `images` is empty, each text is scored once.
    `tokenize`, `truncate`, `context_length` (as in `TokenEmbedder`): texts of the same tokens are one text and tie
    exactly, and a batch holds texts of similar length and always has `batch_size` rows.
    `default_batch`: pairs at a time if the caller does not say. `device`.
    """

    def score_pairs(self, images: Sequence[Image.Image], texts: Sequence[str]) -> NDArray[np.generic]: ...


@runtime_checkable
class TokenEmbedder(Protocol):
    """A dual encoder by its parts: images are decoded while it works, equal token sequences are embedded once, and
    batches are padded so that no embedding depends on its neighbours."""

    card: dict[str, Any]  # its identity, by which embeddings are cached
    device: Any
    context_length: int  # tokens
    causal_text: bool  # nothing after a text's end can change its embedding, so padding may be short

    def preprocess(self, image: Image.Image, /) -> Floats: ...

    def encode_images(self, pixels: NDArray[Any]) -> NDArray[np.generic]: ...

    def tokenize(self, texts: Sequence[str]) -> list[list[int]]: ...

    def truncate(self, ids: Sequence[int]) -> list[int]: ...

    def encode_texts(self, ids: Sequence[Sequence[int]], pad_to: int | None = None) -> NDArray[np.generic]: ...


@runtime_checkable
class TaughtScorer(Protocol):
    """A blind baseline that learns from the items themselves: the scores of each item's texts, caption first."""

    reads_images: bool  # False

    def score_taught(self, items: Sequence[Item]) -> list[list[float]]: ...


@runtime_checkable
class Answerer(Protocol):
    """A model that answers questions about images in words: one text for each prompt, None if it refused.

    `images` has one image for each prompt, or a list of images if a question is about several.
    Optional attributes: `card` (as in `PairScorer`; answers are kept under it) and `concurrency`: the number of threads
    that ask it, one question at a time.
    """

    def answer(self, images: Sequence[Any], prompts: Sequence[str]) -> Sequence[str | None]: ...


Model: TypeAlias = Embedder | PairScorer | TaughtScorer | Answerer
Kind = Literal["pairs", "tokens", "embeds", "taught", "answers"]


NEEDS_NEGATIVES: tuple[Kind, ...] = ("taught", "answers")  # no score for a text by itself


def kind_of(model: object, answers: bool = False) -> Kind:
    """The protocol by which a model is scored; a model with a matching head scores pairs, whatever else it can do.
    With `answers`, a model that may also give scores is asked for answers."""
    if answers and isinstance(model, Answerer):
        return "answers"
    if answers:
        raise UserError(f"--ask: {type(model).__name__} gives scores, not answers; leave out --ask")
    if isinstance(model, PairScorer):
        return "pairs"
    if isinstance(model, Embedder):
        return "tokens" if isinstance(model, TokenEmbedder) else "embeds"
    if isinstance(model, TaughtScorer):
        return "taught"
    if isinstance(model, Answerer):
        return "answers"
    raise UserError(
        f"{type(model).__name__} is not a model: it has neither embed_images and embed_texts, nor score_pairs, nor "
        "answer"
    )


def reads_images(model: object) -> bool:
    """Whether images must be opened for a score; a pair scorer may say that it reads texts alone."""
    return bool(getattr(model, "reads_images", True))


def tells_tokens(model: object) -> bool:
    """Whether a pair scorer shows its tokens."""
    return all(hasattr(model, name) for name in ("tokenize", "truncate", "context_length"))


def device_of(model: object) -> str:
    """The device of a model; "server" is another machine."""
    return str(getattr(model, "device", "cpu"))


def keep_answers(model: object, folder: Path | None) -> None:
    """Keep a server's answers in a folder, each at once."""
    if folder is not None and hasattr(model, "keep_in"):
        model.keep_in(folder)


def spec_of(model: object) -> str:
    """The spec that a model's card states, else the name of its class."""
    return str((getattr(model, "card", None) or {}).get("spec", type(model).__name__))


def split_options(rest: str, spec: str, known: Mapping[str, Sequence[str]]) -> tuple[str, dict[str, str]]:
    """NAME?option=value&... -> the name and its options. `known` has the allowed values of each option; none: any."""
    name, _, query = rest.partition("?")
    pairs = parse_qsl(query, keep_blank_values=True)
    options = dict(pairs)
    for option, value in options.items():
        if [name for name, _ in pairs].count(option) > 1:
            raise UserError(f"{spec}: {option} is given more than once; which one is meant?")
        if option not in known:
            raise UserError(f"{spec}: no option {option!r} ({', '.join(known)}).{did_you_mean(option, known)}")
        if known[option] and value not in known[option]:
            raise UserError(f"{spec}: {option}={value} is not known; use {' or '.join(known[option])}")
    return name, options


def device_named(device: str) -> str:
    """torch's name of the device; one that this machine cannot have is refused without loading torch."""
    kind, colon, index = device.partition(":")
    kind = "cuda" if kind == "gpu" else kind
    if kind not in DEVICES:
        raise UserError(f"--device {device} is not known; use auto, cpu, cuda or mps")
    if (
        kind == "cuda"
        and sys.platform == "linux"
        and not any(file for pattern in _GPUS for file in Path("/").glob(pattern))
    ):
        raise UserError(f"--device {device}: this machine has no GPU; use --device cpu")
    if kind == "mps" and sys.platform != "darwin":
        raise UserError(f"--device {device}: only a Mac has it; use --device cpu")
    return kind + colon + index


_GPUS = ("dev/nvidia[0-9c]*", "dev/nvmap", "dev/kfd", "dev/dxg")  # NVIDIA, Jetson, AMD, Windows' Linux

"""Dual encoders of transformers and converted checkpoints as models, and the base class of our torch models."""

from __future__ import annotations

import contextlib
import copy
import functools
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np
import torch
from PIL import Image

from equipoise.core.errors import UserError, first_line
from equipoise.core.files import as_new, write_json
from equipoise.core.run_folder import UNKNOWN
from equipoise.data import identity
from equipoise.data.identity import or_unknown
from equipoise.data.objects import of_object
from equipoise.models.base import Floats, device_named
from equipoise.models.families import config_sha256, family_of, read_texts, text_positions, weight_sha256
from equipoise.models.inputs import (
    CLEANERS,
    Preprocess,
    check_tokenizer,
    cleaning_for,
    end_token,
    token_ids,
    tokenizer_sha256,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from open_clip.tokenizer import HFTokenizer
    from transformers import PretrainedConfig, PreTrainedModel, PreTrainedTokenizerBase


DTYPES = {
    "float32": torch.float32,
    "tf32": torch.float32,  # its numbers, multiplied with 10 bits by NVIDIA's tensor cores
    "bfloat16": torch.bfloat16,
    "float16": torch.float16,
}
Row = TypeVar("Row")
BATCH = 64  # of the convenience methods embed_images and embed_texts; scoring makes its own batches


class TorchModel:
    """A network on a device with its tokenizer, and a card that identifies it."""

    def __init__(
        self,
        spec: str,
        network: torch.nn.Module,
        tokenizer: PreTrainedTokenizerBase | HFTokenizer,
        card: dict[str, object],
        *,
        device: str,
        dtype: str,
    ) -> None:
        self.spec, self.tokenizer = spec, tokenizer
        self.folder: Path | None = None  # where it was loaded from, if from a folder
        self.device = torch.device(pick_device(device))
        self.dtype, self.tf32 = pick_dtype(dtype), dtype == "tf32"
        if self.tf32 and self.device.type != "cuda":
            raise UserError(f"dtype 'tf32' is for NVIDIA GPUs, and this model is on {self.device}; use float32")
        parameters = sum(parameter.numel() for parameter in network.parameters())
        own = {"spec": spec, "weight_sha256": weight_sha256(network), "dtype": dtype, "parameters": parameters}
        self.card: dict[str, Any] = own | card
        self.network: Any = network.to(device=self.device, dtype=self.dtype).eval()
        self._loaded: tuple[str, str] | None = None  # state and weights as `load_model` found them

    _passing = ("spec", "folder", "card", "_loaded", "_seen", "_prior", "_vision")  # attributes that decide no number

    def state(self) -> str:
        """Hash of all but the weights: hooks and other methods, modes, tokenizer, preprocessing."""
        parts = {name: part for name, part in vars(self).items() if name not in self._passing}
        weights = self.network.state_dict(keep_vars=True).values()
        return or_unknown(lambda: of_object([type(self), parts], without=weights))

    def note_loaded(self) -> None:
        exact = self.dtype == torch.float32
        self._loaded = self.state(), self.card["weight_sha256"] if exact else weight_sha256(self.network)

    def card_now(self) -> dict[str, object]:
        """The card with the present weights. All else is its `state`, unless that is as it was loaded."""
        self._forget()
        (state, weights), card = self._loaded or ("", ""), dict(self.card)
        if (now := weight_sha256(self.network)) != weights:
            card["weight_sha256"] = now
        if (now := self.state()) != state or now.startswith(UNKNOWN):
            card["state"] = now
        return card

    def _forget(self) -> None:
        """Drop values that were computed with weights that may have changed."""

    def holding(self, network: torch.nn.Module) -> Self:
        """This model with other weights."""
        model = copy.copy(self)
        weight = next(network.parameters())
        model.folder, model.network, model.device, model.dtype = None, network, weight.device, weight.dtype
        return model

    def save(self, folder: str | Path) -> None:
        """Write weights, configuration and tokenizer as transformers keeps them."""
        folder = Path(folder)
        with quiet_transformers():
            self.network.save_pretrained(folder)
        for weights in folder.glob("*.safetensors"):
            as_new(weights)
        self.tokenizer.save_pretrained(folder)


class ClipModel(TorchModel):
    """A dual encoder with its preprocessing."""

    def __init__(
        self,
        spec: str,
        network: PreTrainedModel,  # of one of families.FAMILIES, in float32
        tokenizer: PreTrainedTokenizerBase,
        preprocess: Preprocess,
        *,
        device: str = "auto",
        dtype: str = "float32",
        notes: dict[str, object] | None = None,
    ) -> None:
        config = network.config
        self.family = family_of(network)
        self.causal_text = self.family.causal_text or self.family.masked_text  # tokens after the end never count
        check_tokenizer(tokenizer, config.text_config.vocab_size, causal=self.family.causal_text, where=spec)
        if self.family.masked_text and tokenizer.pad_token_id != config.text_config.pad_token_id:
            raise UserError(
                f"{spec}: the tokenizer pads with {tokenizer.pad_token_id}, config.json's text_config.pad_token_id is "
                f"{config.text_config.pad_token_id}; padding would be read as words"
            )
        self.context_length = text_positions(config.text_config)
        if self.family.causal_text:
            # Old configs say eos_token_id 2, by which transformers pools at the highest id, padding included.
            config.text_config.eos_token_id = network.text_model.eos_token_id = int(tokenizer.eos_token_id)
        size = config.vision_config.image_size
        expected = (size, size) if isinstance(size, int) else (size[0], size[1])
        if preprocess.image_size != expected:
            raise UserError(
                f"{spec}: preprocessing makes images of {preprocess.image_size}, the vision tower takes {expected}"
            )
        self.preprocess = preprocess
        self.cleaning = self.family.cleaning or cleaning_for(tokenizer)
        card = _card(self, network, tokenizer) | (notes or {})
        self._vision: tuple[str, str] | None = None  # the hashes of all weights and of the vision tower's
        super().__init__(spec, network, tokenizer, card, device=device, dtype=dtype)

    @property
    def image_card(self) -> dict[str, object]:
        """The part of the card that decides an image's embedding: models that differ only in their text towers share
        their image embeddings. The weights are hashed as they are now, since a notebook may have trained them."""
        card, own = identity.card_now(self), ("activation", "attention", "preprocessing", "embed_dim", "dtype", "state")
        vision = self.card["architecture"]["vision"], config_sha256(self.network.config.vision_config)
        whole = card["weight_sha256"]
        if self._vision is None or self._vision[0] != whole:
            self._vision = whole, weight_sha256(self.network, "vis")  # vision_model, visual_projection
        part = {"vision": vision, "weight_sha256": self._vision[1]}
        return {name: card[name] for name in own if name in card} | part

    @property
    def logit_scale(self) -> float:
        """The factor on the cosine, i.e. the exponential of the stored parameter (100 for OpenAI's CLIP)."""
        return math.exp(self.network.logit_scale.item())

    @property
    def end_id(self) -> int:
        return end_token(self.tokenizer)

    @property
    def pad_id(self) -> int:
        """The padding token: for CLIP its end token, after the first of which nothing counts; else the tokenizer's."""
        pad = self.tokenizer.pad_token_id
        return self.end_id if self.family.causal_text or pad is None else int(pad)

    def tokenize(self, texts: Sequence[str]) -> list[list[int]]:
        """Start to end token of each text; neither padded nor truncated."""
        if not texts:
            return []
        return token_ids(self.tokenizer, [CLEANERS[self.cleaning](text) for text in texts])

    def truncate(self, ids: Sequence[int]) -> list[int]:
        """Cut to the context length, keeping the end token."""
        if len(ids) <= self.context_length:
            return list(ids)
        return [*ids[: self.context_length - 1], self.end_id]

    def pad(self, ids: Sequence[Sequence[int]], pad_to: int | None = None) -> tuple[torch.Tensor, torch.Tensor]:
        """Token matrix and, for each row, the position at which a causal tower is read (its first end token).

        A causal or masked tower needs no more columns than the longest text; another one is always padded to
        the context length, as it was trained (SigLIP attends to its padding and is read at the last position).
        """
        longest = max(len(row) for row in ids)
        if longest > self.context_length:
            raise UserError(
                f"a text of {longest} tokens does not fit the context of {self.context_length}; truncate it"
            )
        width = max(pad_to or longest, longest) if self.causal_text else self.context_length
        if width > self.context_length:
            raise UserError(f"cannot pad to {width} tokens: the context is {self.context_length}")
        lengths = np.array([len(row) for row in ids])
        rows = np.full((len(ids), width), self.pad_id, np.int64)
        rows[np.arange(width) < lengths[:, None]] = np.fromiter(itertools.chain.from_iterable(ids), np.int64)
        ends = (rows == self.end_id).argmax(1) if self.causal_text else np.full(len(ids), width - 1)
        if self.family.causal_text and ((ends >= lengths) | (rows[np.arange(len(ids)), ends] != self.end_id)).any():
            raise UserError("a text has no end token, which is where the text tower is read; use `tokenize`")
        return torch.from_numpy(rows), torch.from_numpy(ends)

    def image_features(self, pixels: torch.Tensor) -> torch.Tensor:
        """Projected, not yet normalised; differentiable."""
        return self.network.get_image_features(pixel_values=pixels).pooler_output

    def text_features(self, ids: torch.Tensor, ends: torch.Tensor) -> torch.Tensor:
        """Projected, not yet normalised; differentiable. Reads at `ends`, so that the padding cannot matter."""
        if not self.family.causal_text:
            return read_texts(self.network, ids)
        hidden = self.network.text_model(input_ids=ids).last_hidden_state
        features = self.network.text_projection(hidden[torch.arange(len(ids), device=ids.device), ends])
        return features

    @torch.inference_mode()
    def encode_images(self, pixels: Floats) -> Floats:
        """(n, 3, H, W) float32 -> (n, d) float32 of unit norm."""
        tensor = torch.from_numpy(np.ascontiguousarray(pixels)).to(self.device, self.dtype)
        with precision(self.tf32):
            return unit_rows(self.image_features(tensor))

    @torch.inference_mode()
    def send_pixels(self, pixels: NDArray[np.uint8]) -> torch.Tensor:
        """Copy (n, H, W, 3) bytes of `preprocess.pixels` to the device; a GPU goes on computing meanwhile. `pixels`
        may be overwritten at once."""
        if self.device.type != "cuda":
            return torch.from_numpy(pixels).to(self.device, copy=True)
        with torch.cuda.stream(_copies(self.device)):
            return torch.from_numpy(pixels).to(self.device)

    @torch.inference_mode()
    def begin_images(self, parts: Sequence[torch.Tensor], rows: int) -> Callable[[], Floats]:
        """Results of `send_pixels`, filled up to `rows` -> a function that waits for (rows, d) float32 of unit norm.

        The device makes the floats, of a quarter of the bytes, by the arithmetic of `Preprocess`; a GPU computes
        while the caller goes on.
        """
        white, mean, deviation = _scale(self.preprocess.mean, self.preprocess.std, self.device)
        filling = parts[0][:1].expand(rows - sum(len(part) for part in parts), -1, -1, -1)
        floats = torch.cat([*parts, filling]).permute(0, 3, 1, 2).float().contiguous()
        if self.device.type == "cuda":
            for part in parts:  # made on another stream: their memory is not reused before this stream has read it
                part.record_stream(torch.cuda.current_stream(self.device))
        floats = (floats / white - mean) / deviation
        with precision(self.tf32):
            return _later(self.image_features(floats.to(self.dtype)))

    def _sent(self, tensor: torch.Tensor) -> torch.Tensor:
        """Copy to the device without waiting for the GPU, from pinned memory."""
        if self.device.type != "cuda":
            return tensor.to(self.device)
        return tensor.pin_memory().to(self.device, non_blocking=True)

    def encode_texts(self, ids: Sequence[Sequence[int]], pad_to: int | None = None) -> Floats:
        """Token lists from `tokenize` (and `truncate`) -> (n, d) float32 of unit norm."""
        return self.begin_texts(ids, pad_to)()

    @torch.inference_mode()
    def begin_texts(self, ids: Sequence[Sequence[int]], pad_to: int | None = None) -> Callable[[], Floats]:
        """Like `encode_texts`, but returns before the GPU has finished."""
        if not ids:
            return lambda: np.zeros((0, self.card["embed_dim"]), np.float32)
        rows, ends = self.pad(ids, pad_to)
        with precision(self.tf32):
            return _later(self.text_features(self._sent(rows), self._sent(ends)))

    def embed_images(self, images: Sequence[Image.Image]) -> Floats:
        def encode(block: Sequence[Image.Image]) -> Floats:
            return self.encode_images(np.stack([self.preprocess(image) for image in block]))

        return in_batches(encode, images) if images else np.zeros((0, self.card["embed_dim"]), np.float32)

    def embed_texts(self, texts: Sequence[str]) -> Floats:
        """Embed texts; too long ones are cut, and `tokenize` gives their length beforehand."""
        ids = [self.truncate(row) for row in self.tokenize(texts)]
        return in_batches(self.encode_texts, ids) if ids else self.encode_texts([])

    def save(self, folder: str | Path) -> None:
        """Write a standard transformers folder (config, safetensors, tokenizer, preprocessor) that `hf:` loads."""
        super().save(folder)
        config = self.preprocess.to_config(self.family.image_processor)
        write_json(Path(folder) / "preprocessor_config.json", config)


@functools.lru_cache(maxsize=8)
def _scale(mean: tuple[float, ...], deviation: tuple[float, ...], device: torch.device) -> tuple[torch.Tensor, ...]:
    """255, mean and deviation on the device: made once, because making a tensor of plain numbers waits for the GPU. 255
    is a tensor because CUDA multiplies by the reciprocal of a plain number: other bits."""
    return tuple(torch.tensor(three, device=device).view(3, 1, 1) for three in ((255.0,) * 3, mean, deviation))


@functools.lru_cache(maxsize=8)
def _copies(device: torch.device) -> torch.cuda.Stream:
    return torch.cuda.Stream(device)  # type: ignore[no-untyped-call]


@contextlib.contextmanager
def quiet_transformers() -> Iterator[None]:
    """Hide transformers' bars for a second of reading or writing, and its report of tensors that do not fit: it prints
    their names as the file has them, escape codes too, and we report the same ourselves."""
    from transformers.utils import logging

    shown, level = logging.is_progress_bar_enabled(), logging.get_verbosity()
    logging.disable_progress_bar()
    logging.set_verbosity_error()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if shown:
            logging.enable_progress_bar()


@contextlib.contextmanager
def precision(tf32: bool) -> Iterator[None]:
    """Set the precision of float32: by default cuDNN reduces a convolution to TF32 (10 bits); here float32 means
    float32."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high" if tf32 else "highest")
    try:
        with torch.backends.cudnn.flags(enabled=True, allow_tf32=tf32):
            yield
    finally:
        torch.set_float32_matmul_precision(before)


def pick_device(device: str) -> str:
    device = device_named(device)
    if device == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    if device.startswith("cuda") and not torch.cuda.is_available():
        raise UserError(f"device {device!r}: torch sees no CUDA device here; use --device cpu")
    try:
        torch.zeros(1, device=device).cpu()  # "meta" holds no numbers, "mps" and "xla" are known everywhere
    except Exception as error:  # each backend has its own
        raise UserError(f"device {device!r} cannot be used here ({first_line(error)}); use auto, cpu or cuda") from None
    return device


def pick_dtype(dtype: str) -> torch.dtype:
    if dtype not in DTYPES:
        raise UserError(f"dtype {dtype!r} is not supported; use one of {', '.join(DTYPES)}")
    return DTYPES[dtype]


def in_batches(embed: Callable[[Sequence[Row]], Floats], rows: Sequence[Row]) -> Floats:
    return np.concatenate([embed(rows[start : start + BATCH]) for start in range(0, len(rows), BATCH)])


def unit_rows(features: torch.Tensor) -> Floats:
    """Rows of unit norm, as float32 on the CPU whatever they were computed in."""
    return _later(features)()


def _later(features: torch.Tensor) -> Callable[[], Floats]:
    """`unit_rows` as a function that waits for the result. A GPU is asked for the copy at once: asked later, it would
    first finish the work that was begun after it."""
    features = features.float()
    unit = features / features.norm(dim=-1, keepdim=True)
    on_cpu = unit.to("cpu", non_blocking=True)
    copied: torch.cuda.Event | None = None
    if unit.is_cuda:
        copied = torch.cuda.Event()  # type: ignore[no-untyped-call]
        copied.record()

    def wait() -> Floats:
        if copied is not None:
            copied.synchronize()
        return on_cpu.numpy()

    return wait


def _card(model: ClipModel, network: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> dict[str, object]:
    text, vision = network.config.text_config, network.config.vision_config
    return {
        "architecture": {
            "class": type(network).__name__,
            "vision": _tower(vision) | {"patch_size": getattr(vision, "patch_size", None)},
            "text": _tower(text) | {"vocabulary": text.vocab_size},
            "config": config_sha256(network.config),  # of both towers, whole
        },
        "activation": {"vision": vision.hidden_act, "text": text.hidden_act},
        "attention": network.config._attn_implementation,
        "preprocessing": model.preprocess.to_config("") | {"image_processor_type": "equipoise, Pillow"},
        "tokenizer": tokenizer_card(tokenizer) | {"cleaning": model.cleaning},
        "context_length": model.context_length,
        "embed_dim": model.family.embed_dim(network.config),
        "image_size": list(model.preprocess.image_size),
    }


def tokenizer_card(tokenizer: PreTrainedTokenizerBase) -> dict[str, str]:
    return {"name": type(tokenizer).__name__, "sha256": tokenizer_sha256(tokenizer)}


def _tower(config: PretrainedConfig) -> dict[str, int | None]:
    """The sizes of a tower; a convolutional one has no heads."""
    names = {
        "width": "hidden_size",
        "layers": "num_hidden_layers",
        "heads": "num_attention_heads",
        "mlp": "intermediate_size",
    }
    return {ours: getattr(config, theirs, None) for ours, theirs in names.items()}

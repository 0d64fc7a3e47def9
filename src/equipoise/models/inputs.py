"""The inputs of the towers, as in their training: photos become pixels, with Pillow alone, and texts become tokens.

Photos: order and rounding follow torchvision's Resize, CenterCrop, RGB, ToTensor, Normalize, which OpenAI's CLIP
and open_clip use. Evaluation and training decode every photo to RGB first (`images.py`), so a palette
image is resized in colour. EXIF rotation is not applied; their code does not apply it either.

Texts: CLIP was trained on cleaned text: mojibake repaired (ftfy), HTML entities resolved twice, white space
squeezed, lower case. transformers' CLIPTokenizer leaves the first two out, so the same caption could get
other tokens through `hf:` than through open_clip. Here every CLIP tokenizer gets cleaned text, whichever
way the model was loaded; the tests hold the tokens equal to open_clip's.
"""

from __future__ import annotations

import functools
import gzip
import html
import importlib
import logging
import re
import string
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import Image

from equipoise.core.errors import Problems, UserError
from equipoise.core.files import sha256_json
from equipoise.models.base import Floats

if TYPE_CHECKING:
    from transformers import CLIPTokenizer, PreTrainedTokenizerBase

log = logging.getLogger(__name__)

CLIP_MEAN = (0.48145466, 0.4578275, 0.40821073)
CLIP_STD = (0.26862954, 0.26130258, 0.27577711)


@dataclass(frozen=True)
class Preprocess:
    """Image -> float32 (3, height, width). Frozen and picklable, for decoding workers."""

    resize: int | tuple[int, int]  # the shorter side, or (height, width) whatever the image's shape (SigLIP)
    crop: tuple[int, int] | None  # (height, width) from the middle
    mean: tuple[float, float, float] = CLIP_MEAN
    std: tuple[float, float, float] = CLIP_STD
    resample: str = "bicubic"

    def __call__(self, image: Image.Image) -> Floats:
        mean: Floats = np.asarray(self.mean, np.float32)
        std: Floats = np.asarray(self.std, np.float32)
        pixels: Floats = np.asarray(self.pixels(image), dtype=np.float32) / np.float32(255)
        pixels = (pixels - mean) / std
        return np.ascontiguousarray(pixels.transpose(2, 0, 1))

    def pixels(self, image: Image.Image) -> Image.Image:
        """The resized and cropped RGB image, before it becomes floats."""
        width, height = self._resized_size(image)
        if (width, height) != image.size:
            image = image.resize((width, height), Image.Resampling[self.resample.upper()])
        if self.crop:
            image = image.crop(_middle(image.size, self.crop))
        return image.convert("RGB")

    @property
    def image_size(self) -> tuple[int, int]:
        """(height, width) of the result; a resize of the shorter side alone leaves it open."""
        if self.crop:
            return self.crop
        if isinstance(self.resize, int):
            raise UserError("preprocessing resizes the shorter side but crops nothing: image sizes would differ")
        return self.resize

    def _resized_size(self, image: Image.Image) -> tuple[int, int]:
        if not isinstance(self.resize, int):
            return self.resize[1], self.resize[0]
        width, height = image.size
        if width <= height:
            return self.resize, int(self.resize * height / width)
        return int(self.resize * width / height), self.resize

    def to_config(self, image_processor_type: str) -> dict[str, object]:
        """The preprocessing as a transformers `preprocessor_config.json`."""
        size = (
            {"shortest_edge": self.resize}
            if isinstance(self.resize, int)
            else {"height": self.resize[0], "width": self.resize[1]}
        )
        config: dict[str, object] = {
            "image_processor_type": image_processor_type,
            "do_resize": True,
            "size": size,
            "resample": int(Image.Resampling[self.resample.upper()]),
            "do_center_crop": self.crop is not None,
            "do_convert_rgb": True,
            "do_rescale": True,
            "rescale_factor": 1 / 255,
            "do_normalize": True,
            "image_mean": list(self.mean),
            "image_std": list(self.std),
        }
        if self.crop:
            config["crop_size"] = {"height": self.crop[0], "width": self.crop[1]}
        return config


def clip_preprocess(image_size: int) -> Preprocess:
    """The preprocessing of CLIP and the models finetuned from it."""
    return Preprocess(resize=image_size, crop=(image_size, image_size))


def from_config(config: dict[str, Any], where: str) -> Preprocess:
    """Read a transformers `preprocessor_config.json`; steps this module lacks are refused, not skipped."""
    if not isinstance(config, dict):
        raise UserError(f"{where}: expected a JSON object, found {type(config).__name__}")
    for step in ("do_resize", "do_rescale", "do_normalize"):
        if not config.get(step, True):
            raise UserError(f"{where}: {step} is false; only resized, rescaled and normalised images are supported")
    if abs(config.get("rescale_factor", 1 / 255) * 255 - 1) > 1e-3:
        raise UserError(f"{where}: rescale_factor is {config['rescale_factor']}, where 1/255 was expected")
    try:
        size = config["size"]
        resize = size if isinstance(size, int) else size.get("shortest_edge") or (size["height"], size["width"])
        is_siglip = "siglip" in str(config.get("image_processor_type", "")).lower()
        crop = None
        if config.get("do_center_crop", not is_siglip):
            crop_size = config.get("crop_size", resize)
            crop = (crop_size, crop_size) if isinstance(crop_size, int) else _pair(crop_size)
        return Preprocess(
            resize=resize,
            crop=crop,
            mean=_three(config["image_mean"]),
            std=_three(config["image_std"]),
            resample=Image.Resampling(config.get("resample", 3)).name.lower(),
        )
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise UserError(f"{where}: not a CLIP or SigLIP image preprocessor ({error!r})") from None


def _three(values: Any) -> tuple[float, float, float]:
    red, green, blue = values
    return float(red), float(green), float(blue)


def _pair(size: Any) -> tuple[int, int]:
    return (size["height"], size["width"]) if isinstance(size, dict) else (size[0], size[1])


def _middle(size: tuple[int, int], crop: tuple[int, int]) -> tuple[int, int, int, int]:
    """The crop's box. If the crop is larger than the image, Pillow fills black, as torchvision does."""
    height, width = crop
    left, top = _offset(size[0], width), _offset(size[1], height)
    return left, top, left + width, top + height


def _offset(have: int, want: int) -> int:
    return round((have - want) / 2) if have >= want else -((want - have) // 2)


CLIP_VOCABULARY = 49408
# Text that neither ftfy nor unescape changes: ASCII without control characters and possible entities.
PLAIN = re.compile(r"(?:[\t\n\r\x20-\x25\x27-\x7e]|&(?![#0-9A-Za-z]))*")


@functools.cache
def clip_tokenizer() -> CLIPTokenizer:
    """CLIP's tokenizer (transformers' class), from the merges shipped with the package."""
    from transformers import CLIPTokenizer

    packed = resources.files("equipoise.models").joinpath("assets/clip_merges.txt.gz").read_bytes()
    merges = [tuple(line.split(" ")) for line in gzip.decompress(packed).decode().splitlines()]
    letters = _byte_letters()
    words = letters + [letter + "</w>" for letter in letters] + ["".join(merge) for merge in merges]
    words += ["<|startoftext|>", "<|endoftext|>"]
    return CLIPTokenizer(vocab={word: number for number, word in enumerate(words)}, merges=merges, model_max_length=77)


def _byte_letters() -> list[str]:
    """A printable letter for each of the 256 bytes, in the order of CLIP's vocabulary (GPT-2's byte-level BPE)."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    return [chr(code) for code in printable] + [chr(256 + n) for n in range(256 - len(printable))]


def clean_clip(text: str) -> str:
    """The cleaning of CLIP's training text."""
    if not PLAIN.fullmatch(text):
        text = html.unescape(html.unescape(_fix_text(text)))
    return " ".join(text.split()).lower()


def clean_siglip(text: str) -> str:
    """SigLIP's cleaning: lower case, no ASCII punctuation. Doing it twice (SiglipTokenizer does it too) is harmless."""
    return " ".join(text.lower().translate(str.maketrans("", "", string.punctuation)).split())


def _fix_text(text: str) -> str:
    try:
        ftfy: Any = importlib.import_module("ftfy")
    except ImportError:
        raise UserError(
            f"text that is not plain ASCII ({text[:40]!r}) needs ftfy, as CLIP's own text did: pip install ftfy"
        ) from None
    return str(ftfy.fix_text(text))


CLEANERS: dict[str, Callable[[str], str]] = {
    "clip": clean_clip,
    "siglip": clean_siglip,
    "lower": str.lower,
    "none": str,
}


def cleaning_for(tokenizer: PreTrainedTokenizerBase) -> str:
    """The cleaning that a tokenizer's text needs; a user's own tokenizer gets the text as it is."""
    name = type(tokenizer).__name__
    if name.startswith("CLIPTokenizer"):
        return "clip"
    if name.startswith("SiglipTokenizer"):
        return "siglip"
    if name.startswith(("Gemma", "Siglip2")):  # SigLIP 2 was trained on lower case; Gemma's vocabulary has both
        return "lower"
    return "none"


def token_ids(tokenizer: PreTrainedTokenizerBase, texts: Sequence[str]) -> list[list[int]]:
    """The tokens of clean texts, neither padded nor cut. CLIP's tokenizer is called without transformers, which spends
    more time on unused masks and offsets than on the tokens."""
    backend: Any = getattr(tokenizer, "backend_tokenizer", None)
    if not type(tokenizer).__name__.startswith("CLIPTokenizer") or not hasattr(backend, "encode_batch_fast"):
        return [list(ids) for ids in tokenizer(list(texts), verbose=False)["input_ids"]]
    backend.no_truncation()
    backend.no_padding()
    return [encoding.ids for encoding in backend.encode_batch_fast(list(texts))]


def tokenizer_sha256(tokenizer: PreTrainedTokenizerBase) -> str:
    """Hash of everything that decides a token: the whole fast tokenizer, or the vocabulary of a slow one."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    return sha256_json(backend.to_str() if backend is not None else tokenizer.get_vocab())


def end_token(tokenizer: PreTrainedTokenizerBase) -> int:
    """The id that ends a text; BERT's tokenizers call it the separator."""
    return int(tokenizer.sep_token_id if tokenizer.eos_token_id is None else tokenizer.eos_token_id)


def check_tokenizer(tokenizer: PreTrainedTokenizerBase, rows: int, *, causal: bool, where: str) -> None:
    """Refuse a tokenizer that was not made for this text tower: its scores would be noise, not an error.

    `rows` is the number of token embeddings: more than tokens is common (tables are padded to a round number), fewer
    is another model's. CLIP pools at the end token, so its absence is silent there.
    """
    problems = Problems(f"{where}: the tokenizer does not fit the text tower")
    highest = max(tokenizer.get_vocab().values(), default=-1)
    if highest >= rows:
        problems.add(
            "vocabulary",
            f"token ids up to {highest}, but the text tower has {rows} embeddings: the tokenizer is larger than the "
            "model's table, so it is another model's",
        )
    elif 2 * highest < rows:
        log.warning(
            "%s: the tokenizer uses %d of the %d embeddings of the text tower; is it this model's own?",
            where, highest + 1, rows,
        )  # fmt: skip
    end = tokenizer.sep_token_id if tokenizer.eos_token_id is None else tokenizer.eos_token_id
    if end is None:
        problems.add("end token", "the tokenizer has none")
    else:
        ids = tokenizer("a photo")["input_ids"]
        if not ids or ids[-1] != end:
            problems.add("end token", f"a text becomes {ids}, which does not end with the end token {end}")
        elif causal and (ids[0] != tokenizer.bos_token_id or ids.index(end) != len(ids) - 1):
            problems.add("start token", f"a text becomes {ids}: CLIP expects start, words, end")
    problems.raise_if_any("Put the tokenizer files of the model itself into its folder.")

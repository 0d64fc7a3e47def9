"""Preprocesses photos as the vision towers were trained, with Pillow alone.

Order and rounding follow torchvision's Resize, CenterCrop, RGB, ToTensor, Normalize, which OpenAI's CLIP
and open_clip use. Evaluation and training decode every photo to RGB first (`images.py`), so a palette
image is resized in colour. EXIF rotation is not applied; their code does not apply it either.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from PIL import Image

from equipoise.core.errors import UserError
from equipoise.models.base import Floats

CLIP_MEAN = (0.48145466, 0.4578275, 0.40821073)
CLIP_STD = (0.26862954, 0.26130258, 0.27577711)


@dataclass(frozen=True)
class Preprocess:
    """Calling it gives float32 (3, height, width). Frozen and picklable, so that decoding workers can hold it."""

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
        """(height, width) of what comes out; a resize of the shorter side alone leaves it open."""
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
        """The same as a transformers `preprocessor_config.json`."""
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
    """What CLIP and the models finetuned from it expect."""
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
    """The crop's box. Beyond the image (a crop larger than it) Pillow fills black, as torchvision does."""
    height, width = crop
    left, top = _offset(size[0], width), _offset(size[1], height)
    return left, top, left + width, top + height


def _offset(have: int, want: int) -> int:
    return round((have - want) / 2) if have >= want else -((want - have) // 2)

"""Loader bugs in what happens to pictures, each with the check that finds it."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from PIL import Image, ImageOps
from tests.evaluation.preflight.planted import Loader, Pictures, copied


class Range255(Loader):
    def floats(self, image: Image.Image) -> np.ndarray:
        return np.asarray(image, np.float32).transpose(2, 0, 1)


class DividedTwice(Loader):
    def floats(self, image: Image.Image) -> np.ndarray:
        return super().floats(image) / 255


class NoMean(Loader):
    mean, std = 0.0, 1.0


class ImageNetMean(Loader):
    def floats(self, image: Image.Image) -> np.ndarray:
        pixels = np.asarray(image, np.float32) / 255
        found = (pixels - [0.485, 0.456, 0.406]) / [0.229, 0.224, 0.225]
        return found.transpose(2, 0, 1).astype(np.float32)


class Mirrored(Loader):
    def opened(self, image: Image.Image) -> Image.Image:
        return ImageOps.mirror(super().opened(image))


class UpsideDown(Loader):
    def opened(self, image: Image.Image) -> Image.Image:
        return ImageOps.flip(super().opened(image))


class Transposed(Loader):
    """(3, width, height) in place of (3, height, width)."""

    def floats(self, image: Image.Image) -> np.ndarray:
        return super().floats(image).transpose(0, 2, 1).copy()


class Negative(Loader):
    def opened(self, image: Image.Image) -> Image.Image:
        return ImageOps.invert(super().opened(image))


class Squeezed(Loader):
    def cut(self, image: Image.Image) -> Image.Image:
        return image.resize((48, 48), 3)


class NoResize(Loader):
    """The middle 48 pixels of however large a photo."""

    def cut(self, image: Image.Image) -> Image.Image:
        left, top = (image.width - 48) // 2, (image.height - 48) // 2
        return image.crop((left, top, left + 48, top + 48))


class TopHalf(Loader):
    """A picture that was cut off on its way."""

    def opened(self, image: Image.Image) -> Image.Image:
        image = super().opened(image)
        image.paste((128, 128, 128), (0, image.height // 2, image.width, image.height))
        return image


class GreyOnly(Loader):
    def opened(self, image: Image.Image) -> Image.Image:
        return super().opened(image).convert("L").convert("RGB")


class RandomCrop(Loader):
    def cut(self, image: Image.Image) -> Image.Image:
        short = min(image.size) * 3 // 4
        left, top = (int(np.random.default_rng().integers(0, side - short + 1)) for side in image.size)
        return image.crop((left, top, left + short, top + short)).resize((48, 48), 3)


class StaleRemainder(Loader):
    """A buffer of fixed size whose last rows are the batch before's."""

    def embed_images(self, images: Pictures) -> Any:
        rows = super().embed_images(images)
        rest = len(rows) % 16
        if len(rows) > 16 and rest:
            rows[-rest:] = rows[:rest]
        return rows


class CacheBySize(Loader):
    def embed_images(self, images: Pictures) -> Any:
        kept: dict[Any, Any] = {}
        return np.stack([kept.setdefault(one.size, Loader.embed_images(self, [one])[0]) for one in images])


class CacheById(Loader):
    def __init__(self) -> None:
        super().__init__()
        self.kept: dict[int, Any] = {}

    def embed_images(self, images: Pictures) -> Any:
        for image in images:
            if id(image) not in self.kept:
                self.kept[id(image)] = super().embed_images([image])[0]
        return np.stack([self.kept[id(image)] for image in images])


class SortedBySize(Loader):
    def embed_images(self, images: Pictures) -> Any:
        return super().embed_images(sorted(images, key=lambda image: image.size))


class BatchNormalised(Loader):
    """A batch norm that was left in training mode."""

    def see(self, pixels: torch.Tensor) -> torch.Tensor:
        rows = super().see(pixels)
        return rows - 0.5 * rows.mean(0)


class NoProjection(Loader):
    """The width happens to be the same."""

    def see(self, pixels: torch.Tensor) -> torch.Tensor:
        return self.network.vision_model(pixel_values=pixels).pooler_output


class TextProjectionOfImages(Loader):
    def see(self, pixels: torch.Tensor) -> torch.Tensor:
        return self.network.text_projection(self.network.vision_model(pixel_values=pixels).pooler_output)


class UnloadedWeights(Loader):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.network = copied()
        self.network.visual_projection.reset_parameters()


class NegativeSign(Loader):
    def see(self, pixels: torch.Tensor) -> torch.Tensor:
        return -super().see(pixels)


class Overflow(Loader):
    """Features that pass float16's 65,504."""

    def see(self, pixels: torch.Tensor) -> torch.Tensor:
        return (1e5 * super().see(pixels)).half().float()


class ZeroPictures(Loader):
    def floats(self, image: Image.Image) -> np.ndarray:
        return np.zeros((3, 48, 48), np.float32)


class NearestNeighbour(Loader):
    def cut(self, image: Image.Image) -> Image.Image:
        short = min(image.size)
        left, top = (image.width - short) // 2, (image.height - short) // 2
        return image.crop((left, top, left + short, top + short)).resize((self.size, self.size), 0)


class Gamma(Loader):
    def opened(self, image: Image.Image) -> Image.Image:
        return super().opened(image).point(lambda level: int(255 * (level / 255) ** 2.2))


class OneChannel(Loader):
    def floats(self, image: Image.Image) -> np.ndarray:
        return super().floats(image)[[0, 0, 0]]


class StandardisedByItself(Loader):
    def floats(self, image: Image.Image) -> np.ndarray:
        pixels = super().floats(image)
        return (pixels - pixels.mean()) / (pixels.std() + 1e-6)


OF_PICTURES: list[tuple[type, str | set[str]]] = [
    (Range255, "pixels"),
    (DividedTwice, {"collapse", "pixels"}),
    (NoMean, "pixels"),
    (ImageNetMean, "pixels"),
    (Mirrored, "pixels"),
    (UpsideDown, "pixels"),
    (Transposed, "pixels"),
    (Negative, "pixels"),
    (Squeezed, "crop"),
    (NoResize, "crop"),
    (TopHalf, "crop"),
    (GreyOnly, {"pixels", "channels"}),
    (RandomCrop, "determinism"),
    (StaleRemainder, "image batch"),
    (CacheBySize, "image batch"),
    (CacheById, "own cache"),
    (SortedBySize, "image batch"),
    (BatchNormalised, "image batch"),
    (NoProjection, "probe set"),
    (TextProjectionOfImages, "probe set"),
    (UnloadedWeights, "probe set"),
    (NegativeSign, "sign"),
    (Overflow, "finite"),
    (ZeroPictures, "collapse"),
    (NearestNeighbour, "pixels"),
    (Gamma, "pixels"),
    (OneChannel, "pixels"),
    (StandardisedByItself, "pixels"),
]

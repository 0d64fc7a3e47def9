"""CIFAR-10 and CIFAR-100 as their home page has them, in the binary version; nothing is unpacked.

The Python version is pickled, and a pickle from elsewhere may run anything, so it is not read.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

from equipoise.errors import UserError
from equipoise.files import read_text
from equipoise.images.opening import ImageProblem

SIDE = 32
PIXELS = 3 * SIDE * SIDE


@dataclass(frozen=True)
class CifarFiles:
    """The files of a split, and how many bytes of labels a record begins with (the last is the fine one)."""

    batches: tuple[Path, ...]
    names: Path
    labels: int


def cifar_files(folder: Path, split: str) -> CifarFiles | None:
    """The binary files of a split, None where this is no CIFAR folder."""
    kinds = (
        ("batches.meta.txt", {"test": ["test_batch.bin"], "train": [f"data_batch_{n}.bin" for n in range(1, 6)]}, 1),
        ("fine_label_names.txt", {"test": ["test.bin"], "train": ["train.bin"]}, 2),
    )
    for names, files, labels in kinds:
        batches = tuple(folder / name for name in files.get(split, ()))
        if (folder / names).is_file() and batches and all(path.is_file() for path in batches):
            return CifarFiles(batches, folder / names, labels)
    return None


def read_cifar(files: CifarFiles) -> tuple[CifarImages, list[str], list[tuple[str, int]]]:
    """(the photos, the names of the classes, each photo's name and class)."""
    classes = [line.strip().replace("_", " ") for line in read_text(files.names).splitlines() if line.strip()]
    source = CifarImages(files)
    labels = source.labels()
    if labels.max(initial=0) >= len(classes):
        raise UserError(f"{files.batches[0]}: label {labels.max()}, but {files.names} names {len(classes)} classes")
    return source, classes, [(f"{number:05}.png", int(label)) for number, label in enumerate(labels)]


class CifarImages:
    """Records of the binary files as PNG files called by their number, which is what decoders read."""

    def __init__(self, files: CifarFiles) -> None:
        size = files.labels + PIXELS
        parts = []
        for path in files.batches:
            raw = np.fromfile(path, np.uint8)
            if not len(raw) or len(raw) % size:
                raise UserError(f"{path}: {len(raw):,} bytes, not whole records of {size}; download it again")
            parts.append(raw.reshape(-1, size))
        self._files, self._records = files, np.concatenate(parts)

    def __str__(self) -> str:
        return f"in {self._files.batches[0].parent}"

    def __len__(self) -> int:
        return len(self._records)

    def __contains__(self, path: str) -> bool:
        number = path.removesuffix(".png")
        return number.isdecimal() and int(number) < len(self._records)

    def labels(self) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
        found: np.ndarray[tuple[int], np.dtype[np.uint8]] = self._records[:, self._files.labels - 1]
        return found

    def read(self, path: str) -> bytes:
        if path not in self:
            raise ImageProblem(f"{path}: there are {len(self._records):,} photos")
        record = self._records[int(path.removesuffix(".png")), self._files.labels :]
        output = io.BytesIO()
        Image.fromarray(np.ascontiguousarray(record.reshape(3, SIDE, SIDE).transpose(1, 2, 0))).save(output, "PNG")
        return output.getvalue()

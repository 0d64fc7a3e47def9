"""The photos that items ask for, known by their bytes: what was scored is what the run says was scored."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from PIL import Image

from equipoise.evaluation.record import ImagesId
from equipoise.files import sha256_json
from equipoise.images import ImageProblem, decode_image, read_image_bytes
from equipoise.items import ImageRef


@dataclass(frozen=True)
class Photos:
    """Photos below a folder: the sha256 of each that can be read, and why the others cannot."""

    root: Path
    digests: dict[str, bytes]  # path as the items have it -> sha256 of the bytes
    problems: dict[str, str]

    def id(self) -> ImagesId:
        """One digest of all: it changes when a photo is replaced, is renamed, appears or disappears."""
        pairs = sorted([path, digest.hex()] for path, digest in self.digests.items())
        return ImagesId(sha256=sha256_json(pairs), count=len(pairs))

    def open(self, ref: ImageRef) -> Image.Image:
        """The picture of `ref`, from the very bytes that were counted."""
        data = read_image_bytes(self.root, ref.path)
        if hashlib.sha256(data).digest() != self.digests.get(ref.path):
            raise ImageProblem(f"{ref.path}: changed while it was being scored")
        return decode_image(data, ref)


def read_photos(root: Path, paths: Iterable[str], workers: int) -> Photos:
    """Read every distinct photo once."""
    distinct = list(dict.fromkeys(paths))

    def digest(path: str) -> bytes | str:
        try:
            return hashlib.sha256(read_image_bytes(root, path)).digest()
        except ImageProblem as problem:
            return str(problem)

    with ThreadPoolExecutor(workers) as pool:
        found = dict(zip(distinct, pool.map(digest, distinct), strict=True))
    return Photos(
        root,
        {path: value for path, value in found.items() if isinstance(value, bytes)},
        {path: value for path, value in found.items() if isinstance(value, str)},
    )

"""A notebook's code as mypy reads it: `make lint` checks this file, and nothing runs it.

Where mypy no longer reports the misspelt method, the `type: ignore` on its line is unused, which is an error too.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from PIL import Image

import equipoise as eq


class Mine:
    def embed_images(self, images: Sequence[Image.Image]) -> NDArray[np.float64]:
        return np.ones((len(images), 2))

    def embed_texts(self, texts: Sequence[str]) -> NDArray[np.float64]:
        return np.ones((len(texts), 2))


class Misspelt:
    def embed_images(self, images: Sequence[Image.Image]) -> NDArray[np.float64]:
        return np.ones((len(images), 2))

    def embed_text(self, texts: Sequence[str]) -> NDArray[np.float64]:
        return np.ones((len(texts), 2))


items = eq.perturb([("a.png", "a dog")], recipe="balanced")
images = {"a.png": Image.new("RGB", (8, 8))}
run = eq.evaluate(Mine(), items, images=images)
eq.evaluate(Misspelt(), items, images=images)  # type: ignore[arg-type]
value: float | None = run["original"]
worse: bool = eq.compare(run, run).worse("brittleness", by=1.0)
page = eq.report([run], "report.html").name
tuned = eq.train("hn_only", items, "world", images="photos")

"""Your own model: any object with two methods is evaluated like CLIP.

    python examples/own_model.py

This "model" sees only the mean colour of a picture. On the drawn world that is enough for some colours and for nothing
else: a baseline worth having next to a large model.
"""

import numpy as np

import equipoise as eq
from equipoise.extend import make_world

WORDS = ["red", "green", "blue"]


class MeanColour:
    def embed_images(self, images):  # list of PIL images -> (n, d)
        return np.stack([np.asarray(image.convert("RGB"), dtype=float).mean((0, 1)) - 128 for image in images])

    def embed_texts(self, texts):  # list of str -> (n, d)
        return np.array([[text.count(word) + 0.01 for word in WORDS] for text in texts])


if __name__ == "__main__":
    file = make_world(120, 0, "example-world", "test")  # your own: a JSONL, Parquet, CSV or TSV file, and a folder
    print(eq.evaluate(MeanColour(), eq.load_items(file), images="example-world").table())

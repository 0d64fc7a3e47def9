"""Your own model in twelve lines: any object with two methods is judged like CLIP.

    python examples/own_model.py

Here a "model" that only sees the mean colour of a picture. On the drawn world that is enough for some colours, and for
nothing else: a baseline worth having beside a large model.
"""

import numpy as np

from equipoise import evaluate, load_items
from equipoise.world.splits import make_world

WORDS = ["red", "green", "blue"]


class MeanColour:
    def embed_images(self, images):  # list of PIL images -> (n, d)
        return np.stack([np.asarray(image.convert("RGB"), dtype=float).mean((0, 1)) - 128 for image in images])

    def embed_texts(self, texts):  # list of str -> (n, d)
        return np.array([[text.count(word) + 0.01 for word in WORDS] for text in texts])


if __name__ == "__main__":
    file = make_world(120, 0, "example-world", "test")  # your own: a JSONL, Parquet, CSV or TSV file, and a folder
    result = evaluate(MeanColour(), load_items(file), images="example-world")
    for name in ("original", "augmented", "brittleness"):
        low, high = result.numbers.interval(name)
        print(f"{name:12} {100 * result.numbers[name]:5.1f} % [{100 * low:.1f}, {100 * high:.1f}]")
    print(f"n {result.numbers.n}, ties {result.numbers.ties}")

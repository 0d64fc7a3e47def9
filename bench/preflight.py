"""The preflight of a ViT-B/32: seconds, and processor seconds, the first time and again.

    python bench/preflight.py

Random weights of the right size; as `py:` a loader of the user's own would be, padded to 77 tokens. Two cores.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

import torch


def vit_b_32() -> Any:
    """151 million weights, as OpenAI's."""
    from transformers import CLIPConfig, CLIPModel

    from equipoise.models.clip import ClipModel
    from equipoise.models.preprocess import clip_preprocess
    from equipoise.models.tokens import clip_tokenizer

    torch.manual_seed(0)
    return ClipModel("hf:random-vit-b-32", CLIPModel(CLIPConfig()), clip_tokenizer(), clip_preprocess(224))


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    from equipoise.evaluation.preflight.judging import checked

    torch.set_num_threads(2)
    model = vit_b_32()
    print(f"{model.card['parameters'] / 1e6:.0f} million weights, {torch.get_num_threads()} threads")
    with tempfile.TemporaryDirectory() as folder:
        for name in ("first", "again"):
            began, spent = time.monotonic(), time.process_time()
            found = checked(model, model.spec, Path(folder))
            assert found is not None
            took = f"{time.monotonic() - began:.2f} s, {time.process_time() - spent:.2f} s of processor"
            print(f"{name}: {took}; {found.words()}")


if __name__ == "__main__":
    main()

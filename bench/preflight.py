"""The preflight of a ViT-B/32: seconds, and processor seconds, the first time and again.

    python bench/preflight.py

Random weights of the right size; as `py:` a loader of the user's own would be, padded to 77 tokens. Two cores.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import made
import torch


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tiny", action="store_true", help="a tiny model: does the script run?")
    tiny = parser.parse_args().tiny
    from equipoise.evaluation.preflight.judging import checked

    torch.set_num_threads(2)
    model = made.clip(tiny=tiny)
    print(f"{model.card['parameters'] / 1e6:.0f} million weights, {torch.get_num_threads()} threads")
    with tempfile.TemporaryDirectory() as folder:
        for name in ("first", "again"):
            began, spent = time.monotonic(), time.process_time()
            outcome = checked(model, model.spec, Path(folder))
            assert outcome is not None
            took = f"{time.monotonic() - began:.2f} s, {time.process_time() - spent:.2f} s of processor"
            print(f"{name}: {took}; {outcome.words()}")


if __name__ == "__main__":
    main()

"""What a model said of the test photos, small enough to keep of every model.

run.py writes one npz a model: of each kind of item the scores of caption, positive and negative, of every search its
rank, of every pair that the experts judged the score; each with the number of its photo, which intervals resample.

`pack` joins them into one file, 0.05 MB a model. A model keeps, as "NAME-SEED/KIND", s(c), s(p) and s(n) of every
item in hundredths; where rounding would hide which of two is higher, it is moved by one, so that every outcome stays
exact. (m.npz, s.npz and x.npz are older: s(c) - s(n) and s(p) - s(n), rounded to 3 percent.) Ranks stop at 255.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.core.files import atomic_write
from studies.harness import read_arrays, write_arrays

read_scores, write_scores = read_arrays, write_arrays


def numbers(names: Sequence[str], photos: Sequence[str]) -> NDArray[np.int16]:
    """Which photo each name is."""
    place = {name: number for number, name in enumerate(photos)}
    return np.array([place[name] for name in names], np.int16)


def pack(folder: Path, out: Path) -> None:
    """All models of a folder as one file; what is the same for all of them is kept once."""
    found: dict[str, NDArray[Any]] = {}
    for path in sorted(folder.glob("*.npz")):
        held, name = read_scores(path), path.name.removesuffix(".npz")
        for key in (key for key in held if key.endswith(("/photo", "/relation", "experts/ratings"))):
            if not np.array_equal(found.setdefault(key, held[key]), held[key]):
                raise SystemExit(f"{path}: judged on other items than the models before it ({key})")
        for kind in (key.removesuffix("/scores") for key in held if key.endswith("/scores") and key[:7] != "experts"):
            found[f"{name}/{kind}"] = rounded(held[f"{kind}/scores"])
        found |= {f"{name}/{way}": np.minimum(held[way], 255).astype(np.uint8) for way in ("t2i", "i2t")}
        found |= {
            f"{name}/{key}": np.minimum(held[key], 255).astype(np.uint8) for key in held if key.endswith("/ranks")
        }
        if "experts/scores" in held:
            found[f"{name}/experts"] = held["experts/scores"].astype(np.float16)
    write_scores(out, found)


def rounded(exact: NDArray[Any]) -> NDArray[Any]:
    """Scores of captions, positives and negatives in hundredths. The first two keep their side of the third."""
    wrong = np.rint(100 * exact[2])
    gaps = exact[:2] - exact[2]
    steps = np.rint(100 * gaps)
    steps = np.where(steps == 0, np.sign(gaps), steps)
    found = np.concatenate([wrong + steps, wrong[None]])
    return found.astype(np.int8 if np.abs(found).max() < 128 else np.int16)  # cosines; a matching head says more


def write_line(path: Path, row: Mapping[str, Any]) -> None:
    """The line of a model, in a file of its own."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as handle:
        handle.write(json.dumps(row) + "\n")


def in_short(found: Mapping[str, float]) -> str:
    """What is printed of a model that is done."""
    keys = [key for key in found if key.endswith("/augmented") or key in ("t2i@1", "experts")]
    return " ".join(f"{key.removesuffix('/augmented')}={found[key]:.1f}" for key in keys)


def read_rows(out: Path, *stages: str) -> Iterator[dict[str, Any]]:
    """The lines of what run.py wrote: a folder with one file for each model, or a file of them all (keep.py)."""
    if out.is_file():
        rows = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
        for stage in stages:
            yield from (row for row in rows if row["stage"] == stage)
        return
    for stage in stages:
        for path in sorted((out / stage).glob("*.json")):
            yield json.loads(path.read_text(encoding="utf-8"))

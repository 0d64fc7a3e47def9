"""What the tests of scripts share."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

RUNS = Path(__file__).resolve().parents[2] / "runs"


def modules_of(name: str) -> Iterator[Any]:
    """The modules of a folder of runs/ by name, as a script there sees them; they are forgotten afterwards."""
    folder, before = str(RUNS / name), set(sys.modules)
    sys.path.insert(0, folder)
    yield importlib.import_module
    sys.path.remove(folder)
    for one in set(sys.modules) - before:
        if str(getattr(sys.modules[one], "__file__", "")).startswith(folder):
            del sys.modules[one]

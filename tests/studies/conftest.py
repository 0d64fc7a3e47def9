"""What the tests of studies share."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

STUDIES = Path(__file__).resolve().parents[2] / "studies"


def modules_of(package: str) -> Iterator[Any]:
    """The modules of a package of studies by name; of studies itself where it is ""."""
    yield lambda name: importlib.import_module(".".join(filter(None, ("studies", package, name))))

"""Fixtures every test folder may use."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from equipoise.evaluation.record import RunRecord
from equipoise.evaluation.results import read_result

SHARED_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The real annotations beside the checkout; tests that need them skip where they are absent."""
    if not SHARED_DATA.is_dir():
        pytest.skip("the real data (../shared/data) is not beside this checkout")
    return SHARED_DATA


@pytest.fixture(scope="session")
def make_record() -> Callable[..., RunRecord]:
    """A run's record, whole and valid; any field of it may be given: make_record(metrics=..., date=...)."""
    golden = read_result(Path(__file__).parent / "golden" / "run_schema_1")

    def make(name: str = "items", items_sha256: str = "x", **fields: Any) -> RunRecord:
        benchmark = golden.benchmark.model_copy(update={"name": name, "items_sha256": items_sha256})
        return golden.model_copy(update={"benchmark": benchmark} | fields)

    return make

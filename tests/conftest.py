"""Fixtures every test folder may use."""

from __future__ import annotations

from pathlib import Path

import pytest

SHARED_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The real annotations beside the checkout; tests that need them skip where they are absent."""
    if not SHARED_DATA.is_dir():
        pytest.skip("the real data (../shared/data) is not beside this checkout")
    return SHARED_DATA

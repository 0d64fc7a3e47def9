"""studies/ledger/printed.py: every number that the sources print is met to the digit, or explained."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.studies.conftest import modules_of


@pytest.fixture(scope="module")
def ledger() -> Iterator[Any]:
    yield from modules_of("ledger")


@pytest.mark.slow
def test_every_printed_number_is_met(ledger: Any, shared_data: Path) -> None:
    if not (shared_data / "published_scores").is_dir():
        pytest.skip("the published answers are not here")
    script = ledger("printed")
    found = list(script.numbers(shared_data))
    assert [(one.source, one.model) for one in found if not one.met] == [("colorswap", "llava")]
    assert sum(len(one.printed) for one in found) == 338 and not script.siglip(shared_data)
    assert all(one.met or one.why != "NOT EXPLAINED" for one in found)
    wrong = found[0]._replace(printed=("0.00", *found[0].printed[1:]))
    assert not wrong.met and wrong.why == "NOT EXPLAINED"


@pytest.mark.slow
def test_every_stated_number_of_the_logs_is_found(ledger: Any, shared_data: Path) -> None:
    if not (shared_data / "harness_logs").is_dir():
        pytest.skip("the logs are not here")
    script = ledger("logs")
    found = [*script.logs(shared_data / "harness_logs"), *script.scorers(shared_data / "t2i_scores")]
    assert [(one.what, round(one.found, 1)) for one in found if not one.same] == [
        ("the text changes", 49.8), ("plain", 49.8), ("all rotations", 33.9),
    ]  # fmt: skip
    assert len(found) > 50 and all(one.same or one.why for one in found)

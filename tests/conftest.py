"""Fixtures every test folder may use: samples of real records, always there, and the whole files, which may not be."""

from __future__ import annotations

import csv
import json
import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from equipoise import progress
from equipoise.evaluation.record import RunRecord
from equipoise.evaluation.results import read_result

SAMPLES = Path(__file__).resolve().parent / "data"
BESIDE = Path(__file__).resolve().parents[2] / "shared" / "data"
SHARED_DATA = Path(os.environ.setdefault("EQUIPOISE_TEST_DATA", str(BESIDE)))
ABSENT = "needs the whole annotation files (tests/data/README.md says how to get them)"


def pytest_report_header() -> str:
    return f"whole annotation files: {SHARED_DATA if SHARED_DATA.is_dir() else 'absent; samples of them in tests/data'}"


@pytest.hookimpl(tryfirst=True)  # before -m chooses
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What reads the whole annotation files is slow: CI has them, a stranger's `make test` reads the samples."""
    for item in items:
        if "shared_data" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.slow)


@pytest.fixture(autouse=True)
def _not_quiet() -> None:
    """A command with --quiet hushes its process to the end; here the next test's warnings would be lost with it."""
    progress.be_quiet(False)
    logging.getLogger().setLevel(logging.WARNING)


@pytest.fixture(scope="session")
def samples() -> Path:
    """Some real records of each file whose licence allows it."""
    return SAMPLES


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The whole annotation files; tests that need them skip where they are absent."""
    if not SHARED_DATA.is_dir():
        pytest.skip(ABSENT)
    return SHARED_DATA


@pytest.fixture(scope="session")
def whole_data() -> Path | None:
    """The whole annotation files, for tests that run without them and check more with them."""
    return SHARED_DATA if SHARED_DATA.is_dir() else None


@pytest.fixture(scope="session")
def real_folders(whole_data: Path | None) -> Callable[[str], list[Path]]:
    """Folders of a benchmark's real files: the sample, and the whole where it is."""
    return lambda name: [root / name for root in (SAMPLES, whole_data) if root is not None]


@pytest.fixture(scope="session")
def human_captions() -> list[dict[str, Any]]:
    """Captions people wrote of COCO photos, from the samples, as {"image": ..., "caption": [...]} per photo."""
    found: dict[str, list[str]] = {}
    for path in sorted((SAMPLES / "sugarcrepe").glob("*.json")):
        for record in json.loads(path.read_text(encoding="utf-8")).values():
            listed = found.setdefault(f"val2014/COCO_val2014_{record['filename']}", [])
            if record["caption"] not in listed:
                listed.append(record["caption"])
    with (SAMPLES / "negclip" / "valid_neg_clip.tsv").open(encoding="utf-8", newline="") as handle:
        for row in csv.DictReader(handle, delimiter="\t"):
            found.setdefault(row["filepath"].removeprefix("coco/"), []).append(row["title"])
    return [{"image": image, "caption": listed} for image, listed in found.items()]


@pytest.fixture(scope="session")
def make_record() -> Callable[..., RunRecord]:
    """A run's record, whole and valid; any field of it may be given: make_record(metrics=..., date=...)."""
    golden = read_result(Path(__file__).parent / "golden" / "run_schema_1")

    def make(name: str = "items", items_sha256: str = "x", **fields: Any) -> RunRecord:
        benchmark = golden.benchmark.model_copy(update={"name": name, "items_sha256": items_sha256})
        return golden.model_copy(update={"benchmark": benchmark} | fields)

    return make

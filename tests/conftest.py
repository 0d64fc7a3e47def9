"""Fixtures every test folder may use: records of our own, always there, and the published files, which may not be."""

from __future__ import annotations

import copy
import functools
import gc
import logging
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main
import typer.testing
from tests import own_records

from equipoise.benchmarks import crepe
from equipoise.benchmarks.ceilings import ceilings
from equipoise.benchmarks.replace import build as replace
from equipoise.core import progress, provenance
from equipoise.data.items import Item
from equipoise.evaluation.preflight import judging
from equipoise.evaluation.record import Check, RunRecord
from equipoise.evaluation.results import read_result
from equipoise.models import WORLD

BESIDE = Path(__file__).resolve().parents[2] / "shared" / "data"
SHARED_DATA = Path(os.environ.setdefault("EQUIPOISE_TEST_DATA", str(BESIDE)))
Command = Callable[..., tuple[int, str, str]]
ABSENT = "needs the whole annotation files (tests/data/README.md says how to get them)"


def pytest_report_header() -> str:
    return f"whole annotation files: {SHARED_DATA if SHARED_DATA.is_dir() else 'absent'}"


@pytest.hookimpl(tryfirst=True)  # before -m chooses
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests that read whole annotation files as slow: CI has them, a stranger's `make test` reads our own records.

    Files with slow tests come first, so that two processes end at about the same time."""
    for item in items:
        if "shared_data" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.slow)
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[Any]:
    """While modules are imported nothing is garbage: looking for it took a fifth of the time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_finish() -> None:
    """Python's collector visits every object of torch and of the test modules again and again: a sixth of the time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)


@pytest.fixture(scope="session", autouse=True)
def _one_tree_of_commands() -> Iterator[None]:
    """typer builds all commands anew at every call: half of the time of a test that is refused at once."""
    built = functools.cache(typer.main.get_command)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(typer.main, "get_command", built)
        patch.setattr(typer.testing, "_get_command", built)
        yield


@pytest.fixture(scope="session", autouse=True)
def _no_power_cut() -> Iterator[None]:
    """Every file that is written would wait for the disk, thousands of times; no test can cut the power."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", os.fstat)  # which refuses a closed file too
        yield


@pytest.fixture(scope="session", autouse=True)
def _frozen_objects_are_not_counted() -> Iterator[None]:
    """Each command asks whether there are any: Python counts a million, for 20 ms."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gc, "get_freeze_count", lambda: 10**9)
        yield


@pytest.fixture(scope="session", autouse=True)
def _git_is_asked_once() -> Iterator[None]:
    """Each evaluation starts three processes to learn its commit, which stays the same."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(provenance, "code_revision", functools.cache(provenance.code_revision))
        yield


@pytest.fixture(scope="session", autouse=True)
def _the_shipped_model_is_read_once() -> Iterator[None]:
    """Hundreds of tests load it, and transformers needs a tenth of a second; each gets a copy."""
    hf = sys.modules.get("equipoise.models.hf")  # tests without torch do not wait for it
    with pytest.MonkeyPatch.context() as patch:
        for name in ("load_network", "load_tokenizer") if hf else ():
            made = getattr(hf, name)
            kept = functools.cache(made)

            def loaded(folder: Path, *given: Any, made: Any = made, kept: Any = kept, **options: Any) -> Any:
                return (
                    copy.deepcopy(kept(folder, *given, **options))
                    if folder == WORLD
                    else made(folder, *given, **options)
                )

            patch.setattr(hf, name, loaded)
        yield


@pytest.fixture(scope="session", autouse=True)
def _the_shipped_model_is_judged_once() -> Iterator[None]:
    """Its verdicts are kept in the cache folder, and most tests have a folder of their own: a third of a second each.
    The tests of the checks call them directly, or bring models of their own."""
    made, known = judging.all_checks, dict[str, list[Check]]()

    def once(model: Any, spec: str) -> list[Check]:
        if spec != "world":
            return made(model, spec)
        card = f"{model.card} {model.device}"
        if card not in known:
            known[card] = made(model, spec)
        return list(known[card])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(judging, "all_checks", once)
        yield


@pytest.fixture(autouse=True)
def _not_quiet() -> None:
    """A command with --quiet hushes its process to the end; here the next test's warnings would be lost with it."""
    progress.be_quiet(False)
    logging.getLogger().setLevel(logging.WARNING)


@pytest.fixture
def command_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """Runs a command line: exit code, standard output, standard error."""
    from equipoise.cli import main

    # transformers keeps the standard error of the test that loaded it, which is closed by now. Without its handler
    # logging writes to the present one.
    monkeypatch.setattr(logging.getLogger("transformers"), "handlers", [])

    def called(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["equipoise", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        printed = capsys.readouterr()
        assert "Traceback" not in printed.err + printed.out
        return int(ended.value.code or 0), printed.out, printed.err

    return called


@pytest.fixture(scope="session")
def samples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Records of our own in the layouts of four benchmarks."""
    folder = tmp_path_factory.mktemp("own") / "records"
    own_records.write(folder)
    return folder


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
def replace_items(shared_data: Path) -> list[Item]:
    """REPLACE, all 27,443 items, read once: nothing changes one."""
    return replace.load(shared_data / "vl_checklist")


@pytest.fixture(scope="session")
def crepe_items(shared_data: Path) -> list[Item]:
    return crepe.load(shared_data / "crepe", [])


@pytest.fixture(scope="session")
def benchmark_folders(samples: Path, whole_data: Path | None) -> Callable[[str], list[Path]]:
    """Folders of a benchmark's files: our own records, and the published ones where they are."""
    return lambda name: [root / name for root in (samples, whole_data) if root is not None]


@pytest.fixture(scope="session")
def make_record() -> Callable[..., RunRecord]:
    """A run's record, whole and valid; any field of it may be given: make_record(metrics=..., date=...)."""
    golden = read_result(Path(__file__).parent / "golden" / "run")
    plain = {"macro": [], "least": 1, "averages": {}, "metrics": []}
    unknown = {"blind": None, "scores_sha256": None, "ceilings": ceilings(())}

    def make(name: str = "items", items_sha256: str = "x", **fields: Any) -> RunRecord:
        benchmark = golden.benchmark.model_copy(update={"name": name, "items_sha256": items_sha256} | plain)
        return golden.model_copy(update={"benchmark": benchmark} | unknown | fields)

    return make

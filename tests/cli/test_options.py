"""Options that every command has: --quiet, --json where there is a table, help, TAB."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main
from typer.testing import CliRunner

from equipoise.cli import app
from equipoise.cli.options import ADVANCED, ORDER
from equipoise.core.errors import UserError
from equipoise.world.splits import SPLITS, make_world

# These print no table: they write a file, and a line that says so.
NO_TABLE = {"bench build", "bench fetch", "bench export", "train RECIPE", "view"}
NO_TABLE |= {f"study {name}" for name in ("make", "page")}


def leaves(command: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if hasattr(command, "commands"):
        for name, child in command.commands.items():
            yield from leaves(child, f"{path} {name}".strip())
    else:
        yield path, command


VERBS = dict(leaves(typer.main.get_command(app)))


def options_of(verb: str) -> set[str]:
    return {name for param in VERBS[verb].params for name in param.opts}


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_can_be_quiet(verb: str) -> None:
    assert "--quiet" in options_of(verb)


@pytest.mark.parametrize("verb", sorted(set(VERBS) - NO_TABLE))
def test_every_table_is_json_too(verb: str) -> None:
    assert "--json" in options_of(verb)


@pytest.mark.parametrize("verb", VERBS)
def test_pictures_are_called_images_everywhere(verb: str) -> None:
    assert not {"--data", "--photos"} & options_of(verb)
    assert all(not param.is_flag for param in VERBS[verb].params if "--images" in param.opts)  # always where they lie


def called(*arguments: str) -> Any:
    return CliRunner().invoke(app, arguments)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("options")
    make_world(4, 0, folder)
    return folder


def test_what_few_people_need_stands_below_the_rest() -> None:
    plain, advanced = called("eval", "--help").stdout.split("\nAdvanced:\n")
    assert "--bench" in plain and "--help" in plain and "--dtype" not in plain
    assert "--dtype" in advanced and "--bench" not in advanced
    known = {name for verb in VERBS for name in options_of(verb)}
    assert known >= ADVANCED  # no name of an option that is gone


def test_quiet_leaves_the_result_and_takes_the_bar(world: Path) -> None:
    loud, quiet = (
        called("bench", "check", str(world / "finetune-0.jsonl"), "--images", str(world), *more)
        for more in ([], ["--quiet"])
    )
    assert loud.stdout == quiet.stdout and "images/s" in loud.stderr and quiet.stderr == ""


def test_json_of_lists() -> None:
    named = {one["name"] for one in json.loads(called("bench", "list", "--json").stdout)}
    assert {"replace", "swap", "world-swap"} <= named
    assert "balanced" in json.loads(called("perturb", "--list", "--json").stdout)
    subjects = {one["subject"] for one in json.loads(called("doctor", "--json").stdout)}
    assert {"python", "extra lora"} <= subjects


TYPED = {  # what is offered, and what is not
    "equipoise ev": ("eval", "train"),
    "equipoise bench show sugar": ("sugarcrepe-pp", "swap"),
    "equipoise eval world --bench swap,world-un": ("swap,world-unseen", "world-swap"),
    "equipoise perturb x --recipe bal": ("balanced", "swap_pairs"),
    "equipoise train hard_pos": ("hard_positives_kamath_2024", "RECIPE"),
    "equipoise eval world --im": ("--images", "--data"),
}
SHELL = """
import contextlib, io, json, os, sys
from equipoise.cli import main
lines = json.loads(sys.argv.pop())
sys.argv[0] = "equipoise"
for typed in lines:
    os.environ |= {"COMP_WORDS": typed, "COMP_CWORD": str(len(typed.split()) - 1)}
    with contextlib.redirect_stdout(io.StringIO()) as said, contextlib.suppress(SystemExit):
        main()
    print(json.dumps(said.getvalue().split()))
"""


@pytest.fixture(scope="module")
def offers() -> dict[str, list[str]]:
    """The completions that the shell gets from one process, as the process name is part of its question."""
    command = [sys.executable, "-c", SHELL, json.dumps([*TYPED])]
    asking = os.environ | {"_EQUIPOISE_COMPLETE": "complete_bash"}
    done = subprocess.run(command, env=asking, capture_output=True, text=True, check=True)
    return dict(zip(TYPED, map(json.loads, done.stdout.splitlines()), strict=True))


@pytest.mark.parametrize("typed", TYPED)
def test_the_shell_is_told_what_may_follow(typed: str, offers: dict[str, list[str]]) -> None:
    offered, not_offered = TYPED[typed]
    assert offered in offers[typed] and not_offered not in offers[typed]


@pytest.mark.parametrize("group", [[], ["bench"], ["study"], ["train"]])
def test_what_a_verb_does_fits_its_line(group: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    _, verbs = called(*group, "--help").stdout.split("Commands:\n")
    assert "..." not in verbs


def test_a_newcomers_verbs_come_first() -> None:
    listed = [line.split()[0] for line in called("--help").stdout.split("Commands:\n")[1].splitlines()]
    assert listed[:3] == ["demo", "doctor", "eval"] and set(listed) == set(ORDER)


def test_the_world_is_built_like_a_benchmark(tmp_path: Path) -> None:
    given = ["bench", "build", "world", "--splits", "test", "--limit", "3", "--seed", "2", "--out", str(tmp_path)]
    assert "wrote 3 items" in called(*given).stdout
    assert len((tmp_path / "test-2.jsonl").read_text().splitlines()) == 3 == len(list(tmp_path.rglob("*.png")))
    given[4] = "validation,finetune-matched"
    assert called(*given).stdout.count("wrote 3 items") == 2 and (tmp_path / "finetune-matched-2.jsonl").exists()
    given[4] = "finetune,tset"
    assert "no split 'tset'" in str(CliRunner().invoke(app, given).exception)
    assert not (tmp_path / "finetune-2.jsonl").exists()
    known = " ".join(called("bench", "build", "--help").stdout.split())
    assert not [split for split in SPLITS if not re.search(rf" {split}[,. ]", known)]
    refused = CliRunner().invoke(app, ["bench", "build", "swap", "--seed", "1", "--out", str(tmp_path / "x.jsonl")])
    assert "--seed is only for `bench build world`" in str(refused.exception)
    assert called("bench", "show", "world").stdout.count("world-") >= 5
    assert len(json.loads(called("bench", "show", "world", "--json").stdout)) == 5


def test_perturb_refuses_what_its_form_does_not_use(tmp_path: Path) -> None:
    file = tmp_path / "captions.txt"
    file.write_text("a dog\n")
    for given, said in (
        (("--hard-images", "world", "--images", "x", "--cap", "2"), "--cap changes nothing with --hard-images"),
        (("--add-positives", "--keep-all"), "--keep-all changes nothing with --add-positives"),
        (("--images", "x"), "--images goes with --hard-images MODEL"),
        (("--hard-images", "world"), "name their folder with --images"),
    ):
        found = called("perturb", str(file), *given)
        assert isinstance(found.exception, UserError) and said in str(found.exception)

"""--recipe py:module:name: a recipe of the user's own, in every worker, known by the bytes of its file."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import ValidationError

from equipoise.core.errors import UserError
from equipoise.data.items import Edit, load_items
from equipoise.perturb.recipes import Setup
from equipoise.perturb.run.engine import perturb_file

MODULE = """
from equipoise.data.items import Edit
from equipoise.perturb import Candidate, Recipe
from equipoise.perturb.recipe import Slot

def shout(caption, sources, rng):
    if "horse" in caption.text:
        raise ValueError("no horses")
    yield Candidate(caption.text.upper(), "positive", Edit(op="replace", target="order", by="shout"))

SHOUT = Recipe("shout", "Upper case.", (Slot("shout", (shout,)),))

def make():
    return SHOUT
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "own_recipe", raising=False)
    (tmp_path / "own_recipe.py").write_text(MODULE)
    (tmp_path / "captions.txt").write_text("".join(f"a dog number {n} on a bench\n" for n in range(40)))
    return tmp_path


def command(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The real command in a process of its own: its folder is not on the path of a console script."""
    code = "import sys; sys.path = [p for p in sys.path if p]; from equipoise.cli import main; main()"
    return subprocess.run(
        [sys.executable, "-c", code, "perturb", *arguments], cwd=folder, capture_output=True, text=True, check=False
    )


@pytest.mark.slow
def test_two_workers_build_it_by_its_name(folder: Path) -> None:
    script = (
        "import sys; sys.path = [p for p in sys.path if p]\n"
        "from equipoise.perturb.run.engine import perturb_file\n"
        "from equipoise.perturb.recipes import Setup\n"
        "if __name__ == '__main__':\n"
        "    perturb_file('captions.txt', 'two.jsonl', Setup('py:own_recipe:make'), workers=2, shard=10)\n"
    )
    away = folder / "away"
    away.mkdir()
    (away / "script.py").write_text(script)  # not where the module is, so that only the name can find it
    found = subprocess.run(
        [sys.executable, str(away / "script.py")], cwd=folder, capture_output=True, text=True, check=False
    )
    assert found.returncode == 0, found.stderr
    perturb_file("captions.txt", "one.jsonl", Setup("py:own_recipe:make"), shard=10)
    assert (folder / "two.jsonl").read_bytes() == (folder / "one.jsonl").read_bytes()
    assert load_items(folder / "one.jsonl")[3].positives[0].text == "A DOG NUMBER 3 ON A BENCH"


def test_another_source_is_another_run(folder: Path) -> None:
    first = Setup("py:own_recipe:SHOUT").identity()
    assert first["recipe"] == "py:own_recipe:SHOUT" and len(first["source"]["py:own_recipe:SHOUT"]) == 64
    (folder / "own_recipe.py").write_text(MODULE + "# changed\n")
    assert Setup("py:own_recipe:SHOUT").identity() != first
    assert Setup("balanced").identity() == {"recipe": "balanced", "seed": 0, "precision": 0.92}
    assert "precision" not in Setup("swap_pairs").identity()


def test_from_the_command_line(folder: Path) -> None:
    (folder / "captions.txt").write_text("a dog on a bench\na horse on a bench\n")
    done = command(folder, "captions.txt", "--recipe", "py:own_recipe:SHOUT", "--out", "x.jsonl", "--json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["items"] == 1 and report["setup"]["source"]
    (reason,) = report["refused"]
    assert "ValueError: no horses" in reason and 'own_recipe.py, line 8: raise ValueError("no horses")' in reason


@pytest.mark.parametrize(
    ("spec", "part"),
    [
        ("py:own_recipe:SHOUTT", "Did you mean SHOUT"),
        ("py:own_recipe:shout", "required positional argument"),
        ("py:own_recip:SHOUT", "Did you mean own_recipe"),
        ("py:own_recipe:Edit", "expected a recipe (equipoise.perturb.Recipe)"),
        ("balancd", "no recipe 'balancd'. Did you mean balanced?"),
    ],
)
def test_what_is_not_a_recipe(folder: Path, spec: str, part: str) -> None:
    with pytest.raises(UserError) as caught:
        perturb_file("captions.txt", "x.jsonl", Setup(spec))
    assert part in str(caught.value)


def test_llm_is_for_recipes_that_ask_one(folder: Path) -> None:
    arguments = (
        "captions.txt",
        "--recipe",
        "py:own_recipe:SHOUT",
        "--out",
        "x.jsonl",
        "--llm",
        "http://127.0.0.1:1/v1",
    )
    failed = command(folder, *arguments)
    assert failed.returncode == 2 and "asks no language model" in failed.stderr


def test_an_operation_of_its_own_has_its_own_name(folder: Path) -> None:
    (folder / "own_recipe.py").write_text(MODULE.replace('op="replace", target="order"', 'op="paraphrase"'))
    report = perturb_file("captions.txt", "out.jsonl", Setup("py:own_recipe:SHOUT"))
    assert report["edits"] == {"positive paraphrase": 40}
    (edit,) = {text.edit.op for item in load_items("out.jsonl") for text in item.positives if text.edit}
    assert edit == "paraphrase"
    with pytest.raises(ValidationError):
        Edit(op="Not a name!", by="shout")


@pytest.mark.parametrize(
    ("last_line", "message"),
    [
        ('yield Candidate(caption.text.upper(), "pos", EDIT)', "expected kind .positive. or .negative., found 'pos'"),
        ("yield caption.text.upper()", "yielded a str; expected equipoise.extend.Candidate"),
        ('return Candidate(caption.text.upper(), "positive", EDIT)', "yielded a str; .*yield it, do not return it"),
        ("caption.text.upper()", "yielded a NoneType"),
    ],
)
def test_an_operation_yields_candidates_of_a_known_kind(folder: Path, last_line: str, message: str) -> None:
    before, _, after = MODULE.partition("    yield")
    edit = 'EDIT = Edit(op="replace", target="order", by="shout")\n'
    (folder / "own_recipe.py").write_text(f"{before}    {last_line}\n{edit}{after.partition(chr(10))[2]}")
    with pytest.raises(UserError, match=f"operation shout:? {message}"):
        perturb_file("captions.txt", "out.jsonl", Setup("py:own_recipe:SHOUT"))

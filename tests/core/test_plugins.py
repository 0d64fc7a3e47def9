"""py:module:name: what is found, and what each mistake of the user's says."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from equipoise.core.errors import UserError
from equipoise.core.plugins import load_named, own_code, source_sha256

MODULE = """
NUMBER = 3
def three(): return 3
def word(): return "three"
def wants(count, *, more=1): return count
def fails():
    value = 1
    return value / 0
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    known = set(sys.modules)
    (tmp_path / "plugin_fine.py").write_text(MODULE)
    yield tmp_path
    for name in set(sys.modules) - known:
        if name.startswith("plugin_"):
            del sys.modules[name]


def load(spec: str) -> object:
    return load_named(spec, "a number (int)", lambda value: isinstance(value, int))


def refused(spec: str, *parts: str) -> None:
    with pytest.raises(UserError) as caught:
        load(spec)
    for part in (spec, *parts):
        assert part in str(caught.value), str(caught.value)


def test_a_variable_or_a_function_that_makes_one() -> None:
    assert load("py:plugin_fine:NUMBER") == 3
    assert load("py:plugin_fine:three") == 3


def test_mistakes_in_the_name(folder: Path) -> None:
    refused("py:plugin_fine", "expected py:module:name")
    refused("py:plugin_fine:", "expected py:module:name")
    refused("py::three", "expected py:module:name")
    refused("py:plugin_fine.py:three", "not a path: py:plugin_fine:three")
    refused("py:plugin_fin:three", "cannot be imported", str(folder), "Did you mean plugin_fine?")
    refused("py:plugin_fine.deeper:three", "cannot be imported")
    refused(
        "py:plugin_fine:thre", "no function or variable 'thre'", str(folder / "plugin_fine.py"), "Did you mean three"
    )


def test_what_is_found_must_fit() -> None:
    refused("py:plugin_fine:word", "expected a number (int)", "word() returned str")
    refused("py:plugin_fine:wants", "missing 1 required positional argument: 'count'")


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("import nothing_of_that_name\n", ("ModuleNotFoundError", "line 1: import nothing_of_that_name")),
        ("def f(:\n    pass\n", ("SyntaxError", "line 1: def f(:")),
        ("import json\n\njson.loads('{')\n", ("JSONDecodeError", "line 3: json.loads('{')")),
        ("import sys\nsys.exit(1)\n", ("SystemExit", "line 2: sys.exit(1)")),
    ],
)
def test_a_module_that_fails_shows_the_users_own_line(folder: Path, text: str, parts: tuple[str, ...]) -> None:
    (folder / "plugin_broken.py").write_text(text)
    refused("py:plugin_broken:x", "cannot be imported", str(folder / "plugin_broken.py"), *parts)


def test_a_function_that_fails_shows_the_users_own_line(folder: Path) -> None:
    refused("py:plugin_fine:fails", "your fails() failed", "ZeroDivisionError", "line 8: return value / 0")
    with pytest.raises(UserError, match=r"^as it is$"), own_code("py:x:y", "failed"):
        raise UserError("as it is")


def test_the_source_is_known_by_its_bytes(folder: Path) -> None:
    before = source_sha256("py:plugin_fine:three")
    (folder / "plugin_fine.py").write_text(MODULE + "# another\n")
    assert len(before) == 64 and source_sha256("py:plugin_fine:three") != before


def test_the_modules_that_a_file_imports_count_and_are_read_again(folder: Path) -> None:
    (folder / "plugin_top.py").write_text("def three():\n    from plugin_parts import below\n    return below.THREE\n")
    (folder / "plugin_parts").mkdir()
    (folder / "plugin_parts" / "__init__.py").write_text("from . import below\n")
    (folder / "plugin_parts" / "below.py").write_text("THREE = 3\n")
    found = []
    for value in ("3", "3.25", "3"):
        (folder / "plugin_parts" / "below.py").write_text(f"THREE = {value}\n")
        found.append((load_named("py:plugin_top:three", "3", lambda one: isinstance(one, int | float)),
                      source_sha256("py:plugin_top:three")))  # fmt: skip
    assert [value for value, _ in found] == [3, 3.25, 3]
    assert found[0] == found[2] and found[0][1] != found[1][1]


def test_the_same_name_in_another_folder_is_another_module(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a", "b"):
        (folder / name).mkdir()
        (folder / name / "plugin_twice.py").write_text(f"def which():\n    return {name!r}\n")
    for name in ("a", "b", "a"):
        monkeypatch.chdir(folder / name)
        assert load_named("py:plugin_twice:which", "a letter", lambda one: isinstance(one, str)) == name

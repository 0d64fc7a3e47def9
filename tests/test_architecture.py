"""The architecture of docs/design.md: imports go down only, and the package is light to import."""

from __future__ import annotations

import ast
import functools
import re
import warnings
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "equipoise"


def rooms() -> list[str]:
    """The rooms as docs/design.md lists them, lowest first; a room is a module or a folder."""
    text = (ROOT / "docs" / "design.md").read_text()
    block = text.split("<!-- rooms -->")[1].split("```")[1]
    return [line.split()[0] for line in block.splitlines() if line.strip()]


ROOMS = rooms()


def module_of(path: Path) -> str:
    """ "language.caption" for its file, "language" for the folder's own file, "" for the package's."""
    return ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix("__init__").rstrip(".")


FILES = {module_of(path): path for path in sorted(SOURCE.rglob("*.py"))}


def room_of(module: str) -> str:
    """The longest listed room that the module lies in."""
    listed = [room for room in ROOMS if module == room or module.startswith(f"{room}.")]
    assert listed, f"{module} lies in no room of docs/design.md"
    return max(listed, key=len)


@functools.cache
def imports_of(module: str) -> set[str]:
    """The modules of equipoise that a module imports, wherever in the file; names become the module they come from."""
    found: set[str] = set()
    path = FILES[module]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute here"
            if node.module == "equipoise" or (node.module or "").startswith("equipoise."):
                package = (node.module or "").removeprefix("equipoise").lstrip(".")
                for name in node.names:
                    below = f"{package}.{name.name}".lstrip(".")
                    found.add(below if below in FILES else package)
        elif isinstance(node, ast.Import):
            found |= {
                name.name.removeprefix("equipoise").lstrip(".")
                for name in node.names
                if name.name.startswith("equipoise")
            }
    return {name for name in found if name and name != module}  # "": the version, which everybody may name


# What a package's own file hands out by name, loaded when asked for: no import, so no arrow (and no circle).
LAZY = {"", "extend", "integrations", "perturb"}


def arrows_of(module: str) -> set[str]:
    return set() if module in LAZY else imports_of(module)


def test_imports_go_down() -> None:
    wrong = [
        f"{module} ({room_of(module)}) must not import {name}: it lies above it in docs/design.md"
        for module in FILES.keys() - LAZY
        for name in arrows_of(module)
        if ROOMS.index(room_of(name)) > ROOMS.index(room_of(module))
    ]
    assert not wrong


@pytest.mark.parametrize("module", sorted(LAZY))
def test_a_lazy_package_imports_nothing_at_once(module: str) -> None:
    body = ast.parse(FILES[module].read_text()).body
    named = [node.module for node in body if isinstance(node, ast.ImportFrom)]
    assert not [name for name in named if name and name.startswith("equipoise")]


def test_no_circle_of_files() -> None:
    done: set[str] = set()

    def visit(module: str, trail: tuple[str, ...]) -> None:
        assert module not in trail, "imports run in a circle: " + " -> ".join((*trail, module))
        if module not in done:
            for name in sorted(arrows_of(module)):
                visit(name, (*trail, module))
            done.add(module)

    for module in FILES:
        visit(module, ())


def test_every_listed_room_is_there() -> None:
    gone = [room for room in ROOMS if not any(name == room or name.startswith(f"{room}.") for name in FILES)]
    assert not gone, f"docs/design.md lists {gone}, which do not exist"


def test_every_folder_says_what_lives_there() -> None:
    folders = {path.parent for path in FILES.values()} - {SOURCE}
    said = {folder: ast.get_docstring(ast.parse((folder / "__init__.py").read_text())) for folder in folders}
    assert not [folder for folder, text in said.items() if len(text or "") <= 40]


def test_sizes() -> None:
    """No folder over about a dozen modules, except where all are of one kind. A long module is a reminder, no failure:
    the subject decides where code goes."""
    for module, path in FILES.items():
        if (lines := len(path.read_text().splitlines())) > 400:
            warnings.warn(f"{module} has {lines} lines; is it still about one subject?", stacklevel=1)
    one_kind = {"benchmarks", "losses", "recipes"}
    counts: dict[Path, int] = {}
    for path in FILES.values():
        if path.name != "__init__.py" and path.parent.name not in one_kind:
            counts[path.parent] = counts.get(path.parent, 0) + 1
    wide = {str(folder.relative_to(SOURCE)): n for folder, n in counts.items() if n > 13}
    assert not wide, f"more than 13 modules: {wide}"


PUBLIC = {"equipoise", "equipoise.extend", "equipoise.integrations"}


def test_docs_and_examples_import_public_names_alone() -> None:
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), *sorted((ROOT / "examples").rglob("*.py"))]
    private = []
    for page in pages:
        for line in page.read_text(encoding="utf-8").splitlines():
            match = re.match(r"\s*(?:from|import) (equipoise[\w.]*)(?: import (.+))?", line)
            names = [] if match is None else [name.strip("() ") for name in (match[2] or "").split(",")]
            if match and (match[1] not in PUBLIC or any(name in ROOMS for name in names if name not in CALLED)):
                private.append(f"{page.relative_to(ROOT)}: {line.strip()}")
    assert not private, "\n".join(private)


CALLED = {"perturb", "report", "train", "extend"}  # rooms that are also verbs


def test_every_public_name_is_there_and_every_other_one_is_refused() -> None:
    import equipoise.extend as extend

    assert all(getattr(extend, name) is not None for name in extend.__all__ if name != "import_open_clip")
    with pytest.raises(AttributeError, match="Metricc"):
        extend.Metricc  # noqa: B018

"""`py:module:name`: a user's own model, benchmark or recipe, without a change to this package.

Errors in the user's code are shown with the user's line; a traceback through this package would hide it.
"""

from __future__ import annotations

import contextlib
import importlib
import linecache
import sys
import sysconfig
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

from equipoise.core.errors import UserError, did_you_mean
from equipoise.core.files import sha256_file

PREFIX = "py:"
FORM = "py:module:name"


def is_named(spec: str) -> bool:
    return spec.startswith(PREFIX)


def load_named(spec: str, what: str, check: Callable[[object], bool], folder: str | Path | None = None) -> object:
    """The object `py:module:name`, from `folder` (default: the current one) or an installed package.

    `what` describes what `check` accepts ("a benchmark (equipoise.benchmarks.base.Benchmark)"). An object that fails
    the check is called without arguments if possible, and its result is checked.
    """
    module_name, name = _parts(spec)
    module = _module(spec, folder)
    missing = object()
    value = getattr(module, name, missing)
    if value is missing:
        public = [known for known in vars(module) if not known.startswith("_")]
        raise UserError(
            f"{spec}: {module_name} ({getattr(module, '__file__', 'built in')}) has no function or variable "
            f"{name!r}.{did_you_mean(name, public)}"
        )
    if check(value):
        return value
    found = f"{name} is {_described(value)}"
    if callable(value):
        with own_code(spec, f"expected {what}; your {name}() failed"):
            value = value()
        if check(value):
            return value
        found = f"{name}() returned {_described(value)}"
    raise UserError(f"{spec}: expected {what}, or a function without arguments that returns it; {found}")


def source_sha256(spec: str, folder: str | Path | None = None) -> str:
    """Hash of the file that defines `spec` (not of its imports): a run with other code is another run."""
    path = getattr(_module(spec, folder), "__file__", None)
    if path is None or not Path(path).is_file():
        raise UserError(f"{spec}: {_parts(spec)[0]} has no file, so the run could not record which code it used")
    return sha256_file(path)


@contextlib.contextmanager
def own_code(spec: str, failed: str) -> Iterator[None]:
    """Run the user's code: any exception becomes a UserError that shows their line."""
    try:
        yield
    except UserError:
        raise
    except (Exception, SystemExit) as error:
        line, message = own_line(error), f"{type(error).__name__}: {error}".removesuffix(": ")
        raise UserError(f"{spec}: {failed} ({message})" + (f"\n  {line}" if line else "")) from error


def _parts(spec: str) -> tuple[str, str]:
    module_name, colon, name = spec.removeprefix(PREFIX).partition(":")
    if module_name.endswith(".py") or "/" in module_name:
        raise UserError(
            f"{spec}: expected a module, not a path: {PREFIX}{Path(module_name).stem}:{name or 'name'}, called from "
            "the folder of the file"
        )
    if not (colon and name.isidentifier() and all(part.isidentifier() for part in module_name.split("."))):
        raise UserError(f"{spec}: expected {FORM}, for instance py:my_module:make")
    return module_name, name


def _module(spec: str, folder: str | Path | None) -> ModuleType:
    name = _parts(spec)[0]
    here = str(folder or Path.cwd())
    if here not in sys.path:  # a console script does not see the current folder
        sys.path.insert(0, here)
    importlib.invalidate_caches()  # the file may be newer than this process
    with own_code(spec, f"module {name!r} cannot be imported from {here}"):
        try:
            return importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name is None or not f"{name}.".startswith(f"{error.name}."):
                raise  # the module exists, but one of its imports does not
            known = [path.stem for path in Path(here).glob("*.py")]
            raise UserError(
                f"{spec}: module {name!r} cannot be imported: it is neither in {here} nor installed."
                f"{did_you_mean(name, known)}"
            ) from None


def _described(value: object) -> str:
    if isinstance(value, type):
        return f"the class {value.__name__}"
    return "None" if value is None else type(value).__name__


def own_line(error: BaseException) -> str:
    """The user's last line in the traceback, as "file, line N: code"; else the last one of another package."""
    if isinstance(error, SyntaxError) and error.filename and error.lineno:
        return _shown(error.filename, error.lineno)
    return own_frame(error) or next((_shown(*frame) for frame in reversed(_frames(error))), "")


def own_frame(error: BaseException) -> str:
    """The user's last line in the traceback; empty if there is none."""
    installed = [sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")]
    own = [frame for frame in _frames(error) if not any(_below(frame[0], folder) for folder in installed)]
    return _shown(*own[-1]) if own else ""


def _frames(error: BaseException) -> list[tuple[str, int]]:
    """File and line of each frame outside this package."""
    here = str(Path(__file__).parents[1])
    found = [(frame.filename, frame.lineno or 0) for frame in traceback.extract_tb(error.__traceback__)]
    return [frame for frame in found if not frame[0].startswith("<") and not _below(frame[0], here)]


def _below(path: str, folder: str) -> bool:
    return Path(path).resolve().is_relative_to(Path(folder).resolve())


def _shown(path: str, line: int) -> str:
    linecache.checkcache(path)
    code = linecache.getline(path, line).strip()
    return f"{path}, line {line}" + (f": {code}" if code else "")

"""`py:module:name`: a user's own model, benchmark or recipe, without a change to this package.

Errors in the user's code are shown with the user's line; a traceback through this package would hide it.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import importlib
import importlib.machinery
import importlib.util
import linecache
import site
import socket
import sys
import sysconfig
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

from equipoise.core.errors import Unreachable, UserError, did_you_mean, first_line
from equipoise.core.files import sha256_file, sha256_json

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
    made = f"{name} is {_described(value)}"
    if callable(value):
        with own_code(spec, f"expected {what}; your {name}() failed"):
            value = value()
        if check(value):
            return value
        made = f"{name}() returned {_described(value)}"
    raise UserError(f"{spec}: expected {what}, or a function without arguments that returns it; {made}")


def source_sha256(spec: str, folder: str | Path | None = None) -> str:
    """Hash of the file that defines `spec` and of all files of the user's that it imports: a run with other code is
    another run. Installed packages do not count."""
    name = _parts(spec)[0]
    path = getattr(_module(spec, folder), "__file__", None)
    if path is None or not Path(path).is_file():
        raise UserError(f"{spec}: {name} has no file, so the run could not record which code it used")
    files = _files(name)
    return sha256_file(path) if len(files) < 2 else sha256_json(files)


@contextlib.contextmanager
def own_code(spec: str, failed: str) -> Iterator[None]:
    """Run the user's code: any exception becomes a UserError that shows their line."""
    try:
        yield
    except UserError:
        raise
    except (Exception, SystemExit) as error:
        if down := _down(error):
            raise Unreachable(f"{spec}: {failed}: no connection ({first_line(down)})") from error
        line, message = own_line(error), f"{type(error).__name__}: {error}".removesuffix(": ")
        raise UserError(f"{spec}: {failed} ({message})" + (f"\n  {line}" if line else "")) from error


def _down(error: BaseException | None) -> BaseException | None:
    """The lost or refused connection that an error comes from; each client has its own errors around it."""
    while error is not None and not isinstance(error, ConnectionError | TimeoutError | socket.gaierror):
        error = error.__cause__ or error.__context__
    return error


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
    if sys.path[:1] != [here]:  # a console script does not see the current folder, and a notebook may change it
        sys.path.insert(0, here)
    importlib.invalidate_caches()  # the file may be newer than this process
    _forget_changed(name)
    before = set(sys.modules)
    with own_code(spec, f"module {name!r} cannot be imported from {here}"):
        try:
            module = importlib.import_module(name)
            _brought.setdefault(name, set()).update(set(sys.modules) - before)
            _loaded.setdefault(name, _files(name))
            return module
        except ModuleNotFoundError as error:
            if error.name is None or not f"{name}.".startswith(f"{error.name}."):
                raise  # the module exists, but one of its imports does not
            known = [path.stem for path in Path(here).glob("*.py")]
            raise UserError(
                f"{spec}: module {name!r} cannot be imported: it is neither in {here} nor installed."
                f"{did_you_mean(name, known)}"
            ) from None


_brought: dict[str, set[str]] = {}  # a py: module -> the modules that its import brought
_loaded: dict[str, dict[str, str]] = {}  # a py: module -> the files that it was made of
_BEGAN = time.time()


def _forget_changed(name: str) -> None:
    """A notebook edits a file and goes on: its module, and all that it is made of, are then imported again."""
    if name not in sys.modules or is_installed(name):
        return
    files = _files(name)
    edited = files != _loaded[name] if name in _loaded else any(_time(module) > _BEGAN for module in files)
    top = name.partition(".")[0]
    there = importlib.machinery.PathFinder.find_spec(top)
    if edited or (there is not None and there.origin != getattr(sys.modules.get(top), "__file__", None)):
        for module in files.keys() | _loaded.get(name, {}).keys():
            sys.modules.pop(module, None)
        _loaded.pop(name, None)


def _files(name: str) -> dict[str, str]:
    """The sha256 of each module outside installed packages that a module imports, itself among them."""
    files: dict[str, str] = {}
    waiting = [name, *_brought.get(name, ())]
    while waiting:
        module = waiting.pop()
        path = None if module in files or is_installed(module) else _place(module)
        if path is not None:
            files[module] = sha256_file(path)
            waiting += _imports(module, path)
    return files


def _place(module: str) -> Path | None:
    try:
        spec = getattr(sys.modules.get(module), "__spec__", None) or importlib.util.find_spec(module)
    except (ImportError, ValueError, AttributeError):  # an import that is tried, or of a name that is no module
        return None
    path = Path(spec.origin) if spec is not None and spec.has_location and spec.origin else None
    return path if path is not None and path.is_file() and not _is_below_installed(str(path)) else None


def _time(module: str) -> float:
    path = _place(module)
    return 0.0 if path is None else path.stat().st_mtime


def _imports(module: str, path: Path) -> list[str]:
    """The names that a file imports, also inside functions; those that are no modules are left to `_place`."""
    if path.suffix != ".py":
        return []
    package = module if path.stem == "__init__" else module.rpartition(".")[0]
    names: list[str] = []
    try:
        tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError):  # importing it says so
        return []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = "." * node.level + (node.module or "")
            with contextlib.suppress(ImportError, ValueError):
                base = importlib.util.resolve_name(base, package) if node.level else base
                names += [base, *(f"{base}.{alias.name}" for alias in node.names)]
    parents = [name.rsplit(".", dots)[0] for name in names for dots in range(1, name.count(".") + 1)]
    return [*names, *parents]


def is_installed(module: str) -> bool:
    """Whether a module belongs to Python, to an installed package or to this one; a notebook does not."""
    if module == "__main__" or not isinstance(module, str):  # some classes of C code have no name there
        return module != "__main__"
    loaded = sys.modules.get(module)
    path = getattr(loaded, "__file__", None)
    if path is not None:
        return _is_below_installed(path)
    if getattr(getattr(loaded, "__spec__", None), "origin", None) in ("built-in", "frozen"):
        return True
    top = module.partition(".")[0]
    return top != module and is_installed(top)


@functools.cache
def _is_below_installed(path: str) -> bool:
    places = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    places |= {*site.getsitepackages(), site.getusersitepackages(), str(Path(__file__).parents[1])}
    return any(_below(path, place) for place in places)


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
    own = [frame for frame in _frames(error) if not _is_below_installed(frame[0])]
    return _shown(*own[-1]) if own else ""


def _frames(error: BaseException) -> list[tuple[str, int]]:
    """File and line of each frame outside this package."""
    here = str(Path(__file__).parents[1])
    frames = [(frame.filename, frame.lineno or 0) for frame in traceback.extract_tb(error.__traceback__)]
    return [frame for frame in frames if not frame[0].startswith("<") and not _below(frame[0], here)]


def _below(path: str, folder: str) -> bool:
    return Path(path).resolve().is_relative_to(Path(folder).resolve())


def _shown(path: str, line: int) -> str:
    linecache.checkcache(path)
    code = linecache.getline(path, line).strip()
    return f"{path}, line {line}" + (f": {code}" if code else "")

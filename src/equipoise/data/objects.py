"""The content of any Python object as one hash: its attributes, arrays and code, and all that its code refers to.

A function, a loss or a model of a notebook is in no file. Code of installed packages counts by name and version, all
other code by its content. What cannot be known for certain raises `Unidentified`: an open file, a connection, an
object of C code that cannot be pickled, a function that reads files.
"""

from __future__ import annotations

import builtins
import copyreg
import dis
import functools
import hashlib
import importlib
import json
import logging
import sys
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import (
    BuiltinFunctionType,
    CellType,
    CodeType,
    FunctionType,
    GetSetDescriptorType,
    MappingProxyType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
)
from typing import Any

import numpy as np
from PIL import Image

from equipoise.core.plugins import is_installed


class Unidentified(Exception):
    """The object has no content that could be hashed, and why."""


def of_object(value: object, without: Iterable[object] = ()) -> str:
    """The hash; of the tensors `without` only their kind counts, since their values are hashed elsewhere."""
    try:
        return _Walk({id(part) for part in without}).of(value).hex()
    except Unidentified:
        raise
    except Exception as error:  # attributes of a user's own class may do anything; it may be nested too deeply
        raise Unidentified(f"its content cannot be read ({type(error).__name__})") from None


_PLAIN = {type(None), bool, int, float, complex, str, bytes, type(Ellipsis), type(NotImplemented), range}
_OUTSIDE = ("socket", "subprocess", "urllib.request", "urllib3", "http", "requests", "httpx", "aiohttp")
_READERS = {"builtins.open", "builtins.input", "builtins.eval", "builtins.exec", "PIL.Image.open", "numpy.load"}
_READERS |= {"io.open", "_io.open", "torch.serialization.load", "torch.load", "os._Environ", "os.getenv"}
_NOT_CONTENT = {"__dict__", "__weakref__", "__doc__", "__module__", "__qualname__", "__abstractmethods__", "_abc_impl"}
_NOT_CONTENT |= {
    "__slotnames__",
    "__firstlineno__",
    "__static_attributes__",
    "__annotations__",
    "__annotate__",
    "__annotate_func__",
}
_LOADS = {"LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"}
_MAKERS = {"__init__", "__new__", "__post_init__"}  # what they did is in the attributes


def _digest(*parts: str | bytes) -> bytes:
    sha = hashlib.sha256()
    for part in parts:
        raw = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        sha.update(len(raw).to_bytes(8, "little") + raw)
    return sha.digest()


# The parts of a network have the same few attributes and empty dicts of hooks, thousands of times.
_pair = functools.lru_cache(20_000)(_digest)
_NO_HOOKS: OrderedDict[object, object] = OrderedDict()


def _is_flat(value: Any) -> bool:
    """Whether its repr is its whole content; a vocabulary of 50,000 words is hashed in one go."""
    kind = type(value)
    if kind in _PLAIN:
        return True
    if kind not in (dict, list, tuple):
        return False
    parts = value.values() if kind is dict else value
    if kind is dict and not _PLAIN.issuperset(map(type, value)):
        return False
    return _PLAIN.issuperset(map(type, parts)) or all(map(_is_flat, parts))


class _Walk:
    def __init__(self, without: set[int]) -> None:
        self._without = without
        self._done: dict[int, tuple[object, bytes]] = {}  # the object too: its id could become another's
        self._open: dict[int, int] = {}

    def of(self, value: object) -> bytes:
        kind = type(value)
        if kind is OrderedDict and not value and not vars(value):
            value = _NO_HOOKS  # hashed once
        if _is_flat(value):
            return _digest(kind.__name__, repr(value))
        if id(value) in self._done:
            return self._done[id(value)][1]
        if id(value) in self._open:
            return _digest("again", str(len(self._open) - self._open[id(value)]))
        self._open[id(value)] = len(self._open)
        try:
            digest = self._content(value, kind)
        finally:
            del self._open[id(value)]
        self._done[id(value)] = (value, digest)
        return digest

    def _each(self, tag: str, values: Iterable[Any]) -> bytes:
        return _digest(tag, *(self.of(part) for part in values))

    def _named(self, tag: str, values: Mapping[Any, Any]) -> bytes:
        """A hash of attributes; the order in which they were set does not matter."""
        return _digest(tag, *(_pair(str(name), self.of(values[name])) for name in sorted(values, key=str)))

    def _content(self, value: Any, kind: type) -> bytes:
        if kind in (list, tuple):
            return self._each(kind.__name__, value)
        if kind in (dict, MappingProxyType):
            return self._each("dict", (part for pair in value.items() for part in pair))
        if kind in (set, frozenset):
            return _digest(kind.__name__, *sorted(self.of(part) for part in value))
        if isinstance(value, type):
            return self._class(value)
        if isinstance(value, FunctionType):
            return self._function(value)
        if kind is CodeType:
            return self._code(value)
        if isinstance(value, ModuleType):
            return self._module(value)
        if kind is MethodType:
            return self._each("method", (value.__func__, value.__self__))
        if kind is BuiltinFunctionType:
            owner = value.__self__
            own = () if owner is None or isinstance(owner, ModuleType) else (owner,)
            return _digest(_refused(value), self._each("builtin", own))
        if isinstance(value, staticmethod | classmethod | property):
            parts = [getattr(value, name, None) for name in ("__func__", "fget", "fset")]
            return self._each(kind.__name__, parts)
        if kind is CellType:
            return self._each("cell", _cell(value))
        if kind is functools._lru_cache_wrapper:
            return self._each("cached", (value.__wrapped__,))
        if isinstance(value, logging.Logger):
            return _digest("logger", value.name)
        if isinstance(value, GetSetDescriptorType | MemberDescriptorType):
            return _digest("descriptor", value.__name__)
        if isinstance(value, np.ndarray):
            raw = self._each("", value.ravel().tolist()) if value.dtype.hasobject else value.tobytes()
            return _digest("array", str(value.dtype), str(value.shape), raw)
        if isinstance(value, Image.Image):
            about = _digest(value.mode, str(value.size), str(value.getpalette()), str(dict(value.getexif())))
            return _digest("picture", about, value.tobytes())
        return self._of_torch(value) or self._of_tokenizer(value) or self._instance(value, kind)

    def _of_torch(self, value: object) -> bytes | None:
        torch = sys.modules.get("torch")
        if torch is None:
            return None
        if isinstance(value, torch.Tensor):
            about = f"{value.dtype} {tuple(value.shape)}"
            if id(value) in self._without:
                return _digest("tensor", about)
            try:
                raw = value.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()
            except (RuntimeError, TypeError, NotImplementedError):
                raise Unidentified(f"the values of a tensor ({about}) cannot be read") from None
            return _digest("tensor", about, raw)
        if isinstance(value, torch.device | torch.dtype | torch.memory_format | torch.layout):
            return _digest("torch", repr(value))
        if isinstance(value, torch.nn.Module) and not isinstance(value, torch.jit.ScriptModule):
            # Hooks are kept by a number that counts up in the whole process.
            hooks = {name: [*part.values()] for name, part in vars(value).items() if "_hooks" in name and part}
            return _digest(self.of(type(value)), self._named("module", vars(value) | hooks))
        return None

    def _of_tokenizer(self, value: Any) -> bytes | None:
        """A fast tokenizer of transformers; each call sets its padding and truncation anew."""
        backend = getattr(value, "backend_tokenizer", None) if is_installed(type(value).__module__) else None
        if backend is None or not hasattr(backend, "to_str"):
            return None
        about = _without_calls(backend.to_str())
        own = {name: part for name, part in vars(value).items() if part is not backend}
        return _digest(self.of(type(value)), about, self._named("tokenizer", own))

    def _instance(self, value: Any, kind: type) -> bytes:
        """By what pickle would keep; and by all attributes where the user's own class may keep less."""
        parts = [self.of(kind)]
        makers = [getattr(kind, name, None) for name in ("__reduce_ex__", "__reduce__", "__getstate__")]
        if not is_installed(kind.__module__) and any(isinstance(maker, FunctionType) for maker in makers):
            parts.append(self._named("own", getattr(value, "__dict__", {})))
        try:
            reduce: Callable[[Any], Any] | None = copyreg.dispatch_table.get(kind)
            reduced = reduce(value) if reduce else value.__reduce_ex__(2)
        except Exception:  # each class has its own way to say no
            raise Unidentified(f"it holds an object of {_name(kind)}, whose content cannot be known") from None
        if isinstance(reduced, str):
            return _digest(*parts, reduced)
        maker, arguments, state, *items = (*reduced, None, None, None)[:5]
        states = state if isinstance(state, tuple) and len(state) == 2 else (state,)
        for one in states:
            parts.append(self._named("state", one) if isinstance(one, dict) else self.of(one))
        listed = [list(listing) if listing is not None else None for listing in items]
        return _digest(*parts, self.of(maker), self.of(arguments), self.of(listed))

    def _class(self, kind: type) -> bytes:
        bases = [base for base in (*kind.__bases__, type(kind)) if base not in (object, type)]
        about, content = "", {name: part for name, part in vars(kind).items() if name not in _NOT_CONTENT}
        if is_installed(kind.__module__):
            about, bases = _refused(kind), [base for base in kind.__mro__ if not is_installed(base.__module__)]
            content = {
                f"{base.__name__}.{name}": part
                for base in kind.__mro__
                for name, part in _perhaps_foreign(base)
                if _foreign(part)
            }
        makers = [content.pop(name).__code__ for name in _MAKERS if isinstance(content.get(name), FunctionType)]
        return _digest("class", about, self._each("bases", bases), self._named("", content), self._each("", makers))

    def _module(self, module: ModuleType) -> bytes:
        if is_installed(module.__name__):
            return _digest("module", _refused(module))
        return self._named("module", {name: part for name, part in vars(module).items() if not name.startswith("__")})

    def _function(self, function: FunctionType) -> bytes:
        where = str(function.__globals__.get("__name__", ""))
        code, name = function.__code__, ""
        if is_installed(where):
            name = f"{_version(where)} {where}.{code.co_qualname}"
            if _found(where, code.co_qualname) is function:
                _refused(function)
                return _digest("function", name)
            content = [_digest(name)]
        else:
            content = [self._code(code), *self._references(code, function.__globals__)]
        held = (function.__defaults__, function.__kwdefaults__, list(function.__closure__ or ()))
        return _digest("function", *content, self._each("held", held), self._named("", vars(function)))

    def _code(self, code: CodeType) -> bytes:
        plain = (code.co_code, code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars, code.co_flags)
        counts = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_exceptiontable)
        return self._each("code", (*plain, *counts, code.co_consts))

    def _references(self, code: CodeType, names: Mapping[str, Any]) -> Iterator[bytes]:
        """The values of the global names that the code reads; of a module, the parts that it reads."""
        if {"read_text", "read_bytes"} & set(code.co_names):
            raise Unidentified(f"{code.co_qualname} reads a file")
        steps = list(dis.get_instructions(code))
        for place, step in enumerate(steps):
            if step.opname == "IMPORT_NAME":
                value = _imported(int(steps[place - 2].argval) * "." + str(step.argval), names.get("__package__"))
            elif step.opname in _LOADS and step.argval in names:
                value = names[step.argval]
            elif step.opname in _LOADS and hasattr(builtins, step.argval):
                value = getattr(builtins, step.argval)
            else:
                continue
            for later in steps[place + 1 :]:
                if later.opname not in ("LOAD_ATTR", "LOAD_METHOD") or not isinstance(value, ModuleType):
                    break
                value = getattr(value, later.argval, None)
            yield _digest(str(step.argval), self.of(value))
        for inner in code.co_consts:
            if isinstance(inner, CodeType):
                yield from self._references(inner, names)


@functools.lru_cache(2)  # a model is asked for its state when it is loaded, and whenever it is used
def _without_calls(state: str) -> str:
    return json.dumps({name: part for name, part in json.loads(state).items() if name not in ("padding", "truncation")})


def _cell(cell: CellType) -> tuple[object, ...]:
    try:
        return (cell.cell_contents,)
    except ValueError:  # not set yet
        return ()


def _imported(name: str, package: str | None) -> object:
    try:
        return importlib.import_module(name, package)
    except Exception:
        raise Unidentified(f"it imports {name!r}, which cannot be imported") from None


def _name(kind: Any) -> str:
    return f"{kind.__module__}.{kind.__qualname__}".removeprefix("builtins.")


def _version(module: str) -> str:
    return str(getattr(sys.modules.get(module.partition(".")[0]), "__version__", ""))


def _refused(value: Any) -> str:
    """The name and version of an installed thing; refused where its answers depend on more than its arguments."""
    where = value.__name__ if isinstance(value, ModuleType) else str(value.__module__)
    name = where if isinstance(value, ModuleType) else f"{where}.{value.__qualname__}"
    if name in _READERS or any(f"{where}.".startswith(f"{package}.") for package in _OUTSIDE):
        raise Unidentified(f"it uses {name.removeprefix('builtins.')}, which reads what lies outside")
    return f"{_version(where)} {name}"


def _found(module: str, name: str) -> object:
    value: object = sys.modules.get(module)
    for part in name.split("."):
        value = getattr(value, part, None)
    return value


def _perhaps_foreign(kind: type) -> Iterator[tuple[str, object]]:
    """The attributes of a class. Left out are plain functions of the installed module that defines it: most attributes
    are such functions, and they are never foreign."""
    own = vars(sys.modules[kind.__module__]) if kind.__module__ in sys.modules and is_installed(kind.__module__) else {}
    for name, part in vars(kind).items():
        if type(part) is not FunctionType or part.__globals__ is not own or part.__closure__:
            yield name, part


def _foreign(member: object, depth: int = 3) -> bool:
    """Whether a function in an installed class is the user's: put there, or wrapped."""
    member = getattr(member, "__func__", None) or getattr(member, "fget", None) or member
    if not isinstance(member, FunctionType):
        return False
    if not is_installed(str(member.__globals__.get("__name__", ""))):
        return True
    return depth > 0 and any(_foreign(held, depth - 1) for cell in member.__closure__ or () for held in _cell(cell))

"""`equipoise.perturb(...)`, `equipoise.report(...)`, `equipoise.train(...)`: packages that are verbs can be called.

A package of that name holds the code, and Python lets a name be either a package or a function. So these packages are
modules of a class that can be called, and stand for the function of their name in `equipoise.api.verbs`.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any


class _Verb(ModuleType):
    def __call__(self, *arguments: Any, **options: Any) -> Any:
        return self.__wrapped__(*arguments, **options)

    @property
    def __wrapped__(self) -> Any:
        """The function, whose signature and help a notebook shows."""
        return getattr(importlib.import_module("equipoise.api.verbs"), self.__name__.rpartition(".")[2])


def make_callable(name: str) -> None:
    sys.modules[name].__class__ = _Verb

"""Makes the packages `equipoise.audit`, `equipoise.perturb`, `equipoise.report` and `equipoise.train` callable.

A name cannot be both a package and a function, so these packages get a module class whose call is passed on to the
function of the same name in `equipoise.api.verbs`.
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
        """The function; notebooks show its signature and help."""
        return getattr(importlib.import_module("equipoise.api.verbs"), self.__name__.rpartition(".")[2])


def make_callable(name: str) -> None:
    sys.modules[name].__class__ = _Verb

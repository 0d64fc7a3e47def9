"""Measures items during somebody else's training loop: transformers, sentence-transformers, open_clip, Lightning.

    from equipoise.integrations import EquipoiseCallback

    Trainer(..., callbacks=[EquipoiseCallback("items.jsonl", images="photos/", every=100, seconds=20)])

Names are loaded when first used, because each needs its own package.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from equipoise.integrations.lightning import EquipoiseLightning as EquipoiseLightning
    from equipoise.integrations.openclip import watch_open_clip as watch_open_clip
    from equipoise.integrations.sentence import EquipoiseEvaluator as EquipoiseEvaluator
    from equipoise.integrations.transformers import EquipoiseCallback as EquipoiseCallback

_HOMES = {  # name -> module and the package that it needs
    "EquipoiseCallback": ("transformers", "transformers"),
    "EquipoiseEvaluator": ("sentence", "sentence-transformers"),
    "EquipoiseLightning": ("lightning", "lightning"),
    "watch_open_clip": ("openclip", "open_clip_torch"),
}
__all__ = sorted(_HOMES)


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'equipoise.integrations' has no attribute {name!r}")
    home, package = _HOMES[name]
    try:
        value = getattr(importlib.import_module(f"equipoise.integrations.{home}"), name)
    except ModuleNotFoundError as error:
        from equipoise.core.errors import UserError

        raise UserError(f"{name}: the package {package} is not installed ({error}): pip install {package}") from error
    globals()[name] = value
    return value

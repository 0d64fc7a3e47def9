"""What several commands read in the same way."""

from __future__ import annotations

from typing import cast

from equipoise.errors import UserError
from equipoise.report import FORMATS, Format


def form_name(name: str, *others: str) -> Format:
    """The format of a table; `others` are what else the command takes, for the error."""
    if name not in FORMATS:
        raise UserError(f"--format {name}: expected one of {', '.join([*others, *FORMATS])}")
    return cast(Format, name)


def split_names(names: str) -> list[str]:
    """'a, b' -> ['a', 'b']"""
    return [name.strip() for name in names.split(",") if name.strip()]

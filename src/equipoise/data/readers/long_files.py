"""Long files are checked without making an object of each line, in two thirds of the time.

A file that may have a problem is read again, line by line, by `records.checked`, which says what is wrong and where.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import SchemaValidator

from equipoise.core.files import parse

Validator = Callable[[bytes], dict[str, Any]]


def all_good(kind: type[BaseModel], lines: Iterable[bytes], doubled: bool = True) -> list[bytes] | None:
    """The lines, if each is a record of `kind`, with an id of its own and no key twice; None if one may not be.

    `doubled` is False where no line can have a key twice.
    """
    read = dictionaries(kind)
    good: list[bytes] = []
    names: set[str] = set()
    try:
        for line in lines:
            record = read(line)
            if doubled and line.count(b":") != count_keys(record):  # more where a text has a colon
                parse(line.decode())
            good.append(line)
            names.add(record["id"])
    except (ValidationError, ValueError, RecursionError):
        return None
    return good if len(names) == len(good) else None


def count_keys(record: dict[str, Any]) -> int:
    """How many keys a record has, at all levels."""
    keys, parts = 0, list[Any]([record])
    for part in parts:
        if type(part) is dict:
            keys += len(part)
            parts.extend(part.values())
        elif type(part) is tuple:
            parts.extend(part)
    return keys


def dictionaries(kind: type[BaseModel]) -> Validator:
    """Takes and refuses the same JSON as `kind`, and returns dictionaries of the keys that are there."""
    return SchemaValidator(_without_models(kind.__pydantic_core_schema__)).validate_json


def _without_models(schema: Any) -> Any:
    """A schema of pydantic_core with dictionaries in place of models."""
    if isinstance(schema, list):
        return list(map(_without_models, schema))
    if not isinstance(schema, dict):
        return schema
    made = {name: _without_models(part) for name, part in schema.items()}
    if made.get("type") == "model":
        return made["schema"] | {name: made[name] for name in ("config", "ref") if name in made}
    if made.get("type") == "model-fields":
        return made | {"type": "typed-dict"}
    if made.get("type") == "model-field":
        value = made["schema"]
        has_default = value["type"] == "default"
        return made | {
            "type": "typed-dict-field",
            "schema": value["schema"] if has_default else value,
            "required": not has_default,
        }
    return made

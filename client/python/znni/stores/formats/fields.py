"""Checks the fields of files that describe volumes, before they are used."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from znni.errors import InvalidError


class Field(NamedTuple):
    """Says what a field must hold: ``is_right`` returns whether a value is such, ``expected`` says so in words."""

    name: str
    is_right: Callable[[Any], bool]
    expected: str
    is_optional: bool = False


def check_fields(found: Mapping[str, Any], fields: Iterable[Field], file: str) -> None:
    """Raises InvalidError, with the name of the file, for a field that is missing or holds something else."""
    for field in fields:
        if field.name not in found:
            if field.is_optional:
                continue
            raise InvalidError(f"{file}: field '{field.name}' is missing")
        if not field.is_right(found[field.name]):
            raise InvalidError(
                f"{file}: field '{field.name}': {found[field.name]!r:.80} found, expected {field.expected}"
            )


def is_whole(value: Any) -> bool:
    """Returns whether it is a whole number."""
    return isinstance(value, int) and not isinstance(value, bool)


def is_finite(value: Any) -> bool:
    """Returns whether it is a number, and neither infinite nor NaN."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def all_of(value: Any, is_right: Callable[[Any], bool], counts: Iterable[int] = ()) -> bool:
    """Returns whether it is a list of such values, of one of the lengths ``counts`` if there are any."""
    return isinstance(value, list) and (not counts or len(value) in counts) and all(map(is_right, value))


def is_extent(value: Any) -> bool:
    """Returns whether it is a whole number from 1 on."""
    return is_whole(value) and value >= 1


def is_scale(value: Any) -> bool:
    """Returns whether it is a finite number above 0."""
    return is_finite(value) and value > 0


def is_text(value: Any) -> bool:
    """Returns whether it is a text."""
    return isinstance(value, str)


def is_object(value: Any) -> bool:
    """Returns whether it is an object of JSON."""
    return isinstance(value, dict)


NOTES = Field("znni", is_object, "an object", is_optional=True)


def notes_of(found: Any) -> dict[str, Any] | None:
    """Returns the notes of an output, an object or its JSON; None for anything else, which others may have written."""
    try:
        notes = json.loads(found) if isinstance(found, str) else found
    except ValueError:
        return None
    return notes if is_object(notes) else None

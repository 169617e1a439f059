"""What is known about the run that made an output: the JSON that 'znni infer --json' prints, or the output's notes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from znni.errors import AccessError, InvalidError, NotFoundError
from znni.stores.formats.fields import is_finite, is_object

_STAGES = "stages"  # seconds by name, where a result has them
_SECONDS = "seconds"


class RunFacts(NamedTuple):
    """Has ``seconds`` of the run, of its prediction and of stages by name, and all ``others`` as texts by name."""

    seconds: Mapping[str, float]
    others: Mapping[str, str]


def read_result(path: str) -> dict[str, Any]:
    """Returns the object in a file of JSON, the last line of which may be it. Raises InvalidError if there is none."""
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read().strip()
    except FileNotFoundError:
        raise NotFoundError(f"{path}: there is no such file") from None
    except PermissionError as error:
        raise AccessError(f"{path}: {error.strerror}") from None
    except (IsADirectoryError, UnicodeDecodeError):
        text = ""
    for part in (text, text.rpartition("\n")[2]):
        try:
            found = json.loads(part)
        except ValueError:
            continue
        if is_object(found):
            return found
    begin = repr(text[:40]) if text else "no text"
    raise InvalidError(f"{path}: {begin} found, expected the JSON object that 'znni infer --json' prints")


def run_facts(found: Mapping[str, Any]) -> RunFacts:
    """Returns what a page says of a result or of notes."""
    stages = found.get(_STAGES)
    named = {name: value for name, value in found.items() if name.endswith(_SECONDS)}
    named |= stages if is_object(stages) else {}  # type: ignore[arg-type]
    seconds = {name: float(value) for name, value in named.items() if is_finite(value) and value >= 0}
    others = {name: _text(value) for name, value in found.items() if name not in seconds and name != _STAGES}
    return RunFacts(seconds, others)


def _text(value: Any) -> str:
    if isinstance(value, list) and all(isinstance(n, (int, float)) for n in value):
        return ", ".join(map(_text, value))
    if isinstance(value, float):
        return f"{value:.6g}"
    return value if isinstance(value, str) else json.dumps(value)

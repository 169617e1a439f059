"""Says which blocks of a job are done: a small file for each, in a folder or bucket that all its machines see."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from znni.stores.place import Place

_IN_A_FOLDER = 1000
_FACTS = {"done": {"digest", "seconds", "skipped"}, "failed": {"reason"}}


class Marks:
    """Keeps marks in ``place``. A mark is there as a whole or not at all, whenever the machine stops."""

    def __init__(self, place: Place) -> None:
        self._place = place

    def is_done(self, number: int) -> bool:
        """Returns whether the block is marked as done."""
        return self.facts(number) is not None

    def missing(self, numbers: Iterable[int]) -> list[int]:
        """Returns those of the blocks that are not done."""
        numbers = list(numbers)
        found = self._place.read_all(_name("done", number) for number in numbers)
        return [number for number, data in zip(numbers, found) if _facts(data, "done") is None]

    def facts(self, number: int) -> dict[str, Any] | None:
        """Returns the facts of a block that is done; None if it is not, or if its mark was damaged since."""
        return _facts(self._place.read(_name("done", number)), "done")

    def finish(self, number: int, facts: dict[str, Any]) -> None:
        """Marks a block as done, which lies on disk. It has failed no longer."""
        self._write("done", number, facts)
        self._place.remove(_name("failed", number))

    def fail(self, number: int, reason: str) -> None:
        """Marks a block as failed, with the reason."""
        self._write("failed", number, {"reason": reason})

    def forget(self, number: int) -> None:
        """Takes the mark of a block away, so that it is computed again."""
        self._place.remove(_name("done", number))

    def done(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yields number and facts of all blocks that are done."""
        return self._all("done")

    def failed(self) -> dict[int, str]:
        """Returns why blocks failed, by number."""
        return {number: str(facts["reason"]) for number, facts in self._all("failed")}

    def _write(self, kind: str, number: int, facts: dict[str, Any]) -> None:
        self._place.write(_name(kind, number), json.dumps(facts).encode())

    def _all(self, kind: str) -> Iterator[tuple[int, dict[str, Any]]]:
        names = {
            name: match for name in self._place.all_names(kind) if (match := re.fullmatch(r".+/(\d+)\.json", name))
        }
        for match, data in zip(names.values(), self._place.read_all(names)):
            facts = _facts(data, kind)
            if facts is not None:
                yield int(match[1]), facts


def _name(kind: str, number: int) -> str:
    return f"{kind}/{number // _IN_A_FOLDER:06d}/{number:09d}.json"


def _facts(data: bytes | None, kind: str) -> dict[str, Any] | None:
    """Returns what a mark says; None if it is not there, or was damaged: then it does not have all facts."""
    try:
        found = json.loads(data) if data is not None else None
    except ValueError:
        return None
    return found if isinstance(found, dict) and _FACTS[kind] <= found.keys() else None

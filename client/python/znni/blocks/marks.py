"""Says which blocks of a job are done: a small file for each, in a folder that all machines of the job see."""

from __future__ import annotations

import json
import os
import pathlib
import threading
from typing import Any, Iterator

from znni.stores.place import sync

_IN_A_FOLDER = 1000
_FACTS = {"done": {"digest", "seconds", "skipped"}, "failed": {"reason"}}


class Marks:
    """Keeps marks in ``folder``. A mark is there as a whole or not at all, whenever the machine stops."""

    def __init__(self, folder: str | os.PathLike) -> None:
        self._folder = pathlib.Path(folder)

    def is_done(self, number: int) -> bool:
        """Returns whether the block is marked as done."""
        return self.facts(number) is not None

    def facts(self, number: int) -> dict[str, Any] | None:
        """Returns the facts of a block that is done; None if it is not, or if its mark was damaged since."""
        return _read(self._path("done", number), _FACTS["done"])

    def finish(self, number: int, facts: dict[str, Any]) -> None:
        """Marks a block as done, which lies on disk. It has failed no longer."""
        self._write(self._path("done", number), facts)
        self._path("failed", number).unlink(missing_ok=True)

    def fail(self, number: int, reason: str) -> None:
        """Marks a block as failed, with the reason."""
        self._write(self._path("failed", number), {"reason": reason})

    def forget(self, number: int) -> None:
        """Takes the mark of a block away, so that it is computed again."""
        self._path("done", number).unlink(missing_ok=True)

    def done(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yields number and facts of all blocks that are done."""
        return self._all("done")

    def failed(self) -> dict[int, str]:
        """Returns why blocks failed, by number."""
        return {number: str(facts["reason"]) for number, facts in self._all("failed")}

    def _path(self, kind: str, number: int) -> pathlib.Path:
        return self._folder / kind / f"{number // _IN_A_FOLDER:06d}" / f"{number:09d}.json"

    def _write(self, path: pathlib.Path, facts: dict[str, Any]) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        new = path.with_name(f".{path.name}.{os.uname().nodename}.{os.getpid()}.{threading.get_ident()}")
        new.write_text(json.dumps(facts))
        sync(new)
        os.replace(new, path)
        sync(path.parent)

    def _all(self, kind: str) -> Iterator[tuple[int, dict[str, Any]]]:
        for path in sorted((self._folder / kind).glob("*/[0-9]*.json")):
            facts = _read(path, _FACTS[kind])
            if facts is not None:
                yield int(path.stem), facts


def _read(path: pathlib.Path, facts: set[str]) -> dict[str, Any] | None:
    """Returns what a mark says; None if it is not there, or was damaged: then it does not have all ``facts``."""
    try:
        found = json.loads(path.read_text())
    except (FileNotFoundError, ValueError):
        return None
    return found if isinstance(found, dict) and facts <= found.keys() else None

"""Shows how far a volume is: by tqdm where it is installed, else in a plain line."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from typing import Any, TextIO

Wanted = bool | Callable[[float, float], Any]


class Silent:
    """Shows nothing."""

    def show(self, done: float) -> None:
        """Takes the output voxels that are done."""

    def close(self) -> None:
        """Ends the display."""


class Calls(Silent):
    """Calls a function of the caller's with the output voxels that are done and those of all."""

    def __init__(self, function: Callable[[float, float], Any], total: float) -> None:
        self._function = function
        self._total = total

    def show(self, done: float) -> None:
        self._function(done, self._total)


class Bar(Silent):
    """Draws a bar of tqdm."""

    def __init__(self, tqdm: Any, name: str, total: float) -> None:
        self._bar = tqdm.tqdm(total=total, desc=name, unit=" voxels", unit_scale=True)

    def show(self, done: float) -> None:
        self._bar.update(done - self._bar.n)

    def close(self) -> None:
        self._bar.close()


class Line(Silent):
    """Writes one line: over and over on a terminal, elsewhere once for each tenth."""

    def __init__(self, name: str, total: float, stream: TextIO) -> None:
        self._name = name
        self._total = total
        self._stream = stream
        self._last = ""

    def show(self, done: float) -> None:
        percent = int(100 * done / self._total)
        terminal = self._stream.isatty()
        text = f"{self._name}: {percent if terminal else percent // 10 * 10} % of {self._total:.0f} voxels"
        if text != self._last:
            self._stream.write(f"\r{text}" if terminal else f"{text}\n")
            self._stream.flush()
        self._last = text

    def close(self) -> None:
        if self._last and self._stream.isatty():
            self._stream.write("\n")


class Notice:
    """Says what is waited for: over and over in one line of a terminal, elsewhere once."""

    def __init__(self, wanted: Wanted, stream: TextIO | None = None) -> None:
        self._stream = (stream or sys.stderr) if wanted is True else None
        self._is_shown = False

    def show(self, text: str) -> None:
        """Replaces what was said before."""
        if self._stream is None or (self._is_shown and not self._stream.isatty()):
            return
        self._stream.write(f"\r\x1b[K{text}" if self._stream.isatty() else f"{text}\n")
        self._stream.flush()
        self._is_shown = True

    def close(self) -> None:
        """Takes the line away from a terminal."""
        if self._is_shown and self._stream is not None and self._stream.isatty():
            self._stream.write("\r\x1b[K")
            self._stream.flush()


def open_progress(wanted: Wanted, name: str, total: float, stream: TextIO | None = None) -> Silent:
    """Returns the display of an output of ``total`` voxels: of tqdm or a line on ``stream`` (standard error) for True,
    a call for each step for a function, nothing for False."""
    if callable(wanted):
        return Calls(wanted, total)
    if not wanted:
        return Silent()
    try:
        return Bar(importlib.import_module("tqdm.auto"), name, total)
    except ImportError:
        return Line(name, total, stream or sys.stderr)

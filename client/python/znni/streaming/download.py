"""Receives an output: gathers the chunks of one stream into planes and checks that none is missing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from znni.box import text_of
from znni.errors import Error

Shape = tuple  # (C, Z, Y, X)


class Download:
    """Takes the messages of a stream that delivers an output of ``shape`` and ``dtype`` from plane ``planes`` on.

    ``write(z, planes)`` is called with planes ``[Z, C, Y, X]``, in rising order; it may keep them.
    ``planes`` counts those that were written, by earlier streams, too; ``first`` is what it was when this one began.
    """

    def __init__(
        self, shape: Shape, dtype: np.dtype, wire_dtype: str, planes: int, write: Callable[[int, np.ndarray], None]
    ) -> None:
        self.first = self.planes = planes
        self.accepted: Any = None
        self.done: Any = None
        self._shape = shape
        self._dtype = dtype
        self._wire_dtype = wire_dtype
        self._write = write
        self._plane_bytes = shape[0] * shape[2] * shape[3] * dtype.itemsize
        self._received = planes * self._plane_bytes
        self._plane: np.ndarray | None = None  # one that chunks bring in pieces
        self._filled = 0  # bytes of it

    def take(self, message: Any) -> None:
        """Takes one message. Raises Error if it is not what can come next."""
        kind = message.WhichOneof("message")
        if kind == "accepted":
            self._accept(message.accepted)
        elif kind == "chunk":
            self._gather(message.chunk)
        elif kind == "done":
            self._finish(message.done)

    def _accept(self, accepted: Any) -> None:
        extent = (accepted.extent.z, accepted.extent.y, accepted.extent.x)
        offered = f"{accepted.channels} x {text_of(extent)} {accepted.datatype}"
        expected = f"{self._shape[0]} x {text_of(self._shape[1:])} {self._wire_dtype}"
        if offered != expected:
            raise Error(f"the daemon offers an output of {offered}, expected {expected}")
        self.accepted = accepted

    def _gather(self, chunk: Any) -> None:
        if self.accepted is None:
            raise Error("the daemon sent output before it accepted")
        if chunk.offset != self._received:
            raise Error(f"output chunk at byte {chunk.offset} found, expected byte {self._received}")
        self._received += len(chunk.data)
        if self._received > self._plane_bytes * self._shape[1]:
            raise Error("the daemon sent more than the accepted output")
        self._take_planes(np.frombuffer(chunk.data, np.uint8))

    def _take_planes(self, data: np.ndarray) -> None:
        """Writes the planes that lie in ``data`` as a whole from there, and gathers others."""
        while len(data):
            whole = 0 if self._filled else len(data) // self._plane_bytes * self._plane_bytes
            if whole:
                self._give(data[:whole])
            else:
                whole = self._fill(data)
            data = data[whole:]

    def _fill(self, data: np.ndarray) -> int:
        """Takes from ``data`` what the plane still lacks that is gathered. Returns how many bytes that was."""
        if self._plane is None:
            self._plane = np.empty(self._plane_bytes, np.uint8)
        count = min(len(data), self._plane_bytes - self._filled)
        self._plane[self._filled : self._filled + count] = data[:count]
        self._filled += count
        if self._filled == self._plane_bytes:
            plane, self._plane, self._filled = self._plane, None, 0
            self._give(plane)
        return count

    def _give(self, data: np.ndarray) -> None:
        """Writes whole planes."""
        channels, _, height, width = self._shape
        self._write(self.planes, data.view(self._dtype).reshape(-1, channels, height, width))
        self.planes += len(data) // self._plane_bytes

    def _finish(self, done: Any) -> None:
        if self.accepted is None or self.planes != self._shape[1]:
            raise Error(f"the daemon ended after {self.planes} of {self._shape[1]} output planes")
        self.done = done

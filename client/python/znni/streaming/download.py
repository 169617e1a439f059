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
        self._rest = b""

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
        data = self._rest + chunk.data
        count = len(data) // self._plane_bytes
        if count:
            channels, _, height, width = self._shape
            voxels = count * self._plane_bytes // self._dtype.itemsize
            self._write(self.planes, np.frombuffer(data, self._dtype, voxels).reshape(count, channels, height, width))
            self.planes += count
        self._rest = data[count * self._plane_bytes :]

    def _finish(self, done: Any) -> None:
        if self.accepted is None or self.planes != self._shape[1]:
            raise Error(f"the daemon ended after {self.planes} of {self._shape[1]} output planes")
        self.done = done

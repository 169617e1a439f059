"""Gathers output planes into slabs that a target stores well, and writes them."""

from __future__ import annotations

import math

import numpy as np

from znni.box import Box
from znni.spool import make_spool
from znni.stores.memmap import give_back
from znni.stores.seam import Target

MOST_BYTES = 48 << 20  # gathered in memory; more is gathered in a file


class SlabWriter:
    """Writes a ``part`` of an output of so many ``channels``, whole chunks of the target at a time, so that each is
    compressed once."""

    def __init__(self, target: Target, part: Box, channels: int, dtype: np.dtype) -> None:
        self._target = target
        self._part = part
        self._shape = (channels, min(target.depth, part.extent[0]), *part.extent[1:])
        self._dtype = dtype
        self._slab: np.ndarray | None = None
        self._first = part.start[0]  # the plane of the output that is the first of the slab
        self._gathered = 0

    def write(self, z: int, planes: np.ndarray) -> None:
        """Takes planes ``[Z, C, Y, X]``, plane ``z`` of the part being the first. Planes that it has are dropped."""
        planes = planes[max(0, self._first + self._gathered - self._part.start[0] - z) :]
        if self._target.depth == 1:
            return self._write_at_once(planes)
        while len(planes):
            end = self._first + self._gathered
            if self._gathered and end % self._target.depth == 0:  # writing it failed the last time
                self.flush()
            count = min(len(planes), self._target.depth - end % self._target.depth)
            self._gather(planes[:count])
            planes = planes[count:]
            if (end + count) % self._target.depth == 0:
                self.flush()

    def flush(self) -> None:
        """Writes what is gathered."""
        _, y, x = self._part.start
        for first, last in self._strips() if self._gathered else ():
            assert self._slab is not None
            self._target.write((self._first, y + first, x), self._slab[:, : self._gathered, first:last])
            give_back(self._slab)
        self._first += self._gathered
        self._gathered = 0

    def _write_at_once(self, planes: np.ndarray) -> None:
        self._target.write((self._first, *self._part.start[1:]), planes.transpose(1, 0, 2, 3))
        self._first += len(planes)

    def _gather(self, planes: np.ndarray) -> None:
        if self._slab is None:
            self._slab = (
                make_spool(self._shape, self._dtype, self._target.folder)
                if self._is_large()
                else np.empty(self._shape, self._dtype)
            )
        self._slab[:, self._gathered : self._gathered + len(planes)] = planes.transpose(1, 0, 2, 3)
        self._gathered += len(planes)
        give_back(self._slab)

    def _is_large(self) -> bool:
        return math.prod(self._shape) * self._dtype.itemsize > MOST_BYTES

    def _strips(self) -> list[tuple[int, int]]:
        """Returns the rows of the part that are written together: all, or those of one row of chunks."""
        start, height = self._part.start[1], self._part.extent[1]
        if not self._is_large():
            return [(0, height)]
        rows = self._target.rows
        cuts = [0, *range(rows - start % rows, height, rows), height]
        return list(zip(cuts, cuts[1:]))

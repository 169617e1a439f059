"""Gathers output planes into slabs that a target stores well, and writes them."""

from __future__ import annotations

import numpy as np

from znni.box import Triple
from znni.stores.seam import Target

MOST_BYTES = 96 << 20  # gathered at a time


class SlabWriter:
    """Writes planes of a part of the output that begins at ``start``, a whole number of the target's chunks at a time,
    if they fit into MOST_BYTES."""

    def __init__(self, target: Target, start: Triple) -> None:
        self._target = target
        self._start = start
        self._planes: list[np.ndarray] = []
        self._first = start[0]  # plane of the output, the first of those gathered
        self._gathered = 0
        self._bytes = 0

    def write(self, z: int, planes: np.ndarray) -> None:
        """Takes planes ``[Z, C, Y, X]``, plane ``z`` of the part being the first. Planes that it has are dropped."""
        z += self._start[0]
        planes = planes[max(0, self._first + self._gathered - z):]
        depth = self._target.depth
        while len(planes):
            end = self._first + self._gathered
            count = len(planes) if depth == 1 else min(len(planes), depth - end % depth)
            self._gather(planes[:count])
            planes = planes[count:]
            if (end + count) % depth == 0 or self._bytes >= MOST_BYTES:
                self.flush()

    def _gather(self, planes: np.ndarray) -> None:
        # A copy: the planes of a message are views of all of it.
        self._planes.append(planes if self._target.depth == 1 else planes.copy())
        self._gathered += len(planes)
        self._bytes += planes.nbytes

    def flush(self) -> None:
        """Writes what is gathered."""
        if not self._gathered:
            return
        slab = self._planes[0] if len(self._planes) == 1 else np.concatenate(self._planes)
        self._planes = []
        self._target.write((self._first, self._start[1], self._start[2]), slab.transpose(1, 0, 2, 3))
        self._first += self._gathered
        self._gathered = self._bytes = 0

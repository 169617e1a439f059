"""A block of an output, as an array of its own."""

from __future__ import annotations

import hashlib

import numpy as np

from znni.box import Box
from znni.stores.shared import SharedOutput


class Region:
    """Is the box ``box`` of ``output``, along its last three axes; writes go there.

    ``folder`` is where there is disk space for what is gathered.

    Boxes that are whole multiples of the output's chunks may be written at once by several machines.
    """

    def __init__(self, output: SharedOutput, box: Box) -> None:
        array = output.array
        self._output = output
        self._array = array
        self._box = box
        self.shape = (*array.shape[:-3], *box.extent)
        self.dtype = np.dtype(array.dtype)
        self.chunks = output.chunks
        self.folder = output.room

    def __setitem__(self, index: tuple, values: np.ndarray) -> None:
        moved = tuple(slice(a + one.start, a + one.stop) for a, one in zip(self._box.start, index[-3:]))
        self._array[(*index[:-3], *moved)] = values

    def digest(self) -> str:
        """Returns a digest of what is stored, read layer by layer of chunks."""
        found = hashlib.blake2b(digest_size=16)
        (first, *start), (last, *stop) = self._box.start, self._box.stop
        sides = tuple(slice(a, b) for a, b in zip(start, stop))
        for z in range(first, last, self.chunks[-3]):
            layer = self._array[(..., slice(z, min(z + self.chunks[-3], last)), *sides)]
            found.update(np.ascontiguousarray(layer).data)
        return found.hexdigest()

    def sync(self) -> None:
        """Returns once the chunks lie there for good, and are found there after a loss of power."""
        self._output.sync(self._box)

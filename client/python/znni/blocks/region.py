"""A block of a zarr array, as an array of its own."""

from __future__ import annotations

import hashlib
import itertools
import os
import pathlib
from typing import Any

import numpy as np

from znni.blocks.marks import sync
from znni.box import Box


class Region:
    """Is the box ``box`` of ``array``, along its last three axes; writes go there.

    ``folder`` is where there is disk space for what is gathered.

    Boxes that are whole multiples of the array's chunks may be written at once by several machines.
    """

    def __init__(self, array: Any, box: Box) -> None:
        self._array = array
        self._box = box
        self.shape = (*array.shape[:-3], *box.extent)
        self.dtype = np.dtype(array.dtype)
        self.chunks = array.shards or array.chunks
        self.folder = os.path.dirname(os.fspath(array.store.root))

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
            found.update(np.ascontiguousarray(layer))
        return found.hexdigest()

    def sync(self) -> None:
        """Returns once the chunks are on disk, and found there after a loss of power."""
        folders = set()
        for path in self._files():
            if path.is_file():
                sync(path)
                folders.add(path.parent)
        for folder in folders:
            sync(folder)

    def _files(self) -> list[pathlib.Path]:
        root = pathlib.Path(os.fspath(self._array.store.root)) / self._array.path
        leading = [range(-(-n // c)) for n, c in zip(self._array.shape[:-3], self.chunks)]
        space = [range(a // c, -(-b // c)) for a, b, c in zip(self._box.start, self._box.stop, self.chunks[-3:])]
        key = self._array.metadata.encode_chunk_key
        return [root / key(at) for at in itertools.product(*leading, *space)]

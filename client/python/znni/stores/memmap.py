"""Volumes and outputs in memory-mapped arrays, whose pages are given back once they are read or written."""

from __future__ import annotations

import mmap
from typing import Any

import numpy as np

from znni.box import Box, Triple
from znni.stores.array import ArraySource, ArrayTarget

_SHARED = ("r", "r+", "w+")  # modes in which all that is written goes to the file


def shared_map_of(array: Any) -> mmap.mmap | None:
    """Returns the map behind a memmap of NumPy or a view of one; None for other arrays, and for maps that may hold
    what no file has, such as those of mode "c"."""
    mode = None
    while isinstance(array, np.ndarray):
        mode = array.mode if isinstance(array, np.memmap) else mode
        array = array.base
    return array if isinstance(array, mmap.mmap) and mode in _SHARED else None


def give_back(array: np.ndarray) -> None:
    """Takes the pages of a mapped array out of this process; the file's cache keeps what was written. Does nothing for
    other arrays."""
    pages = shared_map_of(array)
    if pages is not None and hasattr(mmap, "MADV_DONTNEED"):
        pages.madvise(mmap.MADV_DONTNEED)


class MemmapSource(ArraySource):
    """Reads a mapped array and holds one slab of it."""

    def read(self, box: Box) -> np.ndarray:
        found = super().read(box)
        if shared_map_of(found) is not None:
            found = found.copy()
        give_back(self.raw)
        return found


class MemmapTarget(ArrayTarget):
    """Writes into a mapped array and holds one slab of it."""

    def write(self, start: Triple, block: np.ndarray) -> None:
        super().write(start, block)
        give_back(self.array)

"""Volumes and outputs in memory-mapped arrays, whose pages are given back once they are read or written."""

from __future__ import annotations

import mmap
from typing import Any

import numpy as np

from znni.box import Box, Triple
from znni.stores.array import ArraySource, ArrayTarget


def shared_map_of(array: Any) -> mmap.mmap | None:
    """Returns the map behind an array; None if there is none, or if it holds changes that no file has (mode "c")."""
    while isinstance(array, np.ndarray):
        if isinstance(array, np.memmap) and array.mode == "c":
            return None
        array = array.base
    return array if isinstance(array, mmap.mmap) else None


def give_back(pages: mmap.mmap) -> None:
    """Takes the map's pages out of this process; the file's cache keeps what was written."""
    if hasattr(mmap, "MADV_DONTNEED"):
        pages.madvise(mmap.MADV_DONTNEED)


class MemmapSource(ArraySource):
    """Reads a mapped array and holds one slab of it."""

    def __init__(self, array: np.ndarray, name: str, pages: mmap.mmap) -> None:
        super().__init__(array, name)
        self._pages = pages

    def read(self, box: Box) -> np.ndarray:
        found = super().read(box).copy()
        give_back(self._pages)
        return found


class MemmapTarget(ArrayTarget):
    """Writes into a mapped array and holds one slab of it."""

    def __init__(self, array: np.ndarray, facts: Any, pages: mmap.mmap) -> None:
        super().__init__(array, facts)
        self._pages = pages

    def write(self, start: Triple, block: np.ndarray) -> None:
        super().write(start, block)
        give_back(self._pages)

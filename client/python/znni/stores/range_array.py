"""Arrays in files at addresses, of which the ranges are read that a part needs, and arrays with their axes in another
order."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from znni.errors import InvalidError
from znni.stores.remote_file import RemoteFile

_WHOLE = 1 << 16  # bytes up to which voxels beside each other are read with those that a part needs


class RangeArray:
    """Is the array of ``shape``, in the order of C, from byte ``offset`` on of a file."""

    def __init__(self, file: RemoteFile, shape: Sequence[int], dtype: np.dtype, offset: int) -> None:
        self.shape, self.dtype = tuple(shape), dtype
        self.file = file
        self._offset = offset
        self._steps = [math.prod(self.shape[axis + 1 :]) * dtype.itemsize for axis in range(len(self.shape))]
        large = [axis for axis, step in enumerate(self._steps) if step > _WHOLE]
        self._split = min(len(large), len(self.shape) - 1)  # the axis of whose positions a piece has a range

    def __getitem__(self, index: Any) -> np.ndarray:
        parts = (*index, *[slice(None)] * (len(self.shape) - len(index)))
        ranges = [range(n)[slice(i, i + 1) if isinstance(i, int) else i] for i, n in zip(parts, self.shape)]
        split = self._split
        while split > 0 and all(len(part) == n for part, n in zip(ranges[split:], self.shape[split:])):
            split -= 1  # pieces that follow each other are one
        inner = self.shape[split + 1 :]
        pieces = self._read(self._pieces(ranges, split))
        whole = np.empty((len(pieces), len(ranges[split]), *inner), self.dtype)
        for piece, data in zip(whole, pieces):
            piece[...] = np.frombuffer(data, self.dtype).reshape(piece.shape)
        cut = whole[(slice(None), slice(None), *(slice(part.start, part.stop) for part in ranges[split + 1 :]))]
        found = cut.reshape(tuple(map(len, ranges)))
        return found[tuple(0 if isinstance(i, int) else slice(None) for i in parts)]

    def _pieces(self, ranges: Sequence[range], split: int) -> list[tuple[int, int]]:
        """Returns the bytes that are read: for each position along the axes before ``split``, those of its range."""
        found = []
        for at in itertools.product(*ranges[:split]):
            first = self._offset + sum(i * step for i, step in zip(at, self._steps))
            begin, end = (first + i * self._steps[split] for i in (ranges[split].start, ranges[split].stop))
            found.append((begin, end))
        return found

    def _read(self, pieces: list[tuple[int, int]]) -> list[bytes]:
        found = [part for part in self.file.read_ranges(pieces) if part is not None]
        if len(found) < len(pieces):
            raise InvalidError(f"{self.file.name}: became shorter while it was read: copy it to this machine")
        return found


class Moved:
    """Is an array whose axes are in another order."""

    def __init__(self, array: Any, order: Sequence[int]) -> None:
        self._array, self._order = array, tuple(order)
        self.shape = tuple(array.shape[axis] for axis in order)
        self.dtype = array.dtype
        self.file = array.file

    def __getitem__(self, index: Any) -> np.ndarray:
        kept = [index[self._order.index(axis)] for axis in range(len(self._order))]
        ranges = [slice(i, i + 1) if isinstance(i, int) else i for i in kept]
        found = self._array[tuple(ranges)].transpose(self._order)
        return found[tuple(0 if isinstance(i, int) else slice(None) for i in index)]


def in_order(array: Any, order: Sequence[int]) -> Any:
    """Returns an array with its axes in another order, or the array itself if that is its own."""
    return array if list(order) == sorted(order) else Moved(array, order)

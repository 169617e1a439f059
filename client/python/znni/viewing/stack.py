"""The voxels of a volume in the cells of a page, read slab by slab."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from znni.box import Box
from znni.stores.seam import Source
from znni.viewing.grid import Cells

_SLAB_BYTES = 64 << 20  # read at a time
_MAX_SAMPLE = 1 << 20  # voxels of a channel


@dataclasses.dataclass
class Stack:
    """Has of some channels what a page shows: ``cells``, float32 [channel, Z, Y, X], a ``sample`` of the voxels that
    were read, [channel, voxel], ``least`` and ``most`` of them all, and how many were ``nonfinite``."""

    cells: np.ndarray
    sample: np.ndarray
    least: np.ndarray
    most: np.ndarray
    nonfinite: int = 0


class StackReader:
    """Reads the planes in the middle of ``cells`` (along z, y and x) of the ``channels`` of a source.

    Rows and columns of a cell are averaged if ``is_mean``, else that in its middle is taken.
    """

    def __init__(self, source: Source, cells: Sequence[Cells], channels: Sequence[int], is_mean: bool) -> None:
        self._source = source
        self._planes, self._rows, self._columns = cells
        self._channels = list(channels)
        self._is_mean = is_mean
        self._samples: list[np.ndarray] = []

    @property
    def voxels(self) -> int:
        """Returns how many voxels are read, of all channels."""
        return sum(self._voxels_in(box) for box, _ in self._boxes())

    def _voxels_in(self, box: Box) -> int:
        return self._source.shape[0] * math.prod(box.extent)

    def read(self, show: Callable[[float], None]) -> Stack:
        """Returns what was read. Calls ``show`` with the voxels that are read so far. Raises what the source does."""
        done = 0
        count = len(self._channels)
        cells = np.zeros((count, len(self._planes), len(self._rows), len(self._columns)), np.float32)
        found = Stack(cells, np.zeros((count, 0)), np.full(count, np.inf), np.full(count, -np.inf))
        for box, rows in self._boxes():
            self._take(found, box, rows)
            done += self._voxels_in(box)
            show(float(done))
        found.sample = np.concatenate(self._samples, axis=1)
        self._samples = []
        return found

    def _boxes(self) -> Iterator[tuple[Box, slice]]:
        """Yields the boxes that are read, and the rows of cells that each covers."""
        left, right = int(self._columns.starts[0]), int(self._columns.stops[-1])
        for first, last in self._spans():
            for rows in self._row_parts(last - first, right - left):
                top, bottom = int(self._rows.starts[rows.start]), int(self._rows.stops[rows.stop - 1])
                yield Box((first, top, left), (last, bottom, right)), rows

    def _spans(self) -> Iterator[tuple[int, int]]:
        """Yields from which to before which plane is read at once: those that chunks have together, if a row of
        cells of them fits."""
        depth, rows = self._source.depth, int(np.max(self._rows.stops - self._rows.starts))
        row = rows * self._bytes(1, int(self._columns.stops[-1] - self._columns.starts[0]))
        planes = np.unique(self._planes.middles)
        layer = planes // depth if depth * row <= _SLAB_BYTES else np.arange(len(planes))
        for group in np.split(planes, np.nonzero(np.diff(layer))[0] + 1):
            yield int(group[0]), int(group[-1]) + 1

    def _bytes(self, planes: int, columns: int) -> int:
        return planes * columns * self._source.shape[0] * self._source.dtype.itemsize

    def _row_parts(self, planes: int, columns: int) -> Iterator[slice]:
        """Yields consecutive rows of cells whose voxels fit into a slab, one at least."""
        fits = max(1, _SLAB_BYTES // self._bytes(planes, columns))
        first = 0
        while first < len(self._rows):
            last = int(np.searchsorted(self._rows.stops, self._rows.starts[first] + fits, "right"))
            last = max(last, first + 1)
            yield slice(first, last)
            first = last

    def _take(self, found: Stack, box: Box, rows: slice) -> None:
        """Reads a box and puts it into the cells of its planes and rows."""
        block = self._source.read(box)[self._channels]
        for at, plane in enumerate(self._planes.middles):
            if box.start[0] <= plane < box.stop[0]:
                inner = block[:, plane - box.start[0]].astype(np.float32)
                found.cells[:, at, rows] = self._reduced(inner, box, rows)
                if at == 0 or plane != self._planes.middles[at - 1]:
                    self._describe(found, inner)

    def _reduced(self, plane: np.ndarray, box: Box, rows: slice) -> np.ndarray:
        """Returns the cells of a plane's part, [channel, Y, X]."""
        _, top, left = box.start
        if not self._is_mean:
            index = np.ix_(self._rows.middles[rows] - top, self._columns.middles - left)
            return plane[:, index[0], index[1]]
        by_row = _means(plane, self._rows.starts[rows] - top, self._rows.stops[rows] - top, 1)
        return _means(by_row, self._columns.starts - left, self._columns.stops - left, 2)

    def _describe(self, found: Stack, plane: np.ndarray) -> None:
        """Adds the voxels of a plane's part to what is known about all."""
        flat = plane.reshape(len(plane), -1)
        is_finite = np.isfinite(flat)
        found.nonfinite += int(flat.size - np.count_nonzero(is_finite))
        found.least = np.minimum(found.least, np.min(flat, axis=1, initial=np.inf, where=is_finite))
        found.most = np.maximum(found.most, np.max(flat, axis=1, initial=-np.inf, where=is_finite))
        self._samples.append(flat[:, :: self._stride()].copy())

    def _stride(self) -> int:
        """Returns which voxels are in the sample: every so many, a number without a common factor with rows of 2^n."""
        planes = len(np.unique(self._planes.middles))
        rows = int(self._rows.stops[-1] - self._rows.starts[0])
        columns = int(self._columns.stops[-1] - self._columns.starts[0])
        return -(-planes * rows * columns // _MAX_SAMPLE) | 1


def _means(block: np.ndarray, starts: np.ndarray, stops: np.ndarray, axis: int) -> np.ndarray:
    """Returns the means of consecutive parts of an axis."""
    if np.all(stops - starts == 1):
        return block.take(starts, axis)
    shape = [1] * block.ndim
    shape[axis] = len(starts)
    inner = block[tuple(slice(0, stops[-1]) if i == axis else slice(None) for i in range(block.ndim))]
    with np.errstate(invalid="ignore", over="ignore"):
        return np.add.reduceat(inner, starts, axis) / (stops - starts).astype(np.float32).reshape(shape)

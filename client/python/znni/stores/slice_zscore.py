"""A volume of which each slice along z, of each channel, is brought to mean 0 and deviation 1."""

from __future__ import annotations

import numpy as np

from znni.box import Box
from znni.scaling import Scaling
from znni.stores.seam import Source

_LEAST_DEVIATION = 1e-8  # as nnU-Net has it: a slice of one value becomes 0
_VOXELS_AT_ONCE = 1 << 24  # of a slab that is read for its statistics
_BLOCK = 1 << 16  # voxels that are added to statistics at once


class _Moments:
    """Mean and squared deviations of each channel, of rows that are added one after the other."""

    def __init__(self, channels: int) -> None:
        self._count = 0
        self._mean = np.zeros(channels)
        self._squares = np.zeros(channels)

    def add(self, rows: np.ndarray) -> None:
        """Adds voxels [C, Y, X], as many rows at once as rows_of_block() says, from the first row on."""
        step = rows_of_block(rows.shape)
        for y in range(0, rows.shape[1], step):
            self._add_block(rows[:, y : y + step])

    def _add_block(self, block: np.ndarray) -> None:
        flat = block.reshape(block.shape[0], -1).astype(np.float64)
        mean = flat.mean(axis=1)
        squares = ((flat - mean[:, None]) ** 2).sum(axis=1)
        count = self._count + flat.shape[1]
        apart = mean - self._mean
        self._squares += squares + apart**2 * (self._count * flat.shape[1] / count)
        self._mean += apart * (flat.shape[1] / count)
        self._count = count

    def result(self) -> tuple[np.ndarray, np.ndarray]:
        """Returns mean and deviation of each channel."""
        return self._mean, np.maximum(np.sqrt(self._squares / self._count), _LEAST_DEVIATION)


def rows_of_block(shape: tuple) -> int:
    """Returns the rows of a volume [C, ..., X] that are added to statistics at once. Those of a slice are rounded alike
    wherever it is cut, if it is cut at multiples of these."""
    return max(1, _BLOCK // (shape[0] * shape[-1]))


class SliceZscoreSource(Source):
    """Reads ``(voxel - mean) / deviation`` of another volume, in float32; both are those of the whole slice, also where
    only a part of it is read. They are computed in float64, when a slice is first read. ``source`` has been told its
    scaling; it is closed with this."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._known: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        self.name, self.shape, self.ndim = source.name, source.shape, source.ndim
        self.dtype = np.dtype("<f4")
        self.depth, self.geometry, self.zarr_format = source.depth, source.geometry, source.zarr_format
        self.notes, self.scaling = source.notes, source.scaling
        self.standardised = True

    def rescale(self, scaling: Scaling) -> None:
        raise AssertionError("its source is rescaled instead")

    def read(self, box: Box) -> np.ndarray:
        block = self._source.read(box)
        if box.start[1:] == (0, 0) and box.stop[1:] == tuple(self.shape[2:]):
            self._learn(box.start[0], block)
        found = np.empty(block.shape, np.float32)
        for i, z in enumerate(range(box.start[0], box.stop[0])):
            mean, deviation = self._moments(z)
            centred = block[:, i] - mean[:, None, None]
            found[:, i] = centred / deviation[:, None, None]
        return found

    def _learn(self, first: int, slices: np.ndarray) -> None:
        """Takes mean and deviation of whole slices, [C, Z, Y, X], of which ``first`` is the first."""
        for i in range(slices.shape[1]):
            if first + i not in self._known:
                moments = _Moments(self.shape[0])
                moments.add(slices[:, i])
                self._known[first + i] = moments.result()

    def _moments(self, z: int) -> tuple[np.ndarray, np.ndarray]:
        """Returns mean and deviation of a slice. Reads all slices that are stored together with it, if need be."""
        if z not in self._known:
            rows = self.shape[0] * self.shape[3] * rows_of_block(self.shape)
            together = max(1, min(self.depth, _VOXELS_AT_ONCE // rows))
            first = z - z % together
            self._read_slices(first, min(first + together, self.shape[1]))
        return self._known[z]

    def _read_slices(self, first: int, stop: int) -> None:
        """Reads slices, some rows of all of them at once, and takes the mean and deviation of each."""
        moments = [_Moments(self.shape[0]) for _ in range(first, stop)]
        step = rows_of_block(self.shape)
        rows = step * max(1, _VOXELS_AT_ONCE // (self.shape[0] * (stop - first) * self.shape[3] * step))
        for y in range(0, self.shape[2], rows):
            box = Box((first, y, 0), (stop, min(y + rows, self.shape[2]), self.shape[3]))
            for each, found in zip(moments, self._source.read(box).swapaxes(0, 1)):
                each.add(found)
        self._known.update(zip(range(first, stop), (each.result() for each in moments)))

    def close(self) -> None:
        self._source.close()

"""A volume of which each slice along z, of each channel, is brought to mean 0 and deviation 1."""

from __future__ import annotations

import numpy as np

from znni.box import Box
from znni.scaling import Scaling
from znni.stores.seam import Source

_LEAST_DEVIATION = 1e-8  # as nnU-Net has it: a slice of one value becomes 0
_VOXELS_AT_ONCE = 1 << 22


class _Moments:
    """Mean and squared deviations of each channel, of blocks of voxels that are added one after the other."""

    def __init__(self, channels: int) -> None:
        self._count = 0
        self._mean = np.zeros(channels)
        self._squares = np.zeros(channels)

    def add(self, block: np.ndarray) -> None:
        """Adds voxels [C, Y, X]."""
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
        is_whole = box.start[1:] == (0, 0) and box.stop[1:] == tuple(self.shape[2:])
        found = np.empty(block.shape, np.float32)
        for i, z in enumerate(range(box.start[0], box.stop[0])):
            mean, deviation = self._moments(z, block[:, i] if is_whole else None)
            centred = block[:, i] - mean[:, None, None]
            found[:, i] = centred / deviation[:, None, None]
        return found

    def _moments(self, z: int, whole: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        """Returns mean and deviation of the slice, which is ``whole`` if that was read anyway."""
        if z not in self._known:
            moments = _Moments(self.shape[0])
            rows = max(1, _VOXELS_AT_ONCE // (self.shape[0] * self.shape[3]))
            for y in range(0, self.shape[2], rows):
                stop = min(y + rows, self.shape[2])
                box = Box((z, y, 0), (z + 1, stop, self.shape[3]))
                moments.add(self._source.read(box)[:, 0] if whole is None else whole[:, y:stop])
            self._known[z] = moments.result()
        return self._known[z]

    def close(self) -> None:
        self._source.close()

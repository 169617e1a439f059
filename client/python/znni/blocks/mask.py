"""Says which blocks of a job need not be computed."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from znni.box import Box, Triple, text_of
from znni.errors import InvalidError
from znni.stores.opening import open_source
from znni.stores.seam import Source
from znni.stores.zarr_store import is_zarr_path, open_array


class Mask:
    """Is a mask at ``path`` of a volume of ``extent`` voxels: what is not 0 is of interest.

    It may be coarser than the volume by a whole factor along each axis, as the levels of an image pyramid are. Raises
    InvalidError if it is neither.
    """

    def __init__(self, path: str | os.PathLike, extent: Triple) -> None:
        self._array = _open(os.fspath(path))
        found = tuple(int(n) for n in self._array.shape[-3:])
        self._factor = tuple(-(-whole // n) for whole, n in zip(extent, found))
        fits = len(found) == 3 and all(-(-whole // f) == n for whole, f, n in zip(extent, self._factor, found))
        if not fits or any(n != 1 for n in self._array.shape[:-3]):
            raise InvalidError(f"{path}: a mask of {text_of(self._array.shape)} voxels found, expected one channel of "
                               f"{text_of(extent)}, or of these by a whole number along each axis")

    def covers(self, box: Box) -> bool:
        """Returns whether a voxel of a box of the volume is of interest."""
        index = tuple(slice(a // f, -(-b // f)) for a, b, f in zip(box.start, box.stop, self._factor))
        return bool(np.any(self._array[(0,) * (len(self._array.shape) - 3) + index]))


def _open(path: str) -> Any:
    """Returns an array of any type of voxels: masks are often of type bool, which volumes are not."""
    if path.endswith(".npy"):
        return np.load(path, mmap_mode="r")
    return open_array(path) if is_zarr_path(path) else _SourceArray(open_source(path))


class _SourceArray:
    """Is a Source with the slices of an array, all channels."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self.shape = source.shape

    def __getitem__(self, index: tuple) -> np.ndarray:
        return self._source.read(Box(*zip(*((one.start, one.stop) for one in index[-3:]))))  # type: ignore[arg-type]


def is_empty(source: Source, box: Box) -> bool:
    """Returns whether all voxels of a box are 0, in positions of the volume; what lies outside it does not count."""
    start = tuple(max(a, 0) for a in box.start)
    stop = tuple(min(b, n) for b, n in zip(box.stop, source.shape[1:]))
    for z in range(start[0], stop[0], source.depth):
        slab = Box((z, *start[1:]), (min(z + source.depth, stop[0]), *stop[1:]))  # type: ignore[arg-type]
        if np.any(source.read(slab)):
            return False
    return True

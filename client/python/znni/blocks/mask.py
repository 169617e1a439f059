"""Says which blocks of a job need not be computed."""

from __future__ import annotations

import os

import numpy as np

from znni.box import Box, Triple, text_of
from znni.errors import InvalidError
from znni.stores.opening import open_raw
from znni.stores.seam import Source


class Mask:
    """Is a mask at ``path`` of a volume of ``extent`` voxels: what is not 0 is of interest.

    It may be coarser than the volume by a whole factor along each axis, as the levels of an image pyramid are. Raises
    InvalidError if it is neither.
    """

    def __init__(self, path: str | os.PathLike, extent: Triple) -> None:
        self._array = open_raw(os.fspath(path))
        found = tuple(int(n) for n in self._array.shape[-3:])
        self._factor = tuple(-(-whole // max(n, 1)) for whole, n in zip(extent, found))
        fits = len(found) == 3 and all(-(-whole // f) == n for whole, f, n in zip(extent, self._factor, found))
        if not fits or any(n != 1 for n in self._array.shape[:-3]):
            raise InvalidError(
                f"{path}: a mask of {text_of(self._array.shape)} voxels found, expected one channel of "
                f"{text_of(extent)}, or of these by a whole number along each axis"
            )

    def close(self) -> None:
        """Closes the file, if it is one of HDF5."""
        file = getattr(self._array, "file", None)
        if file is not None:
            file.close()

    def covers(self, box: Box) -> bool:
        """Returns whether a voxel of a box of the volume is of interest."""
        index = tuple(slice(a // f, -(-b // f)) for a, b, f in zip(box.start, box.stop, self._factor))
        return bool(np.any(self._array[(0,) * (len(self._array.shape) - 3) + index]))


def is_empty(source: Source, box: Box) -> bool:
    """Returns whether all voxels of a box are 0, in positions of the volume; what lies outside it does not count."""
    start = tuple(max(a, 0) for a in box.start)
    stop = tuple(min(b, n) for b, n in zip(box.stop, source.shape[1:]))
    for z in range(start[0], stop[0], source.depth):
        slab = Box((z, *start[1:]), (min(z + source.depth, stop[0]), *stop[1:]))  # type: ignore[arg-type]
        if np.any(source.read(slab)):
            return False
    return True

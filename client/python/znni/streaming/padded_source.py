"""Reads a window of a volume, padded where it leaves the volume, slab by slab."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from znni.box import Box
from znni.mirrors import UNMIRRORED, Mirror
from znni.padding import sources, span, take
from znni.stores.seam import Source

SLAB_BYTES = 4 << 20  # read at a time from a store that keeps planes by themselves
MOST_SLAB_BYTES = 64 << 20  # read at a time from one that keeps many planes together


class PaddedSource:
    """Yields slabs ``[Z, C, Y, X]``, little-endian, of the ``window`` of ``source``, which may lie outside the volume,
    and lies in what ``mirror`` makes of it.

    ``nonfinite`` names the first voxel of the volume that was read and is NaN or infinite; "" if there was none.
    """

    def __init__(self, source: Source, pad: str, window: Box, mirror: Mirror = UNMIRRORED) -> None:
        self._source = source
        self._pad = pad
        self._window = window
        self._mirror = mirror
        self._zero = source.scaling.offset if source.scaling else 0  # padded voxels are scaled as all others are
        self._rows = self._sources(1, window.start[1], window.stop[1])
        self._columns = self._sources(2, window.start[2], window.stop[2])
        channels = source.shape[0]
        _, height, width = window.extent
        self.plane_bytes = channels * height * width * source.dtype.itemsize
        self.nonfinite = ""

    def _sources(self, axis: int, first: int, last: int) -> np.ndarray:
        extent, both = self._source.shape[axis + 1], self._mirror.sum(axis)
        if both is None:
            return sources(self._pad, extent, first, last)
        return sources(self._pad, extent, both - last, both - first)[::-1]

    def slabs(self, first_plane: int = 0) -> Iterator[np.ndarray]:
        """Yields the window's planes from ``first_plane`` on."""
        z, end = self._window.start[0] + first_plane, self._window.stop[0]
        while z < end:
            last = min(end, self._cut(z))
            yield self._read(z, last)
            z = last

    def _cut(self, z: int) -> int:
        """Returns the plane before which the slab that begins at ``z`` ends: where chunks end, if they fit."""
        shift = self._mirror.sum(0) or 0  # mirrored, chunks end multiples of their depth before it
        return self._end(z - shift) + shift

    def _end(self, z: int) -> int:
        """Returns the same where chunks end at multiples of their depth."""
        depth = self._source.depth
        fits = max(1, MOST_SLAB_BYTES // self.plane_bytes)
        if depth > fits:
            return min(z + fits, z + depth - z % depth)
        chunks = max(1, SLAB_BYTES // (self.plane_bytes * depth))
        return z - z % depth + depth * chunks

    def _read(self, z: int, last: int) -> np.ndarray:
        planes = self._sources(0, z, last)
        spans = [span(found) for found in (planes, self._rows, self._columns)]
        box = Box(tuple(s[0] for s in spans), tuple(s[1] for s in spans))  # type: ignore[arg-type]
        inner = self._source.read(box)
        self._look_for_nonfinite(inner, box)
        slab = inner.transpose(1, 0, 2, 3)
        for found, axis in ((self._columns, 3), (self._rows, 2), (planes, 0)):
            slab = take(slab, found, axis, self._zero)
        return np.ascontiguousarray(slab, self._source.dtype)

    def _look_for_nonfinite(self, inner: np.ndarray, box: Box) -> None:
        if inner.dtype.kind != "f" or self.nonfinite:
            return
        finite = np.isfinite(inner)
        if finite.all():
            return
        c, z, y, x = (int(i) for i in np.unravel_index(np.argmin(finite), finite.shape))
        at = [a + b for a, b in zip((z, y, x), box.start)]
        self.nonfinite = f"channel {c}, z {at[0]}, y {at[1]}, x {at[2]} ({inner[c, z, y, x]})"

"""Masks: where in a volume an output is of interest."""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from znni import axes
from znni.box import Box, Triple, text_of
from znni.errors import InvalidError
from znni.stores.memmap import give_back
from znni.stores.opening import open_raw

_HELD_BYTES = 64 << 20  # of the mask, read at a time

Span = tuple[int, int]  # from the first to before the second


class Mask:
    """Is a mask of a volume of ``extent`` voxels along z, y and x, an array or what lies at a path: what is not 0 is of
    interest.

    It is ``[Z, Y, X]``, also with axes of one channel before, and may be coarser than the volume by a whole factor
    along each axis, as the levels of an image pyramid are: voxel ``i`` of the volume then has that of
    ``i // factor``. Raises InvalidError if it is neither.
    """

    def __init__(self, mask: Any, extent: Triple) -> None:
        is_path = isinstance(mask, (str, os.PathLike))
        name = os.fspath(mask) if is_path else "mask"
        self._array = open_raw(name) if is_path else mask
        self._file = getattr(self._array, "file", None) if is_path else None
        try:
            self._factor = self._checked(name, extent)
        except BaseException:
            self.close()
            raise
        self._depth, _ = axes.chunk_of(self._array, len(self._array.shape))
        self._held: tuple[Box, np.ndarray] | None = None

    def _checked(self, name: str, extent: Triple) -> tuple[int, ...]:
        """Returns by which factor the mask is coarser along each axis."""
        array = self._array
        if not all(hasattr(array, part) for part in ("shape", "dtype", "__getitem__")):
            raise InvalidError(f"{name}: {type(array).__name__} found, expected an array of a mask, or a path")
        if getattr(array.dtype, "kind", "") not in tuple("biuf"):
            raise InvalidError(f"{name}: a mask of type {array.dtype} found, expected numbers or truth values")
        found = tuple(int(n) for n in array.shape[-3:])
        factor = tuple(-(-whole // max(n, 1)) for whole, n in zip(extent, found))
        fits = len(found) == 3 and all(-(-whole // f) == n for whole, f, n in zip(extent, factor, found))
        if not fits or any(n != 1 for n in array.shape[:-3]):
            raise InvalidError(
                f"{name}: a mask of {text_of(array.shape)} voxels found, expected one channel of "
                f"{text_of(extent)}, or of these by a whole number along each axis"
            )
        return factor

    def close(self) -> None:
        """Closes the file that it opened, if there is one."""
        if self._file is not None:
            self._file.close()

    def covers(self, box: Box) -> bool:
        """Returns whether a voxel of a box of the volume is of interest."""
        found = bool(np.any(self._array[self._index(self._coarse(box))]))
        give_back(self._array)
        return found

    def covers_each(self, along: Sequence[Sequence[Span]]) -> np.ndarray:
        """Returns ``[z, y, x]`` whether a voxel is of interest in each of the boxes of the volume that these spans
        make, in rising order along z, y and x."""
        planes, rows, columns = along
        return np.stack([self._covers_layer(one, rows, columns) for one in planes])

    def read(self, box: Box) -> np.ndarray:
        """Returns for each voxel ``[Z, Y, X]`` of a box of the volume whether it is of interest."""
        coarse = self._coarse(box)
        found = self._part(coarse)
        for axis, (first, a, b, f) in enumerate(zip(coarse.start, *box, self._factor)):
            if f > 1:
                found = found.take(np.arange(a, b) // f - first, axis)
        return found

    def _covers_layer(self, planes: Span, rows: Sequence[Span], columns: Sequence[Span]) -> np.ndarray:
        """Returns ``[y, x]`` for the boxes of some planes. These are read at a time, or as many rows of boxes as may be
        held."""
        spans = (planes, (rows[0][0], rows[-1][1]), (columns[0][0], columns[-1][1]))
        coarse = self._coarse(Box(*zip(*spans)))
        if math.prod(coarse.extent) * np.dtype(self._array.dtype).itemsize > _HELD_BYTES:
            if len(rows) > 1:
                half = len(rows) // 2
                return np.concatenate(
                    [self._covers_layer(planes, some, columns) for some in (rows[:half], rows[half:])]
                )
            each = (Box(*zip(planes, rows[0], column)) for column in columns)
            return np.array([self.covers(box) for box in each]).reshape(1, len(columns))
        found = np.any(self._part(coarse), axis=0, keepdims=True)[0]
        for axis, parts in enumerate((rows, columns)):
            first, factor = coarse.start[axis + 1], self._factor[axis + 1]
            found = any_of(found, axis, [(a // factor - first, -(-b // factor) - first) for a, b in parts])
        return found

    def _coarse(self, box: Box) -> Box:
        """Returns the box of the mask's own voxels that has those of a box of the volume."""
        start = tuple(a // f for a, f in zip(box.start, self._factor))
        stop = tuple(-(-b // f) for b, f in zip(box.stop, self._factor))
        return Box(start, stop)  # type: ignore[arg-type]

    def _index(self, box: Box) -> tuple:
        return (0,) * (len(self._array.shape) - 3) + tuple(slice(a, b) for a, b in zip(*box))

    def _part(self, box: Box) -> np.ndarray:
        """Returns a box of the mask's own voxels, of what is held or is read now, as far as its chunks go along z."""
        if self._held is None or not _lies_in(box, self._held[0]):
            grown = self._grown(box)
            self._held = None
            self._held = grown, np.asarray(self._array[self._index(grown)]) != 0
            give_back(self._array)
        held, found = self._held
        return found[tuple(slice(a - c, b - c) for a, b, c in zip(*box, held.start))]

    def _grown(self, box: Box) -> Box:
        plane = math.prod(box.extent[1:]) * np.dtype(self._array.dtype).itemsize
        chunks = -(-box.stop[0] // self._depth) * self._depth
        most = box.start[0] + _HELD_BYTES // max(plane, 1)
        last = max(box.stop[0], min(chunks, most, int(self._array.shape[-3])))
        return Box(box.start, (last, *box.stop[1:]))


@contextlib.contextmanager
def open_mask(mask: Any, extent: Triple) -> Iterator[Mask | None]:
    """Yields the Mask of a volume of this extent, or None for None, and closes it. Raises as Mask does."""
    if mask is None:
        yield None
        return
    with contextlib.closing(Mask(mask, extent)) as found:
        yield found


def any_of(values: np.ndarray, axis: int, spans: Sequence[Span]) -> np.ndarray:
    """Returns for each span along an axis whether a value in it is not 0."""
    starts, stops = zip(*spans)
    extent = list(values.shape)
    extent[axis] += 1
    sums = np.zeros(extent, np.int32)
    np.cumsum(values, axis, np.int32, out=np.moveaxis(np.moveaxis(sums, axis, 0)[1:], 0, axis))
    return sums.take(stops, axis) > sums.take(starts, axis)


def _lies_in(box: Box, whole: Box) -> bool:
    return all(a >= b for a, b in zip(box.start, whole.start)) and all(a <= b for a, b in zip(box.stop, whole.stop))

"""The cells that a page shows: all volumes of it are sampled in the same ones."""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from znni.errors import InvalidError


@dataclasses.dataclass(frozen=True)
class Axis:
    """Is a row of ``count`` cells along one axis, the first at ``begin``, each ``step`` voxels of the input wide. They
    cover ``extent`` voxels, the last perhaps some more."""

    begin: int
    step: int
    count: int
    extent: int


@dataclasses.dataclass(frozen=True)
class Cells:
    """Says which voxels of a volume lie in the cells from ``first`` on: those from ``starts`` to before ``stops``, of
    which ``middles`` are in the middle. Cells narrower than a voxel share it."""

    first: int
    starts: np.ndarray
    stops: np.ndarray
    middles: np.ndarray

    def __len__(self) -> int:
        return len(self.starts)


def axis_over(ranges: list[tuple[float, float]], most: int) -> Axis:
    """Returns at most ``most`` cells, of whole voxels, that cover all ranges."""
    begin = math.floor(min(a for a, _ in ranges))
    extent = math.ceil(max(b for _, b in ranges)) - begin
    step = -(-extent // most)
    return Axis(begin, step, -(-extent // step), extent)


def cells_of(axis: Axis, begin: float, step: float, count: int) -> Cells:
    """Returns the cells of an axis in which a volume lies, whose ``count`` voxels are ``step`` wide, from ``begin`` on.
    A voxel lies in the cell that has its centre. Raises InvalidError if no cell has any."""
    edges = axis.begin + axis.step * np.arange(axis.count + 1)
    bounds = np.clip(np.ceil((edges - begin) / step - 0.5), 0, count).astype(np.int64)
    middles = np.floor((edges[:-1] + axis.step // 2 + 0.5 - begin) / step).astype(np.int64)
    starts, stops = bounds[:-1], bounds[1:]
    is_narrow = (starts == stops) & (middles >= 0) & (middles < count)
    starts, stops = np.where(is_narrow, middles, starts), np.where(is_narrow, middles + 1, stops)
    (kept,) = np.nonzero(starts < stops)
    if not len(kept):
        raise InvalidError(f"an output of {count} voxels found in none of the cells of {axis.step}: pass a larger size")
    starts, stops = starts[kept], stops[kept]
    return Cells(int(kept[0]), starts, stops, np.clip(middles[kept], starts, stops - 1))

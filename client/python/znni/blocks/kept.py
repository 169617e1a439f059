"""Knows which blocks of an output are computed: those that a mask keeps."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import numpy as np

from znni.blocks.grid import Alike, Grid
from znni.box import Triple
from znni.mask import Mask, Span, any_of

MAX_LISTED = 1 << 22  # blocks that are looked at one by one; of more, all are counted


@dataclasses.dataclass(frozen=True, eq=False)
class Kept:
    """Are the blocks of ``grid`` at whose place ``found`` is set, which is ``[z, y, x]``; None is all."""

    grid: Grid
    found: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.grid) if self.found is None else int(np.count_nonzero(self.found))

    def __contains__(self, number: int) -> bool:
        return self.found is None or bool(self.found.flat[number])

    def alike(self, number: int) -> Sequence[int]:
        """Returns those of the position of block ``number``."""
        alike = self.grid.alike(number)
        if self.found is None:
            return alike  # type: ignore[return-value]
        places = np.argwhere(self.found[_slices(alike)]) + [one.start for one in alike.along]
        return np.ravel_multi_index(tuple(places.T), self.grid.counts).tolist()

    def count(self, number: int) -> int:
        """Returns how many of them have the position of block ``number``."""
        alike = self.grid.alike(number)
        return len(alike) if self.found is None else int(np.count_nonzero(self.found[_slices(alike)]))

    def classes(self) -> dict[int, int]:
        """Returns how many there are of each class of the grid (Grid.classes())."""
        return {number: self.count(number) for number in self.grid.classes()}

    def voxels(self) -> int:
        """Returns the voxels of the output that they have."""
        return sum(count * math.prod(self.grid.box(number).extent) for number, count in self.classes().items())


@dataclasses.dataclass(frozen=True, eq=False)
class Coverage:
    """Tells in which of the ``parts`` of an output a voxel is of interest, which is ``found``; None is all."""

    parts: Grid
    found: np.ndarray | None = None

    def kept(self, grid: Grid) -> Kept:
        """Returns the blocks of a grid over the same output that have such a part, or some of it: no block is left out
        that is computed."""
        if self.found is None or len(grid) > MAX_LISTED:
            return Kept(grid)
        found = self.found
        for axis, (n, block, part) in enumerate(zip(grid.output, grid.block, self.parts.block)):
            found = any_of(found, axis, [(a // part, -(-b // part)) for a, b in _spans(n, block)])
        return Kept(grid, found)


def coverage_by(mask: Mask | None, origin: Triple, output: Triple, part: Triple) -> Coverage:
    """Returns what a mask of the volume keeps of the output that begins at ``origin``, by parts of this extent, or by
    whole multiples of it if there are too many."""
    parts = Grid(output, part)
    if mask is None:
        return Coverage(parts)
    while len(parts) > MAX_LISTED:
        parts = Grid(output, tuple(2 * n for n in parts.block))  # type: ignore[arg-type]
    along = [[(a + at, b + at) for a, b in _spans(*sides)] for *sides, at in zip(output, parts.block, origin)]
    return Coverage(parts, mask.covers_each(along))


def _slices(alike: Alike) -> tuple[slice, ...]:
    return tuple(slice(one.start, one.stop) for one in alike.along)


def _spans(voxels: int, block: int) -> list[Span]:
    """Returns the blocks along an axis."""
    return [(start, min(start + block, voxels)) for start in range(0, voxels, block)]

"""Outputs that are 0 where a mask is."""

from __future__ import annotations

import numpy as np

from znni.box import Box, Triple
from znni.mask import Mask
from znni.stores.seam import Target


class MaskedTarget(Target):
    """Writes into ``target`` what lies within ``mask``, and 0 elsewhere, in all channels. The output's first voxel lies
    at ``origin`` of the mask's volume."""

    def __init__(self, target: Target, mask: Mask, origin: Triple) -> None:
        self._target = target
        self._mask = mask
        self._origin = origin
        self.depth, self.rows, self.folder = target.depth, target.rows, target.folder

    def begin(self) -> None:
        self._target.begin()
        self.array = self._target.array

    def write(self, start: Triple, block: np.ndarray) -> None:
        first = tuple(a + b for a, b in zip(self._origin, start))
        last = tuple(a + n for a, n in zip(first, block.shape[1:]))
        inside = self._mask.read(Box(first, last))  # type: ignore[arg-type]
        self._target.write(start, block if inside.all() else np.where(inside, block, block.dtype.type(0)))

    def finish(self) -> None:
        self._target.finish()

    def discard(self) -> None:
        self._target.discard()

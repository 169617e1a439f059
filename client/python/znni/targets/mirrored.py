"""Outputs that come mirrored."""

from __future__ import annotations

import numpy as np

from znni.box import Box, Triple
from znni.mirrors import Axes, Mirror
from znni.stores.seam import Target


class MirroredTarget(Target):
    """Writes an output of this extent, which comes mirrored along ``axes``, into ``target``, mirrored back."""

    def __init__(self, target: Target, extent: Triple, axes: Axes) -> None:
        self._target = target
        self._mirror = Mirror(axes, Box((0, 0, 0), extent))
        self.folder = target.folder

    def begin(self) -> None:
        self._target.begin()

    def write(self, start: Triple, block: np.ndarray) -> None:
        stop = tuple(a + n for a, n in zip(start, block.shape[1:]))
        place = self._mirror.place_of(Box(start, stop))
        self._target.write(place.start, np.flip(block, tuple(axis + 1 for axis in self._mirror.axes)))

    def finish(self) -> None:
        self._target.finish()

    def discard(self) -> None:
        self._target.discard()

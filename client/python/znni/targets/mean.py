"""Outputs that are the mean of several."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np

from znni.box import Box, Triple
from znni.calls.patience import Patience, persist
from znni.spool import make_spool
from znni.stores.memmap import give_back
from znni.stores.seam import Target
from znni.streaming.slab_writer import MOST_BYTES, SlabWriter
from znni.voxel_type import as_output

_STEP_BYTES = 4 << 20  # of the mean, made at a time


class MeanTarget(Target):
    """Writes the mean of ``count`` outputs of this shape (C, Z, Y, X), as ``dtype``, into ``target``.

    Each is written whole, one after the other, each voxel once. Their float32 sum lies in memory, or, beyond 48 MiB, in
    a file without a name beside the output; finish() writes the mean, once. A store that does not answer is tried again
    with the ``patience`` that is made for each slab.
    """

    def __init__(
        self, target: Target, shape: tuple, dtype: np.dtype, count: int, patience: Callable[[], Patience]
    ) -> None:
        self._target = target
        self._shape = shape
        self._dtype = dtype
        self._count = count
        self._patience = patience
        self._sum: np.ndarray | None = None
        self.folder = target.folder

    def begin(self) -> None:
        is_large = 4 * math.prod(self._shape) > MOST_BYTES
        dtype = np.dtype(np.float32)
        self._sum = make_spool(self._shape, dtype, self.folder) if is_large else np.zeros(self._shape, dtype)
        self._target.begin()
        self.array = self._target.array

    def write(self, start: Triple, block: np.ndarray) -> None:
        assert self._sum is not None
        part = self._sum[(slice(None), *(slice(a, a + n) for a, n in zip(start, block.shape[1:])))]
        part += block
        give_back(self._sum)

    def finish(self) -> None:
        assert self._sum is not None
        channels, planes, height, width = self._shape
        writer = SlabWriter(self._target, Box((0, 0, 0), self._shape[1:]), channels, self._dtype)
        step = max(1, _STEP_BYTES // (4 * channels * height * width))
        for z in range(0, planes, step):
            mean = self._sum[:, z : z + step].transpose(1, 0, 2, 3) / np.float32(self._count)
            persist(partial(writer.write, z, as_output(mean, self._dtype)), self._patience())
            give_back(self._sum)
        persist(writer.flush, self._patience())
        self._sum = None
        self._target.finish()

    def discard(self) -> None:
        self._sum = None
        self._target.discard()

"""Outputs in files that hold voxels as they lie in memory: the file is mapped, and written in any order."""

from __future__ import annotations

import abc
import os
import pathlib

import numpy as np

from znni.box import Triple
from znni.stores.memmap import MemmapTarget
from znni.stores.partial import Partial
from znni.stores.seam import OutputFacts, Target


class MappedTarget(Target):
    """Writes a file, the disk space of which it takes before the first plane."""

    def __init__(self, path: str | os.PathLike, facts: OutputFacts, overwrite: bool) -> None:
        self._facts = facts
        self._partial = Partial(path, overwrite)
        self.folder = self._partial.folder
        self._target: MemmapTarget | None = None

    @abc.abstractmethod
    def _make(self, path: pathlib.Path) -> np.ndarray:
        """Makes the file at ``path`` and returns its voxels, mapped, in the order of ``facts.file_shape``."""

    def begin(self) -> None:
        path = self._partial.begin()
        array = self._make(path)
        # A map that finds the disk full ends the process, so the disk is asked first.
        with open(path, "r+b") as file:
            os.posix_fallocate(file.fileno(), 0, os.fstat(file.fileno()).st_size)
        self._target = MemmapTarget(array, self._facts)

    def write(self, start: Triple, block: np.ndarray) -> None:
        assert self._target is not None
        self._target.write(start, block)

    def finish(self) -> None:
        self._target = None
        self._partial.finish()

    def discard(self) -> None:
        self._target = None
        self._partial.discard()


def map_behind(path: pathlib.Path, header: bytes, shape: tuple, dtype: np.dtype) -> np.memmap:
    """Makes a file of a header and room for voxels behind it. Returns these, mapped, in the order of C."""
    path.write_bytes(header)
    return np.memmap(path, dtype, "r+", offset=len(header), shape=shape)

"""Volumes and outputs in files of NumPy, FILE.npy."""

from __future__ import annotations

import os

import numpy as np

from znni.box import Triple
from znni.errors import InvalidError, NotFoundError
from znni.stores.memmap import MemmapSource, MemmapTarget
from znni.stores.partial import Partial
from znni.stores.seam import OutputFacts, Source, Target


def open_npy(path: str | os.PathLike) -> Source:
    """Returns the volume in a file. Raises NotFoundError if there is none, InvalidError if it holds no array."""
    return MemmapSource(load_npy(path), str(path))


def load_npy(path: str | os.PathLike) -> np.ndarray:
    """Returns the array in a file, mapped. Raises as open_npy() does."""
    try:
        return np.load(path, mmap_mode="r", allow_pickle=False)
    except FileNotFoundError:
        raise NotFoundError(f"{path}: there is no such file") from None
    except ValueError as error:
        raise InvalidError(f"{path}: is no array of NumPy: {error}") from None


class NpyTarget(Target):
    """Writes a file, the disk space of which it takes before the first plane."""

    def __init__(self, path: str | os.PathLike, facts: OutputFacts, overwrite: bool) -> None:
        self._facts = facts
        self._partial = Partial(path, overwrite)
        self._target: MemmapTarget | None = None

    def begin(self) -> None:
        path = self._partial.begin()
        array = np.lib.format.open_memmap(path, "w+", self._facts.dtype, self._facts.file_shape)
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

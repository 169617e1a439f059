"""Volumes and outputs in files of NumPy, FILE.npy."""

from __future__ import annotations

import os
import pathlib

import numpy as np

from znni.errors import InvalidError, NotFoundError
from znni.stores.mapped_target import MappedTarget
from znni.stores.memmap import MemmapSource
from znni.stores.seam import Source


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
        raise InvalidError(f"{path}: is not an array of NumPy: {error}") from None


class NpyTarget(MappedTarget):
    """Writes a file."""

    def _make(self, path: pathlib.Path) -> np.ndarray:
        return np.lib.format.open_memmap(path, "w+", self._facts.dtype, self._facts.file_shape)

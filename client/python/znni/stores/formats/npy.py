"""Volumes and outputs in files of NumPy, FILE.npy."""

from __future__ import annotations

import math
import os
import pathlib
from typing import Any

import numpy as np

from znni.errors import InvalidError, NotFoundError
from znni.stores.file_at import array_in, check_length, open_file
from znni.stores.mapped_target import MappedTarget
from znni.stores.memmap import MemmapSource
from znni.stores.range_array import in_order
from znni.stores.remote import remote_scheme
from znni.stores.seam import Source


def open_npy(path: str | os.PathLike) -> Source:
    """Returns the volume in a file. Raises NotFoundError if there is none, InvalidError if it holds no array."""
    return MemmapSource(load_npy(path), str(path))


def load_npy(path: str | os.PathLike) -> Any:
    """Returns the array in a file, mapped where it lies on this machine. Raises as open_npy() does."""
    if not remote_scheme(os.fspath(path)):
        return _mapped(path)
    with open_file(path) as file:
        try:
            shape, is_reversed, dtype = _header(file)
        except ValueError as error:
            raise _no_array(path, error) from None
        stored = shape[::-1] if is_reversed else shape
        check_length(path, file.tell() + math.prod(shape) * dtype.itemsize, f"{shape} voxels of {dtype.name}")
        array = array_in(path, stored, dtype, file.tell())
    return in_order(array, range(len(shape))[::-1] if is_reversed else range(len(shape)))


def _mapped(path: str | os.PathLike) -> np.ndarray:
    try:
        return np.load(path, mmap_mode="r", allow_pickle=False)
    except FileNotFoundError:
        raise NotFoundError(f"{path}: there is no such file") from None
    except ValueError as error:
        raise _no_array(path, error) from None


def _header(file: Any) -> tuple[tuple[int, ...], bool, np.dtype]:
    """Returns the shape of the array in a file, whether its first axis is the fastest, and its type."""
    version = np.lib.format.read_magic(file)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    found = read(file)
    if found[2].hasobject:
        raise ValueError("it holds objects of Python")
    return found


def _no_array(path: str | os.PathLike, error: ValueError) -> InvalidError:
    return InvalidError(f"{path}: is not an array of NumPy: {error}")


class NpyTarget(MappedTarget):
    """Writes a file."""

    def _make(self, path: pathlib.Path) -> np.ndarray:
        return np.lib.format.open_memmap(path, "w+", self._facts.dtype, self._facts.file_shape)

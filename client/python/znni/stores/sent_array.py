"""Voxels of all types of numbers, as the types that are sent."""

from __future__ import annotations

from typing import Any

import numpy as np

from znni.box import Box
from znni.errors import InvalidError
from znni.geometry import Geometry
from znni.stores.array import ArraySource
from znni.stores.memmap import give_back

_SENT = ("uint8", "uint16", "float16", "float32")
_EXACT = 1 << 24  # up to which float32 holds each whole number


def _sent_type(dtype: np.dtype, is_rescaled: bool, name: str) -> np.dtype:
    """Returns the type that voxels are sent as. Raises InvalidError, with the volume's ``name``, if they are not
    numbers."""
    if dtype.kind not in "biuf":
        raise InvalidError(f"{name}: voxels of type {dtype} found, expected whole or real numbers")
    if dtype.kind == "b":
        return np.dtype("u1")
    return np.dtype(dtype.name if dtype.name in _SENT and not is_rescaled else "f4").newbyteorder("<")


class SentArray:
    """Is an ``array`` whose parts are read as a type that is sent: ``slope`` times each voxel plus ``inter``, if these
    are not 1 and 0. Types that are not sent become float32. Raises InvalidError for a whole number that it cannot hold.
    """

    def __init__(self, array: Any, name: str, slope: float = 1.0, inter: float = 0.0) -> None:
        self._array = array
        self._name = name
        self._rescaling = (slope, inter) if (slope, inter) != (1.0, 0.0) else None
        self.shape = tuple(int(n) for n in array.shape)
        self.dtype = _sent_type(np.dtype(array.dtype), self._rescaling is not None, name)
        self.chunks = getattr(array, "chunks", None)

    def __getitem__(self, index: Any) -> np.ndarray:
        found = np.asarray(self._array[index])
        if self._rescaling is not None:
            slope, inter = self._rescaling
            return (found.astype(np.float64) * slope + inter).astype(self.dtype)
        if found.dtype.kind in "iu" and found.dtype.itemsize >= 4:
            self._check_exact(found)
        with np.errstate(over="ignore"):  # what becomes infinite is refused with its place
            return found.astype(self.dtype)

    def _check_exact(self, found: np.ndarray) -> None:
        for value in (int(found.min()), int(found.max())) if found.size else ():
            if abs(value) > _EXACT:
                raise InvalidError(
                    f"{self._name}: voxel {value} of type {found.dtype.name} found, expected {_EXACT} at most, up to "
                    "which float32 holds each whole number: save the volume as float32"
                )


class FileSource(ArraySource):
    """Reads an array of a file, voxels of any type of numbers, and holds one slab of it. ``raw`` is the array itself;
    closes the file that it has."""

    def __init__(
        self, array: Any, name: str, geometry: Geometry | None, slope: float = 1.0, inter: float = 0.0
    ) -> None:
        super().__init__(SentArray(array, name, slope, inter), name)
        self.raw = array
        self.geometry = geometry

    def read(self, box: Box) -> np.ndarray:
        found = super().read(box)
        give_back(self.raw)
        return found

    def close(self) -> None:
        file = getattr(self.raw, "file", None)
        if file is not None:
            file.close()

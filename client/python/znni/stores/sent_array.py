"""Voxels of all types of numbers, as the types that are sent."""

from __future__ import annotations

from typing import Any

import numpy as np

from znni.errors import InvalidError

_SENT = ("uint8", "uint16", "float16", "float32")
_EXACT = 1 << 24  # up to which float32 holds each whole number


def _sent_type(dtype: Any, name: str) -> np.dtype:
    """Returns the type that voxels are sent as, little-endian. Raises InvalidError, with the volume's ``name``, if they
    are not numbers."""
    try:
        found = np.dtype(dtype)
    except TypeError:  # that of another library
        found = None
    if found is None or found.kind not in "biuf":
        raise InvalidError(f"{name}: voxels of type {dtype} found, expected whole or real numbers")
    if found.kind == "b":
        return np.dtype("u1")
    return np.dtype(found.name if found.name in _SENT else "f4").newbyteorder("<")


class SentArray:
    """Is an ``array`` whose parts are read as a type that is sent: ``slope`` times each voxel plus ``inter``, if these
    are not 1 and 0. Types that are not sent become float32, and truth values 0 and 1 of uint8. Raises InvalidError for
    a whole number that float32 cannot hold."""

    def __init__(self, array: Any, name: str, slope: float = 1.0, inter: float = 0.0) -> None:
        self._array = array
        self._name = name
        self._steps = [(slope, inter)] if (slope, inter) != (1.0, 0.0) else []
        sent = _sent_type(array.dtype, name)
        self.shape = tuple(int(n) for n in array.shape)
        self.dtype = np.dtype("<f4") if self._steps else sent

    def rescale(self, factor: float, offset: float) -> None:
        """Makes each voxel that is read from now on ``factor`` times what it was plus ``offset``, in float32."""
        self._steps.append((factor, offset))
        self.dtype = np.dtype("<f4")

    def __getitem__(self, index: Any) -> np.ndarray:
        found = np.asarray(self._array[index])
        if self._steps:
            return self._rescaled(found)
        if found.dtype.kind in "iu" and found.dtype.itemsize >= 4:
            self._check_exact(found)
        with np.errstate(over="ignore"):  # what becomes infinite is refused with its place
            return found.astype(self.dtype, copy=False)

    def _rescaled(self, found: np.ndarray) -> np.ndarray:
        """Returns voxels that are computed in float64, plane by plane, and rounded once."""
        sent = np.empty(found.shape, self.dtype)
        with np.errstate(over="ignore"):
            for plane, rounded in zip(np.moveaxis(found, -3, 0), np.moveaxis(sent, -3, 0)):
                exact = plane.astype(np.float64)
                for factor, offset in self._steps:
                    exact *= factor
                    exact += offset
                rounded[...] = exact
        return sent

    def _check_exact(self, found: np.ndarray) -> None:
        for value in (int(found.min()), int(found.max())) if found.size else ():
            if abs(value) > _EXACT:
                raise InvalidError(
                    f"{self._name}: voxel {value} of type {found.dtype.name} found, expected {_EXACT} at most, up to "
                    "which float32 holds each whole number: save the volume as float32, or pass scale"
                )

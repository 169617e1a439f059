"""Types of voxels, in NumPy and on the wire."""

from __future__ import annotations

from typing import Any

import numpy as np

from znni.errors import InvalidError

_WIRE = {"uint8": "UINT8", "uint16": "UINT16", "float16": "FP16", "float32": "FP32"}
_OUTPUTS = ("float32", "float16", "uint8")


def input_type(dtype: Any, name: str) -> np.dtype:
    """Returns the type of a volume's voxels as they are sent, little-endian. Raises InvalidError, with the volume's
    ``name``, for a type that is not sent."""
    try:
        found = np.dtype(dtype)
    except TypeError:
        found = None
    if found is None or found.name not in _WIRE:
        raise InvalidError(f"{name}: voxels of type {dtype} found, expected uint8, uint16, float16 or float32")
    return found.newbyteorder("<")


def output_type(dtype: Any) -> np.dtype:
    """Returns the type of output voxels. Raises InvalidError for one that the daemon does not write."""
    try:
        found = np.dtype(dtype)
    except TypeError:
        found = None
    if found is None or found.name not in _OUTPUTS:
        raise InvalidError(f"dtype: {dtype!r} found, expected one of {', '.join(_OUTPUTS)}")
    return found.newbyteorder("<")


def as_output(values: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Returns float32 voxels as ``dtype``, a type of outputs, as the daemon makes it: uint8 is 0..1 mapped to 0..255,
    clamped and rounded to the nearest, NaN is 0 there."""
    if dtype.kind == "u":
        scaled = np.fmin(np.fmax(values * np.float32(255), np.float32(0)), np.float32(255))
        return (scaled + np.float32(0.5)).astype(dtype)
    with np.errstate(over="ignore"):
        return values.astype(dtype, copy=False)


def wire_name(dtype: np.dtype) -> str:
    """Returns the wire's name of a type that is sent or written."""
    return _WIRE[dtype.name]

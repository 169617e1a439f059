"""The factor and the offset by which a caller's voxels become those that a network expects."""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from znni.errors import InvalidError

SLICE_ZSCORE = "slice_zscore"
Scale = float | Sequence[float] | str | None


class Scaling(NamedTuple):
    """Makes ``voxel * factor + offset`` of each voxel; both are numbers that float32 holds."""

    factor: float
    offset: float


def _float32(value: Any) -> float:
    """Returns a number as float32 rounds it; NaN for what is none, or so small that it would become 0."""
    if not isinstance(value, numbers.Real) or isinstance(value, bool):
        return math.nan
    try:
        with np.errstate(over="ignore"):
            found = float(np.float32(float(value)))
        return found if found or not value else math.nan
    except OverflowError:
        return math.inf


def is_by_slice(scale: Scale) -> bool:
    """Returns whether each slice is to be brought to mean 0 and deviation 1."""
    return isinstance(scale, str) and scale == SLICE_ZSCORE


def parse_scaling(scale: Scale) -> Scaling | None:
    """Returns what ``scale`` says: a factor, or factor and offset; None for None; for "slice_zscore" what leaves voxels
    as they are, in float32. Raises InvalidError for anything else."""
    if scale is None:
        return None
    if is_by_slice(scale):
        return Scaling(1.0, 0.0)
    parts = [scale, 0.0] if isinstance(scale, numbers.Real) else scale
    found = [_float32(part) for part in parts] if isinstance(parts, (tuple, list, np.ndarray)) else []
    if len(found) != 2 or not all(map(math.isfinite, found)):
        raise InvalidError(
            f"scale: {scale!r} found, expected a factor or (factor, offset), finite numbers that float32 holds: "
            'scale=(1 / 255, -0.5); or "slice_zscore"'
        )
    return Scaling(*found)

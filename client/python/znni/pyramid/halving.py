"""Halves voxels along axes: two neighbours become their mean, or for labels the first of them."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np


def halve(voxels: np.ndarray, axes: Iterable[int], is_label: bool) -> np.ndarray:
    """Returns the voxels with the axes ``axes`` halved. An odd voxel at the end stays as it is.

    Means are taken in float32, axis by axis, and are rounded to the nearest for whole numbers, halves to even ones.
    """
    if is_label:
        return voxels[tuple(slice(None, None, 2 if axis in axes else 1) for axis in range(voxels.ndim))]
    found = voxels.astype(np.float32, copy=False)
    for axis in axes:
        found = _mean(found, axis)
    return (np.rint(found) if voxels.dtype.kind in "iu" else found).astype(voxels.dtype, copy=False)


def _mean(voxels: np.ndarray, axis: int) -> np.ndarray:
    voxels = voxels.swapaxes(0, axis)
    pairs = len(voxels) // 2
    found = voxels[::2] * np.float32(0.5)  # halved first: the sum of two might not be finite
    found[:pairs] += voxels[1::2] * np.float32(0.5)
    if len(voxels) % 2:
        found[-1] = voxels[-1]
    return found.swapaxes(0, axis)

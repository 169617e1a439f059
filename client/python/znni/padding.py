"""Padding: where the voxels that a network reads beyond a volume's border come from."""

from __future__ import annotations

import numpy as np

from znni.box import Box, Triple
from znni.errors import InvalidError

PADS = ("none", "zero", "reflect", "edge")
_ZERO = -1


def check_pad(pad: str) -> str:
    """Returns ``pad``. Raises InvalidError if there is no such padding."""
    if pad not in PADS:
        raise InvalidError(f"pad: {pad!r} found, expected one of {', '.join(PADS)}")
    return pad


def padded(pad: str, roi: Box, field_of_view: Triple) -> Box:
    """Returns the box that the network reads, in positions of the volume, which may lie outside it.

    With padding it has (field of view - 1) // 2 voxels before the ``roi`` and the rest of field of view - 1 behind it;
    without padding it is the ``roi``.
    """
    if pad == "none":
        return roi
    before = tuple((n - 1) // 2 for n in field_of_view)
    start = tuple(a - b for a, b in zip(roi.start, before))
    stop = tuple(a + n - 1 - b for a, n, b in zip(roi.stop, field_of_view, before))
    return Box(start, stop)  # type: ignore[arg-type]


def sources(pad: str, extent: int, first: int, last: int) -> np.ndarray:
    """Returns the voxel, 0 to ``extent`` - 1, that each position from ``first`` to before ``last`` reads; -1 is zero.

    Reflection repeats as often as needed about the first and last voxel, which are not doubled.
    """
    at = np.arange(first, last)
    if pad == "edge":
        return np.clip(at, 0, extent - 1)
    if pad == "reflect":
        period = max(2 * (extent - 1), 1)
        phase = at % period
        return np.minimum(phase, period - phase) if extent > 1 else np.zeros_like(at)
    return np.where((at >= 0) & (at < extent), at, _ZERO)


def span(found: np.ndarray) -> tuple[int, int]:
    """Returns the range [first, last) of voxels that ``found`` reads; [0, 1) if it reads none."""
    read = found[found >= 0]
    return (int(read.min()), int(read.max()) + 1) if read.size else (0, 1)


def take(planes: np.ndarray, found: np.ndarray, axis: int, zero: float = 0) -> np.ndarray:
    """Returns ``planes``, which hold the voxels of span(found) along ``axis``, spread to the positions of ``found``;
    ``zero`` is what they have for 0."""
    first, last = span(found)
    if len(found) == last - first and np.array_equal(found, np.arange(first, last)):
        return planes
    if len(found) == last - first and np.array_equal(found[::-1], np.arange(first, last)):
        return np.flip(planes, axis)
    spread = planes.take(np.maximum(found - first, 0), axis)
    spread[(slice(None),) * axis + (found < 0,)] = zero
    return spread

"""Axes of the arrays that the client takes and gives.

A volume is ``[Z, Y, X]``, ``[C, Z, Y, X]`` or ``[1, C, Z, Y, X]``. Its output has as many axes as the volume, but
``[C, Z, Y, X]`` where a volume ``[Z, Y, X]`` gives several channels.
"""

from __future__ import annotations

from collections.abc import Sequence

from znni.errors import InvalidError

Shape = tuple  # (C, Z, Y, X)


def czyx(shape: Sequence[int], name: str) -> Shape:
    """Returns channels and extent of an array of this shape. Raises InvalidError for an array that is not a volume."""
    shape = tuple(int(n) for n in shape)
    if len(shape) == 3:
        return (1, *shape)
    if len(shape) == 4:
        return shape
    if len(shape) == 5 and shape[0] == 1:
        return shape[1:]
    raise InvalidError(f"{name}: shape {shape} found, expected [Z, Y, X], [C, Z, Y, X] or [1, C, Z, Y, X]")


def output_shape(shape: Shape, ndim: int) -> tuple:
    """Returns the shape of the output array of an output [C, Z, Y, X] for a volume with ``ndim`` axes."""
    if ndim == 3 and shape[0] == 1:
        return tuple(shape[1:])
    return (1, *shape) if ndim == 5 else tuple(shape)


def index_of(ndim: int, ranges: Sequence[slice]) -> tuple:
    """Returns the index of a box, all channels, in an array with ``ndim`` axes; ``ranges`` are those of z, y and x."""
    return {3: (), 4: (slice(None),), 5: (0, slice(None))}[ndim] + tuple(ranges)


def chunk_of(array: object, ndim: int) -> tuple[int, int]:
    """Returns how many planes along z, and of them rows along y, an array stores together; 1 and 1 if it does not
    say."""
    chunks = getattr(array, "shards", None) or getattr(array, "chunks", None)
    if not chunks:
        return 1, 1
    depth, rows = (max(n) if isinstance(n, (tuple, list)) else n for n in chunks[ndim - 3 : ndim - 1])
    return int(depth), int(rows)

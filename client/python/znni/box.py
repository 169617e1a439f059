"""Boxes of voxels: start inclusive, stop exclusive, axes z, y, x."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from znni.errors import InvalidError

Triple = tuple[int, int, int]
Roi = str | Sequence[slice | tuple[int, int]] | None
_AXES = "zyx"


class Box(NamedTuple):
    """Covers the voxels from ``start`` to before ``stop``."""

    start: Triple
    stop: Triple

    @property
    def extent(self) -> Triple:
        """Returns its voxels along z, y and x."""
        return tuple(b - a for a, b in zip(self.start, self.stop))  # type: ignore[return-value]


def text_of(triple: Sequence[int]) -> str:
    """Returns "1x2x3"."""
    return "x".join(str(n) for n in triple)


def _ranges(roi: Roi) -> list[tuple[int | None, int | None]]:
    """Returns (start, stop) per axis, None for the volume's own bound."""
    wrong = InvalidError(
        f"roi: {roi!r} found, expected 'z0:z1,y0:y1,x0:x1', np.s_[z0:z1, y0:y1, x0:x1] or three pairs (start, stop)"
    )
    if isinstance(roi, str):
        parts = [re.fullmatch(r"\s*(\d*)\s*:\s*(\d*)\s*", part) for part in roi.split(",")]
        if not all(parts) or len(parts) != 3:
            raise wrong
        return [tuple(int(bound) if bound else None for bound in part.groups()) for part in parts]  # type: ignore
    if roi is None or len(roi) != 3:
        raise wrong
    ranges = []
    for one in roi:
        if isinstance(one, slice) and one.step in (None, 1):
            ranges.append((one.start, one.stop))
        elif isinstance(one, (tuple, list)) and len(one) == 2:
            ranges.append((one[0], one[1]))
        else:
            raise wrong
    return ranges


def parse_roi(roi: Roi, volume: Triple) -> Box:
    """Returns the box that ``roi`` names in a volume of this extent; None is the whole volume.

    Raises InvalidError if the box is empty or leaves the volume.
    """
    if roi is None:
        return Box((0, 0, 0), volume)
    starts, stops = [], []
    for axis, extent, (first, last) in zip(_AXES, volume, _ranges(roi)):
        start, stop = 0 if first is None else int(first), extent if last is None else int(last)
        if not 0 <= start < stop <= extent:
            raise InvalidError(f"roi: {axis} from {start} to {stop} found, expected a range within 0 to {extent}")
        starts.append(start)
        stops.append(stop)
    return Box(tuple(starts), tuple(stops))  # type: ignore[arg-type]

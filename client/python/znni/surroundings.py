"""Which part of a volume a network that pads, or has strides of its own, must be given for a region of its output.

A network by itself pads with zeros where what it is given begins. So a region is exact if what it is computed from lies
within what is given, or ends at the volume's own border; and if the strides begin where they do in the volume, at
multiples of the period. ``proto/volumes.proto`` and the model's metadata have the numbers.
"""

from __future__ import annotations

from znni.box import Box, Triple
from znni.model import Model


def read_for(region: Box, volume: Triple, model: Model) -> Box:
    """Returns the box of a volume of this extent to give ``model`` for a ``region`` of its output.

    The model writes the region's voxel ``p`` at ``p - start`` of the output of that box.
    """
    sides = zip(region.start, region.stop, volume, *model.padding, model.period, model.field_of_view, model.least_extent)
    spans = [_span(*side) for side in sides]
    return Box(tuple(start for start, _ in spans), tuple(stop for _, stop in spans))  # type: ignore[arg-type]


def _round_up(number: int, period: int) -> int:
    return -(-number // period) * period


def _span(first: int, last: int, extent: int, before: int, after: int, period: int, field_of_view: int,
          least: int) -> tuple[int, int]:
    """Returns the same along one axis: for output voxels ``first`` to before ``last`` the input voxels."""
    aligned = min(first, max(extent - least, 0))
    aligned -= aligned % period
    end = last + (extent - field_of_view + 1 - last) % period
    end += _round_up(max(aligned + least - (end + field_of_view - 1), 0), period)
    stop = end + field_of_view - 1 + after
    stop += (extent - stop) % period
    return max(aligned - _round_up(before, period), 0), min(stop, extent)

"""Finds the part of a volume from which a network computes a region of its output as it would from the whole volume.

A network that pads puts zeros around the part that it is given. So a region is exact if the voxels on which it depends
lie within that part, or end at the volume's own border. Strides must also begin where they do in the volume, at
multiples of the period. If a network is bound to its window, the part has all windows in which the region lies, at
their places in the volume. ``docs/networks.md`` has both.
"""

from __future__ import annotations

from znni.box import Box, Triple
from znni.model import Model


def read_for(region: Box, volume: Triple, model: Model) -> Box:
    """Returns the box of a volume of this extent to give ``model`` for a ``region`` of its output.

    The model writes the region's voxel ``p`` at ``p - start`` of the output of that box.
    """
    spans = [
        _windows(axis, region, volume, model) if model.window else _span(axis, region, volume, model)
        for axis in range(3)
    ]
    return Box(tuple(start for start, _ in spans), tuple(stop for _, stop in spans))  # type: ignore[arg-type]


def _round_up(number: int, period: int) -> int:
    return -(-number // period) * period


def _span(axis: int, region: Box, volume: Triple, model: Model) -> tuple[int, int]:
    """Returns what is given along one axis to a network that pads or has strides, or does neither."""
    first, last, extent = region.start[axis], region.stop[axis], volume[axis]
    before, after = (side[axis] for side in model.padding)
    period, reach, least = model.period[axis], model.field_of_view[axis] - 1, model.min_extent[axis]
    aligned = min(first, max(extent - least, 0))
    aligned -= aligned % period
    end = last + (extent - reach - last) % period
    end += _round_up(max(aligned + least - (end + reach), 0), period)
    stop = end + reach + after
    stop += (extent - stop) % period
    return max(aligned - _round_up(before, period), 0), min(stop, extent)


def _windows(axis: int, region: Box, volume: Triple, model: Model) -> tuple[int, int]:
    """Returns what is given along one axis to a network that is bound to its window: the windows of which the region
    has a voxel. They begin at multiples of the step, the last one as far as the volume goes."""
    assert model.window is not None
    reach = model.field_of_view[axis] - 1
    window, output = model.window[axis] - reach, volume[axis] - reach
    if output <= window:
        return 0, volume[axis]
    step = max(int(window * (1.0 - model.window_overlap)), 1)
    final = output - window  # where the last window begins
    first = min(max(_round_up(region.start[axis] - window + 1, step), 0), final)
    last = final if final < region.stop[axis] else _round_up(region.stop[axis], step) - step
    return first, last + window + reach

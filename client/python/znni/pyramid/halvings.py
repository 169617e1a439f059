"""Which resolutions an image has: how often each axis is halved in each."""

from __future__ import annotations

from znni.box import Triple
from znni.geometry import Geometry
from znni.stores.formats.units import NANOMETERS

MOST = 256  # voxels along each axis of the coarsest resolution


def halvings_of(extent: Triple, geometry: Geometry) -> list[Triple]:
    """Returns how often each axis is halved in each resolution. The first is the image itself, (0, 0, 0); the last has
    256 voxels at most along each axis. An axis is left as it is while its voxels are twice as long as others, or
    longer."""
    lengths = _lengths(geometry)
    found: list[Triple] = [(0, 0, 0)]
    while max(halved(extent, found[-1])) > MOST:
        found.append(_next(extent, lengths, found[-1]))
    return found


def halved(extent: Triple, halvings: Triple) -> Triple:
    """Returns the extent once each axis was halved so often. An odd voxel at the end stays one."""
    return tuple(-(-n // 2**times) for n, times in zip(extent, halvings))


def _lengths(geometry: Geometry) -> list[float]:
    """Returns the lengths of voxels in one unit; all 1 where the geometry has one that is not above 0."""
    lengths = [scale * NANOMETERS.get(unit, 1.0) for scale, unit in zip(geometry.scale, geometry.units)]
    return lengths if min(lengths) > 0 else [1.0] * 3


def _next(extent: Triple, lengths: list[float], before: Triple) -> Triple:
    now = [length * 2**times for length, times in zip(lengths, before)]
    is_thick = [n > 1 for n in halved(extent, before)]
    least = min(length for length, thick in zip(now, is_thick) if thick)
    steps = (thick and length < 2 * least for length, thick in zip(now, is_thick))
    return tuple(times + step for times, step in zip(before, steps))  # type: ignore[return-value]

"""Mirrored volumes: the axes along which a mean over them is taken, and the places of their voxels."""

from __future__ import annotations

import itertools
from typing import NamedTuple

from znni.box import Box
from znni.errors import InvalidError

_AXES = "zyx"
_ALL = "mirror"

Axes = tuple[int, ...]  # 0 is z


def mirror_axes(tta: str | None) -> Axes:
    """Returns the axes that ``tta`` names: all for "mirror", none for None. Raises InvalidError for what names none."""
    if tta is None:
        return ()
    names = _AXES if tta == _ALL else tta
    if not isinstance(names, str) or not names or len(set(names)) < len(names) or not set(names) <= set(_AXES):
        raise InvalidError(f"tta: {tta!r} found, expected '{_ALL}', or axes among z, y and x, each once, such as 'yx'")
    return tuple(axis for axis, name in enumerate(_AXES) if name in names)


def names_of(axes: Axes) -> str:
    """Returns the names of axes, such as "yx"."""
    return "".join(_AXES[axis] for axis in axes)


def passes_of(axes: Axes) -> list[Axes]:
    """Returns along which axes each of 2^k volumes is mirrored: none, each by itself, and all together."""
    return [chosen for count in range(len(axes) + 1) for chosen in itertools.combinations(axes, count)]


class Mirror(NamedTuple):
    """Mirrors the box ``whole`` along ``axes``; without any it leaves all in place."""

    axes: Axes = ()
    whole: Box = Box((0, 0, 0), (0, 0, 0))

    def sum(self, axis: int) -> int | None:
        """Returns what the bounds of a range and of where it lies add up to along an axis: that from ``a`` to before
        ``b`` lies from ``sum - b`` to before ``sum - a``. None along an axis that is not mirrored."""
        return self.whole.start[axis] + self.whole.stop[axis] if axis in self.axes else None

    def place_of(self, box: Box) -> Box:
        """Returns where a box lies once mirrored. Mirrored again it lies where it lay."""
        start, stop = list(box.start), list(box.stop)
        for axis in self.axes:
            both = self.whole.start[axis] + self.whole.stop[axis]
            start[axis], stop[axis] = both - box.stop[axis], both - box.start[axis]
        return Box(tuple(start), tuple(stop))  # type: ignore[arg-type]


UNMIRRORED = Mirror()

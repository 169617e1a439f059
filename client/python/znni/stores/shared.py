"""An output that several machines write together."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Mapping
from typing import Any

from znni.box import Box
from znni.stores.place import Place


@dataclasses.dataclass(frozen=True)
class SharedOutput:
    """Is an output whose whole chunks are written by one machine each.

    ``array`` is read and written, and has ``chunks`` of so many voxels; ``notes`` are those that it was made with.
    ``key`` returns the name of a chunk's file in ``place``, for its position in the grid of chunks. ``room`` is the
    folder beside the output; None if it does not lie on this machine.
    """

    array: Any
    chunks: tuple
    notes: Mapping[str, Any]
    place: Place
    key: Callable[[tuple], str]
    room: str | None = None

    def sync(self, box: Box) -> None:
        """Returns once the chunks of a box lie there for good, and are found there after a loss of power."""
        leading = [range(-(-n // c)) for n, c in zip(self.array.shape[:-3], self.chunks)]
        space = [range(a // c, -(-b // c)) for a, b, c in zip(box.start, box.stop, self.chunks[-3:])]
        self.place.sync([self.key(at) for at in itertools.product(*leading, *space)])

"""Says whether there is anything in a part of a volume."""

from __future__ import annotations

import numpy as np

from znni.box import Box
from znni.stores.seam import Source


def is_empty(source: Source, box: Box) -> bool:
    """Returns whether all voxels of a box are 0, in positions of the volume; what lies outside it does not count."""
    start = tuple(max(a, 0) for a in box.start)
    stop = tuple(min(b, n) for b, n in zip(box.stop, source.shape[1:]))
    for z in range(start[0], stop[0], source.depth):
        slab = Box((z, *start[1:]), (min(z + source.depth, stop[0]), *stop[1:]))  # type: ignore[arg-type]
        if np.any(source.read(slab)):
            return False
    return True

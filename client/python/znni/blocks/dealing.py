"""Says what machines take for their blocks, from what a block of each class takes (Grid.classes())."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from znni.blocks.grid import Grid

_MAX_LISTED = 1 << 22  # blocks that are dealt out one by one; of more each machine has about as much


def total(grid: Grid, seconds: Mapping[int, float]) -> float:
    """Returns the seconds of all blocks on one machine."""
    return sum(count * seconds[number] for number, count in grid.classes().items())


def longest(grid: Grid, seconds: Mapping[int, float], nodes: int) -> float:
    """Returns the seconds until the last of so many machines is done, each with every ``nodes``-th block."""
    if len(grid) > _MAX_LISTED:
        return -(-len(grid) // nodes) * total(grid, seconds) / len(grid)
    shares = np.zeros((-(-len(grid) // nodes), nodes))  # a column for each machine
    shares.reshape(-1)[: len(grid)] = _every(grid, seconds)
    return float(shares.sum(axis=0).max())


def _every(grid: Grid, seconds: Mapping[int, float]) -> np.ndarray:
    """Returns the seconds of each block, in the order of their numbers."""
    along = grid.positions()
    found = np.array([seconds[number] for number in grid.classes()])
    found = found.reshape([len(positions) for positions in along])
    for axis, positions in enumerate(along):
        found = found.repeat([one.blocks for one in positions], axis)
    return found.reshape(-1)

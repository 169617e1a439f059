"""Says what machines take for their blocks, from what a block of each class takes (Grid.classes())."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from znni.blocks.grid import Grid
from znni.blocks.kept import MAX_LISTED, Kept


def total(kept: Kept, seconds: Mapping[int, float]) -> float:
    """Returns the seconds of all blocks on one machine."""
    return sum(count * seconds[number] for number, count in kept.classes().items())


def longest(kept: Kept, seconds: Mapping[int, float], nodes: int) -> float:
    """Returns the seconds until the last of so many machines is done, each with every ``nodes``-th block."""
    return float(shares(kept, seconds, nodes).max())


def shares(kept: Kept, seconds: Mapping[int, float], nodes: int) -> np.ndarray:
    """Returns the seconds of each of so many machines, which has every ``nodes``-th block of the grid. Of very many
    blocks each has about as much."""
    blocks = len(kept.grid)
    if blocks > MAX_LISTED:
        return np.full(nodes, -(-blocks // nodes) * total(kept, seconds) / blocks)
    found = np.zeros((-(-blocks // nodes), nodes))  # a column for each machine
    every = _every(kept.grid, seconds)
    found.reshape(-1)[:blocks] = every if kept.found is None else np.where(kept.found.reshape(-1), every, 0.0)
    return found.sum(axis=0)


def _every(grid: Grid, seconds: Mapping[int, float]) -> np.ndarray:
    """Returns the seconds of each block, in the order of their numbers."""
    along = grid.positions()
    found = np.array([seconds[number] for number in grid.classes()])
    found = found.reshape([len(positions) for positions in along])
    for axis, positions in enumerate(along):
        found = found.repeat([one.blocks for one in positions], axis)
    return found.reshape(-1)

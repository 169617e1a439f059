"""Estimates what the blocks of a job take, from what a daemon predicts and from some blocks that were measured."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from znni.blocks.grid import Grid


class Sample(NamedTuple):
    """Says that block ``number`` took so many ``seconds``."""

    number: int
    seconds: float


def weights_of(grid: Grid, predicted: Mapping[int, float]) -> Mapping[int, float]:
    """Returns the seconds that are predicted for each class; its voxels if nothing is predicted of some."""
    if all(predicted.values()):
        return predicted
    return {number: float(math.prod(grid.box(number).extent)) for number in predicted}


class Estimate:
    """Knows what blocks of ``grid`` take. ``predicted`` are the seconds that a daemon predicts for each class
    (Grid.classes()). A class takes as much more, or less, than that as the sample which is the nearest to it in extent.

    Where the daemon predicts nothing, samples are scaled by voxels. Without samples all is as predicted.
    """

    def __init__(self, grid: Grid, predicted: Mapping[int, float], samples: Sequence[Sample] = ()) -> None:
        self._grid = grid
        self._samples = samples
        self._predicted = weights_of(grid, predicted) if samples else predicted

    def classes(self) -> dict[int, float]:
        """Returns the seconds of a block of each class."""
        return {number: self.seconds(number) for number in self._predicted}

    def seconds(self, number: int) -> float:
        """Returns the seconds of a block."""
        return self._predicted[self._grid.class_of(number)] * self._factor_at(number)

    def factor(self, sample: Sample) -> float:
        """Returns how much more a sample took than was predicted."""
        return sample.seconds / self._predicted[self._grid.class_of(sample.number)]

    def _factor_at(self, number: int) -> float:
        if not self._samples:
            return 1.0
        return self.factor(min(self._samples, key=lambda sample: self._distance(number, sample.number)))

    def _distance(self, one: int, other: int) -> float:
        """Returns how far two blocks are from each other in extent: the sum of the ratios, as logarithms."""
        extents = zip(self._grid.box(one).extent, self._grid.box(other).extent)
        return sum(abs(math.log(a / b)) for a, b in extents)

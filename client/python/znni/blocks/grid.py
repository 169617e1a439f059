"""Cuts an output into blocks, and deals them out to the machines of a job."""

from __future__ import annotations

import dataclasses
import itertools
import math
import re

from znni.box import Box, Triple
from znni.errors import InvalidError


@dataclasses.dataclass(frozen=True)
class Grid:
    """Cuts ``output`` voxels into blocks of ``block`` voxels; the last along an axis has the remainder.

    Blocks are numbered from 0 on, x fastest.
    """

    output: Triple
    block: Triple

    @property
    def counts(self) -> Triple:
        """Returns the number of blocks along z, y and x."""
        return tuple(-(-n // b) for n, b in zip(self.output, self.block))  # type: ignore[return-value]

    def __len__(self) -> int:
        return math.prod(self.counts)

    def box(self, number: int) -> Box:
        """Returns the voxels of the output that are block ``number``."""
        _, rows, columns = self.counts
        at = (number // (rows * columns), number // columns % rows, number % columns)
        start = tuple(i * b for i, b in zip(at, self.block))
        return Box(start, tuple(min(a + b, n) for a, b, n in zip(start, self.block, self.output)))  # type: ignore

    def shapes(self) -> dict[Triple, int]:
        """Returns the extents that blocks have, with how many of them: eight at most."""
        along = [_lengths(n, b) for n, b in zip(self.output, self.block)]
        found: dict[Triple, int] = {}
        for sides in itertools.product(*(lengths.items() for lengths in along)):
            found[tuple(side for side, _ in sides)] = math.prod(count for _, count in sides)  # type: ignore[index]
        return found


def _lengths(whole: int, block: int) -> dict[int, int]:
    """Returns the lengths of the blocks along an axis, with how many of them."""
    full, rest = divmod(whole, block)
    return {length: count for length, count in ((block, full), (rest, 1)) if length and count}


@dataclasses.dataclass(frozen=True)
class Shard:
    """Is part ``index`` of ``count`` equal parts of a job: every ``count``-th block."""

    index: int
    count: int

    def numbers(self, grid: Grid) -> range:
        """Returns the numbers of its blocks."""
        return range(self.index, len(grid), self.count)


def parse_shard(text: str) -> Shard:
    """Returns the shard of "3/100". Raises InvalidError unless the first number is below the second."""
    match = re.fullmatch(r"(\d+)/(\d+)", text)
    if not match or int(match[1]) >= int(match[2]):
        raise InvalidError(f"--shard: '{text}' found, expected I/N with I from 0 to N - 1, for example 3/100")
    return Shard(int(match[1]), int(match[2]))

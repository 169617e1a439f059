"""Cuts an output into blocks, and deals them out to the machines of a job."""

from __future__ import annotations

import dataclasses
import itertools
import math
import re
from collections.abc import Iterator
from typing import NamedTuple

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
        start = tuple(i * b for i, b in zip(self._at(number), self.block))
        return Box(start, tuple(min(a + b, n) for a, b, n in zip(start, self.block, self.output)))  # type: ignore

    def number(self, at: Triple) -> int:
        """Returns the number of the block that is the ``at``-th along each axis."""
        _, rows, columns = self.counts
        return (at[0] * rows + at[1]) * columns + at[2]

    def positions(self) -> tuple[list[Position], ...]:
        """Returns the positions that blocks have along z, y and x: first, between and last."""
        return tuple(_positions(count) for count in self.counts)

    def classes(self) -> dict[int, int]:
        """Returns one block for each position in space, by its number, with how many lie there: 27 at most. Blocks of
        one position are as large, and read as much if what surrounds a block is no thicker than the last one."""
        return {
            self.number(tuple(one.at for one in along)): math.prod(one.blocks for one in along)  # type: ignore[arg-type]
            for along in itertools.product(*self.positions())
        }

    def class_of(self, number: int) -> int:
        """Returns the block that stands for ``number`` in classes()."""
        return self.number(tuple(map(_standing, self._at(number), self.counts)))  # type: ignore[arg-type]

    def alike(self, number: int) -> Alike:
        """Returns the blocks of the position of ``number``, itself included."""
        return Alike(self, tuple(map(_alike, self._at(number), self.counts)))  # type: ignore[arg-type]

    @property
    def middle(self) -> int:
        """Returns the number of a block of full size that touches no border, if there is one."""
        return self.number(tuple(_between(count) if count > 2 else 0 for count in self.counts))  # type: ignore[arg-type]

    def _at(self, number: int) -> Triple:
        """Returns its place along z, y and x, counted in blocks."""
        _, rows, columns = self.counts
        return (number // (rows * columns), number // columns % rows, number % columns)


@dataclasses.dataclass(frozen=True)
class Alike:
    """Is the sequence of the blocks that lie in these ranges ``along`` z, y and x, by their numbers."""

    grid: Grid
    along: tuple[range, range, range]

    def __len__(self) -> int:
        return math.prod(map(len, self.along))

    def __iter__(self) -> Iterator[int]:
        return map(self.__getitem__, range(len(self)))

    def __getitem__(self, index: int) -> int:
        if not 0 <= index < len(self):
            raise IndexError(index)
        _, rows, columns = map(len, self.along)
        place = (index // (rows * columns), index // columns % rows, index % columns)
        return self.grid.number(tuple(one[at] for one, at in zip(self.along, place)))  # type: ignore[arg-type]


class Position(NamedTuple):
    """Is a position that so many ``blocks`` have along an axis; the ``at``-th along it is one of them."""

    at: int
    blocks: int


def _positions(count: int) -> list[Position]:
    between = [Position(_between(count), count - 2)] if count > 2 else []
    return [Position(0, 1), *between, *([Position(count - 1, 1)] if count > 1 else [])]


def _between(count: int) -> int:
    """Returns which of so many blocks stands for those between the first and the last: not the one before the last if
    there is another, because it reads less if the last is thinner than what surrounds a block."""
    return (count - 1) // 2


def _standing(at: int, count: int) -> int:
    """Returns which of so many blocks stands for the ``at``-th."""
    return at if at in (0, count - 1) else _between(count)


def _alike(at: int, count: int) -> range:
    """Returns which of so many blocks have the position of the ``at``-th."""
    return range(at, at + 1) if at in (0, count - 1) else range(1, count - 1)


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

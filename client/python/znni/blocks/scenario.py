"""The assumptions under which a job of blocks is simulated."""

from __future__ import annotations

import dataclasses
import functools
import math
import statistics

from znni.blocks.grid import Grid
from znni.blocks.spec import JobSpec
from znni.box import Triple
from znni.errors import InvalidError

SHARDS, DASK = "shards", "dask"  # how blocks are dealt out


@dataclasses.dataclass(frozen=True)
class Work:
    """Describes the blocks of ``grid``. One of full size takes one of ``seconds``, drawn at random, and reads and
    writes so many bytes; smaller ones take less of each, by their voxels."""

    grid: Grid
    seconds: tuple[float, ...]
    bytes_read: float
    bytes_written: float

    def share(self, number: int) -> float:
        """Returns the voxels of a block, in those of a full one."""
        plane, row = divmod(number, self._rows_and_columns)
        at = (plane, *divmod(row, self._columns))
        return math.prod(min(1.0, parts - i) for i, parts in zip(at, self._parts))

    @functools.cached_property
    def _columns(self) -> int:
        return self.grid.counts[2]

    @functools.cached_property
    def _rows_and_columns(self) -> int:
        return self.grid.counts[1] * self.grid.counts[2]

    @functools.cached_property
    def _parts(self) -> list[float]:
        """Returns the extent of the output in those of blocks."""
        return [n / b for n, b in zip(self.grid.output, self.grid.block)]

    @property
    def blocks(self) -> float:
        """Returns how many full blocks have the voxels of all."""
        return math.prod(self.grid.output) / math.prod(self.grid.block)

    @property
    def total_seconds(self) -> float:
        """Returns what all blocks take one machine, on average, without reading and writing."""
        return self.blocks * statistics.fmean(self.seconds)


@dataclasses.dataclass(frozen=True)
class Machines:
    """Describes ``count`` machines that begin to compute ``start_seconds`` after they were asked for.

    All together read and write ``bandwidth`` bytes per second, each ``machine_bandwidth`` at most. A machine is slow
    with a probability of ``slow_share``, and then takes ``slow_factor`` times as long. It is lost ``lost_per_hour``
    times an hour, with the block that it is at; another is there ``replaced_seconds`` later, and starts.
    """

    count: int
    start_seconds: float = 0.0
    bandwidth: float = math.inf
    machine_bandwidth: float = math.inf
    slow_share: float = 0.0
    slow_factor: float = 1.0
    lost_per_hour: float = 0.0
    replaced_seconds: float = 0.0


def work_of(spec: JobSpec, seconds: tuple[float, ...], extent: Triple | None, compression: float) -> Work:
    """Returns the work of a job, or of one like it with an output of another ``extent``. Files are ``compression``
    times as small as their voxels."""
    grid = spec.grid
    block = tuple(min(b, n) for b, n in zip(grid.block, grid.output))
    part = math.prod(block) / math.prod(grid.output) / compression
    told = spec.predicted
    grid = Grid(extent or grid.output, block)  # type: ignore[arg-type]
    return Work(grid, seconds, told["bytes_read"] * part, told["bytes_written"] * part)


def predicted_seconds(spec: JobSpec) -> tuple[float, ...]:
    """Returns what a full block is predicted to take. Raises InvalidError if that is not known."""
    seconds = spec.predicted["seconds_of_a_block"]
    if not seconds > 0:
        raise InvalidError(f"{spec.output}: the daemon that planned the job predicted no seconds: pass --seconds")
    return (seconds,)


def measured_seconds(spec: JobSpec) -> tuple[float, ...]:
    """Returns what the blocks that are done took, each as if it were full. Raises InvalidError if none was computed."""
    full = math.prod(min(b, n) for b, n in zip(spec.block, spec.output_extent))
    found = tuple(
        facts["seconds"] * full / math.prod(spec.grid.box(number).extent)
        for number, facts in spec.marks.done()
        if not facts["skipped"]
    )
    if not found:
        raise InvalidError(f"{spec.output}: no block was computed yet, of which seconds are measured: run some first")
    return found

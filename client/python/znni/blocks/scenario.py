"""The assumptions under which a job of blocks is simulated."""

from __future__ import annotations

import dataclasses
import functools
import math
import statistics
from collections.abc import Mapping
from typing import Any

from znni.blocks.grid import Grid
from znni.blocks.spec import JobSpec
from znni.box import Triple
from znni.errors import InvalidError

SHARDS, DASK = "shards", "dask"  # how blocks are dealt out


@dataclasses.dataclass(frozen=True)
class Work:
    """Describes the blocks of ``grid``. One of full size takes one of ``seconds``, drawn at random, and reads and
    writes so many bytes. Smaller ones take fewer bytes, by their voxels, and less time: ``times`` has what a block of
    each class (Grid.classes()) takes, in full ones. Where it is empty they take it by the voxels that they are computed
    from, ``halo`` more than theirs along each axis."""

    grid: Grid
    seconds: tuple[float, ...]
    bytes_read: float
    bytes_written: float
    halo: Triple = (0, 0, 0)
    times: Mapping[int, float] = dataclasses.field(default_factory=dict)

    def share(self, number: int) -> float:
        """Returns the voxels of a block, in those of a full one."""
        return self._voxels[self.grid.class_of(number)]

    def time(self, number: int) -> float:
        """Returns the time of a block, in those of a full one."""
        return self._times[self.grid.class_of(number)]

    @functools.cached_property
    def _voxels(self) -> dict[int, float]:
        return {number: self._part(number, (0, 0, 0)) for number in self.grid.classes()}

    @functools.cached_property
    def _times(self) -> Mapping[int, float]:
        return self.times or {number: self._part(number, self.halo) for number in self.grid.classes()}

    def _part(self, number: int, halo: Triple) -> float:
        """Returns the voxels of a block with its halo, in those of a full one."""
        extents = zip(self.grid.box(number).extent, self.grid.block, halo)
        return math.prod((n + more) / (full + more) for n, full, more in extents)

    @property
    def blocks(self) -> float:
        """Returns how many full blocks have the voxels of all."""
        return math.prod(self.grid.output) / math.prod(self.grid.block)

    @property
    def total_seconds(self) -> float:
        """Returns what all blocks take one machine, on average, without reading and writing."""
        times = (count * self.time(number) for number, count in self.grid.classes().items())
        return sum(times) * statistics.fmean(self.seconds)


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
    block: Any = tuple(min(b, n) for b, n in zip(grid.block, grid.output))
    told = spec.predicted
    voxels = told.get("voxels_computed", math.prod(grid.output))  # not in jobs of older versions
    part = math.prod(block) / max(voxels, 1) / compression
    sizes = told["bytes_read"] * part, told["bytes_written"] * part
    if extent in (None, grid.output):
        return Work(Grid(grid.output, block), seconds, *sizes, _halo(spec), _times(spec))
    return Work(Grid(extent, block), seconds, *sizes, _halo(spec))


def _halo(spec: JobSpec) -> Triple:
    """Returns how many more voxels than its own a block is computed from."""
    (bz, by, bx), (az, ay, ax) = spec.form["padding"]
    z, y, x = spec.form["field_of_view"]
    return (z - 1 + bz + az, y - 1 + by + ay, x - 1 + bx + ax)


def _times(spec: JobSpec) -> dict[int, float]:
    """Returns what blocks of each class are predicted to take, in full ones; nothing if nothing is predicted of some,
    and in jobs of older versions."""
    full = spec.predicted["seconds_of_a_block"]
    seconds = {one["block"]: one["seconds"] for one in spec.predicted.get("classes", ())}
    if min([full, *seconds.values()]) <= 0:
        return {}
    return {number: taken / full for number, taken in seconds.items()}


def predicted_seconds(spec: JobSpec) -> tuple[float, ...]:
    """Returns what a full block is predicted to take. Raises InvalidError if that is not known."""
    seconds = spec.predicted["seconds_of_a_block"]
    if not seconds > 0:
        raise InvalidError(f"{spec.output}: the daemon that planned the job predicted no seconds: pass --seconds")
    return (seconds,)


def measured_seconds(spec: JobSpec) -> tuple[float, ...]:
    """Returns what the blocks that are done took, each as if it were full; those of less than half the voxels only if
    there are no others, because they say little of full ones. Raises InvalidError if none was computed."""
    work = work_of(spec, (1.0,), None, 1.0)
    found = {number: facts["seconds"] for number, facts in spec.marks.done() if not facts["skipped"]}
    if not found:
        raise InvalidError(f"{spec.output}: no block was computed yet, of which seconds are measured: run some first")
    large = [number for number in found if work.share(number) >= 0.5]
    return tuple(found[number] / work.time(number) for number in large or found)

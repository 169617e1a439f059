"""Simulates a job of blocks on many machines, event by event."""

from __future__ import annotations

import collections
import dataclasses
import heapq
import random
from collections.abc import Callable, Iterable

from znni.blocks.grid import Shard
from znni.blocks.link import Link
from znni.blocks.scenario import SHARDS, Machines, Work

_HOUR = 3600.0


@dataclasses.dataclass(frozen=True)
class Outcome:
    """Describes one simulated run: when the last block was done, the seconds of all machines while they were there, how
    many blocks were lost with their machine, and the bytes that passed."""

    seconds: float
    machine_seconds: float
    repeated: int
    bytes_moved: float


@dataclasses.dataclass
class _Machine:
    """Is one machine, or the one that came for it. ``blocks`` are those that it is to compute."""

    blocks: collections.deque[int]
    since: float = 0.0
    factor: float = 1.0
    life: int = 0  # how many were there before; events of those do not count
    block: int | None = None
    share: float = 0.0  # voxels of this block, in full ones
    time: float = 0.0  # what it takes, likewise


class Simulation:
    """Simulates one run of ``work`` on ``machines``. ``dealing`` is that of znni-job, SHARDS, or of DASK."""

    def __init__(self, work: Work, machines: Machines, dealing: str, seed: str) -> None:
        self._work = work
        self._kind = machines
        self._random = random.Random(seed)
        self._link = Link(machines.bandwidth, machines.machine_bandwidth)
        self._machines = [_Machine(blocks) for blocks in _dealt(work, machines.count, dealing)]
        self._events: list[tuple[float, int, int, int, Callable[[float, int], None]]] = []
        self._order = 0  # of events that come at one time
        self._carried: dict[int, Callable[[float, int], None]] = {}  # what follows a transfer
        self._done_at = self._machine_seconds = self._bytes = 0.0
        self._repeated = 0

    def run(self) -> Outcome:
        """Returns what became of the job."""
        for at in range(len(self._machines)):
            self._begin(0.0, at)
        while True:
            carried = self._link.next_end()
            if self._events and self._events[0][0] <= carried:
                now, _, at, life, event = heapq.heappop(self._events)
                if self._machines[at].life == life:
                    event(now, at)
            elif self._carried:
                at = self._link.end_next(carried)
                self._carried.pop(at)(carried, at)
            else:
                return Outcome(self._done_at, self._machine_seconds, self._repeated, self._bytes)

    def _later(self, when: float, at: int, event: Callable[[float, int], None]) -> None:
        self._order += 1
        heapq.heappush(self._events, (when, self._order, at, self._machines[at].life, event))

    def _begin(self, now: float, at: int) -> None:
        """Lets a machine be there, and end at some time."""
        machine, kind = self._machines[at], self._kind
        machine.since = now
        machine.factor = kind.slow_factor if self._random.random() < kind.slow_share else 1.0
        if kind.lost_per_hour:
            self._later(now + self._random.expovariate(kind.lost_per_hour / _HOUR), at, self._lose)
        self._later(now + kind.start_seconds, at, self._take)

    def _take(self, now: float, at: int) -> None:
        """Lets a machine begin its next block, or go."""
        machine = self._machines[at]
        if not machine.blocks:
            return self._end(now, at)
        machine.block = machine.blocks.popleft()
        machine.share, machine.time = self._work.share(machine.block), self._work.time(machine.block)
        return self._move(now, at, self._work.bytes_read, self._compute)

    def _compute(self, now: float, at: int) -> None:
        machine = self._machines[at]
        seconds = self._random.choice(self._work.seconds) * machine.time * machine.factor
        self._later(now + seconds, at, self._write)

    def _write(self, now: float, at: int) -> None:
        self._move(now, at, self._work.bytes_written, self._finish)

    def _finish(self, now: float, at: int) -> None:
        self._machines[at].block = None
        self._done_at = now
        self._take(now, at)

    def _move(self, now: float, at: int, size: float, then: Callable[[float, int], None]) -> None:
        """Transfers what a full block has, by the share of this one."""
        size *= self._machines[at].share
        self._bytes += size
        if self._link.is_unlimited or size == 0:
            return then(now, at)
        self._carried[at] = then
        return self._link.begin(now, at, size)

    def _end(self, now: float, at: int) -> None:
        """Lets a machine go, and what was to become of it."""
        machine = self._machines[at]
        machine.life += 1
        self._machine_seconds += now - machine.since

    def _lose(self, now: float, at: int) -> None:
        """Lets a machine be lost. Another one comes for it."""
        machine = self._machines[at]
        self._end(now, at)
        if machine.block is not None:
            machine.blocks.appendleft(machine.block)
            machine.block = None
            self._repeated += 1
        if self._carried.pop(at, None):
            self._link.remove(now, at)
        self._later(now + self._kind.replaced_seconds, at, self._begin)


def _dealt(work: Work, count: int, dealing: str) -> Iterable[collections.deque[int]]:
    """Returns the blocks of each machine: those of its shard, or the same ones for all."""
    if dealing == SHARDS:
        return [collections.deque(Shard(index, count).numbers(work.grid)) for index in range(count)]
    return [collections.deque(range(len(work.grid)))] * count

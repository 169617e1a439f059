"""Runs in the worker processes of Dask: computes blocks by the worker pools of this process."""

from __future__ import annotations

import asyncio
import atexit
import collections
import threading

from znni.blocks.turns import Turns
from znni.blocks.worker_pool import RUN_ENDED, Outcome, Run, WorkerPool

_MAX_ENDED = 1000  # runs whose end is remembered


class Pools:
    """Keeps a pool for each run. The process has one daemon of its own at most, which computes one block at a time."""

    def __init__(self) -> None:
        self._pools: dict[str, WorkerPool] = {}
        self._ended: collections.deque[str] = collections.deque(maxlen=_MAX_ENDED)
        self._lock = threading.Lock()
        self._turns = Turns()

    def compute(self, run: Run, number: int, server: str) -> Outcome:
        """Computes a block, as WorkerPool.compute() does. Threads take turns at the daemon of this process."""
        with self._lock:
            if run.identity in self._ended:
                return RUN_ENDED
            pool = self._pools.setdefault(run.identity, WorkerPool(run))
        return pool.compute(number, server) if server else self._turns.call(self._compute_here, pool, number)

    def end(self, identity: str) -> None:
        """Ends a run: closes its pool, and computes no block of it from now on."""
        with self._lock:
            self._ended.append(identity)
            pool = self._pools.pop(identity, None)
        if pool is not None:
            pool.close()

    def end_all(self) -> None:
        """Ends all runs."""
        for identity in list(self._pools):
            self.end(identity)

    def _compute_here(self, pool: WorkerPool, number: int) -> Outcome:
        """Computes a block by the daemon of this process, after those of other runs were ended."""
        with self._lock:
            others = [other for other in self._pools.values() if other is not pool]
        for other in others:
            other.drain()
        return pool.compute(number, "")


_pools = Pools()
atexit.register(_pools.end_all)


def compute(run: Run, number: int, server: str) -> Outcome:
    """Computes a block in this process."""
    return _pools.compute(run, number, server)


async def end(identity: str) -> None:
    """Ends a run in this process. Dask runs this in its event loop, so the waiting is done in another thread."""
    await asyncio.to_thread(_pools.end, identity)

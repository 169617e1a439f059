"""Computes single blocks of jobs in this process, for whoever deals them out to many processes."""

from __future__ import annotations

import asyncio
import atexit
import collections
import contextlib
import dataclasses
import itertools
import logging
import os
import threading

from znni.blocks.serving import LASTING, Serving
from znni.blocks.spec import JobSpec
from znni.blocks.turns import Turns
from znni.blocks.work import Worker, reason_of
from znni.errors import Error, UnavailableError

_log = logging.getLogger(__name__)
_IDLE_SECONDS = 300.0  # after which connections and daemons end that nobody dismissed
_PAUSE_SECONDS = 10.0  # in which a process that could not try a block leaves blocks to others
_KEPT_RUNS = 1000  # whose end is remembered


@dataclasses.dataclass(frozen=True)
class Run:
    """Is one run of a job: ``identity`` is its own. ``servers`` and ``model`` are daemons that run already; without any
    the process has one of its own."""

    identity: str
    spec: JobSpec
    servers: tuple[str, ...]
    model: str
    retries: int


@dataclasses.dataclass(frozen=True)
class Outcome:
    """Says what became of a block. ``reason`` is why it failed, or None. ``server`` is the one that had it last.

    ``error`` is there if the block was not tried, because ``process`` has no daemon for any: another may have one.
    """

    reason: str | None
    server: str = ""
    error: Error | None = None
    process: str = ""

    @property
    def is_lasting(self) -> bool:
        """Returns whether the process would say the same of any block, whenever it is asked."""
        return isinstance(self.error, LASTING)


class Crew:
    """Has workers for blocks of ``run``, each with its own connection, which are made when they are needed."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._idle: dict[str, list[tuple[Serving, Worker]]] = collections.defaultdict(list)
        self._timer: threading.Timer | None = None
        self._closed = threading.Event()
        self._lock = threading.Lock()

    def compute(self, number: int, server: str) -> Outcome:
        """Computes a block by ``server``, or the next that answers; by the daemon of this process for ""."""
        if self._closed.is_set():
            return _ENDED
        try:
            serving, worker = self._take(server)
        except (Error, OSError) as error:
            found = _untried(server, error)
        else:
            return self._compute(number, server, serving, worker)
        self._closed.wait(_PAUSE_SECONDS)
        return found

    def dismiss(self) -> None:
        """Ends daemons and connections; those of blocks that are under way, once these are done or were to be tried
        again."""
        self._closed.set()
        self.rest()

    def rest(self) -> None:
        """Ends daemons and connections that compute nothing at the moment."""
        with self._lock:
            idle, self._idle = self._idle, collections.defaultdict(list)
            if self._timer is not None:
                self._timer.cancel()
        with contextlib.ExitStack() as ends:
            for pair in itertools.chain(*idle.values()):
                ends.callback(_end, *pair)

    def _compute(self, number: int, server: str, serving: Serving, worker: Worker) -> Outcome:
        try:
            if self._closed.is_set():  # while the daemon started
                return _ENDED
            error = worker.compute(number)
            return Outcome(None if error is None else reason_of(error), serving.server)
        finally:
            self._give_back(server, serving, worker)

    def _take(self, server: str) -> tuple[Serving, Worker]:
        with self._lock:
            if self._idle[server]:
                return self._idle[server].pop()
        run, spec = self._run, self._run.spec
        at = run.servers.index(server) if server else 0
        serving = Serving(network="" if server else spec.network, mem=spec.mem, threads=spec.threads, config=spec.config,
                          model=run.model or spec.model, servers=list(run.servers[at:] + run.servers[:at]),
                          form=spec.form)
        try:
            return serving, Worker(spec, serving, run.retries, _log.info, self._closed.is_set)
        except BaseException:
            serving.stop()
            raise

    def _give_back(self, server: str, serving: Serving, worker: Worker) -> None:
        """Keeps a worker, unless it went on to another server: the next block asks its own again."""
        with self._lock:
            keep = not self._closed.is_set() and not serving.has_moved
            if keep:
                self._idle[server].append((serving, worker))
                self._wind_timer()
        if not keep:
            _end(serving, worker)

    def _wind_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = threading.Timer(_IDLE_SECONDS, self.rest)
        self._timer.daemon = True
        self._timer.start()


_ENDED = Outcome("the run has ended")


def _untried(server: str, error: Error | OSError) -> Outcome:
    """Returns the outcome of a block for which there is no daemon. It can be sent to another process, which an error of
    a call cannot."""
    reason = reason_of(error)
    told = type(error)(reason) if isinstance(error, Error) else UnavailableError(reason)
    return Outcome(reason, server, told, f"{os.uname().nodename}:{os.getpid()}")


def _end(serving: Serving, worker: Worker) -> None:
    try:
        worker.close()
    finally:
        serving.stop()


class Crews:
    """Has the crews of all runs in this process, of which one daemon at most computes one block at a time."""

    def __init__(self) -> None:
        self._crews: dict[str, Crew] = {}
        self._ended: collections.deque[str] = collections.deque(maxlen=_KEPT_RUNS)
        self._lock = threading.Lock()
        self._turns = Turns()

    def compute(self, run: Run, number: int, server: str) -> Outcome:
        """Computes a block, as Crew.compute does. Threads take turns at the daemon of this process."""
        with self._lock:
            if run.identity in self._ended:
                return _ENDED
            crew = self._crews.setdefault(run.identity, Crew(run))
        return crew.compute(number, server) if server else self._turns.call(self._by_own, crew, number)

    def dismiss(self, identity: str) -> None:
        """Ends a run: its crew is dismissed, and blocks that come yet are not computed."""
        with self._lock:
            self._ended.append(identity)
            crew = self._crews.pop(identity, None)
        if crew is not None:
            crew.dismiss()

    def end(self) -> None:
        """Ends all runs."""
        for identity in list(self._crews):
            self.dismiss(identity)

    def _by_own(self, crew: Crew, number: int) -> Outcome:
        with self._lock:
            others = [other for other in self._crews.values() if other is not crew]
        for other in others:
            other.rest()
        return crew.compute(number, "")


_crews = Crews()
atexit.register(_crews.end)


def compute(run: Run, number: int, server: str) -> Outcome:
    """Computes a block in this process."""
    return _crews.compute(run, number, server)


async def dismiss(identity: str) -> None:
    """Ends a run in this process, without holding up others."""
    await asyncio.to_thread(_crews.dismiss, identity)

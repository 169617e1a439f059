"""Computes single blocks of one run of a job, each by a worker of a pool."""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import itertools
import logging
import os
import threading

from znni.blocks.serving import Serving, serving_of
from znni.blocks.spec import JobSpec
from znni.blocks.work import Worker, reason_of
from znni.errors import LASTING, Error, UnavailableError

_log = logging.getLogger(__name__)
_IDLE_SECONDS = 300.0  # after which unused connections and daemons end
_PAUSE_SECONDS = 10.0  # in which a process that could not try a block leaves blocks to others


@dataclasses.dataclass(frozen=True)
class Run:
    """Describes one run of a job; each run has its own ``identity``. ``servers`` are addresses of daemons that run
    already and serve ``model``; if there are none, each process starts a daemon of its own."""

    identity: str
    spec: JobSpec
    servers: tuple[str, ...]
    model: str
    retries: int


@dataclasses.dataclass(frozen=True)
class Outcome:
    """Describes what became of a block. ``reason`` is why it failed; None means that it is done. ``server`` is the one
    that was asked last.

    ``error`` is set if the block was not tried, because ``process`` has no daemon. Another process may have one.
    """

    reason: str | None
    server: str = ""
    error: Error | None = None
    process: str = ""

    @property
    def is_lasting(self) -> bool:
        """Returns whether this process would fail again with any block."""
        return isinstance(self.error, LASTING)


RUN_ENDED = Outcome("the run has ended")


class WorkerPool:
    """Keeps the workers of ``run`` that are not in use, each with a connection of its own."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._idle: dict[str, list[tuple[Serving, Worker]]] = collections.defaultdict(list)
        self._timer: threading.Timer | None = None
        self._closed = threading.Event()
        self._lock = threading.Lock()

    def compute(self, number: int, server: str) -> Outcome:
        """Computes a block by ``server``, or by the next that answers; if it is "", by the daemon of this process."""
        if self._closed.is_set():
            return RUN_ENDED
        try:
            serving, worker = self._take(server)
        except (Error, OSError) as error:
            outcome = _untried(server, error)
            self._closed.wait(_PAUSE_SECONDS)
            return outcome
        return self._compute(number, server, serving, worker)

    def close(self) -> None:
        """Ends unused daemons and connections now, and those in use as soon as their block is done or has failed
        once."""
        self._closed.set()
        self.drain()

    def drain(self) -> None:
        """Ends the daemons and connections that are not in use."""
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
                return RUN_ENDED
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
        serving = serving_of(spec, servers=run.servers[at:] + run.servers[:at], model=run.model)
        try:
            return serving, Worker(spec, serving, run.retries, _log.info, self._closed.is_set)
        except BaseException:
            serving.stop()
            raise

    def _give_back(self, server: str, serving: Serving, worker: Worker) -> None:
        """Keeps the worker for the next block, unless it had to use another server than ``server``."""
        with self._lock:
            keep = not self._closed.is_set() and not serving.has_moved
            if keep:
                self._idle[server].append((serving, worker))
                self._restart_timer()
        if not keep:
            _end(serving, worker)

    def _restart_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = threading.Timer(_IDLE_SECONDS, self.drain)
        self._timer.daemon = True
        self._timer.start()


def _untried(server: str, error: Error | OSError) -> Outcome:
    """Returns the outcome of a block for which there is no daemon. Its error is a copy that can be pickled: the
    original refers to the gRPC call, which cannot."""
    reason = reason_of(error)
    told = type(error)(reason) if isinstance(error, Error) else UnavailableError(reason)
    return Outcome(reason, server, told, f"{os.uname().nodename}:{os.getpid()}")


def _end(serving: Serving, worker: Worker) -> None:
    try:
        worker.close()
    finally:
        serving.stop()

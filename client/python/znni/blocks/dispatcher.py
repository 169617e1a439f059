"""Gives the blocks of a job to the worker processes of a Dask cluster."""

from __future__ import annotations

import concurrent.futures
import contextlib
import logging
import math
from collections.abc import Iterator

import distributed

from znni.blocks import tasks
from znni.blocks.balance import Balance
from znni.blocks.work import reason_of
from znni.blocks.worker_pool import Outcome, Run
from znni.errors import Error, UnavailableError
from znni.progress import Silent

_log = logging.getLogger(__name__)
_MAX_SUBMITTED = 10_000  # blocks under way if Dask chooses the process
_BLOCKS_PER_SERVER = 2  # a daemon computes one while the voxels of the other are sent


def not_installed(error: ImportError) -> Error:
    """Returns the error for a scheduler or worker without this package."""
    return UnavailableError(f"scheduler or workers of Dask: {error}: install znni[dask,zarr] there, too")


def ended() -> Error:
    """Returns the error for a cluster that ends during a run."""
    return UnavailableError("the cluster of Dask has ended, or was told to restart: call run() again to go on")


class Dispatcher:
    """Gives the missing blocks of ``run`` to Dask as tasks."""

    def __init__(self, client: distributed.Client, run: Run) -> None:
        self._client = client
        self._run = run
        self._balance = Balance(run.servers or ("",), _BLOCKS_PER_SERVER if run.servers else _MAX_SUBMITTED)
        self._under_way: dict[distributed.Future, tuple[int, str]] = {}
        self._again: list[int] = []  # blocks to submit again: a process had no daemon
        self._untried: list[Outcome] = []  # since the last block that was tried
        self._failed: dict[int, str] = {}
        self._done_voxels = 0

    def run(self, display: Silent) -> dict[int, str]:
        """Computes what is missing. Returns why blocks failed, by number."""
        numbers = iter(self._missing())
        display.show(self._done_voxels)
        futures = distributed.as_completed(self._submit(numbers), loop=self._client.loop, raise_errors=False)
        for future in futures:
            self._record(future)
            display.show(self._done_voxels)
            futures.update(self._submit(numbers))
        return self._failed

    def end(self) -> None:
        """Cancels the blocks that no worker has begun, and ends the daemons of the workers."""
        try:
            with contextlib.suppress(Exception):  # of a closed client: the error of run() is the one to raise
                self._client.cancel(list(self._under_way))
        finally:
            with contextlib.suppress(Exception):
                self._client.run(tasks.end, self._run.identity, on_error="ignore")

    def _missing(self) -> list[int]:
        spec = self._run.spec
        done = {number for number, _ in spec.marks.done()}
        self._done_voxels = sum(map(self._voxels, done))
        return [number for number in range(len(spec.grid)) if number not in done]

    def _voxels(self, number: int) -> int:
        return math.prod(self._run.spec.grid.box(number).extent)

    def _submit(self, numbers: Iterator[int]) -> list[distributed.Future]:
        """Gives Dask as many blocks as the servers may have, and returns their futures."""
        submitted: list[distributed.Future] = []
        while (server := self._balance.take()) is not None:
            number = self._again.pop() if self._again else next(numbers, None)
            if number is None:
                self._balance.give_back(server, server)
                break
            try:
                future = self._client.submit(tasks.compute, self._run, number, server, pure=False)
            except Exception as error:  # what Dask raises for a closed client differs by version
                raise ended() from error
            self._under_way[future] = (number, server)
            submitted.append(future)
        return submitted

    def _record(self, future: distributed.Future) -> None:
        """Records what became of a block. Raises Error if no process can compute any."""
        number, server = self._under_way.pop(future)
        found = self._outcome(future, number, server)
        self._balance.give_back(server, found.server)
        if found.error is not None:
            self._untried.append(found)
            self._raise_if_none_can(found.error)
            _log.info("block %d, again: %s", number, found.reason)
            self._again.append(number)
            return
        self._untried.clear()
        if found.reason is None:
            self._done_voxels += self._voxels(number)
        else:
            self._failed[number] = found.reason

    def _raise_if_none_can(self, error: Error) -> None:
        """Raises ``error`` if each process had no daemon since the last block that was tried."""
        processes = max(1, len(self._client.nthreads()))
        asked = min(processes, _BLOCKS_PER_SERVER * len(self._run.servers)) if self._run.servers else processes
        unable = {found.process for found in self._untried}
        lasting = {found.process for found in self._untried if found.is_lasting}
        if len(lasting) >= asked or (len(unable) >= asked and len(self._untried) > (self._run.retries + 1) * asked):
            raise error

    def _outcome(self, future: distributed.Future, number: int, server: str) -> Outcome:
        """Returns what became of a block. Raises UnavailableError if Dask does not go on, or has no znni there."""
        if future.cancelled():
            raise ended()
        try:
            return future.result()
        except concurrent.futures.CancelledError:
            raise ended() from None
        except ImportError as error:
            raise not_installed(error) from None
        except Exception as error:  # KilledWorker: each process that had the block died
            reason = reason_of(error)
            with contextlib.suppress(Error, OSError):
                self._run.spec.marks.fail(number, reason)
            return Outcome(reason, server)

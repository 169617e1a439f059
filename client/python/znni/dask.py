"""Jobs of blocks on a Dask cluster of the user's own: of this machine, of Slurm, of Kubernetes.

Needs Dask: ``pip install 'znni[dask,zarr]'`` here, for the scheduler and on the workers. These read the volume and write
the output at the same paths as are given here.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import logging
import math
import os
import time
import uuid
from typing import Any, Callable, Iterator, Sequence

try:
    import distributed
except ImportError:
    raise ImportError("znni.dask needs Dask: pip install 'znni[dask]'") from None

from znni import __version__
from znni.blocks import crew
from znni.blocks.crew import Outcome, Run
from znni.blocks.planning import Wishes, plan
from znni.blocks.serving import check_files
from znni.blocks.spec import JobSpec, read_spec
from znni.blocks.status import Status, status_of
from znni.blocks.work import open_output, reason_of
from znni.box import Triple
from znni.errors import Error, InvalidError, UnavailableError
from znni.padding import check_pad
from znni.progress import Silent, Wanted, open_progress

_log = logging.getLogger(__name__)
_AHEAD = 10_000  # blocks that Dask is given at once, if it deals them out itself
_OF_A_SERVER = 2  # blocks under way of a daemon: it computes one while the voxels of the other are sent
_AWAY_SECONDS = 60.0  # in which a server that left a block to others has none
_NAMED = 5  # failed blocks that an error names


def predict(client: distributed.Client, network: str | os.PathLike, volume: str | os.PathLike,
            output: str | os.PathLike, *, servers: Sequence[str] = (), mem: str | None = None,
            threads: int | None = None, config: str | os.PathLike | None = None, pad: str = "none",
            dtype: str = "float32", block: Triple | None = None, mask: str | os.PathLike | None = None, skip_empty: bool = False, overwrite: bool = False,
            retries: int = 4, progress: Wanted = True) -> Status:
    """Computes the dense output of a network for ``volume``, FOLDER.zarr[/array], FILE.h5:/dataset or FILE.npy, into
    ``output``, FOLDER.zarr, on the workers of a Dask cluster.

    ``network`` is a file of ONNX, which each process of Dask serves by a znnid of its own within ``mem`` and with
    ``threads``, one block at a time: let Dask have one process on a machine. Or else it is the name of a model of
    ``servers``, daemons that run already (["host:8001"]).

    Plans the job first as ``znni-job plan`` does, by a znnid on this machine within the same ``mem``; ``config``,
    ``block`` (voxels along z, y, x), ``mask`` and ``skip_empty`` are options of that. Then it is run as ``run`` does.
    The job lies beside the output: after an interruption ``run(client, output)`` computes what is missing.
    """
    _check(client, servers, retries)
    check_pad(pad)
    machines = len(servers) or max(1, len(client.nthreads()))
    spec = plan(Wishes(
        network="" if servers else os.fspath(network), servers=list(servers),
        model=os.fspath(network) if servers else "", input=os.fspath(volume), output=os.fspath(output), pad=pad,
        dtype=dtype, mem=mem, threads=threads, config=config and os.fspath(config), block=block, nodes=machines,
        mask=mask and os.fspath(mask), skip_empty=skip_empty, price_per_hour=None, overwrite=overwrite))
    return _run(client, _new_run(spec, spec.servers, "", retries), progress)


def run(client: distributed.Client, job: str | os.PathLike, *, servers: Sequence[str] = (), model: str = "",
        retries: int = 4, progress: Wanted = True) -> Status:
    """Computes the blocks that are missing of ``job``, a file of ``znni-job plan`` or the output, on the workers of a
    Dask cluster. Returns how far the job is: all blocks are done.

    ``servers`` and ``model`` are daemons to use instead of the job's. Of several each block goes to the one that has
    the fewest under way; one that does not answer is left alone for a minute. A block that fails is tried ``retries``
    more times, and given to another process if its own ended or has no daemon; then the others go on. Raises Error at
    the end if blocks failed, and before it if one process after the other has no daemon, so that no block was tried in
    between. After an interruption the same call goes on.
    """
    _check(client, servers, retries)
    spec = read_spec(job)
    return _run(client, _new_run(spec, servers or spec.servers, model, retries), progress)


def _check(client: Any, servers: Any, retries: Any) -> None:
    if not isinstance(client, distributed.Client) or client.asynchronous:
        raise InvalidError(f"client: {type(client).__name__} found, expected a distributed.Client that is not "
                           "asynchronous")
    if isinstance(servers, str):
        raise InvalidError(f"servers: '{servers}' found, expected a list, for example ['{servers}']")
    if not isinstance(retries, int) or retries < 0:
        raise InvalidError(f"retries: {retries!r} found, expected a whole number of at least 0")


def _new_run(spec: JobSpec, servers: Sequence[str], model: str, retries: int) -> Run:
    return Run(uuid.uuid4().hex, spec, tuple(servers), model, retries)


def _run(client: distributed.Client, of: Run, progress: Wanted) -> Status:
    spec = of.spec
    if not of.servers:
        check_files(spec, spec.network)
    open_output(spec)
    _check_workers(client)
    display = open_progress(progress, os.path.basename(spec.output), math.prod(spec.output_extent))
    deal = Deal(client, of)
    try:
        failed = deal.run(display)
    finally:
        try:
            display.close()
        finally:
            deal.end()
    if failed:
        raise _error_of(failed, spec)
    return status_of(spec)


def _check_workers(client: distributed.Client) -> None:
    """Raises Error if the scheduler, or a worker that is there, has another package than this, or none."""
    try:
        versions = {"scheduler": client.run_on_scheduler(_version), **client.run(_version)}
    except ImportError as error:
        raise _not_installed(error) from None
    for where, version in versions.items():
        if version != __version__:
            raise InvalidError(f"{where} of Dask: znni {version} found, expected {__version__}, as here")


def _not_installed(error: ImportError) -> Error:
    return UnavailableError(f"scheduler or workers of Dask: {error}: install znni[dask,zarr] there, too")


def _version() -> str:
    return __version__


def _error_of(failed: dict[int, str], spec: JobSpec) -> Error:
    numbers = sorted(failed)
    named = ", ".join(map(str, numbers[:_NAMED])) + (", ..." if len(numbers) > _NAMED else "")
    blocks = f"block {named}" if len(numbers) == 1 else f"{len(numbers)} blocks ({named})"
    return Error(f"{spec.output}: {blocks} failed: {failed[numbers[0]]}")


def _ended() -> Error:
    return UnavailableError("the cluster of Dask has ended, or was told to restart: the same call goes on")


class Balance:
    """Knows how many blocks each of ``servers`` has under way; ``most`` is the limit of each."""

    def __init__(self, servers: Sequence[str], most: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._under_way = dict.fromkeys(servers, 0)
        self._away_until = dict.fromkeys(servers, -math.inf)
        self._most = most
        self._clock = clock

    def take(self) -> str | None:
        """Returns the server that has the fewest, which has one more from now on; None if all have enough. One that is
        away has none, as long as others are not."""
        now = self._clock()
        here = [server for server, until in self._away_until.items() if until <= now] or list(self._under_way)
        server = min(here, key=self._under_way.__getitem__)
        if self._under_way[server] >= self._most:
            return None
        self._under_way[server] += 1
        return server

    def give_back(self, server: str, computed_by: str) -> None:
        """Takes note that a block of ``server`` is done, or has failed. If another had it last, the server is away for
        some time."""
        self._under_way[server] -= 1
        if computed_by != server:
            self._away_until[server] = self._clock() + _AWAY_SECONDS


class Deal:
    """Deals the missing blocks of a job out to Dask."""

    def __init__(self, client: distributed.Client, of: Run) -> None:
        self._client = client
        self._run = of
        self._balance = Balance(of.servers or ("",), _OF_A_SERVER if of.servers else _AHEAD)
        self._under_way: dict[distributed.Future, tuple[int, str]] = {}
        self._again: list[int] = []  # blocks that a process had no daemon for
        self._untried: list[Outcome] = []  # those since the last block that was tried
        self._failed: dict[int, str] = {}
        self._done_voxels = 0

    def run(self, display: Silent) -> dict[int, str]:
        """Computes what is missing. Returns why blocks failed, by number."""
        numbers = iter(self._missing())
        display.show(self._done_voxels)
        futures = distributed.as_completed(self._submit(numbers), loop=self._client.loop, raise_errors=False)
        for future in futures:
            self._note(future)
            display.show(self._done_voxels)
            futures.update(self._submit(numbers))
        return self._failed

    def end(self) -> None:
        """Takes back the blocks that no worker has begun, and ends the daemons of the workers."""
        try:
            with contextlib.suppress(Exception):  # of Dask, which may have ended; what was raised before counts
                self._client.cancel(list(self._under_way))
        finally:
            with contextlib.suppress(Exception):
                self._client.run(crew.dismiss, self._run.identity, on_error="ignore")

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
                future = self._client.submit(crew.compute, self._run, number, server, pure=False)
            except Exception as error:  # whatever Dask raises where it is closed
                raise _ended() from error
            self._under_way[future] = (number, server)
            submitted.append(future)
        return submitted

    def _note(self, future: distributed.Future) -> None:
        """Takes note of a block that is no longer under way. Raises Error if none can be computed."""
        number, server = self._under_way.pop(future)
        found = self._outcome(future, number, server)
        self._balance.give_back(server, found.server)
        if found.error is not None:
            self._untried.append(found)
            self._check_hope(found.error)
            _log.info("block %d, again: %s", number, found.reason)
            self._again.append(number)
            return
        self._untried.clear()
        if found.reason is None:
            self._done_voxels += self._voxels(number)
        else:
            self._failed[number] = found.reason

    def _check_hope(self, error: Error) -> None:
        """Raises ``error`` if all processes that are asked had no daemon, one block after the other."""
        processes = max(1, len(self._client.nthreads()))
        asked = min(processes, _OF_A_SERVER * len(self._run.servers)) if self._run.servers else processes
        unable = {found.process for found in self._untried}
        lasting = {found.process for found in self._untried if found.is_lasting}
        if len(lasting) >= asked or (len(unable) >= asked and len(self._untried) > (self._run.retries + 1) * asked):
            raise error

    def _outcome(self, future: distributed.Future, number: int, server: str) -> Outcome:
        """Returns what became of a block. Raises UnavailableError if Dask does not go on, or has no znni there."""
        if future.cancelled():
            raise _ended()
        try:
            return future.result()
        except concurrent.futures.CancelledError:
            raise _ended() from None
        except ImportError as error:
            raise _not_installed(error) from None
        except Exception as error:  # of Dask: the processes that had it ended, one after the other
            reason = reason_of(error)
            with contextlib.suppress(OSError):
                self._run.spec.marks.fail(number, reason)
            return Outcome(reason, server)

"""Jobs of blocks on a Dask cluster of the user's own: of this machine, of Slurm, of Kubernetes.

Needs ``pip install 'znni[dask,zarr]'`` here, for the scheduler and on the workers. The workers read the volume and
write the output at the same paths as are given here.
"""

from __future__ import annotations

import math
import os
import uuid
from collections.abc import Sequence
from typing import Any

try:
    import distributed
except ImportError:
    raise ImportError("znni.dask needs Dask: pip install 'znni[dask]'") from None

from znni import __version__
from znni.blocks.coarser import lacks_coarser, make_coarser
from znni.blocks.dispatcher import Dispatcher, not_installed
from znni.blocks.planning import Wishes, plan
from znni.blocks.serving import check_files
from znni.blocks.spec import JobSpec, read_spec
from znni.blocks.status import Status, status_of
from znni.blocks.work import open_output
from znni.blocks.worker_pool import Run
from znni.box import Triple
from znni.errors import Error, InvalidError
from znni.padding import check_pad
from znni.progress import Wanted, open_progress

_MAX_NAMED = 5  # failed blocks that an error names


def predict(
    client: distributed.Client,
    network: str | os.PathLike,
    volume: str | os.PathLike,
    output: str | os.PathLike,
    *,
    servers: Sequence[str] = (),
    mem: str | None = None,
    threads: int | None = None,
    config: str | os.PathLike | None = None,
    pad: str = "none",
    dtype: str = "float32",
    block: Triple | None = None,
    mask: str | os.PathLike | None = None,
    skip_empty: bool = False,
    overwrite: bool = False,
    shard: Triple | None = None,
    retries: int = 4,
    progress: Wanted = True,
) -> Status:
    """Computes the dense output of a network for ``volume``, a path as Client.predict() takes it, into ``output``,
    FOLDER.zarr, FOLDER.n5/dataset or precomputed://FOLDER, on the workers of a Dask cluster.

    ``network`` is a file of ONNX or Caffe, which each process of Dask serves by a znnid of its own within ``mem`` and
    with ``threads``, one block at a time: let Dask have one process on a machine. Or else it is the name of a model of
    ``servers``, daemons that run already (["host:8001"]).

    Plans the job first as ``znni-job plan`` does, by a znnid on this machine within the same ``mem``; ``config``,
    ``block`` and ``shard`` (voxels along z, y, x), ``mask`` and ``skip_empty`` are options of that. Then it is run as
    ``run`` does. The job lies beside the output: after an interruption ``run(client, output)`` computes the rest.
    """
    _check(client, servers, retries)
    check_pad(pad)
    machines = len(servers) or max(1, len(client.nthreads()))
    spec = plan(
        Wishes(
            network="" if servers else os.fspath(network),
            servers=list(servers),
            model=os.fspath(network) if servers else "",
            input=os.fspath(volume),
            output=os.fspath(output),
            pad=pad,
            dtype=dtype,
            mem=mem,
            threads=threads,
            config=None if config is None else os.fspath(config),
            block=block,
            nodes=machines,
            mask=None if mask is None else os.fspath(mask),
            skip_empty=skip_empty,
            price_per_hour=None,
            overwrite=overwrite,
            measure=False,
            shard=shard,
        )
    )
    return _compute(client, _new_run(spec, spec.servers, "", retries), progress)


def run(
    client: distributed.Client,
    job: str | os.PathLike,
    *,
    servers: Sequence[str] = (),
    model: str = "",
    retries: int = 4,
    progress: Wanted = True,
) -> Status:
    """Computes the missing blocks of ``job``, a file of ``znni-job plan`` or the output, on the workers of a
    Dask cluster, and then here the coarser resolutions of FOLDER.ome.zarr. Returns how far the job is: all blocks are
    done.

    ``servers`` and ``model`` are daemons to use instead of the job's. If there are several, each block goes to the one
    that has the fewest under way; one that does not answer is left alone for a minute. A block that fails is tried
    ``retries`` more times, and given to another process if its own ended or has no daemon; then the others go on.
    Raises Error at the end if blocks failed, and before it if one process after the other has no daemon, so that no
    block was tried in between. After an interruption the same call goes on.
    """
    _check(client, servers, retries)
    spec = read_spec(job)
    return _compute(client, _new_run(spec, servers or spec.servers, model, retries), progress)


def _check(client: Any, servers: Any, retries: Any) -> None:
    if not isinstance(client, distributed.Client) or client.asynchronous:
        raise InvalidError(
            f"client: {type(client).__name__} found, expected a distributed.Client that is not asynchronous"
        )
    if isinstance(servers, str):
        raise InvalidError(f"servers: '{servers}' found, expected a list, for example ['{servers}']")
    if not isinstance(retries, int) or retries < 0:
        raise InvalidError(f"retries: {retries!r} found, expected a whole number of at least 0")


def _new_run(spec: JobSpec, servers: Sequence[str], model: str, retries: int) -> Run:
    return Run(uuid.uuid4().hex, spec, tuple(servers), model, retries)


def _compute(client: distributed.Client, job_run: Run, progress: Wanted) -> Status:
    spec = job_run.spec
    if not job_run.servers:
        check_files(spec, spec.network)
    open_output(spec)
    _check_workers(client)
    display = open_progress(progress, os.path.basename(spec.output), math.prod(spec.output_extent))
    dispatcher = Dispatcher(client, job_run)
    try:
        failed = dispatcher.run(display)
    finally:
        try:
            display.close()
        finally:
            dispatcher.end()
    if failed:
        raise _error_of(failed, spec)
    if lacks_coarser(spec):
        make_coarser(spec)
    return status_of(spec)


def _check_workers(client: distributed.Client) -> None:
    """Raises Error if the scheduler, or a worker that is there, has another package than this, or none."""
    try:
        versions = {"scheduler": client.run_on_scheduler(_version), **client.run(_version)}
    except ImportError as error:
        raise not_installed(error) from None
    for where, version in versions.items():
        if version != __version__:
            raise InvalidError(f"{where} of Dask: znni {version} found, expected {__version__}, as here")


def _version() -> str:
    return __version__


def _error_of(failed: dict[int, str], spec: JobSpec) -> Error:
    numbers = sorted(failed)
    named = ", ".join(map(str, numbers[:_MAX_NAMED])) + (", ..." if len(numbers) > _MAX_NAMED else "")
    blocks = f"block {named}" if len(numbers) == 1 else f"{len(numbers)} blocks ({named})"
    return Error(f"{spec.output}: {blocks} failed: {failed[numbers[0]]}")

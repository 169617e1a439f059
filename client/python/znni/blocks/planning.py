"""Plans a job of blocks: asks the daemon what blocks of several extents take, and makes the output."""

from __future__ import annotations

import dataclasses
import math
import os
import time
import uuid
from collections.abc import Callable
from typing import Any

from znni.blocks.forecast import Fleet, Forecast, Ready
from znni.blocks.grid import Grid
from znni.blocks.kept import Coverage, Kept, coverage_by
from znni.blocks.measuring import measure
from znni.blocks.pricing import Pricing
from znni.blocks.serving import Serving, digests_of, form_of
from znni.blocks.sharing import groups_of
from znni.blocks.spec import COPY, JobSpec, folder_of, to_json
from znni.box import Triple, text_of
from znni.client import facts_of
from znni.errors import InvalidError, UnsupportedError
from znni.job import Job, plan_job
from znni.mask import Mask, open_mask
from znni.model import Model
from znni.stores.address import absolute
from znni.stores.formats.sharded import Sharded
from znni.stores.opening import check_output, check_shared, open_shared_target, open_source
from znni.stores.overlap import check_apart
from znni.stores.place import is_unfinished
from znni.stores.places import place_of

_MULTIPLES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
_MAX_BLOCK_BYTES = 2 << 30  # of output
_MAX_BLOCK_SECONDS = 900.0  # what a machine that stops loses at most


@dataclasses.dataclass(frozen=True)
class Wishes:
    """Are what a user asks of a job, as the options of 'znni-job plan' have it; ``block`` None lets us choose.
    ``measure`` has some blocks computed, to know what the others take."""

    network: str
    servers: list[str]
    model: str
    input: str
    output: str
    pad: str
    dtype: str
    mem: str | None
    threads: int | None
    config: str | None
    block: Triple | None
    nodes: int
    mask: str | None
    skip_empty: bool
    price_per_hour: float | None
    overwrite: bool
    measure: bool
    shard: Triple | None = None  # of an output in zarr
    workers: int = 1  # of each machine at a time


def choose_block(pricing: Pricing, coverage: Coverage, chunk: Triple, nodes: int, voxel_bytes: int) -> Triple:
    """Returns the block with which so many machines are done first, of cubes of chunks that fit into the limits."""
    output = coverage.parts.output
    best, best_seconds = None, math.inf
    for extent in _candidates(output, chunk, voxel_bytes):
        grid = Grid(output, extent)
        if best is not None and pricing.seconds(grid.box(grid.middle)) > _MAX_BLOCK_SECONDS:
            break
        seconds = pricing.longest(coverage.kept(grid), nodes)
        if seconds < best_seconds:
            best, best_seconds = extent, seconds
    assert best is not None
    return best


def _candidates(output: Triple, chunk: Triple, voxel_bytes: int) -> list[Triple]:
    found: list[Triple] = []
    for multiple in _MULTIPLES:
        extent = tuple(min(multiple * c, -(-n // c) * c) for c, n in zip(chunk, output))
        too_large = math.prod(extent) * voxel_bytes > _MAX_BLOCK_BYTES
        if extent not in found and not (found and too_large):
            found.append(extent)  # type: ignore[arg-type]
    return found


def plan(wishes: Wishes, say: Callable[[str], None] = lambda _: None) -> JobSpec:
    """Returns the job, and makes its output, of which only blocks are computed that are measured. Raises Error if it
    cannot be run so. ``say`` takes lines of text."""
    check_shared(wishes.output)
    _check_memory(wishes)
    _check_keeps_files(wishes)
    identity = uuid.uuid4().hex
    with open_source(wishes.input) as source:
        if wishes.mask:
            Mask(wishes.mask, source.shape[1:]).close()
        with serve(wishes) as serving:
            _check_keeps_folder(wishes)
            ready = _started(serving)
            _check_has_no_seams(serving.facts)
            job = plan_job(serving.facts, source, None, wishes.pad, wishes.dtype)
            target = _make_target(wishes, job, identity)
            coverage = _coverage(wishes, job, target.chunk, say)
            spec = _spec(wishes, serving, job, target.chunk, coverage, identity)
            kept = coverage.kept(spec.grid)
            if spec.planned:
                serving.plan_for(spec.planned)
                ready = _started(serving)
            forecast = _forecast(wishes, spec, serving, job, target, kept)
            spec = dataclasses.replace(spec, predicted=forecast.told(ready))
            _make_output(spec, target)
            sharers = _sharers(wishes)
            measured = measure(spec, forecast.predicted, serving, say, kept, sharers) if wishes.measure else None
            if measured:
                forecast = _forecast(wishes, spec, serving, job, target, kept)  # the daemon has all its memory by now
            ready = dataclasses.replace(ready, seconds=ready.seconds + _timed(serving.stop))
        spec = dataclasses.replace(spec, predicted=forecast.told(ready, measured))
        _keep(spec)
    return spec


def _timed(step: Callable[[], Any]) -> float:
    """Returns the seconds that ``step`` takes."""
    began = time.monotonic()
    step()
    return time.monotonic() - began


def _started(serving: Serving) -> Ready:
    """Starts the daemon, and returns what that took."""
    seconds = _timed(serving.client)
    return Ready(seconds - serving.planning_seconds, serving.planning_seconds)


def _forecast(wishes: Wishes, spec: JobSpec, serving: Serving, job: Job, target: Any, kept: Kept) -> Forecast:
    """Returns the forecast by what the daemon predicts now."""
    fleet = Fleet(wishes.price_per_hour, wishes.workers)
    return Forecast(spec, Pricing(serving.client(), job), serving.facts, fleet, target.chunk[0], kept)


def _coverage(wishes: Wishes, job: Job, chunk: Triple, say: Callable[[str], None]) -> Coverage:
    """Returns what the mask keeps of the output: by blocks, or by chunks if blocks are to be chosen."""
    if wishes.block:
        check_block(wishes.block, chunk, job.output)
    if wishes.mask:
        say(f"{wishes.mask} is read, to know which blocks it keeps")
    with open_mask(wishes.mask or None, job.source.shape[1:]) as mask:
        return coverage_by(mask, job.origin, job.output, wishes.block or chunk)


def _sharers(wishes: Wishes) -> list[int]:
    """Returns the shards of the machine that most share."""
    return max(groups_of(wishes.nodes * wishes.workers, wishes.workers, wishes.servers), key=len)


def _check_has_no_seams(model: Model) -> None:
    """Raises UnsupportedError if blocks of a model's output differ from those of the whole output."""
    if model.needs_whole:
        raise UnsupportedError(
            f"model '{model.name}' takes mean and deviation of all of the volume, which a block by "
            "itself does not have: scale by input_scale and input_offset"
        )


def _make_output(spec: JobSpec, target: Any) -> None:
    """Makes the output, and the folder in which the job keeps what is done, with a copy of the job."""
    target.begin()
    spec.place.clear()  # of an output that is replaced
    _keep(spec)
    target.finish()


def _keep(spec: JobSpec) -> None:
    """Writes the copy of the job beside its output."""
    spec.place.write(COPY, to_json(spec).encode())


def _check_memory(wishes: Wishes) -> None:
    """Raises InvalidError if several daemons of a machine would each take most of its memory."""
    if wishes.network and wishes.workers > 1 and not wishes.mem:
        raise InvalidError(
            f"--workers-per-machine: {wishes.workers} daemons share the memory of a machine: pass --mem of each"
        )


def _check_keeps_files(wishes: Wishes) -> None:
    """Raises InvalidError if a file that is read would be replaced by the output, or might."""
    for path in (wishes.input, wishes.mask, wishes.network, wishes.config):
        if path:
            check_apart(path, wishes.output, wishes.overwrite)


def _check_keeps_folder(wishes: Wishes) -> None:
    """Raises InvalidError for an output that is not written, or if what no job made lies where this one keeps what is
    done."""
    check_output(Sharded(wishes.output, wishes.shard) if wishes.shard else wishes.output, wishes.overwrite)
    place = place_of(folder_of(wishes.output))
    if wishes.overwrite or place.read(COPY) is not None:
        return
    others = [name for name in place.all_names("") if not is_unfinished(name, COPY)]  # of a plan that was killed
    if others:
        raise InvalidError(
            f"{place.path}: {others[0]} found, which no job made, but the job keeps what is done there: "
            "move it, pass --overwrite to remove it, or name another output"
        )


def serve(wishes: Wishes) -> Serving:
    """Returns who computes for the wishes."""
    network = os.path.abspath(wishes.network) if wishes.network else ""
    return Serving(
        network=network,
        mem=wishes.mem,
        threads=wishes.threads,
        config=_config(wishes),
        model=wishes.model,
        servers=wishes.servers,
        turn=_sharers(wishes)[0],
    )


def _config(wishes: Wishes) -> str | None:
    return os.path.abspath(wishes.config) if wishes.config else None


def _make_target(wishes: Wishes, job: Job, identity: str) -> Any:
    facts = facts_of(job)
    facts = dataclasses.replace(facts, notes={**facts.notes, "job": identity})
    output = absolute(wishes.output)
    return open_shared_target(Sharded(output, wishes.shard) if wishes.shard else output, facts, wishes.overwrite)


def _spec(wishes: Wishes, serving: Serving, job: Job, chunk: Triple, coverage: Coverage, identity: str) -> JobSpec:
    """Returns the job with the block that is best by the plan of the daemon that runs. What it takes is not told yet:
    a plan for this block takes less."""
    pricing = Pricing(serving.client(), job)
    voxel_bytes = job.model.output_channels * job.dtype.itemsize
    block = wishes.block or choose_block(pricing, coverage, chunk, wishes.nodes * wishes.workers, voxel_bytes)
    network = os.path.abspath(wishes.network) if wishes.network else ""
    # Windows of a model that is bound to one are those of the whole volume: a daemon would take the block for one.
    is_planned = network and serving.facts.window is None
    return JobSpec(
        identity=identity,
        network=network,
        digests=digests_of(network, _config(wishes)) if network else {},
        mem=wishes.mem,
        threads=wishes.threads,
        config=_config(wishes),
        model=serving.model,
        form=form_of(serving.facts),
        servers=wishes.servers,
        input=absolute(wishes.input),
        output=absolute(wishes.output),
        pad=wishes.pad,
        dtype=job.dtype.name,
        mask=absolute(wishes.mask) if wishes.mask else None,
        skip_empty=wishes.skip_empty,
        output_extent=job.output,
        origin=job.origin,
        block=block,
        nodes=wishes.nodes * wishes.workers,
        predicted={},
        planned=pricing.widest(Grid(job.output, block)) if is_planned else None,
    )


def check_block(block: Triple, chunk: Triple, output: Triple) -> None:
    """Raises InvalidError unless a block is whole chunks of the output, or all of it, along each axis: two machines may
    write no chunk."""
    if any(b < 1 or (b % c and b < n) for b, c, n in zip(block, chunk, output)):
        raise InvalidError(
            f"--block: {text_of(block)} found, expected multiples of the output's chunks or shards, {text_of(chunk)}"
        )

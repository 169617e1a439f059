"""Says what a job takes: time, bytes, memory, price."""

from __future__ import annotations

import math
from typing import Any

from znni.blocks.duration import duration
from znni.blocks.measuring import Measured
from znni.blocks.pricing import Pricing
from znni.blocks.spec import JobSpec
from znni.box import text_of
from znni.job import Job
from znni.model import Model
from znni.sizes import in_words
from znni.streaming.slab_writer import MOST_BYTES

_DAEMON_BYTES = 64 << 20  # of a daemon, beside its plan
_PLAN_SHARE = 25 / 32  # of a daemon's memory, at least; the rest is for requests
_CLIENT_BYTES = 256 << 20  # of Python with its packages
_READ_COPIES = 3  # of planes: as stored, with padding, on their way


class Forecast:
    """Tells what the blocks of ``spec`` take, by ``pricing`` of a daemon that serves ``model``, on machines that each
    cost ``price_per_hour``."""

    def __init__(
        self, spec: JobSpec, pricing: Pricing, model: Model, price_per_hour: float | None, depth: int = 64
    ) -> None:
        self._spec = spec
        self._pricing = pricing
        self._model = model
        self._price = price_per_hour
        self._depth = depth  # planes of a layer of chunks of the output, which are gathered

    def told(self, ready_seconds: float, measured: Measured | None = None) -> dict[str, Any]:
        """Returns what is told to people. ``ready_seconds`` is what a daemon takes to start and to end. If a block was
        measured, all others take as much more, or less, than was predicted as this one."""
        spec, grid = self._spec, self._spec.grid
        factor, first = self._scale(measured) if measured else (1.0, 0.0)
        start = ready_seconds + first if spec.network else 0.0
        hours = (start + factor * self._pricing.longest(grid, spec.nodes)) / 3600
        return {
            "blocks": len(grid),
            "seconds_of_a_block": factor * self._seconds(grid.middle),
            "start_seconds": start,
            "hours": hours,
            "measured": {"block": measured.number, "seconds": measured.seconds, "factor": factor} if measured else None,
            **self._bytes(),
            "memory_bytes": self._memory(measured),
            "price": self._price * hours * spec.nodes if self._price is not None else None,
        }

    def _scale(self, measured: Measured) -> tuple[float, float]:
        """Returns what blocks take, in predicted seconds, and what a daemon's first ones take more."""
        predicted = self._seconds(measured.number)
        factor = measured.seconds / predicted if predicted else 1.0
        more = (seconds - factor * self._seconds(number) for number, seconds in measured.before)
        return factor, max(0.0, sum(more)) if predicted else 0.0

    def _seconds(self, number: int) -> float:
        return self._pricing.seconds(self._spec.grid.box(number))

    def _bytes(self) -> dict[str, int]:
        job, grid = self._job(), self._spec.grid
        return {
            "bytes_read": self._pricing.voxels_read(grid) * job.source.shape[0] * job.source.dtype.itemsize,
            "bytes_written": math.prod(grid.output) * job.model.output_channels * job.dtype.itemsize,
        }

    def _memory(self, measured: Measured | None) -> dict[str, int]:
        """Returns what a machine needs: for a daemon of its own the least --mem with this plan, for the client what is
        read, gathered and compared of a block; or what they held while a block was measured, if that was more."""
        daemon, client = measured.peaks if measured else (None, None)
        plan = int(self._model.properties.get("plan_memory_bytes", 0))
        needed = math.ceil((plan + _DAEMON_BYTES) / _PLAN_SHARE) if self._spec.network else 0
        return {"daemon": max(needed, daemon or 0), "client": max(self._client_bytes(), client or 0)}

    def _client_bytes(self) -> int:
        job = self._job()
        read = job.source.depth * math.prod(job.given.extent[1:]) * job.source.shape[0] * job.source.dtype.itemsize
        voxel = job.model.output_channels * job.dtype.itemsize
        layer = min(self._depth, job.output[0]) * math.prod(job.output[1:]) * voxel
        return _CLIENT_BYTES + _READ_COPIES * read + min(layer, MOST_BYTES) + layer

    def _job(self) -> Job:
        grid = self._spec.grid
        return self._pricing.job(grid.box(grid.middle))


def summary(spec: JobSpec) -> str:
    """Returns the forecast of a job in words: several lines."""
    told = spec.predicted
    price = f", {told['price']:.2f} in all" if told["price"] is not None else ""
    machines = f"{spec.nodes} machines" if spec.nodes > 1 else "1 machine"
    lines = [
        f"{told['blocks']} blocks of {text_of(spec.block)} voxels on {machines}: predicted "
        f"{duration(told['hours'] * 3600)}, {duration(told['seconds_of_a_block'])} a block{price}; reads "
        f"{in_words(told['bytes_read'])}, writes {in_words(told['bytes_written'])} before compression",
        _time_in_words(told),
        _memory_in_words(told["memory_bytes"]),
    ]
    return "\n".join(lines)


def _time_in_words(told: dict[str, Any]) -> str:
    start, measured = told["start_seconds"], told["measured"]
    ready = f"{duration(start)} of this is for a daemon to plan, start and end; " if start else ""
    if measured is None:
        return f"{ready}blocks take what the daemon predicts, without what reading and writing add: none was measured"
    return (
        f"{ready}block {measured['block']}, which is done, took {duration(measured['seconds'])}: "
        f"{measured['factor']:.2f} times what the daemon predicts, as do the others"
    )


def _memory_in_words(memory: dict[str, int]) -> str:
    daemon = f"{in_words(memory['daemon'], binary=True)} for its daemon and " if memory["daemon"] else ""
    return f"a machine needs {daemon}{in_words(memory['client'], binary=True)} for znni-job"

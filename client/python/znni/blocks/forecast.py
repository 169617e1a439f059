"""Says what a job takes: time, bytes, memory, price."""

from __future__ import annotations

import dataclasses
import functools
import math
from typing import Any

from znni.blocks.dealing import shares
from znni.blocks.duration import duration
from znni.blocks.estimate import Estimate
from znni.blocks.kept import Kept
from znni.blocks.measuring import Measured
from znni.blocks.pricing import Pricing
from znni.blocks.sharing import Sharing, groups_of
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


@dataclasses.dataclass(frozen=True)
class Ready:
    """Describes what a daemon takes to start and to end, in ``seconds``, and to plan before it starts, where no plan is
    kept."""

    seconds: float
    planning: float = 0.0


@dataclasses.dataclass(frozen=True)
class Fleet:
    """Describes the machines of a job, of which each has so many ``workers`` at a time and costs ``price_per_hour``."""

    price_per_hour: float | None = None
    workers: int = 1


class Forecast:
    """Tells what the blocks of ``spec`` that are ``kept`` take on the machines of ``fleet``, by ``pricing`` of a daemon
    that serves ``model``."""

    def __init__(
        self, spec: JobSpec, pricing: Pricing, model: Model, fleet: Fleet, depth: int = 64, kept: Kept | None = None
    ) -> None:
        self._spec = spec
        self._kept = Kept(spec.grid) if kept is None else kept
        self._pricing = pricing
        self._model = model
        self._fleet = fleet
        self._depth = depth  # planes of a layer of chunks of the output, which are gathered
        self.predicted = pricing.table(spec.grid)  # seconds of a block of each class

    def told(self, ready: Ready, measured: Measured | None = None) -> dict[str, Any]:
        """Returns what is told to people. If blocks were measured, others take as much more, or less, than was
        predicted as those of them whose extent is most like theirs; and all as much more as several at once took."""
        grid = self._spec.grid
        estimate = Estimate(grid, self.predicted, measured.samples if measured else ())
        sharing = measured.sharing if measured else None
        alone = estimate.classes()
        more = sharing.of(self._sharers) if sharing else 1.0
        classes = {number: more * seconds for number, seconds in alone.items()}
        start, planning = self._start(ready, more * _more(estimate, measured) if measured else 0.0)
        hours = (start + planning + self._longest(alone, sharing)) / 3600
        return {
            "blocks": len(grid),
            "blocks_left_out": len(grid) - len(self._kept),
            "voxels_computed": self._kept.voxels(),
            "machines": self._machines,
            "workers_per_machine": self._fleet.workers,
            "workers_sharing": self._sharers,
            "seconds_of_a_block": classes[grid.middle],
            "start_seconds": start,
            "planning_seconds": planning,
            "hours": hours,
            "measured": _told_of(estimate, measured) if measured else None,
            "classes": [{"block": number, "seconds": seconds} for number, seconds in classes.items()],
            **self._bytes(),
            "memory_bytes": self._memory(measured),
            "price": self._price(hours),
        }

    def _start(self, ready: Ready, more: float) -> tuple[float, float]:
        """Returns what a machine takes before and after its blocks, of which the first take so much ``more``, and to
        plan: this machine has its plan, others may not."""
        if not self._spec.network:
            return 0.0, 0.0
        return ready.seconds + more, ready.planning if self._machines > 1 else 0.0

    def _longest(self, alone: dict[int, float], sharing: Sharing | None) -> float:
        """Returns the seconds until the last worker is done, by those of a block of each class while one computes."""
        each = shares(self._kept, alone, self._spec.nodes)
        if sharing is None:
            return float(each.max())
        return max(sharing.seconds(each[group]) for group in self._groups)

    @functools.cached_property
    def _groups(self) -> list[list[int]]:
        return groups_of(self._spec.nodes, self._fleet.workers, [] if self._spec.network else self._spec.servers)

    @property
    def _sharers(self) -> int:
        """Returns how many workers share a machine that have a block to compute."""
        return min(max(map(len, self._groups)), max(1, len(self._kept)))

    @property
    def _machines(self) -> int:
        """Returns how many machines compute: those of daemons that run already, if these do."""
        return len(self._groups)

    def _price(self, hours: float) -> float | None:
        price = self._fleet.price_per_hour
        return price * hours * self._machines if price is not None else None

    def _bytes(self) -> dict[str, int]:
        job = self._job()
        return {
            "bytes_read": self._pricing.voxels_read(self._kept) * job.source.shape[0] * job.source.dtype.itemsize,
            "bytes_written": self._kept.voxels() * job.model.output_channels * job.dtype.itemsize,
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


def _more(estimate: Estimate, measured: Measured) -> float:
    """Returns what blocks before those that were measured took more than others do."""
    return max(0.0, sum(seconds - estimate.seconds(number) for number, seconds in measured.before))


def _told_of(estimate: Estimate, measured: Measured) -> dict[str, Any]:
    """Returns what is told of blocks that were measured: of the first, of the others, and of several at once."""
    first, *others = (
        {"block": sample.number, "seconds": sample.seconds, "factor": estimate.factor(sample)}
        for sample in measured.samples
    )
    sharing = dataclasses.asdict(measured.sharing) if measured.sharing else None
    return {**first, "others": others, "sharing": sharing}


def summary(spec: JobSpec) -> str:
    """Returns the forecast of a job in words: several lines."""
    told = spec.predicted
    price = f", {told['price']:.2f} in all" if told["price"] is not None else ""
    lines = [
        f"{told['blocks']} blocks of {text_of(spec.block)} voxels{_left_out(told)} on {_machines(spec)}: predicted "
        f"{duration(told['hours'] * 3600)}, {duration(told['seconds_of_a_block'])} a block{price}; reads "
        f"{in_words(told['bytes_read'])}, writes {in_words(told['bytes_written'])} before compression",
        _time_in_words(told),
        _memory_in_words(told),
        *_sharing_in_words(told),
    ]
    return "\n".join(lines)


def _left_out(told: dict[str, Any]) -> str:
    count = told["blocks_left_out"]
    return f", of which the mask leaves out {count}," if count else ""


def _machines(spec: JobSpec) -> str:
    machines = spec.predicted["machines"]
    workers = -(-spec.nodes // machines)
    told = f"{machines} machines" if machines > 1 else "1 machine"
    return f"{told} of {workers} workers" if workers > 1 else told


def _time_in_words(told: dict[str, Any]) -> str:
    start, planning, measured = told["start_seconds"], told["planning_seconds"], told["measured"]
    plan = f"plan ({duration(planning)}), " if planning else ""
    ready = f"{duration(start + planning)} of this is for a daemon to {plan}start and end; " if start else ""
    if measured is None:
        return f"{ready}blocks take what the daemon predicts, without what reading and writing add: none was measured"
    return (
        f"{ready}block {measured['block']}, which is done, took {duration(measured['seconds'])}: "
        f"{measured['factor']:.2f} times what the daemon predicts{_others_in_words(measured['others'])}"
    )


def _others_in_words(others: list[dict[str, Any]]) -> str:
    factors = [one["factor"] for one in others]
    if not factors:
        return ""
    if len(factors) == 1:
        return f"; that of another extent took {factors[0]:.2f} times that"
    return f"; those of {len(factors)} other extents took {min(factors):.2f} to {max(factors):.2f} times that"


def _memory_in_words(told: dict[str, Any]) -> str:
    memory, workers = told["memory_bytes"], told["workers_per_machine"]
    who = f"each of the {workers} workers of a machine needs" if workers > 1 else "a machine needs"
    daemon = f"{in_words(memory['daemon'], binary=True)} for its daemon and " if memory["daemon"] else ""
    return f"{who} {daemon}{in_words(memory['client'], binary=True)} for znni-job"


def _sharing_in_words(told: dict[str, Any]) -> list[str]:
    """Returns what is known of workers that share a machine: one line, or none."""
    workers, measured = told["workers_sharing"], told["measured"]
    if workers == 1:
        return []
    sharing = measured["sharing"] if measured else None
    if sharing is None:
        return [
            f"this is predicted as if each worker had a machine alone: what {workers} workers take that share one was "
            "not measured, so expect more time and a higher price"
        ]
    return [
        f"{workers} workers share a machine: {sharing['at_once']} blocks at once took {sharing['factor']:.2f} times as "
        "long as one alone, and this counts"
    ]

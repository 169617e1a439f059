"""Computes the blocks of a shard, one after the other, and marks those that are done."""

from __future__ import annotations

import datetime
import math
import os
import time
from collections.abc import Callable
from typing import Any

from znni.blocks.duration import duration
from znni.blocks.emptiness import is_empty
from znni.blocks.grid import Shard
from znni.blocks.region import Region
from znni.blocks.serving import Serving
from znni.blocks.spec import JobSpec
from znni.box import Box
from znni.errors import Error, InvalidError
from znni.job import plan_job, roi_of
from znni.mask import Mask
from znni.stores.opening import open_shared, open_source
from znni.stores.shared import SharedOutput

_FIRST_DELAY = 1.0  # seconds between two tries
_QUIET_SECONDS = 5.0  # between two lines that say how far a run is


def open_output(spec: JobSpec) -> SharedOutput:
    """Returns the job's output, to read and write. Raises InvalidError if another job made it."""
    output = open_shared(spec.output)
    if output.notes.get("job") != spec.identity:
        raise InvalidError(f"{spec.output}: was not made for this job: make the job again with 'znni-job plan'")
    return output


def reason_of(error: Exception) -> str:
    """Returns why a block failed, in one line."""
    text = str(error) if isinstance(error, Error) else f"{type(error).__name__}: {error}"
    return " ".join(text.split())


class Worker:
    """Computes blocks of ``spec`` by ``serving``.

    A block that fails is tried ``retries`` more times, unless its error would come again. Once ``has_ended`` returns
    True it is not, and its error is not recorded: it may be that of the end. ``say`` takes lines of text.
    """

    def __init__(
        self,
        spec: JobSpec,
        serving: Serving,
        retries: int,
        say: Callable[[str], None],
        has_ended: Callable[[], bool] = lambda: False,
    ) -> None:
        self._spec = spec
        self._serving = serving
        self._retries = retries
        self._say = say
        self._has_ended = has_ended
        self._marks = spec.marks
        self._output = open_output(spec)
        self._source = open_source(spec.input)
        self._mask = Mask(spec.mask, self._source.shape[1:]) if spec.mask else None
        serving.client()
        self._rate = [0, 0.0]  # output voxels, and the seconds that they took
        self._said_at = -_QUIET_SECONDS

    def run(self, shard: Shard) -> dict[int, Exception]:
        """Computes what is missing of a shard. Returns the errors of blocks that failed, by number."""
        numbers = shard.numbers(self._spec.grid)
        missing = self._marks.missing(numbers)
        self._say(f"{len(missing)} blocks to compute, {len(numbers) - len(missing)} are there")
        failed: dict[int, Exception] = {}
        for at, number in enumerate(missing):
            error = self.compute(number)
            if error is not None:
                failed[number] = error
            self._say_how_far(number, at + 1, len(missing))
        return failed

    def compute(self, number: int) -> Exception | None:
        """Computes a block, unless another run did so meanwhile. Returns its error if it failed, which is recorded."""
        try:
            if not self._tried(number, lambda: self._marks.is_done(number)):
                self._finish(number)
        except Exception as error:  # stores and codecs raise what they like
            if not self._has_ended():
                self._fail(number, error)
            return error
        return None

    def close(self) -> None:
        """Closes the files that it reads."""
        self._source.close()
        if self._mask is not None:
            self._mask.close()

    def _fail(self, number: int, error: Exception) -> None:
        reason = reason_of(error)
        self._say(f"block {number} failed: {reason}")
        try:
            self._marks.fail(number, reason)
        except (Error, OSError) as full:
            self._say(f"block {number}: this is not recorded: {full}")

    def _finish(self, number: int) -> None:
        """Computes a block, unless nothing in it is of interest, and marks it."""
        began = time.monotonic()
        facts = self._tried(number, lambda: self._computed(number))
        seconds = time.monotonic() - began
        ended = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
        facts = {**facts, "seconds": round(seconds, 3), "host": os.uname().nodename, "ended": ended}
        self._tried(number, lambda: self._marks.finish(number, facts))
        if not facts["skipped"]:
            self._rate[0] += math.prod(self._spec.grid.box(number).extent)
            self._rate[1] += seconds

    def _computed(self, number: int) -> dict[str, Any]:
        """Computes a block, unless nothing in it is of interest. Returns what its mark says of it."""
        open_output(self._spec)  # another job may have replaced it
        box = self._spec.grid.box(number)
        reason = self._needless(box)
        region = Region(self._output, box)
        if not reason:
            self._predict(region, box)
            region.sync()
            open_output(self._spec)
        return {"digest": region.digest(), "skipped": reason}

    def _tried(self, number: int, step: Callable[[], Any]) -> Any:
        """Returns what ``step`` does for a block. Tries again where that may help."""
        for tries_left in range(self._retries, -1, -1):
            try:
                return step()
            except (Error, OSError) as error:
                if self._serving.is_lasting(error):
                    raise
                reason = self._serving.drop(error) if isinstance(error, Error) and not error.is_of_store else error
                if tries_left == 0 or self._has_ended():
                    raise reason from None
                delay = _FIRST_DELAY * 2 ** (self._retries - tries_left)
                self._say(f"block {number}, again in {delay:.0f} s: {reason}")
            time.sleep(delay)
        return None

    def _predict(self, region: Region, box: Box) -> None:
        """Computes a block from its first plane on. One that goes on where a stream broke has patches elsewhere, which
        round differently."""
        client = self._serving.client()
        client.predict(
            self._serving.model,
            self._spec.input,
            region,
            pad=self._spec.pad,
            dtype=self._spec.dtype,
            roi=self._roi(box),
            resume=False,
            progress=False,
        )

    def _roi(self, box: Box) -> list[tuple[int, int]]:
        """Returns the region of the volume whose output is a block."""
        return list(zip(*roi_of(box, self._serving.facts, self._spec.pad)))

    def _needless(self, box: Box) -> str | None:
        """Returns why a block is skipped; None if it is not."""
        start, stop = (tuple(a + b for a, b in zip(side, self._spec.origin)) for side in box)
        if self._mask and not self._mask.covers(Box(start, stop)):  # type: ignore[arg-type]
            return "outside the mask"
        if not self._spec.skip_empty:
            return None
        job = plan_job(self._serving.facts, self._source, self._roi(box), self._spec.pad, self._spec.dtype)
        return "empty" if is_empty(self._source, job.given) else None

    def _say_how_far(self, number: int, done: int, of: int) -> None:
        now = time.monotonic()
        if done < of and now < self._said_at + _QUIET_SECONDS:
            return
        self._said_at = now
        voxels, seconds = self._rate
        left = (of - done) * math.prod(self._spec.grid.box(0).extent)  # those at the border have fewer
        rate = voxels / seconds if seconds else 0.0
        rest = f", {rate / 1e6:.3g} Mvoxel/s, {duration(left / rate)} left" if rate and left else ""
        self._say(f"block {number}: {done} of {of}{rest}")

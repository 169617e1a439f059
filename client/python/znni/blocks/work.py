"""Computes the blocks of a shard, one after the other, and marks those that are done."""

from __future__ import annotations

import datetime
import os
import time
from typing import Any, Callable

from znni.blocks.duration import duration
from znni.blocks.grid import Shard
from znni.blocks.marks import Marks
from znni.blocks.mask import Mask, is_empty
from znni.blocks.region import Region
from znni.blocks.serving import Serving
from znni.blocks.spec import JobSpec
from znni.box import Box
from znni.errors import AccessError, Error, InvalidError, NotFoundError, UnsupportedError
from znni.job import roi_of
from znni.padding import padded
from znni.stores.opening import open_source
from znni.stores.zarr_store import open_node, zarr_module

# Errors that come again whenever the block is tried.
LASTING = (InvalidError, NotFoundError, UnsupportedError, AccessError)
_FIRST_DELAY = 1.0  # seconds between two tries


def open_output(spec: JobSpec) -> Any:
    """Returns the job's output array, to read and write. Raises InvalidError if another job made it."""
    path = os.path.join(spec.output, "0")
    if open_node(spec.output).attrs.get("znni", {}).get("job") != spec.identity:
        raise InvalidError(f"{spec.output}: was not made for this job: make the job again with 'znni-job plan'")
    return zarr_module().open_array(path, mode="r+")


class Worker:
    """Computes blocks of ``spec`` by ``serving``.

    A block that fails is tried ``retries`` more times, unless its error would come again. ``say`` takes lines of text.
    """

    def __init__(self, spec: JobSpec, serving: Serving, retries: int, say: Callable[[str], None]) -> None:
        self._spec = spec
        self._serving = serving
        self._retries = retries
        self._say = say
        self._marks = Marks(spec.folder)
        self._array = open_output(spec)
        self._source = open_source(spec.input)
        self._model = serving.client().model(serving.model)
        self._mask = Mask(spec.mask, self._source.shape[1:]) if spec.mask else None
        self._rate = [0, 0.0]  # output voxels, and the seconds that they took

    def run(self, shard: Shard) -> dict[int, Exception]:
        """Computes what is missing of a shard. Returns the errors of blocks that failed, by number."""
        missing = [number for number in shard.numbers(self._spec.grid) if not self._marks.is_done(number)]
        self._say(f"{len(missing)} blocks to compute, {len(shard.numbers(self._spec.grid)) - len(missing)} are there")
        failed: dict[int, Exception] = {}
        for at, number in enumerate(missing):
            try:
                self._finish(number)
            except (Error, OSError) as error:
                failed[number] = error
                self._marks.fail(number, str(error))
                self._say(f"block {number} failed: {error}")
            self._say_how_far(at + 1, missing)
        return failed

    def _finish(self, number: int) -> None:
        """Computes a block, unless nothing in it is of interest, and marks it."""
        began = time.monotonic()
        box = self._spec.grid.box(number)
        reason = self._needless(box)
        region = Region(self._array, box)
        if not reason:
            self._compute(number, region, box)
            region.sync()
        seconds = time.monotonic() - began
        ended = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
        self._marks.finish(number, {"digest": region.digest(), "skipped": reason, "seconds": round(seconds, 3),
                                    "host": os.uname().nodename, "ended": ended})
        if not reason:
            extent = box.extent
            self._rate[0] += extent[0] * extent[1] * extent[2]
            self._rate[1] += seconds

    def _compute(self, number: int, region: Region, box: Box) -> None:
        """Computes a block. Tries again where that may help."""
        for tries_left in range(self._retries, -1, -1):
            try:
                return self._predict(region, box)
            except LASTING:
                raise
            except (Error, OSError) as error:
                reason = self._serving.drop(error) if isinstance(error, Error) else error
                if tries_left == 0:
                    raise reason from None
                delay = _FIRST_DELAY * 2 ** (self._retries - tries_left)
                self._say(f"block {number}, again in {delay:.0f} s: {reason}")
            time.sleep(delay)

    def _predict(self, region: Region, box: Box) -> None:
        roi = roi_of(box, self._model, self._spec.pad)
        self._serving.client().predict(self._serving.model, self._spec.input, region, pad=self._spec.pad,
                                     dtype=self._spec.dtype, roi=list(zip(roi.start, roi.stop)), progress=False)

    def _needless(self, box: Box) -> str | None:
        """Returns why a block is skipped; None if it is not."""
        start, stop = (tuple(a + b for a, b in zip(side, self._spec.origin)) for side in box)
        if self._mask and not self._mask.covers(Box(start, stop)):  # type: ignore[arg-type]
            return "outside the mask"
        read = padded(self._spec.pad, roi_of(box, self._model, self._spec.pad), self._model.field_of_view)
        return "empty" if self._spec.skip_empty and is_empty(self._source, read) else None

    def _say_how_far(self, done: int, missing: list[int]) -> None:
        voxels, seconds = self._rate
        left = sum(_voxels(self._spec.grid.box(number)) for number in missing[done:])
        rate = voxels / seconds if seconds else 0.0
        rest = f", {rate / 1e6:.3g} Mvoxel/s, {duration(left / rate)} left" if rate and left else ""
        self._say(f"block {missing[done - 1]}: {done} of {len(missing)}{rest}")


def _voxels(box: Box) -> int:
    z, y, x = box.extent
    return z * y * x

"""Prices the blocks of a job: what each reads, and how long it takes."""

from __future__ import annotations

import math

from znni.blocks.dealing import longest
from znni.blocks.grid import Grid
from znni.blocks.kept import Kept
from znni.box import Box, Triple
from znni.client import Client
from znni.job import Job, plan_job, roi_of


class Pricing:
    """Knows what blocks of the output of ``whole``, a job of the whole volume, take on the daemon of ``client``."""

    def __init__(self, client: Client, whole: Job) -> None:
        self._client = client
        self._whole = whole
        self._jobs: dict[Box, Job] = {}
        self._seconds: dict[Triple, float] = {}

    def job(self, box: Box) -> Job:
        """Returns the job of a block, which is ``box`` of the output."""
        if box not in self._jobs:
            whole = self._whole
            roi = roi_of(box, whole.model, whole.pad)
            self._jobs[box] = plan_job(whole.model, whole.source, list(zip(*roi)), whole.pad, whole.dtype)
        return self._jobs[box]

    def seconds(self, box: Box) -> float:
        """Returns the predicted seconds of a block, those of its surroundings included; 0 if none are predicted."""
        job = self.job(box)
        extent = job.given.extent
        if extent not in self._seconds:
            outlook = self._client.outlook(job.header(Box((0, 0, 0), job.streamed)))
            times = [outlook.predicted_seconds, outlook.predicted_seconds_in_parts]
            self._seconds[extent] = min((time for time in times if time > 0), default=0.0)
        return self._seconds[extent]

    def voxels_read(self, kept: Kept) -> int:
        """Returns the voxels that these blocks read of the volume: those in their surroundings once for each of
        them."""
        return sum(count * self._voxels_of(kept.grid.box(number)) for number, count in kept.classes().items())

    def _voxels_of(self, box: Box) -> int:
        given = self.job(box).given
        inside = (min(b, n) - max(a, 0) for a, b, n in zip(*given, self._whole.source.shape[1:]))
        return math.prod(inside)

    def widest(self, grid: Grid) -> Triple:
        """Returns the least extent that holds what any block is computed from, padding included."""
        extents = [self.job(grid.box(number)).given.extent for number in grid.classes()]
        return tuple(map(max, zip(*extents)))

    def table(self, grid: Grid) -> dict[int, float]:
        """Returns the predicted seconds of a block of each class, by its number in Grid.classes()."""
        return {number: self.seconds(grid.box(number)) for number in grid.classes()}

    def longest(self, kept: Kept, nodes: int) -> float:
        """Returns the predicted seconds until the last of so many machines is done, each with every ``nodes``-th
        block."""
        return longest(kept, self.table(kept.grid), nodes)

"""Writes what is kept of the planes of a part that a stream brings."""

from __future__ import annotations

import numpy as np

from znni.box import Box
from znni.job import Job
from znni.stores.seam import Target
from znni.streaming.slab_writer import SlabWriter
from znni.targets.mirrored import MirroredTarget


class KeptWriter:
    """Writes the planes of ``part``, a box of what is streamed, into ``target``, which has the job's ``kept`` box and
    its ``channels``, mirrored back."""

    def __init__(self, target: Target, part: Box, job: Job) -> None:
        start = tuple(min(max(a, b), c) for a, b, c in zip(part.start, *job.kept))
        stop = tuple(max(min(a, b), c) for a, b, c in zip(part.stop, job.kept.stop, start))
        self._part = part
        self._kept = Box(start, stop)  # type: ignore[arg-type]
        inner = (tuple(a - b for a, b in zip(side, job.kept.start)) for side in self._kept)
        self._channels = slice(None) if job.channels is None else list(job.channels)
        self._is_needed = min(self._kept.extent) > 0
        if job.mirror.axes:
            target = MirroredTarget(target, job.output, job.mirror.axes)
        self._writer = SlabWriter(target, Box(*inner), job.output_channels, job.dtype)  # type: ignore[arg-type]

    def write(self, z: int, planes: np.ndarray) -> None:
        """Takes planes ``[Z, C, Y, X]``, plane ``z`` of the part being the first."""
        first, (top, *start), (bottom, *stop) = self._part.start[0] + z, *self._kept
        begin, end = max(first, top), min(first + len(planes), bottom)
        if not self._is_needed or begin >= end:
            return
        rows, columns = (slice(a - b, c - b) for a, b, c in zip(start, self._part.start[1:], stop))
        self._writer.write(begin - top, planes[begin - first : end - first, self._channels, rows, columns])

    def flush(self) -> None:
        """Writes what is gathered."""
        if self._is_needed:
            self._writer.flush()

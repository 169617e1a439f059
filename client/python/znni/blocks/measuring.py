"""Computes blocks of a job as soon as it is planned, to know what the others take."""

from __future__ import annotations

import dataclasses
import itertools
import os
import pathlib
import re
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from znni.blocks.duration import duration
from znni.blocks.estimate import Estimate, Sample, weights_of
from znni.blocks.grid import Alike, Grid
from znni.blocks.serving import Serving
from znni.blocks.spec import JobSpec
from znni.blocks.work import Worker
from znni.box import Triple, text_of

_SURE_SECONDS = 20.0  # a block that takes as long is not measured again
_STEADY = 0.8  # of what the block before took; the first blocks of an extent take longer
_MAX_BLOCKS = 4  # of full size
_MAX_OTHERS = 2  # of each other extent, and then of full size again
_MAX_TRIED = 8  # of one class
_MAX_SKIPPED = 16  # of all; in a volume that is empty, more say nothing
_OTHERS_SECONDS = 120.0  # that blocks of other extents than the first take, by the prediction
_LEAST_SHARE = 0.005  # of the predicted total; what takes less is not worth a block


@dataclasses.dataclass(frozen=True)
class Measured:
    """Describes blocks that were measured, from their input to their mark; they are done now. ``samples`` has one of
    each extent, of the one that is computed the most first. ``before`` are those that came before one of these, which
    take longer. ``peaks`` are the most bytes of memory that daemon and client held: None where that is not known."""

    samples: tuple[Sample, ...]
    before: tuple[Sample, ...]
    peaks: tuple[int | None, int | None]


def measure(
    spec: JobSpec, predicted: Mapping[int, float], serving: Serving, say: Callable[[str], None]
) -> Measured | None:
    """Computes blocks of full size, until one takes about as long as the one before, then of the other extents that
    take the most by ``predicted``, the seconds of each class, and then of full size again. Returns None, and says why,
    if the first block fails or nothing in those that are tried is of interest."""
    meter = Meter(spec, predicted, serving, say)
    try:
        meter.measure()
    finally:
        meter.close()
    if not meter.samples:
        why = "" if meter.has_failed else ", because none of those that were tried had to be computed"
        say(f"no block was measured{why}: the job takes what the daemon predicts, and what reading and writing take")
        return None
    return Measured(tuple(meter.samples), tuple(meter.before), _peaks(serving))


class Meter:
    """Measures blocks of ``spec`` that ``serving`` computes."""

    def __init__(
        self, spec: JobSpec, predicted: Mapping[int, float], serving: Serving, say: Callable[[str], None]
    ) -> None:
        self.samples: list[Sample] = []
        self.before: list[Sample] = []
        self._spec = spec
        self._predicted = weights_of(spec.grid, predicted)
        self._extents = extents_by_weight(spec.grid, self._predicted)
        self._worker = Worker(spec, serving, 0, say)
        self._say = say
        self._seconds_left = _OTHERS_SECONDS
        self._skips_left = _MAX_SKIPPED
        self.has_failed = False

    def close(self) -> None:
        """Closes the files that are read."""
        self._worker.close()

    def measure(self) -> None:
        """Measures one extent after the other, and then the first again, until a block fails."""
        for classes in self._extents:
            if not self.samples or self._is_worth_it(classes):
                found = self._blocks_of(classes)
                self.samples += _speaking(found)
                self.before += found[:-1]
            if self.has_failed:
                return
        if self.samples and self.samples[0].seconds <= _SURE_SECONDS:
            self._measure_again()

    def _of_first(self) -> list[int]:
        """Returns the classes of the first sample's extent."""
        first = self._spec.grid.class_of(self.samples[0].number)
        return next(classes for classes in self._extents if first in classes)

    def _measure_again(self) -> None:
        """Measures blocks of the first extent again: while the first blocks were computed, the daemon may still have
        been given its memory."""
        found = self._blocks_of(self._of_first())
        if found:
            self.before += [self.samples[0], *found[:-1]]
            self.samples[0] = _speaking(found)[0]

    def _is_worth_it(self, classes: Sequence[int]) -> bool:
        """Returns whether blocks of these classes take much of the job and little now, which is then counted."""
        total = _weight(self._spec.grid, self._predicted, self._predicted)
        if _weight(self._spec.grid, self._predicted, classes) < _LEAST_SHARE * total:
            return False
        seconds = self._expected(classes[0])
        seconds *= 1 if seconds > _SURE_SECONDS else 2
        if seconds > self._seconds_left:
            return False
        self._seconds_left -= seconds
        return True

    def _blocks_of(self, classes: Sequence[int]) -> list[Sample]:
        """Returns what blocks of these classes take, the last of which speaks for the others, until one fails; none if
        nothing in those that are tried is of interest."""
        found: list[Sample] = []
        for number in _candidates(self._spec.grid, classes):
            if not self._skips_left:
                break
            if self._spec.marks.is_done(number):  # by another worker
                continue
            self._tell(number)
            began = time.monotonic()
            self.has_failed = self._worker.compute(number) is not None
            seconds = time.monotonic() - began
            if self.has_failed:
                break
            if (self._spec.marks.facts(number) or {}).get("skipped"):
                self._skips_left -= 1
            else:
                found.append(Sample(number, seconds))
            if _is_steady([sample.seconds for sample in found], _MAX_OTHERS if self.samples else _MAX_BLOCKS):
                break
        return found

    def _tell(self, number: int) -> None:
        extent = text_of(self._spec.grid.box(number).extent)
        expected = f"; that takes about {duration(self._expected(number))}" if self.samples else ""
        self._say(f"block {number} of {extent} voxels is computed, to measure it{expected}")

    def _expected(self, number: int) -> float:
        return Estimate(self._spec.grid, self._predicted, self.samples).seconds(number)


def extents_by_weight(grid: Grid, predicted: Mapping[int, float]) -> list[list[int]]:
    """Returns the classes of each extent that blocks have, each by the block that stands for it: those of full size
    first, then those that take the most."""
    found: dict[Triple, list[int]] = {}
    for number in sorted(predicted, key=lambda number: (number != grid.middle, -_weight(grid, predicted, [number]))):
        found.setdefault(grid.box(number).extent, []).append(number)
    full, *others = found.values()
    return [full, *sorted(others, key=lambda classes: -_weight(grid, predicted, classes))]


def _candidates(grid: Grid, classes: Iterable[int]) -> Iterator[int]:
    """Yields blocks of these classes to measure."""
    return itertools.chain.from_iterable(_some(grid.alike(one)) for one in classes)


def _weight(grid: Grid, predicted: Mapping[int, float], classes: Iterable[int]) -> float:
    """Returns the predicted seconds of all blocks of these classes."""
    return sum(predicted[number] * len(grid.alike(number)) for number in classes)


def _is_steady(times: Sequence[float], most: int) -> bool:
    """Returns whether what the last block took, of ``most`` that are measured, speaks for the others."""
    if not times:
        return False
    return _is_like_the_last(times) or len(times) == most or times[-1] > _SURE_SECONDS


def _is_like_the_last(times: Sequence[float]) -> bool:
    return len(times) > 1 and times[-1] > _STEADY * times[-2]


def _speaking(found: Sequence[Sample]) -> list[Sample]:
    """Returns the sample that speaks for blocks of one extent, if any was found: the last, or the mean of the last two
    if they are alike."""
    if not found:
        return []
    times = [sample.seconds for sample in found]
    alike = times[-2:] if _is_like_the_last(times) else times[-1:]
    return [Sample(found[-1].number, statistics.fmean(alike))]


def _some(alike: Alike) -> list[int]:
    """Returns some blocks of a class, as far from each other as from the ends; first the one that stands for it."""
    tried = min(len(alike), _MAX_TRIED)
    spread = [alike[len(alike) * (2 * part + 1) // (2 * tried)] for part in range(tried)]
    return list(dict.fromkeys([alike.grid.class_of(alike[0]), *spread]))


def _peaks(serving: Serving) -> tuple[int | None, int | None]:
    """Returns the most memory that the daemon of this machine and this process held."""
    pid = serving.daemon_pid
    return _peak_of(pid) if pid else None, _peak_of(os.getpid())


def _peak_of(pid: int) -> int | None:
    """Returns the most bytes of memory that a process held; None where the system does not say."""
    try:
        status = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace")
    except OSError:
        return None
    match = re.search(r"^VmHWM:\s*(\d+) kB$", status, re.MULTILINE)
    return int(match[1]) * 1024 if match else None

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
from znni.blocks.kept import Kept
from znni.blocks.serving import Serving
from znni.blocks.sharing import Sharing
from znni.blocks.spec import JobSpec
from znni.blocks.together import MOST_AT_ONCE, MOST_ROUNDS, Together
from znni.blocks.work import Worker
from znni.box import Triple, text_of

_SURE_SECONDS = 20.0  # blocks that take as long are measured twice, and not again by a daemon that is warm
_LONG_SECONDS = 120.0  # a block that takes as long is measured once
_STEADY = 0.8  # of what the block before took; the first blocks of an extent take longer
_MAX_BLOCKS = 4  # of full size
_MAX_OTHERS = 2  # of each other extent, of those that take long, and then of full size again
_MAX_TRIED = 8  # of one class
_MAX_SKIPPED = 16  # of all; in a volume that is empty, more say nothing
_OTHERS_SECONDS = 120.0  # that blocks of other extents than the first take, by the prediction
_LEAST_SHARE = 0.005  # of the predicted total; what takes less is not worth a block


@dataclasses.dataclass(frozen=True)
class Measured:
    """Describes blocks that were measured, from their input to their mark; they are done now. ``samples`` has one of
    each extent, of the one that is computed the most first. ``before`` are those that came before one of these, which
    take longer. ``peaks`` are the most bytes of memory that daemon and client held: None where that is not known.
    ``sharing`` is what several blocks at once took, if that was measured."""

    samples: tuple[Sample, ...]
    before: tuple[Sample, ...]
    peaks: tuple[int | None, int | None]
    sharing: Sharing | None = None


def measure(
    spec: JobSpec,
    predicted: Mapping[int, float],
    serving: Serving,
    say: Callable[[str], None],
    kept: Kept | None = None,
    sharers: Sequence[int] = (),
) -> Measured | None:
    """Computes blocks of full size, until one takes about as long as the one before, then of the other extents that
    take the most by ``predicted``, the seconds of each class, and then of full size again. Then it computes some at
    once, as the shards ``sharers`` do that share a machine. All are of the blocks that are ``kept``. Returns None, and
    says why, if the first block fails or nothing in those that are tried is of interest."""
    meter = Meter(spec, predicted, serving, say, Kept(spec.grid) if kept is None else kept)
    try:
        meter.measure()
        peaks = _peaks(serving)
        sharing = meter.sharing(sharers)
    finally:
        meter.close()
    if not meter.samples:
        why = "" if meter.has_failed else ", because none of those that were tried had to be computed"
        say(f"no block was measured{why}: the job takes what the daemon predicts, and what reading and writing take")
        return None
    return Measured(tuple(meter.samples), tuple(meter.before), peaks, sharing)


class Meter:
    """Measures blocks of ``spec`` that are ``kept`` and that ``serving`` computes."""

    def __init__(
        self, spec: JobSpec, predicted: Mapping[int, float], serving: Serving, say: Callable[[str], None], kept: Kept
    ) -> None:
        self.samples: list[Sample] = []
        self.before: list[Sample] = []
        self._spec = spec
        self._kept = kept
        self._predicted = weights_of(spec.grid, predicted)
        self._extents = extents_by_weight(kept, self._predicted)
        self._serving = serving
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

    def sharing(self, sharers: Sequence[int]) -> Sharing | None:
        """Measures blocks of the first sample's extent at once, one for each of these shards; None if they are not
        several, or if that is not possible."""
        turns = sharers[: min(MOST_AT_ONCE, len(self._kept))]
        if len(turns) < 2 or not self.samples or self.has_failed:
            return None
        most = MOST_ROUNDS * len(turns) + _MAX_BLOCKS + _MAX_OTHERS  # some of which are done
        numbers = _undone(self._spec, self._kept, self._of_first(), most)
        estimate = Estimate(self._spec.grid, self._predicted, self.samples)
        return Together(self._spec, estimate, self._serving, turns, self._say).measure(numbers)

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
        total = _weight(self._kept, self._predicted, self._predicted)
        weight = _weight(self._kept, self._predicted, classes)
        if not weight or weight < _LEAST_SHARE * total:
            return False
        seconds = self._expected(classes[0])
        seconds *= 1 if seconds > _LONG_SECONDS else 2
        if seconds > self._seconds_left:
            return False
        self._seconds_left -= seconds
        return True

    def _blocks_of(self, classes: Sequence[int]) -> list[Sample]:
        """Returns what blocks of these classes take, the last of which speaks for the others, until one fails; none if
        nothing in those that are tried is of interest."""
        found: list[Sample] = []
        for number in self._candidates(classes, found):
            if not self._skips_left:
                break
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

    def _candidates(self, classes: Iterable[int], found: Sequence[Sample]) -> Iterator[int]:
        """Yields blocks of these classes to measure. If there is but one, which takes long, it is computed again."""
        yield from _undone(self._spec, self._kept, classes, _MAX_TRIED)
        if len(found) == 1 and _SURE_SECONDS < found[0].seconds <= _LONG_SECONDS:
            self._spec.marks.forget(found[0].number)
            yield found[0].number

    def _tell(self, number: int) -> None:
        extent = text_of(self._spec.grid.box(number).extent)
        expected = f"; that takes about {duration(self._expected(number))}" if self.samples else ""
        self._say(f"block {number} of {extent} voxels is computed, to measure it{expected}")

    def _expected(self, number: int) -> float:
        return Estimate(self._spec.grid, self._predicted, self.samples).seconds(number)


def extents_by_weight(kept: Kept, predicted: Mapping[int, float]) -> list[list[int]]:
    """Returns the classes of each extent that blocks have, each by the block that stands for it: those of full size
    first, then those that take the most."""
    grid = kept.grid
    found: dict[Triple, list[int]] = {}
    for number in sorted(predicted, key=lambda number: (number != grid.middle, -_weight(kept, predicted, [number]))):
        found.setdefault(grid.box(number).extent, []).append(number)
    full, *others = found.values()
    return [full, *sorted(others, key=lambda classes: -_weight(kept, predicted, classes))]


def _undone(spec: JobSpec, kept: Kept, classes: Iterable[int], most: int) -> Iterator[int]:
    """Yields blocks of these classes that are kept and not done, of each class so many at most."""
    for number in itertools.chain.from_iterable(_some(kept, one, most) for one in classes):
        if not spec.marks.is_done(number):
            yield number


def _weight(kept: Kept, predicted: Mapping[int, float], classes: Iterable[int]) -> float:
    """Returns the predicted seconds of all blocks of these classes."""
    return sum(predicted[number] * kept.count(number) for number in classes)


def _is_steady(times: Sequence[float], most: int) -> bool:
    """Returns whether what the last block took, of ``most`` that are measured, speaks for the others."""
    if not times:
        return False
    if times[-1] > _SURE_SECONDS:
        most = min(most, _MAX_OTHERS)
    return _is_like_the_last(times) or len(times) >= most or times[-1] > _LONG_SECONDS


def _is_like_the_last(times: Sequence[float]) -> bool:
    return len(times) > 1 and times[-1] > _STEADY * times[-2]


def _speaking(found: Sequence[Sample]) -> list[Sample]:
    """Returns the sample that speaks for blocks of one extent, if any was found: the last, or the mean of the last two
    if they are alike. Of long ones it is the shorter: the machine may have had other work for as long as one took."""
    if not found:
        return []
    times = [sample.seconds for sample in found]
    alike = times[-2:] if _is_like_the_last(times) else times[-1:]
    seconds = min(times[-2:]) if times[-1] > _SURE_SECONDS else statistics.fmean(alike)
    return [Sample(found[-1].number, seconds)]


def _some(kept: Kept, number: int, most: int) -> list[int]:
    """Returns some blocks of the class of ``number``, as far from each other as from the ends; first the one that
    stands for it."""
    alike = kept.alike(number)
    tried = min(len(alike), most)
    spread = [alike[len(alike) * (2 * part + 1) // (2 * tried)] for part in range(tried)]
    standing = kept.grid.class_of(number)
    return list(dict.fromkeys([*([standing] if standing in kept else []), *spread]))


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

"""Computes several blocks of a job at once, to know what workers take that share a machine."""

from __future__ import annotations

import concurrent.futures
import contextlib
import itertools
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Sequence

from znni.blocks.duration import duration
from znni.blocks.estimate import Estimate
from znni.blocks.serving import Serving, serving_of
from znni.blocks.sharing import Sharing
from znni.blocks.spec import JobSpec
from znni.blocks.work import Worker
from znni.calls.stop import Stop, stopped_by
from znni.errors import Error

MOST_AT_ONCE = 8  # of more, each is taken to add as much
MOST_ROUNDS = 3
_ROUNDS_SECONDS = 120.0  # after which no other round begins
_MOST_SECONDS = 1200.0  # that a round may take if nothing is gained by sharing


class Together:
    """Computes blocks of ``spec`` at once, as many as there are ``turns``, each of which is a shard that shares a
    machine with the others: the first by ``serving``, the others by what serves those shards. ``estimate`` knows what
    each block takes alone."""

    def __init__(
        self, spec: JobSpec, estimate: Estimate, serving: Serving, turns: Sequence[int], say: Callable[[str], None]
    ) -> None:
        self._spec = spec
        self._estimate = estimate
        self._serving = serving
        self._turns = turns
        self._say = say

    def measure(self, numbers: Iterable[int]) -> Sharing | None:
        """Computes some of these blocks, which are alike and not done, in a few rounds, of which the longest does not
        count. Returns None, and says why, if that is not possible."""
        at_once = len(self._turns)
        blocks = list(itertools.islice(numbers, MOST_ROUNDS * at_once))
        rounds = [blocks[at : at + at_once] for at in range(0, len(blocks) - at_once + 1, at_once)]
        why = self._why_not(blocks)
        try:
            ratios = self._ratios(rounds) if not why else []
        except (Error, OSError) as error:
            ratios, why = [], str(error)
        if ratios:
            counted = sorted(ratios)[: max(1, len(ratios) - 1)]
            return Sharing(at_once, max(1.0, statistics.fmean(counted)))
        self._say(f"{at_once} blocks at once are not measured: {why or 'one failed, or had not to be computed'}")
        return None

    def _why_not(self, blocks: Sequence[int]) -> str:
        """Returns why so many blocks cannot be measured at once; "" if nothing is in the way."""
        at_once = len(self._turns)
        if len(blocks) < at_once:
            return f"{len(blocks)} of full size are left"
        expected = at_once * self._estimate.seconds(blocks[0])
        return f"they may take {duration(expected)}" if expected > _MOST_SECONDS else ""

    def _ratios(self, rounds: Iterable[Sequence[int]]) -> list[float]:
        """Returns how many times as long the blocks of each round took as one alone, until one fails, or all have taken
        long."""
        found: list[float] = []
        spent = 0.0
        with self._workers() as workers:
            for numbers in rounds:
                seconds = self._seconds(workers, numbers)
                if seconds is None:
                    break
                spent += seconds
                if not any((self._spec.marks.facts(number) or {}).get("skipped") for number in numbers):
                    found.append(seconds / statistics.fmean(map(self._estimate.seconds, numbers)))
                if spent > _ROUNDS_SECONDS:
                    break
        return found

    def _seconds(self, workers: Sequence[Worker], numbers: Sequence[int]) -> float | None:
        """Returns the seconds until the last of these blocks is done; None if one fails."""
        expected = len(numbers) * self._estimate.seconds(numbers[0])
        self._say(f"{len(numbers)} blocks are computed at once, to measure that; it takes up to {duration(expected)}")
        began = time.monotonic()
        errors = _errors(workers, numbers)
        seconds = time.monotonic() - began
        return None if any(error is not None for error in errors) else seconds

    @contextlib.contextmanager
    def _workers(self) -> Iterator[list[Worker]]:
        """Yields a worker for each turn."""
        with contextlib.ExitStack() as stack:
            others = [stack.enter_context(serving_of(self._spec, turn)) for turn in self._turns[1:]]
            workers = []
            for serving in [self._serving, *others]:
                workers.append(Worker(self._spec, serving, 0, self._say))
                stack.callback(workers[-1].close)
            yield workers


def _errors(workers: Sequence[Worker], numbers: Sequence[int]) -> list[Exception | None]:
    """Lets each worker compute a block, at the same time. Returns their errors. What interrupts this ends them."""
    stop = Stop()

    def computed(worker: Worker, number: int) -> Exception | None:
        stopped_by(stop)
        return worker.compute(number)

    with concurrent.futures.ThreadPoolExecutor(len(workers)) as threads:
        try:
            return list(threads.map(computed, workers, numbers))
        except BaseException:
            stop.request()
            raise

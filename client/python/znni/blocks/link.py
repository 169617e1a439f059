"""A connection that several transfers share, in a simulation."""

from __future__ import annotations

import heapq
import math


class Link:
    """Carries ``rate`` bytes per second, of which each transfer under way gets an equal part, ``max_each`` at most.

    Times are those of the caller, and never decrease from call to call. A transfer is known by a number of the
    caller's, which has one under way at most.
    """

    def __init__(self, rate: float, max_each: float) -> None:
        self._rate = rate
        self._max_each = max_each
        self._at = 0.0
        self._carried = 0.0  # bytes that a transfer has got that began with the first; all get as many at a time
        self._under_way: dict[int, float] = {}  # what is carried when it ends
        self._ends: list[tuple[float, int]] = []  # the same, in order; some were removed

    @property
    def is_unlimited(self) -> bool:
        """Returns whether a transfer takes no time."""
        return math.isinf(self._rate) and math.isinf(self._max_each)

    def begin(self, now: float, number: int, size: float) -> None:
        """Begins a transfer of ``size`` bytes."""
        self._advance(now)
        end = self._carried + size
        self._under_way[number] = end
        heapq.heappush(self._ends, (end, number))

    def remove(self, now: float, number: int) -> None:
        """Ends a transfer before it is complete, if it is under way."""
        self._advance(now)
        self._under_way.pop(number, None)

    def next_end(self) -> float:
        """Returns when the next transfer is complete, unless others begin; infinity if there is none."""
        self._drop_removed()
        if not self._ends:
            return math.inf
        return self._at + max(0.0, self._ends[0][0] - self._carried) / self._each()

    def end_next(self, now: float) -> int:
        """Ends the transfer that is complete ``now``, the time of next_end(). Returns its number."""
        self._advance(now)
        self._drop_removed()
        self._carried, number = heapq.heappop(self._ends)
        del self._under_way[number]
        return number

    def _each(self) -> float:
        return min(self._max_each, self._rate / max(1, len(self._under_way)))

    def _advance(self, now: float) -> None:
        if self._under_way:
            self._carried += (now - self._at) * self._each()
        self._at = now

    def _drop_removed(self) -> None:
        while self._ends and self._under_way.get(self._ends[0][1]) != self._ends[0][0]:
            heapq.heappop(self._ends)

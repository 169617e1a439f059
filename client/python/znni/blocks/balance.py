"""Spreads blocks over the daemons of a job."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Sequence

_AWAY_SECONDS = 60.0


class Balance:
    """Chooses the server that has the fewest blocks under way, of ``servers`` with at most ``max_blocks`` each."""

    def __init__(self, servers: Sequence[str], max_blocks: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._under_way = dict.fromkeys(servers, 0)
        self._away_until = dict.fromkeys(servers, -math.inf)
        self._max_blocks = max_blocks
        self._clock = clock

    def take(self, passed_over: Collection[str] = ()) -> str | None:
        """Returns the server for the next block, and counts the block; None if all have ``max_blocks``, or are passed
        over. Passes over servers that are away, unless all others are."""
        now = self._clock()
        left = [server for server in self._under_way if server not in passed_over]
        if not left:
            return None
        here = [server for server in left if self._away_until[server] <= now] or left
        server = min(here, key=self._under_way.__getitem__)
        if self._under_way[server] >= self._max_blocks:
            return None
        self._under_way[server] += 1
        return server

    def give_back(self, server: str, computed_by: str) -> None:
        """Counts a block of ``server`` as done or failed. If another server computed it, ``server`` did not answer and
        is away for a minute."""
        self._under_way[server] -= 1
        if computed_by != server:
            self._away_until[server] = self._clock() + _AWAY_SECONDS

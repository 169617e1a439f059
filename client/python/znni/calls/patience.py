"""How long, and how often, something that may pass is tried again."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import TypeVar

from znni.calls.stop import sleep as stoppable_sleep
from znni.errors import Error, UnavailableError

_FIRST_DELAY = 0.25  # seconds
_LONGEST_DELAY = 30.0
_LOG = logging.getLogger("znni")
T = TypeVar("T")


class Patience:
    """Waits longer and longer between tries, ``seconds`` in all. ``clock`` is that of ``time``; ``sleep`` ends
    with the call, too, if that is stopped."""

    def __init__(
        self,
        seconds: float,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = stoppable_sleep,
    ) -> None:
        self._clock = clock
        self._sleep = sleep
        self._end = clock() + seconds
        self._delay = _FIRST_DELAY

    def wait(self, error: Error) -> None:
        """Waits before the next try. Raises ``error``, which made the last one fail, once the time is up."""
        left = self._end - self._clock()
        if left <= 0:
            raise error
        _LOG.warning("trying again for %.0f s: %s", left, error)
        self._sleep(min(self._delay, left))
        self._delay = min(2 * self._delay, _LONGEST_DELAY)


def persist(call: Callable[[], T], patience: Patience) -> T:
    """Returns what ``call`` returns. Tries again while it ends as UNAVAILABLE and the patience lasts."""
    while True:
        try:
            return call()
        except UnavailableError as error:
            patience.wait(error)

"""Ends a call that runs in one thread from another."""

from __future__ import annotations

import contextlib
import contextvars
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any


class Stopped(BaseException):
    """Means that the call was told to end. Like KeyboardInterrupt it is no error that is handled."""


class Stop:
    """Tells one call to end, from any thread: what it waits for is ended by the functions that it named for that."""

    def __init__(self) -> None:
        self._requested = threading.Event()
        self._ends: list[Callable[[], Any]] = []
        self._lock = threading.Lock()

    def request(self) -> None:
        """Tells the call to end. Returns at once; the call ends a little later."""
        with self._lock:
            self._requested.set()
            ends = list(self._ends)
        for end in ends:
            end()

    def check(self) -> None:
        """Raises Stopped if the call is to end."""
        if self._requested.is_set():
            raise Stopped

    def sleep(self, seconds: float) -> None:
        """Waits. Raises Stopped as soon as the call is to end."""
        self._requested.wait(seconds)
        self.check()

    @contextlib.contextmanager
    def ending(self, end: Callable[[], Any]) -> Iterator[None]:
        """Is a context in which ``end`` is called if the call is to end, also if that was said before. Raises Stopped
        behind it, in place of what ``end`` made of it."""
        with self._lock:
            self._ends.append(end)
            is_late = self._requested.is_set()
        try:
            if is_late:
                end()
            yield
        except Exception:
            self.check()
            raise
        finally:
            with self._lock:
                self._ends.remove(end)
        self.check()


_current: contextvars.ContextVar[Stop | None] = contextvars.ContextVar("stop", default=None)


def stopped_by(stop: Stop) -> None:
    """Lets ``stop`` end what this thread does from now on, in its context."""
    _current.set(stop)


def check() -> None:
    """Raises Stopped if the call of this thread is to end."""
    stop = _current.get()
    if stop is not None:
        stop.check()


def sleep(seconds: float) -> None:
    """Waits. Raises Stopped as soon as the call of this thread is to end."""
    stop = _current.get()
    if stop is None:
        time.sleep(seconds)
    else:
        stop.sleep(seconds)


def ending(end: Callable[[], Any]) -> contextlib.AbstractContextManager[None]:
    """Returns a context in which ``end`` is called if the call of this thread is to end."""
    stop = _current.get()
    return stop.ending(end) if stop is not None else contextlib.nullcontext()

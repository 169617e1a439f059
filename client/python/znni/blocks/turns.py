"""Runs calls one after the other."""

from __future__ import annotations

import concurrent.futures
import queue
import threading
from collections.abc import Callable
from typing import Any


class Turns:
    """Runs calls of many threads in one thread of its own, which lives as long as the process and does not keep it from
    ending. The kernel ends a program with the thread that started it, and threads of others come and go."""

    def __init__(self) -> None:
        self._calls: queue.SimpleQueue[tuple[concurrent.futures.Future, Callable, tuple]] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    def call(self, function: Callable, *arguments: Any) -> Any:
        """Returns what the function returns, or raises what it raises, once those before it are done."""
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="znni", daemon=True)
                self._thread.start()
        done: concurrent.futures.Future = concurrent.futures.Future()
        self._calls.put((done, function, arguments))
        return done.result()

    def _run(self) -> None:
        while True:
            done, function, arguments = self._calls.get()
            try:
                done.set_result(function(*arguments))
            except BaseException as error:  # goes to the thread that called
                done.set_exception(error)

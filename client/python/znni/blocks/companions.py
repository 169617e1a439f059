"""The other workers of a machine, which compute while blocks are measured."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator

from znni.blocks.serving import Serving
from znni.blocks.spec import JobSpec
from znni.blocks.work import Worker, reason_of
from znni.errors import Error, UnavailableError

_ENDING_SECONDS = 15.0  # for a daemon that is ended while it computes


class Companions:
    """Is a context in which ``count`` more workers than this one compute ``blocks`` of ``spec``, as they do while the
    job runs: with daemons of their own, or with those that run already, in turns. It begins when all are ready, after
    ``ready_seconds``, and ends once the blocks that are under way are done. After an error these are given up."""

    def __init__(self, spec: JobSpec, blocks: Iterator[int], count: int, say: Callable[[str], None]) -> None:
        self.ready_seconds = 0.0
        self._spec = spec
        self._blocks = blocks
        self._say = say
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._servings = [_serving(spec, turn) for turn in range(1, count + 1)]
        self._ready: list[threading.Event] = [threading.Event() for _ in self._servings]
        self._errors: list[Exception] = []
        self._threads = [
            threading.Thread(target=self._work, args=pair, daemon=True) for pair in zip(self._servings, self._ready)
        ]

    def __enter__(self) -> Companions:
        began = time.monotonic()
        try:
            if self._threads:
                self._say(f"{len(self._threads)} more workers start, which compute meanwhile")
            for thread in self._threads:
                thread.start()
            for ready in self._ready:
                ready.wait()
            self._check()
        except BaseException:
            self._give_up()
            raise
        self.ready_seconds = time.monotonic() - began if self._threads else 0.0
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._ended.set()
        if kind is not None:
            return self._give_up()
        if any(thread.is_alive() for thread in self._threads):
            self._say("the blocks that the other workers are at are computed to their end")
        for thread in self._threads:
            thread.join()
        return None

    def _check(self) -> None:
        """Raises an error if a worker has no daemon."""
        if not self._errors:
            return
        reason = f"a worker beside this one: {reason_of(self._errors[0])}"
        error = self._errors[0]
        raise type(error)(reason) if isinstance(error, Error) else UnavailableError(reason)

    def _give_up(self) -> None:
        """Ends the daemons and connections."""
        self._ended.set()
        for serving in self._servings:
            with contextlib.suppress(Exception):  # its own thread may end it as well
                serving.stop()
        for thread in self._threads:
            if thread.ident is not None:
                thread.join(_ENDING_SECONDS)

    def _work(self, serving: Serving, ready: threading.Event) -> None:
        """Computes one block after the other, until measuring has ended or one fails."""
        try:
            worker = Worker(self._spec, serving, 0, self._say, self._ended.is_set)
            ready.set()
            try:
                self._compute(worker)
            finally:
                worker.close()
        except Exception as error:
            self._errors.append(error)
        finally:
            ready.set()
            with contextlib.suppress(Exception):  # it may be given up meanwhile
                serving.stop()

    def _compute(self, worker: Worker) -> None:
        while not self._ended.is_set():
            with self._lock:
                number = next(self._blocks, None)
            if number is None or worker.compute(number) is not None:
                return


def _serving(spec: JobSpec, turn: int) -> Serving:
    """Returns who computes for the worker of this turn."""
    return Serving(
        network=spec.network,
        mem=spec.mem,
        threads=spec.threads,
        config=spec.config,
        model=spec.model,
        servers=spec.servers,
        turn=turn,
        form=spec.form,
        volume=spec.planned,
    )

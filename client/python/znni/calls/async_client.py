"""The client for programs of asyncio."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import contextvars
from collections.abc import Callable
from typing import Any

from znni.calls.stop import Stop, stopped_by
from znni.client import Client
from znni.model import Model

_MOST_CALLS = 64  # under way at once; others wait for them


class AsyncClient:
    """Is a Client whose methods are awaited: each call runs in a thread of its own, 64 at once.

    It takes the arguments of Client. A task that is cancelled ends its call at the daemon, as Ctrl-C does: what was
    written of an output is removed, and only then is the task cancelled. Nothing but a volume or an output of the
    caller's that blocks can keep it waiting.

    As a context it closes its connections at the end::

        async with znni.AsyncClient("127.0.0.1:8001") as client:
            probability = await client.predict("net", volume, pad="reflect")
    """

    def __init__(self, address: Any, **options: Any) -> None:
        self._client = Client(address, **options)
        self._threads = concurrent.futures.ThreadPoolExecutor(_MOST_CALLS, "znni")

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Ends the connections, and with them the calls that are under way."""
        self._client.close()
        self._threads.shutdown(wait=False)

    async def models(self) -> dict[str, str]:
        """Returns what Client.models() does."""
        return await self._call(self._client.models)

    async def model(self, name: str, version: str = "") -> Model:
        """Returns what Client.model() does."""
        return await self._call(self._client.model, name, version)

    async def outlook(self, header: Any) -> Any:
        """Returns what Client.outlook() does."""
        return await self._call(self._client.outlook, header)

    async def predict(self, model: str, volume: Any, output: Any = None, **options: Any) -> Any:
        """Returns what Client.predict() does, which describes the ``options``. A function for ``progress`` is called in
        the thread of the event loop. Volume and output are read and written in other threads."""
        progress = options.get("progress")
        if callable(progress):
            options["progress"] = _in_loop(progress)
        return await self._call(self._client.predict, model, volume, output, **options)

    async def _call(self, function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        """Returns what a function returns that runs in a thread. A cancellation is passed on once that has ended."""
        stop, context = Stop(), contextvars.copy_context()
        context.run(stopped_by, stop)
        call = self._threads.submit(context.run, function, *arguments, **options)
        found = asyncio.wrap_future(call)
        found.add_done_callback(lambda done: done.cancelled() or done.exception())  # else asyncio logs it
        try:
            return await asyncio.shield(found)
        except asyncio.CancelledError:
            if not call.cancel():  # it has begun
                stop.request()
                await _ended(call)
            raise


async def _ended(call: concurrent.futures.Future) -> None:
    """Returns once a call has ended, whatever became of it, also if the task is cancelled once more."""
    ended = asyncio.get_running_loop().create_future()
    loop = ended.get_loop()
    call.add_done_callback(lambda _: loop.call_soon_threadsafe(ended.set_result, None))
    while not ended.done():
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.shield(ended)


def _in_loop(progress: Callable[[float, float], Any]) -> Callable[[float, float], None]:
    """Returns a function that lets the event loop call ``progress``."""
    loop = asyncio.get_running_loop()

    def show(done: float, total: float) -> None:
        loop.call_soon_threadsafe(progress, done, total)

    return show

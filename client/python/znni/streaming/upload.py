"""Sends a volume: the requests of one stream, made while gRPC's flow control asks for them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterator
from typing import Any

import numpy as np

from znni import wire

CHUNK_BYTES = 1 << 20


class Upload:
    """Iterates over header and chunks of a stream whose input planes ``slabs`` yields, the first at ``first_byte`` of
    the input.

    gRPC iterates from a thread of its own. If reading fails, ``cancel`` ends the call and ``error`` says why.
    """

    def __init__(self, header: Any, slabs: Iterator[np.ndarray], first_byte: int) -> None:
        self.error: BaseException | None = None
        self.cancel: Callable[[], Any] = lambda: None
        self._requests = self._make(header, slabs, first_byte)
        self._lock = threading.Lock()

    def __iter__(self) -> Upload:
        return self

    def __next__(self) -> Any:
        with self._lock:
            try:
                return next(self._requests)
            except StopIteration:
                raise
            except BaseException as error:  # gRPC would log it and lose it
                self.error = error
        self.cancel()
        raise StopIteration

    def close(self) -> None:
        """Waits until nothing is being read, and ends the iteration."""
        with self._lock:
            self._requests.close()

    @staticmethod
    def _make(header: Any, slabs: Iterator[np.ndarray], offset: int) -> Generator[Any, None, None]:
        yield wire.VolumeRequest(header=header)
        for slab in slabs:
            data = slab.data.cast("B")
            for at in range(0, len(data), CHUNK_BYTES):
                chunk = bytes(data[at : at + CHUNK_BYTES])
                yield wire.VolumeRequest(chunk=wire.VolumeChunk(offset=offset, data=chunk))
                offset += len(chunk)
            del slab, data  # before the next one is read

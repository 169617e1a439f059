"""Who computes the blocks on one machine: a daemon of its own, or daemons that run already."""

from __future__ import annotations

import hashlib
import os
from typing import Any

from znni.client import Client
from znni.errors import Error, InvalidError, NotFoundError
from znni.private_daemon import PrivateDaemon

_PART = 1 << 20
_ALONE_SECONDS = 600  # how long a daemon that runs already may be away
_OTHERS_SECONDS = 10  # the same if there are others


def digest_of(network: str | os.PathLike) -> str:
    """Returns the SHA-256 of a file of a network. Raises NotFoundError if there is none."""
    found = hashlib.sha256()
    try:
        with open(network, "rb") as file:
            while part := file.read(_PART):
                found.update(part)
        return found.hexdigest()
    except OSError as error:
        raise NotFoundError(f"{network}: {error.strerror}") from None


class Serving:
    """Is a context that serves ``network`` by a daemon of its own, or if ``servers`` are named the model ``model`` by
    one of them, the ``turn``-th at first."""

    def __init__(self, *, network: str, mem: str | None, threads: int | None, config: Any, model: str,
                 servers: list[str], turn: int = 0) -> None:
        if bool(network) == bool(servers):
            raise InvalidError("--network and --server: one of them is needed, not both")
        self.model = model
        self._network = network
        self._limits = {"mem": mem, "threads": threads, "config": config}
        self._servers = servers
        self._turn = turn
        self._client: Client | None = None
        self._daemon: PrivateDaemon | None = None

    def __enter__(self) -> Serving:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def client(self) -> Client:
        """Returns a client of the daemon, which is started unless it runs. Raises Error if it does not start."""
        if self._client is None:
            self._client = self._connect()
        return self._client

    def drop(self, error: Error) -> Error:
        """Ends with the daemon in use, so that client() starts it again, or takes the next of ``servers``. Returns
        ``error``, or what the daemon said last if it has ended."""
        explained = self._daemon.explained(error) if self._daemon else error
        self.stop()
        self._turn += 1
        return explained

    def stop(self) -> None:
        """Ends the daemon of this machine, and the connection."""
        if self._client is not None:
            self._client.close()
        if self._daemon is not None:
            self._daemon.stop()
        self._client = self._daemon = None

    def _connect(self) -> Client:
        if self._servers:
            seconds = _ALONE_SECONDS if len(self._servers) == 1 else _OTHERS_SECONDS
            return Client(self._servers[self._turn % len(self._servers)], retry_seconds=seconds)
        daemon = PrivateDaemon(self._network, **self._limits).__enter__()  # type: ignore[arg-type]
        self._daemon, self.model = daemon, daemon.model
        return Client(daemon.address, retry_seconds=0)

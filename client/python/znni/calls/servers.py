"""The daemons of a client, of which each call uses the one that has the least to do."""

from __future__ import annotations

import sys
import threading
from collections.abc import Collection, Sequence

import grpc

from znni.blocks.balance import Balance
from znni.calls.connection import Connection
from znni.errors import InvalidError


def addresses_of(address: str | Sequence[str]) -> list[str]:
    """Returns the addresses, each once. Raises InvalidError if there is none, or if one is no text."""
    found = [address] if isinstance(address, str) else list(dict.fromkeys(address))
    if not found or not all(isinstance(one, str) and one for one in found):
        raise InvalidError(f"address: {address!r} found, expected 'HOST:PORT', or a list of such")
    return found


class Servers:
    """Has a connection to each of ``addresses``. May be used by several threads."""

    def __init__(
        self, addresses: Sequence[str], credentials: grpc.ChannelCredentials | None = None, token: str = ""
    ) -> None:
        self._connections = {address: Connection(address, credentials, token) for address in addresses}
        self._balance = Balance(addresses, sys.maxsize)
        self._lock = threading.Lock()

    def close(self) -> None:
        """Ends all connections."""
        for connection in self._connections.values():
            connection.close()

    def take(self, passed_over: Collection[str] = ()) -> Connection | None:
        """Returns the connection of the server with the fewest calls under way, and counts one more; None if all are
        passed over."""
        with self._lock:
            address = self._balance.take(passed_over)
        return self._connections[address] if address is not None else None

    def give_back(self, connection: Connection, answered: bool = True) -> None:
        """Counts a call as ended. A server that has not ``answered`` gets no other for a minute, unless none has."""
        with self._lock:
            self._balance.give_back(connection.address, connection.address if answered else "")

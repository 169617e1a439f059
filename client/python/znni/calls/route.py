"""The way of one call to a daemon, and on to another if that does not answer."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Callable
from typing import Any, TypeVar

import grpc

from znni.calls.connection import Connection
from znni.calls.patience import Patience
from znni.calls.servers import Servers
from znni.errors import Error, UnavailableError
from znni.model import Model

_LOG = logging.getLogger("znni")
T = TypeVar("T")


class Route:
    """Is a context of one call, which has a ``connection`` to one of ``servers``, at first the one with the least to
    do. Goes on to others, each once, before it waits.

    ``patience`` makes the patience of something that is tried again. Once the call is bound to a model, only servers
    with the same are taken: the same name, version, fingerprint and form.
    """

    connection: Connection

    def __init__(self, servers: Servers, patience: Callable[[], Patience]) -> None:
        self.patience = patience
        self._servers = servers
        self._model: Model | None = None
        self._first = ""  # the server that the model is of
        self._silent: set[str] = set()  # servers that have not answered since the last one that did
        self._others: dict[str, str] = {}  # servers that cannot go on with the call, and why
        self._is_taken = False

    def __enter__(self) -> Route:
        self._take()
        return self

    def __exit__(self, *_: object) -> None:
        self._leave(answered=True)

    def bind(self, model: Model) -> None:
        """Binds the call to the model of the server in use."""
        self._model = model
        self._first = self.connection.address

    def ask(self, question: Callable[[Connection], T]) -> T:
        """Returns the answer to a question, of the first server that gives one. Raises its error, or UnavailableError
        once the patience is over. After a deadline, which is a wait by itself, no server is asked again."""
        patience = self.patience()
        while True:
            try:
                found = question(self.connection)
                self._silent.clear()
                return found
            except UnavailableError as error:
                is_wait = error.code == grpc.StatusCode.DEADLINE_EXCEEDED
                self.go_on(error, Patience(0) if is_wait else patience)

    def go_on(self, error: Error, patience: Patience) -> None:
        """Goes on to the next server after ``error`` of this one; once all have failed, waits and begins again. Raises
        the error when the patience is over, with what speaks against other servers."""
        left = self.connection
        self._silent.add(left.address)
        self._leave(answered=not isinstance(error, UnavailableError))
        while True:
            if not self._take():
                patience.wait(self._explained(error))
                self._silent.clear()
                self._take()
            if self._is_right():
                break
        if self.connection is not left:
            _LOG.warning("going on at %s: %s", self.connection.address, error)

    def reject(self, reason: str) -> bool:
        """Passes over the server in use from now on, for the ``reason``. Returns False for the one that the call is
        bound to, which is not passed over."""
        if self._model is None or self.connection.address == self._first:
            return False
        self._others[self.connection.address] = reason
        return True

    def _take(self) -> bool:
        found = self._servers.take(self._silent | self._others.keys())
        if found is not None:
            self.connection, self._is_taken = found, True
        return found is not None

    def _leave(self, answered: bool) -> None:
        if self._is_taken:
            self._servers.give_back(self.connection, answered)
        self._is_taken = False

    def _is_right(self) -> bool:
        """Returns whether the server that was taken can go on with the call. Leaves it if not."""
        if self._model is None or self.connection.address == self._first:
            return True
        try:
            found = self.connection.model(self._model.name, self._model.version)
            if identity_of(found) == identity_of(self._model):
                return True
            self._others[self.connection.address] = "serves another network, weights or configuration"
        except UnavailableError:
            self._silent.add(self.connection.address)
        except Error as error:
            self._others[self.connection.address] = str(error)
        self._leave(answered=self.connection.address in self._others)
        return False

    def _explained(self, error: Error) -> Error:
        """Returns the error, with what speaks against the servers that were passed over."""
        if not self._others:
            return error
        reasons = "; ".join(f"{address}: {reason}" for address, reason in self._others.items())
        return type(error)(f"{error}; no other server goes on: {reasons}", error.code)


def identity_of(model: Model) -> Any:
    """Returns what servers have in common whose outputs belong together."""
    return dataclasses.replace(model, ready=True, properties={}), model.properties.get("fingerprint")

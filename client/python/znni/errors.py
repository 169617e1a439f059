"""Errors of the client: each says in one line what was found and what is expected."""

from __future__ import annotations

import grpc


class Error(Exception):
    """Is the base of all errors that the client raises by itself.

    ``code`` is the gRPC status with which the call ended; None where the client found the error before it asked the
    daemon. ``is_of_store`` is set where a store of volumes or outputs failed. ``str(error)`` is one line, of a daemon's
    error the daemon's own.
    """

    is_of_store = False

    def __init__(self, message: str, code: grpc.StatusCode | None = None) -> None:
        super().__init__(message)
        self.code = code


class InvalidError(Error, ValueError):
    """Means that volume, arguments or voxels are not what the model takes (INVALID_ARGUMENT)."""


class NotFoundError(Error, LookupError):
    """Means that there is no such model, file or dataset (NOT_FOUND)."""


class UnavailableError(Error):
    """Means that nothing answers, or that the model is not served yet or any more (UNAVAILABLE, DEADLINE_EXCEEDED)."""


class NotServedError(UnavailableError):
    """Means that a daemon of our own cannot serve the network on this machine, and why."""


class OverBudgetError(Error):
    """Means that the daemon has no memory or no turn for this (RESOURCE_EXHAUSTED)."""


class UnsupportedError(Error):
    """Means that the daemon cannot do this for this model (UNIMPLEMENTED)."""


class AccessError(Error):
    """Means that the daemon was not given the token or certificate that it asks for (UNAUTHENTICATED,
    PERMISSION_DENIED), or that a volume or output must not be read or written with the keys that there are."""


class ReplacedError(Error):
    """Means that model or plan was replaced while the volume was under way (FAILED_PRECONDITION), or the output in a
    bucket by another call."""


# Errors that come again if the same is tried again.
LASTING = (InvalidError, NotFoundError, UnsupportedError, AccessError)

_KINDS: dict[grpc.StatusCode, type[Error]] = {
    grpc.StatusCode.INVALID_ARGUMENT: InvalidError,
    grpc.StatusCode.NOT_FOUND: NotFoundError,
    grpc.StatusCode.UNAVAILABLE: UnavailableError,
    grpc.StatusCode.DEADLINE_EXCEEDED: UnavailableError,
    grpc.StatusCode.RESOURCE_EXHAUSTED: OverBudgetError,
    grpc.StatusCode.UNIMPLEMENTED: UnsupportedError,
    grpc.StatusCode.UNAUTHENTICATED: AccessError,
    grpc.StatusCode.PERMISSION_DENIED: AccessError,
    grpc.StatusCode.FAILED_PRECONDITION: ReplacedError,
}

_QUESTION = "is znnid running there?"
# TLS ends a connection without a reason that gRPC could tell.
_TLS_QUESTION = (
    "is znnid running there, with TLS? does it ask for a client certificate that its --grpc-root-cert signed?"
)


def is_unanswered(error: grpc.RpcError) -> bool:
    """Returns whether gRPC or a proxy made this status because no daemon answered: znnid marks its own."""
    marks = [key for key, _ in error.trailing_metadata() or ()]
    silent = error.code() in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED)
    return silent and "answered-by" not in marks


def from_rpc(error: grpc.RpcError, address: str, tls: bool = False) -> Error:
    """Returns the Error of a call that ended with a status, in one line, with TLS as a reason where it is used."""
    message = " ".join((error.details() or error.code().name).split())
    if is_unanswered(error):
        message = f"no answer from {address}: {message} ({_TLS_QUESTION if tls else _QUESTION})"
    return _KINDS.get(error.code(), Error)(message, error.code())

"""A connection to one znnid, with the calls that come before a stream."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import grpc

from znni import wire
from znni.calls.stop import ending
from znni.errors import Error, from_rpc
from znni.model import Model, model_of

_ANSWER_SECONDS = 10
_OPTIONS = [
    ("grpc.max_receive_message_length", 8 << 20),
    ("grpc.max_send_message_length", 8 << 20),
    ("grpc.keepalive_time_ms", 5 * 60 * 1000),
    ("grpc.enable_http_proxy", 0),
]


class Connection:
    """Is a channel to ``address``, HOST:PORT. Sends nothing until it is asked to.

    With ``credentials`` it uses TLS; ``token`` goes with every call.
    """

    def __init__(self, address: str, credentials: grpc.ChannelCredentials | None = None, token: str = "") -> None:
        self.address = address
        self._tls = credentials is not None
        self._metadata = [("authorization", f"Bearer {token}")] if token else []
        self._channel = (
            grpc.secure_channel(address, credentials, _OPTIONS)
            if credentials
            else grpc.insecure_channel(address, _OPTIONS)
        )

    def close(self) -> None:
        """Ends the connection and all its calls."""
        self._channel.close()

    def ask(self, method: str, request: Any, answer: Any) -> Any:
        """Returns the ``answer`` to a request. Raises Error if there is none within ten seconds."""
        ask = self._channel.unary_unary(method, type(request).SerializeToString, answer.FromString)
        call = ask.future(request, timeout=_ANSWER_SECONDS, metadata=self._metadata)
        try:
            with ending(call.cancel):
                return call.result()
        except grpc.RpcError as error:
            raise self.explained(error) from None

    def explained(self, error: grpc.RpcError) -> Error:
        """Returns the Error of a call that ended with a status."""
        return from_rpc(error, self.address, self._tls)

    def stream(self, requests: Iterator[Any]) -> Any:
        """Returns a call of Volumes.Infer, which iterates over ``requests`` in a thread of its own."""
        call = self._channel.stream_stream(
            wire.INFER, wire.VolumeRequest.SerializeToString, wire.VolumeResponse.FromString
        )
        return call(requests, metadata=self._metadata)

    def outlook(self, header: Any) -> Any:
        """Returns the daemon's VolumeOutlook for a stream that would begin with this header."""
        return self.ask(wire.OUTLOOK, header, wire.VolumeOutlook)

    def models(self) -> dict[str, str]:
        """Returns the daemon's models, each with "ready" or its state and the reason for it."""
        index = self.ask(wire.REPOSITORY_INDEX, wire.RepositoryIndexRequest(), wire.RepositoryIndexResponse)
        return {
            model.name: "ready" if model.state == "READY" else f"{model.state} {model.reason}".strip()
            for model in index.models
        }

    def model(self, name: str, version: str = "") -> Model:
        """Returns the facts of a model; version "" is the newest."""
        ready = self.ask(wire.MODEL_READY, wire.ModelReadyRequest(name=name, version=version), wire.ModelReadyResponse)
        metadata = self.ask(
            wire.MODEL_METADATA, wire.ModelMetadataRequest(name=name, version=version), wire.ModelMetadataResponse
        )
        return model_of(metadata, ready.ready, version)

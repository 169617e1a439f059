"""Who computes the blocks on one machine: a daemon of its own, or daemons that run already."""

from __future__ import annotations

import hashlib
import os
import pathlib
import time
from collections.abc import Sequence
from typing import Any

from znni.blocks.spec import JobSpec
from znni.box import Triple
from znni.client import Client
from znni.errors import LASTING, AccessError, Error, InvalidError, NotFoundError
from znni.local.private_daemon import PrivateDaemon
from znni.local.repository import files_of, own_config
from znni.model import Model

_PART = 1 << 20
_ALONE_SECONDS = 600  # how long a daemon that runs already may be away
_OTHERS_SECONDS = 10  # the same if there are others
_AWAY_SECONDS = 60.0  # until one that was left is asked again; twice as long each time
_MAX_AWAY_SECONDS = 3600.0


_WHICH = {"numbers": ": its numbers", "config": ": its configuration"}  # file of a network's


def digests_of(network: str, config: str | None) -> dict[str, str]:
    """Returns the SHA-256 of the files of a network: its own, its numbers if it is of Caffe, and its configuration.
    Raises NotFoundError if one is missing."""
    return {name: _digest_of(path) for name, path in _named_files(network, config).items()}


def _named_files(network: str, config: str | None) -> dict[str, str | os.PathLike]:
    own = dict(zip(("network", "numbers"), files_of(pathlib.Path(network)), strict=False))
    beside = config or own_config(pathlib.Path(network))
    return {**own, "config": beside} if beside else {**own}


def _digest_of(path: str | os.PathLike) -> str:
    found = hashlib.sha256()
    try:
        with open(path, "rb") as file:
            while part := file.read(_PART):
                found.update(part)
        return found.hexdigest()
    except OSError as error:
        raise NotFoundError(f"{path}: {error.strerror}") from None


def check_files(spec: JobSpec, network: str) -> None:
    """Raises InvalidError if the network or its configuration was changed."""
    for name, digest in (digests_of(network, spec.config) if network else {}).items():
        if spec.digests.get(name) != digest:
            path = f"{network}{_WHICH.get(name, '')}"
            raise InvalidError(f"{path}: was changed after the job was made: make the job again with 'znni-job plan'")


def form_of(model: Model) -> dict[str, Any]:
    """Returns what blocks of different daemons must have in common, as JSON has it."""
    facts = {
        "channels": model.channels,
        "output_channels": model.output_channels,
        "period": model.period,
        "field_of_view": model.field_of_view,
        "padding": model.padding,
        "window": model.window,
        "window_overlap": model.window_overlap,
    }
    if "fingerprint" in model.properties:  # not of older daemons
        facts["fingerprint"] = model.properties["fingerprint"]
    return {name: _listed(value) for name, value in facts.items()}


def _listed(value: Any) -> Any:
    return [_listed(part) for part in value] if isinstance(value, tuple) else value


def serving_of(spec: JobSpec, turn: int = 0, servers: Sequence[str] | None = None, model: str = "") -> Serving:
    """Returns who computes blocks of a job. ``servers`` and ``model`` are used instead of the job's; no servers are a
    daemon of our own."""
    servers = spec.servers if servers is None else servers
    return Serving(
        network="" if servers else spec.network,
        mem=spec.mem,
        threads=spec.threads,
        config=spec.config,
        model=model or spec.model,
        servers=list(servers),
        turn=turn,
        form=spec.form,
        volume=spec.planned,
    )


class Serving:
    """Is a context that serves ``network`` by a daemon of its own. If ``servers`` are named, one of them serves the
    model ``model``: the ``turn``-th at first, and again once it is back. ``facts`` are those of the model once there is
    a client.

    ``form`` is what form_of() must return for the model, if it is known. ``volume`` is the extent that a daemon of its
    own plans for; None is no extent.
    """

    def __init__(
        self,
        *,
        network: str,
        mem: str | None,
        threads: int | None,
        config: str | None,
        model: str,
        servers: list[str],
        turn: int = 0,
        form: dict[str, Any] | None = None,
        volume: Triple | None = None,
    ) -> None:
        if bool(network) == bool(servers):
            raise InvalidError("--network and --server: one of them is needed, not both")
        self.model = model
        self.facts: Model
        self._network = network
        self._limits = {"mem": mem, "threads": threads, "config": config, "volume": volume}
        self._servers = servers
        self._turn = self._first_turn = turn
        self._form = form
        self._client: Client | None = None
        self._daemon: PrivateDaemon | None = None
        self._away_seconds = _AWAY_SECONDS / 2  # before it is doubled for the first time
        self._return_at = 0.0

    def __enter__(self) -> Serving:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def client(self) -> Client:
        """Returns a client of the daemon, which is started unless it runs, or of the first server that answers. Raises
        Error if there is none."""
        self._return()
        errors: list[Error] = []
        for _ in self._servers or [""]:
            try:
                return self._connected()
            except Error as error:
                errors.append(self.drop(error))
        raise next((error for error in errors if not isinstance(error, LASTING)), errors[0])

    @property
    def has_moved(self) -> bool:
        """Returns whether a server was left for another."""
        return len(self._servers) > 1 and self._turn != self._first_turn

    @property
    def server(self) -> str:
        """Returns the server that is used, or is tried next; "" for a daemon of its own."""
        return self._servers[self._turn % len(self._servers)] if self._servers else ""

    def is_lasting(self, error: Exception) -> bool:
        """Returns whether ``error`` comes again, whichever server is asked."""
        of_server = isinstance(error, (NotFoundError, AccessError)) and not error.is_of_store
        others = len(self._servers) > 1 and of_server
        return isinstance(error, LASTING) and not others

    def drop(self, error: Error) -> Error:
        """Ends with the daemon in use, so that client() starts it again, or takes the next of ``servers``. Returns
        ``error``, or what the daemon said last if it has ended."""
        explained = self._daemon.explained(error) if self._daemon else error
        self.stop()
        if not self.has_moved:
            self._stay_away()
        self._turn += 1
        return explained

    def plan_for(self, volume: Triple) -> None:
        """Ends the daemon, so that client() starts one that plans for volumes of this extent."""
        self.stop()
        self._limits["volume"] = volume

    @property
    def planning_seconds(self) -> float:
        """Returns what a daemon of its own took to plan; 0 if it had a plan, or if there is none."""
        return self._daemon.planning_seconds if self._daemon else 0.0

    @property
    def daemon_pid(self) -> int | None:
        """Returns the process of a daemon of its own, if there is one."""
        process = self._daemon.process if self._daemon else None
        return process.pid if process else None

    def stop(self) -> None:
        """Ends the daemon of this machine, and the connection."""
        if self._client is not None:
            self._client.close()
        if self._daemon is not None:
            self._daemon.stop()
        self._client = self._daemon = None

    def _return(self) -> None:
        """Goes back to the first server, which another stands in for, if it is time to ask it and it serves the
        model."""
        if self._client is None or not self.has_moved or time.monotonic() < self._return_at:
            return
        turn, client, facts = self._turn, self._client, self.facts
        self._turn, self._client = self._first_turn, None
        try:
            with Client(self.server, retry_seconds=0) as asked:
                asked.model(self.model)
            self._use(self._connect())
            client.close()
        except Error:
            self.stop()
            self._turn, self._client, self.facts = turn, client, facts
            self._stay_away()

    def _stay_away(self) -> None:
        """Sets when the first server is asked again: later each time, because it may answer and still fail each
        block."""
        self._away_seconds = min(2 * self._away_seconds, _MAX_AWAY_SECONDS)
        self._return_at = time.monotonic() + self._away_seconds

    def _connected(self) -> Client:
        if self._client is None:
            self._use(self._connect())
        assert self._client is not None
        return self._client

    def _use(self, client: Client) -> None:
        """Takes the client of a daemon, whose model must be that of the job."""
        self._client = client
        self.facts = client.model(self.model)
        self._check_form()

    def _check_form(self) -> None:
        found = form_of(self.facts)
        for name, value in (self._form or {}).items():
            if found.get(name) != value:
                self.stop()
                raise InvalidError(
                    f"model '{self.model}': {name} {found.get(name)} found, expected {value}: model or "
                    "znnid are others than when the job was made"
                )

    def _connect(self) -> Client:
        if self._servers:
            seconds = _ALONE_SECONDS if len(self._servers) == 1 else _OTHERS_SECONDS
            return Client(self.server, retry_seconds=seconds)
        self._daemon = PrivateDaemon(self._network, **self._limits)  # type: ignore[arg-type]
        self._daemon.__enter__()  # stop() knows of it already if a Ctrl-C comes now
        self.model = self._daemon.model
        return Client(self._daemon.address, retry_seconds=0)

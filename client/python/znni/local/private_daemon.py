"""A znnid of our own for one network, on a free port of this machine, for as long as it is needed."""

from __future__ import annotations

import os
import subprocess
import time
import warnings
from collections.abc import Mapping

from znni.box import Triple
from znni.calls.connection import Connection
from znni.errors import Error, NotServedError, UnavailableError
from znni.local.daemon_process import DaemonProcess
from znni.local.installed import find_program
from znni.local.own_folder import OwnFolder
from znni.local.repository import Config, make_repository
from znni.progress import Notice, Wanted

_POLL_SECONDS = 0.1
_PLANNING = "LOADING planning"  # begins the state of a model for which the daemon has no plan yet
_LAST_WORDS_SECONDS = 5
# What the daemon says of a network that is bound to a window which it does not know, and what helps its users.
_ITS_WINDOW = "with --volume Z,Y,X or the parameter 'window' of its config.pbtxt"
_OUR_WINDOW = "with the parameter 'window' of its config, in znni run --parameter window=Z,Y,X"


class PrivateDaemon:
    """Is a context in which ``network``, a file of ONNX or Caffe, is served at ``address`` as ``model``.

    ``mem`` bounds the daemon's memory ("8G"), ``threads`` those that compute; None is the daemon's default. ``volume``
    is the extent that it plans for, ``is_padded`` says that volumes are padded to have outputs of it. While it plans it
    says how far it is, if ``progress`` is True. It ends with the context, and with this process. ``planning_seconds``
    is what it took to plan, which it need not do where a plan is kept.
    """

    def __init__(
        self,
        network: str | os.PathLike,
        *,
        mem: str | int | None = None,
        threads: int | None = None,
        config: Config = None,
        volume: Triple | None = None,
        is_padded: bool = False,
        progress: Wanted = True,
    ) -> None:
        self.model = ""
        self.planning_seconds = 0.0
        self._network = network
        self._config = config
        self._limits = {"mem": mem, "threads": threads, "volume": volume and ",".join(map(str, volume))}
        self._flags = ["--volume-is-padded"] if volume and is_padded else []
        self._progress = progress
        self._running = DaemonProcess()
        self._folder: OwnFolder | None = None
        self._repository = ""

    @property
    def address(self) -> str:
        """Returns the daemon's address; "" until it listens."""
        return self._running.address

    @property
    def process(self) -> subprocess.Popen | None:
        """Returns the process while there is one."""
        return self._running.process

    def __enter__(self) -> PrivateDaemon:
        try:
            self._start()
            self._wait_until_ready()
            self._pass_on_warnings()
            return self
        except BaseException:
            self.stop()
            raise

    def _pass_on_warnings(self) -> None:
        """Warns of what the daemon warned of in the configuration, such as a parameter that has no effect."""
        for line in self._running.lines():
            _, separator, text = line.partition(" warning ")
            if separator and "config.pbtxt: " in text:
                warnings.warn(self._of_user(text), stacklevel=4)

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Ends the daemon, if it runs, and removes its folder. The thread that reads the log may call it, too."""
        try:
            self._running.stop()
        finally:
            if self._folder is not None:
                self._folder.cleanup()
                self._folder = None

    def explained(self, error: Error) -> Error:
        """Returns ``error``, or what the daemon said last if it has ended. Waits some seconds for the end of one that
        no longer answers."""
        code = self._running.wait(_LAST_WORDS_SECONDS if isinstance(error, UnavailableError) else 0)
        if code is None:
            return error
        return UnavailableError(f"znnid ended with exit code {code}: {self._of_user(self._running.last_line())}")

    def _start(self) -> None:
        program = find_program("znnid", "ZNNID")
        self._folder = OwnFolder()
        self._repository = self._folder.name
        self.model = make_repository(self._repository, self._network, self._config)
        command = [
            program,
            "--model-repository",
            self._repository,
            "--grpc-address",
            "127.0.0.1",
            "--grpc-port",
            "0",
            "--metrics-port",
            "-1",
            "--exit-timeout-secs",
            "1",
        ]
        for name, value in self._limits.items():
            command += [f"--{name}", str(value)] if value is not None else []
        command += self._flags
        if not self._running.start(command):
            raise self._not_started()

    def _not_started(self) -> Error:
        """Returns the error of a daemon that ended before it listened: what it refused will be refused again, but it
        may have been killed."""
        code = self._running.wait() or 0
        error = self.explained(UnavailableError("znnid was stopped before it listened"))
        return NotServedError(str(error)) if code > 0 else error

    def _of_user(self, text: str) -> str:
        """Returns what the daemon says with the paths of the user's files, which it reads in its own folder, and with
        what the user may say."""
        network = os.path.splitext(os.fspath(self._network))[0]
        for ending in (".onnx", ".prototxt", ".caffemodel"):
            text = text.replace(f"{self._repository}/{self.model}/1/model{ending}", network + ending)
        text = text.replace(_ITS_WINDOW, _OUR_WINDOW)
        given = "config" if self._config is None or isinstance(self._config, Mapping) else os.fspath(self._config)
        return text.replace(f"{self._repository}/{self.model}/config.pbtxt", given)

    def _wait_until_ready(self) -> None:
        notice = Notice(self._progress)
        connection = Connection(self.address)
        asked = time.monotonic()
        try:
            while True:
                state = self._state(connection)
                asked, before = time.monotonic(), asked
                self.planning_seconds += asked - before if state.startswith(_PLANNING) else 0.0
                if state == "ready":
                    return
                if state.startswith("UNAVAILABLE"):
                    raise NotServedError(self._of_user(state.partition(" ")[2] or state))
                notice.show(f"{self.model}: {state}")
                time.sleep(_POLL_SECONDS)
        finally:
            notice.close()
            connection.close()

    def _state(self, connection: Connection) -> str:
        try:
            return connection.models().get(self.model, "UNAVAILABLE the daemon does not know it")
        except Error as error:
            raise self.explained(error) from None

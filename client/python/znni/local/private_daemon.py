"""A znnid of our own for one network, on a free port of this machine, for as long as it is needed."""

from __future__ import annotations

import collections
import os
import re
import shutil
import subprocess
import threading
import time
import warnings
from collections.abc import Mapping
from typing import Any

from znni.box import Triple
from znni.calls.connection import Connection
from znni.errors import Error, NotServedError, UnavailableError
from znni.local.installed import find_program
from znni.local.own_folder import OwnFolder
from znni.local.repository import Config, make_repository
from znni.progress import Notice, Wanted

_POLL_SECONDS = 0.1
_LAST_WORDS_SECONDS = 5
_LAST_LINES = 20
_UNLESS_IT_DIED = '[ "$PPID" = "$0" ] && exec "$@"'  # before setpriv had asked the kernel
# What the daemon says of a network that is bound to a window which it does not know, and what helps its users.
_ITS_WINDOW = "with --volume Z,Y,X or the parameter 'window' of its config.pbtxt"
_OUR_WINDOW = "with the parameter 'window' of its config, in znni run --parameter window=Z,Y,X"


class PrivateDaemon:
    """Is a context in which ``network``, a file of ONNX, is served at ``address`` as ``model``.

    ``mem`` bounds the daemon's memory ("8G"), ``threads`` those that compute; None is the daemon's default. ``volume``
    is the extent that it plans for, ``is_padded`` says that volumes are padded to have outputs of it. While it plans it
    says how far it is, if ``progress`` is True. It ends with the context, and with this process.
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
        self.address = ""
        self.model = ""
        self.process: subprocess.Popen | None = None
        self._network = network
        self._config = config
        self._limits = {"mem": mem, "threads": threads, "volume": volume and ",".join(map(str, volume))}
        self._flags = ["--volume-is-padded"] if volume and is_padded else []
        self._progress = progress
        self._lines: collections.deque[str] = collections.deque(maxlen=_LAST_LINES)
        self._reader: threading.Thread | None = None
        self._failure: Exception | None = None
        self._starting = threading.Lock()
        self._is_stopped = False
        self._listening = threading.Event()
        self._folder: OwnFolder | None = None
        self._repository = ""

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
        for line in list(self._lines):
            _, separator, text = line.partition(" warning ")
            if separator and "config.pbtxt: " in text:
                warnings.warn(self._of_user(text), stacklevel=4)

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Ends the daemon, if it runs, and removes its folder. The thread that reads the log may call it, too: objects
        are collected in any thread."""
        with self._starting:
            self._is_stopped = True
        try:
            if self.process is not None:
                self._end(self.process)
                self.process = None
        finally:
            if self._folder is not None:
                self._folder.cleanup()
                self._folder = None

    def _end(self, process: subprocess.Popen) -> None:
        """Ends a daemon and waits for it, and for what reads its log."""
        process.terminate()
        try:
            process.wait(10)
        except BaseException:  # a second Ctrl-C, too
            process.kill()
            process.wait()
        self._join_reader()

    def _join_reader(self) -> None:
        """Waits until the log is read. The thread that reads it does not wait for itself."""
        if self._reader is not None and self._reader is not threading.current_thread():
            self._reader.join()

    def explained(self, error: Error) -> Error:
        """Returns ``error``, or what the daemon said last if it has ended. Waits some seconds for the end of one that
        no longer answers."""
        if self.process is None:
            return error
        try:
            self.process.wait(_LAST_WORDS_SECONDS if isinstance(error, UnavailableError) else 0)
        except subprocess.TimeoutExpired:
            return error
        self._join_reader()
        return UnavailableError(f"znnid ended with exit code {self.process.returncode}: {self._last_line()}")

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
        if shutil.which("setpriv"):  # of util-linux: the kernel ends the daemon when this process dies
            command = ["setpriv", "--pdeathsig", "TERM", "sh", "-c", _UNLESS_IT_DIED, str(os.getpid()), *command]
        self._reader = threading.Thread(target=self._run, args=(command,), daemon=True)
        self._reader.start()
        self._listening.wait()
        if self._failure is not None:
            raise self._failure
        if not self.address:
            raise self._not_started()

    def _not_started(self) -> Error:
        """Returns the error of a daemon that ended before it listened: what it refused will be refused again, but it
        may have been killed."""
        code = self.process.wait() if self.process is not None else 0
        error = self.explained(UnavailableError("znnid was stopped before it listened"))
        return NotServedError(str(error)) if code > 0 else error

    def _run(self, command: list[str]) -> None:
        """Starts the daemon and reads its log, in a thread of its own: the kernel ends the daemon with the thread that
        started it."""
        try:
            with self._starting:
                if self._is_stopped:  # by a Ctrl-C, before this thread ran
                    return
                # In a session of its own a Ctrl-C reaches this process alone, which then stops the daemon.
                self.process = subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.PIPE,
                    text=True,
                    errors="replace",
                    start_new_session=True,
                )
                log: Any = self.process.stderr
            with log:
                self._read(log)
        except Exception as error:
            self._failure = error
        finally:
            self._listening.set()

    def _read(self, log: Any) -> None:
        for line in log:
            self._lines.append(line.strip())
            match = re.search(r"listening on (127\.0\.0\.1:\d+)", line)
            if match:
                self.address = match[1]
                self._listening.set()

    def _last_line(self) -> str:
        """Returns the last error of the log, without its time, or else the last line."""
        errors = [line for line in self._lines if " error " in line]
        last = (errors or list(self._lines) or ["it said nothing"])[-1]
        return self._of_user(last.partition(" error ")[2] or last)

    def _of_user(self, text: str) -> str:
        """Returns what the daemon says with the paths of the user's files, which it reads in its own folder, and with
        what the user may say."""
        text = text.replace(f"{self._repository}/{self.model}/1/model.onnx", os.fspath(self._network))
        text = text.replace(_ITS_WINDOW, _OUR_WINDOW)
        given = "config" if self._config is None or isinstance(self._config, Mapping) else os.fspath(self._config)
        return text.replace(f"{self._repository}/{self.model}/config.pbtxt", given)

    def _wait_until_ready(self) -> None:
        notice = Notice(self._progress)
        connection = Connection(self.address)
        try:
            while True:
                state = self._state(connection)
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

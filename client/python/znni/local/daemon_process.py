"""The process of a znnid of our own, and the log in which it says where it listens and why it ends."""

from __future__ import annotations

import collections
import os
import re
import shutil
import subprocess
import threading
from collections.abc import Sequence
from typing import Any

_LAST_LINES = 20
_UNLESS_IT_DIED = '[ "$PPID" = "$0" ] && exec "$@"'  # before setpriv had asked the kernel


class DaemonProcess:
    """Is a process that start() starts, at most once. It listens at ``address`` once that is not empty. It ends with
    this process, too.

    Methods may be called in any thread, that which reads the log included: objects are collected in any thread.
    """

    def __init__(self) -> None:
        self.address = ""
        self.process: subprocess.Popen | None = None
        self._lines: collections.deque[str] = collections.deque(maxlen=_LAST_LINES)
        self._reader: threading.Thread | None = None
        self._failure: Exception | None = None
        self._starting = threading.Lock()
        self._is_stopped = False
        self._listening = threading.Event()

    def start(self, command: Sequence[str]) -> bool:
        """Starts it and waits until it listens. Returns False if it has ended, or was stopped, before. Raises what
        kept it from starting."""
        self._reader = threading.Thread(target=self._run, args=(_tied(command),), daemon=True)
        self._reader.start()
        self._listening.wait()
        if self._failure is not None:
            raise self._failure
        return bool(self.address)

    def stop(self) -> None:
        """Ends it, if it runs, and keeps it from starting later."""
        with self._starting:
            self._is_stopped = True
        if self.process is not None:
            self._end(self.process)
            self.process = None

    def wait(self, seconds: float | None = None) -> int | None:
        """Returns its exit code, once its log is read. Returns None if it has not ended after ``seconds``, or if there
        is no such process."""
        if self.process is None:
            return None
        try:
            code = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None
        self._join_reader()
        return code

    def lines(self) -> list[str]:
        """Returns the last lines of the log."""
        return list(self._lines)

    def last_line(self) -> str:
        """Returns the last error of the log, without its time, or else the last line."""
        lines = self.lines()
        errors = [line for line in lines if " error " in line]
        last = (errors or lines or ["it said nothing"])[-1]
        return last.partition(" error ")[2] or last

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


def _tied(command: Sequence[str]) -> list[str]:
    """Returns the command of a process that the kernel ends when this one dies: by setpriv of util-linux, if it is
    there."""
    if not shutil.which("setpriv"):
        return list(command)
    return ["setpriv", "--pdeathsig", "TERM", "sh", "-c", _UNLESS_IT_DIED, str(os.getpid()), *command]

"""What all programs have in common: exit codes, lines on standard error, signals."""

from __future__ import annotations

import argparse
import signal
import sys
import warnings
from collections.abc import Callable
from typing import NoReturn

from znni.errors import LASTING, Error

DONE, MAY_HELP, WRONG, INTERRUPTED = 0, 1, 2, 130  # MAY_HELP: run it again; WRONG: running it again does not help


def say(text: str) -> None:
    """Writes a line to standard error."""
    print(text, file=sys.stderr, flush=True)


def _line(message: object) -> str:
    return " ".join(str(message).split())


class OneLineParser(argparse.ArgumentParser):
    """Reads the arguments of a program. What is wrong with them is one line, without the usage, and exit code WRONG."""

    def error(self, message: str) -> NoReturn:
        say(f"{self.prog}: {_line(message)}; see {self.prog} --help")
        raise SystemExit(WRONG)


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def run_program(name: str, work: Callable[[], int], interrupted: str, lasting: tuple = LASTING) -> int:
    """Returns the exit code of ``work``, or that of its error, which it writes as one line: WRONG for one of
    ``lasting``.

    Ctrl-C, a closed terminal and SIGTERM, which schedulers send before they take the machine away, interrupt ``work``.
    ``interrupted`` says what is left then. A warning is one line, too, each time.
    """
    signal.signal(signal.SIGTERM, _interrupt)
    if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:  # as nohup has it
        signal.signal(signal.SIGHUP, _interrupt)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", UserWarning)
            warnings.showwarning = lambda message, *_: say(f"{name}: warning: {_line(message)}")
            return work()
    except KeyboardInterrupt:
        say(f"{name}: interrupted; {interrupted}")
        return INTERRUPTED
    except Exception as error:  # stores and codecs raise what they like
        kind = "" if isinstance(error, (Error, OSError)) else f"{type(error).__name__}: "
        say(f"{name}: {kind}{_line(error)}")
        return WRONG if isinstance(error, lasting) else MAY_HELP

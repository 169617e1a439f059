"""Exit codes and lines of programs."""

import contextlib
import io
import os
import signal
import unittest
import warnings

from znni.errors import LASTING, InvalidError, NotServedError, UnavailableError
from znni.programs.frame import DONE, INTERRUPTED, MAY_HELP, WRONG, OneLineParser, run_program


class FrameTest(unittest.TestCase):
    def setUp(self):
        for number in (signal.SIGTERM, signal.SIGHUP):
            self.addCleanup(signal.signal, number, signal.getsignal(number))

    def end(self, work):
        """Returns (exit code, standard error)."""
        with contextlib.redirect_stderr(io.StringIO()) as err:
            code = run_program("znni-x", work, "nothing is left", (*LASTING, NotServedError))
        return code, err.getvalue()

    def failing(self, error):
        def work():
            raise error

        return work

    def test_returns_what_the_work_returns(self):
        self.assertEqual(self.end(lambda: DONE), (DONE, ""))

    def test_an_error_is_one_line(self):
        self.assertEqual(self.end(self.failing(InvalidError("a:\n  b"))), (WRONG, "znni-x: a: b\n"))
        self.assertEqual(self.end(self.failing(NotServedError("b"))), (WRONG, "znni-x: b\n"))
        self.assertEqual(self.end(self.failing(UnavailableError("away"))), (MAY_HELP, "znni-x: away\n"))
        self.assertEqual(self.end(self.failing(KeyError("k"))), (MAY_HELP, "znni-x: KeyError: 'k'\n"))

    def test_a_warning_is_one_line_each_time(self):
        def work():
            for _ in range(2):
                warnings.warn("a is\n late", stacklevel=1)
            return DONE

        self.assertEqual(self.end(work), (DONE, 2 * "znni-x: warning: a is late\n"))

    def test_wrong_arguments_are_one_line(self):
        parser = OneLineParser(prog="znni-x")
        parser.add_argument("--count", type=int)
        parser.add_subparsers(metavar="a", required=True).add_parser("a").add_argument("volume")
        for arguments, words in (
            (("--count=x",), "znni-x: argument --count: invalid int value: 'x'; see znni-x --help"),
            ((), "znni-x: the following arguments are required: a; see znni-x --help"),
            (("a",), "znni-x a: the following arguments are required: volume; see znni-x a --help"),
        ):
            with contextlib.redirect_stderr(io.StringIO()) as err, self.assertRaises(SystemExit) as end:
                parser.parse_args(arguments)
            self.assertEqual((end.exception.code, err.getvalue()), (WRONG, words + "\n"))

    def test_signals_interrupt(self):
        for work in (
            self.failing(KeyboardInterrupt()),
            lambda: os.kill(os.getpid(), signal.SIGTERM),
            lambda: os.kill(os.getpid(), signal.SIGHUP),
        ):
            self.assertEqual(self.end(work), (INTERRUPTED, "znni-x: interrupted; nothing is left\n"))

    def test_a_closed_terminal_ends_nothing_that_it_should_not(self):
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        self.assertEqual(self.end(lambda: os.kill(os.getpid(), signal.SIGHUP) or DONE), (DONE, ""))


if __name__ == "__main__":
    unittest.main()

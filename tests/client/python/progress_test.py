"""Bars, lines and calls."""

import io
import sys
import unittest
from unittest import mock

from znni.progress import Bar, Line, Notice, Silent, open_progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


class ProgressTest(unittest.TestCase):
    def line(self, stream, *steps):
        with mock.patch.dict(sys.modules, {"tqdm": None, "tqdm.auto": None}):
            shown = open_progress(True, "net", 200.0, stream)
        self.assertIsInstance(shown, Line)
        for step in steps:
            shown.show(step)
        shown.close()
        return stream.getvalue()

    def test_a_line_for_each_tenth(self):
        expected = "net: 0 % of 200 voxels\nnet: 50 % of 200 voxels\nnet: 100 % of 200 voxels\n"
        self.assertEqual(self.line(io.StringIO(), 1, 2, 110, 117, 200), expected)

    def test_one_line_on_a_terminal(self):
        self.assertEqual(self.line(Terminal(), 2, 2, 200), "\rnet: 1 % of 200 voxels\rnet: 100 % of 200 voxels\n")

    def test_tqdm(self):
        with mock.patch("sys.stderr", io.StringIO()) as stream:
            shown = open_progress(True, "net", 200.0)
            self.assertIsInstance(shown, Bar)
            shown.show(50)
            shown.show(200)
            shown.close()
        self.assertIn("net: 100%", stream.getvalue())

    def test_calls(self):
        calls = []
        shown = open_progress(lambda *both: calls.append(both), "net", 200.0)
        shown.show(50)
        shown.close()
        self.assertEqual(calls, [(50, 200.0)])

    def test_notices(self):
        for stream, expected in ((io.StringIO(), "one\n"), (Terminal(), "\r\x1b[Kone\r\x1b[Ktwo\r\x1b[K")):
            notice = Notice(True, stream)
            notice.show("one")
            notice.show("two")
            notice.close()
            self.assertEqual(stream.getvalue(), expected)
        silent = Terminal()
        Notice(False, silent).show("one")
        self.assertEqual(silent.getvalue(), "")

    def test_nothing(self):
        shown = open_progress(False, "net", 200.0)
        self.assertIs(type(shown), Silent)
        shown.show(1)


if __name__ == "__main__":
    unittest.main()

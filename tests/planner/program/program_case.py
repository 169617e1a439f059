"""The base of the tests of the program `planner`. Usage: X_test.py PLANNER SOURCE_ROOT PLUGIN SIMULATED_GPU."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))

from small_net import SMALL


class ProgramCase(unittest.TestCase):
    """Runs the program in a folder of its own, on a small network."""

    program = ""
    golden = pathlib.Path()
    example = ""
    simulated = ""
    networks = pathlib.Path()

    def setUp(self):
        self.kept = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.kept.name)
        self.small = self.folder / "small.pbtxt"
        self.small.write_text(SMALL)

    def tearDown(self):
        self.kept.cleanup()

    def environment(self):
        return {**os.environ, "XDG_STATE_HOME": str(self.folder / "state")}

    def run_planner(self, *arguments):
        return subprocess.run(
            [self.program, *map(str, arguments)],
            capture_output=True,
            text=True,
            timeout=300,
            env=self.environment(),
            check=False,
        )

    def good(self, *arguments):
        done = self.run_planner(*arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def refused(self, code, *arguments):
        """Returns the one line on stderr."""
        done = self.run_planner(*arguments)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertEqual(done.stdout, "")
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertTrue(done.stderr.startswith("planner: "), done.stderr)
        return done.stderr


def main():
    """Takes the programs from the command line; the rest of it is unittest's."""
    ProgramCase.program = sys.argv.pop(1)
    root = pathlib.Path(sys.argv.pop(1))
    ProgramCase.networks = root / "planner" / "networks"
    ProgramCase.golden = root / "tests" / "golden"
    ProgramCase.example = sys.argv.pop(1)
    ProgramCase.simulated = sys.argv.pop(1)
    unittest.main()

"""Tests served.py with a tiny volume. Usage: served_test.py FOLDER-OF-PROGRAMS."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

import nets
import served
from harness import Daemon


class ServedTest(unittest.TestCase):
    programs = pathlib.Path()

    def measure(self, *arguments):
        script = pathlib.Path(served.__file__)
        return subprocess.run(
            [sys.executable, script, "--programs", self.programs, *map(str, arguments)],
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    def test_compares_both_pairs(self):
        with tempfile.TemporaryDirectory() as repository:
            nets.save(nets.small_net(1), repository, "net")
            done = self.measure(
                "--extent",
                "20,70,90",
                "--repetitions",
                2,
                "--model-repository",
                repository,
                "--model",
                "net",
                "--model-extent",
                "20,30,40",
                "--model-mem",
                "300M",
            )
        self.assertEqual(done.returncode, 0, done.stderr)
        found = json.loads(done.stdout)
        self.assertEqual(len(found["echo"]["daemon"]["seconds"]), 2)
        self.assertEqual(len(found["process"]["process"]["seconds"]), 2)
        self.assertGreater(found["echo"]["of_the_echo's_rate"], 0)
        self.assertGreater(found["process"]["over_the_process"], 0)
        self.assertGreater(found["echo"]["daemon_most_transport_bytes"], 0)
        self.assertLess(found["echo"]["daemon_most_resident_bytes"], 1 << 30)

    def test_a_net_that_changes_what_it_gets_is_found(self):
        with tempfile.TemporaryDirectory() as folder:
            served.identity(folder)
            (pathlib.Path(folder) / "same/config.pbtxt").write_text(served.SAME.replace("0.0039", "0.0139"))
            with Daemon(folder) as daemon:
                program = self.programs / "znni-served"
                done = subprocess.run(
                    [program, "stream", "--server", daemon.url, "--model", "same", "--extent", "3,8,8", "--same"],
                    capture_output=True,
                    text=True,
                    timeout=60,
                    check=False,
                )
        self.assertEqual(done.returncode, 1)
        self.assertIn("plane 0 came back changed", done.stderr)

    def test_wrong_use_is_one_line(self):
        done = self.measure("--extent", "20x70")
        self.assertEqual(done.returncode, 2)
        self.assertIn("write Z,Y,X", done.stderr)


if __name__ == "__main__":
    ServedTest.programs = pathlib.Path(sys.argv.pop())
    unittest.main()

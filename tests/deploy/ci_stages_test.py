"""The stages of .ci/run: those in the background run beside the others, fail the whole, and end with it.
Usage: ci_stages_test.py SOURCE-FOLDER"""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(sys.argv.pop())


class CiStagesTest(unittest.TestCase):
    def setUp(self):
        kept = tempfile.TemporaryDirectory()
        self.addCleanup(kept.cleanup)
        self.root = pathlib.Path(kept.name)
        for name in (".ci/stages.sh", "deploy/lib/setup.sh"):
            (self.root / name).parent.mkdir(parents=True)
            shutil.copy(SOURCE / name, self.root / name)

    def start(self, script):
        """Starts a script of stages as a terminal does, in a process group of its own."""
        # With the lowest priority the background would wait for minutes on a busy machine.
        head = "set -euo pipefail\n. deploy/lib/setup.sh\n. .ci/stages.sh\nchrt() { :; }\nmkfifo here there\n"
        return subprocess.Popen(
            ["bash", "-c", head + script],
            cwd=self.root,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )

    def run_stages(self, script):
        """The exit code of a script of stages, and what it printed."""
        process = self.start(script)
        self.addCleanup(process.kill)
        output, _ = process.communicate(timeout=100)
        return process.returncode, output

    def test_a_stage_in_the_background_runs_beside_others_and_has_its_row(self):
        # Each waits for the other, at both ends of a pipe.
        code, output = self.run_stages(
            """answer() { read -r line <there; echo "$line again" >here; }
            beside "slow build" answer
            begin_stage "tests"
            echo hello >there
            cat here
            await "slow build"
            untested+=("what needs a GPU")"""
        )
        self.assertEqual(code, 0, output)
        self.assertIn("hello again", output)
        self.assertRegex(output, r"(?m)^ +\d+ +\d+ +\d+ s  tests$")
        self.assertRegex(output, r"(?m)^ +\d+ +\d+ +\d+ s  slow build, in the background$")
        self.assertRegex(output, r"(?m)^NOT TESTED HERE, 1: what needs a GPU; $")
        self.assertNotIn("FAILED", output)

    def test_stages_in_the_background_are_a_line(self):
        code, output = self.run_stages(
            """beside "first" bash -c 'read -r line <here; echo first >>order'
            beside "second" bash -c 'echo second >>order'
            echo go >here
            await "second"
            await "first"
            cat order"""
        )
        self.assertEqual(code, 0, output)
        self.assertIn("first\nsecond\n", output)

    def test_a_failure_in_the_background_fails_the_whole_with_its_log(self):
        code, output = self.run_stages(
            """build() { echo "it does not compile"; false; echo "went on"; }
            beside "build" build
            begin_stage "tests"
            await "build"
            echo "nothing was noticed" """
        )
        self.assertEqual(code, 1, output)
        self.assertIn("it does not compile", output)
        self.assertNotIn("went on", output)
        self.assertNotIn("nothing was noticed", output)
        self.assertRegex(output, r"(?m)^FAILED: waiting for: build$")

    # The background tells that it runs, and holds the other pipe open as long as it lives.
    BACKGROUND = """build() { exec 3>there; echo runs >here; sleep 1000; }
        beside "build" build
        begin_stage "tests"
        """

    def assert_background_ends(self, process):
        """The pipe that the background holds is closed, and the stage that was the last one has failed."""
        self.assertEqual(self.held.read(), "")
        output, _ = process.communicate(timeout=100)
        self.assertNotEqual(process.returncode, 0)
        self.assertRegex(output, r"(?m)^FAILED: tests$")
        self.assertRegex(output, r"(?m)^ +\d+ +\d+ +\d+ s  build, in the background$")

    def start_beside(self, script):
        """Starts a script, a stage in the background before it, and waits until that runs."""
        process = self.start(self.BACKGROUND + script)
        while not (self.root / "there").exists():
            self.assertIsNone(process.poll())
        self.held = (self.root / "there").open()
        self.addCleanup(self.held.close)
        return process

    def test_a_failure_ends_the_background(self):
        self.assert_background_ends(self.start_beside("cat here; false"))

    def test_an_interrupt_ends_the_background(self):
        process = self.start_beside("cat here; touch mark; sleep 1000")
        while not (self.root / "mark").exists():
            self.assertIsNone(process.poll())
        os.killpg(process.pid, signal.SIGINT)
        self.assert_background_ends(process)


if __name__ == "__main__":
    unittest.main()

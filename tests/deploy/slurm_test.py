"""deploy/slurm/blocks.sbatch with stand-ins for znni-job and scontrol.
Usage: slurm_test.py DEPLOY-FOLDER."""

import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

SCRIPT = pathlib.Path(sys.argv.pop()).resolve() / "slurm/blocks.sbatch"
LONGEST_START = 300.0
# Ends as a test says, or when it is told to.
RUN = """#!/bin/bash
trap 'echo "ended by TERM" >>{log}; kill $!; exit 130' TERM
echo "znni-job $*" >>{log}
[ -z "${{CODE:-}}" ] || exit "$CODE"
sleep 1000 &
echo >{log}.started
wait
"""
REQUEUE = '#!/bin/bash\necho "scontrol $*" >>{log}\n'


class SlurmTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.log = self.folder / "log"
        for name, text in (("znni-job", RUN), ("scontrol", REQUEUE)):
            (self.folder / name).write_text(text.format(log=self.log))
            (self.folder / name).chmod(0o755)
        others = {name: value for name, value in os.environ.items() if not name.startswith("SLURM_")}
        path = f"{self.folder}:{os.environ['PATH']}"
        self.environment = {**others, "PATH": path, "SLURM_ARRAY_JOB_ID": "815", "SLURM_ARRAY_TASK_ID": "7"}

    def start(self, *arguments):
        return subprocess.Popen(
            ["bash", SCRIPT, *arguments],
            env=self.environment,
            text=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )

    def signalled(self, number):
        """Returns the exit code of the script if it gets a signal while its run is under way, and what was called."""
        with self.start("dense.zarr", "100") as process:
            deadline = time.monotonic() + LONGEST_START
            while not pathlib.Path(f"{self.log}.started").exists():
                self.assertLess(time.monotonic(), deadline)
                time.sleep(0.01)
            process.send_signal(number)
        return process.returncode, self.log.read_text().splitlines()

    def test_exit_codes_are_those_of_the_run(self):
        for code in ("0", "1", "2"):
            self.environment["CODE"] = code
            with self.start("dense.zarr", "100") as process:
                pass
            self.assertEqual(process.returncode, int(code))
        self.assertEqual(self.log.read_text().splitlines(), 3 * ["znni-job run dense.zarr --shard 7/100"])

    def test_before_its_time_is_over_it_ends_its_run_and_lines_up_again(self):
        code, called = self.signalled(signal.SIGUSR1)
        self.assertEqual(code, 0)
        self.assertEqual(called[1:], ["ended by TERM", "scontrol requeue 815_7"])

    def test_a_cancelled_job_does_not_line_up(self):
        code, called = self.signalled(signal.SIGTERM)
        self.assertEqual((code, called[1:]), (143, ["ended by TERM"]))

    def test_wrong_use_is_one_line(self):
        for arguments, without, words in (
            (("dense.zarr",), None, "usage: sbatch --array=0-99 blocks.sbatch OUTPUT SHARDS"),
            (("dense.zarr", "100"), "SLURM_ARRAY_TASK_ID", "no --array found, expected --array=0-99"),
        ):
            self.environment.pop(without, None)
            with self.start(*arguments) as process:
                _, err = process.communicate()
            self.assertEqual((process.returncode, err.count("\n")), (2, 1))
            self.assertIn(words, err)

    def test_slurm_signals_the_script_itself_and_keeps_its_log(self):
        options = re.findall(r"^#SBATCH (--\S+)$", SCRIPT.read_text(), re.MULTILINE)
        for option in ("--signal=B:USR1@60", "--requeue", "--open-mode=append"):
            self.assertIn(option, options)


if __name__ == "__main__":
    unittest.main()

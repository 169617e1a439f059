"""The command deploy/compare, with stand-ins for what it installs, builds and runs. Usage: compare_test.py
DEPLOY-FOLDER."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

DEPLOY = pathlib.Path(sys.argv.pop(1)).resolve()
# As deploy/lib/setup.sh, but nothing is done.
SETUP = """
say() { :; }
die() { printf 'compare: %s\\n' "$*" >&2; exit 1; }
install_packages() { :; }
install_python() { :; }
build_preset() { :; }
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
"""
TORCH = "torch_malloc=(MALLOC_TOP_PAD_=1)\ntorch_environment=(env A=1)\n"
# Logs its arguments, and prints figures.
PYTHON = """#!/usr/bin/env bash
echo "MALLOC_TOP_PAD_=${MALLOC_TOP_PAD_:-} $*" >>"ROOT/calls"
case "$*" in *compare_run.py*) echo 'FIGURES' ;; esac
"""
FIGURES = {
    "seconds": 1.0,
    "processor_seconds": 2.0,
    "peak_bytes": 1 << 20,
    "difference": 0.1,
    "root_mean_square": 0.01,
    "lines": 3,
    "window": 64,
}


class CompareTest(unittest.TestCase):
    def setUp(self):
        kept = tempfile.TemporaryDirectory()
        self.addCleanup(kept.cleanup)
        self.root = pathlib.Path(kept.name)
        (self.root / "deploy/lib").mkdir(parents=True)
        (self.root / "build/venv/bin").mkdir(parents=True)
        shutil.copy(DEPLOY / "compare", self.root / "deploy")
        shutil.copy(DEPLOY / "lib/compare_report.py", self.root / "deploy/lib")
        (self.root / "deploy/lib/setup.sh").write_text(SETUP)
        (self.root / "deploy/lib/torch.sh").write_text(TORCH)
        for name in ("build/venv/bin/python", "python"):
            program = self.root / name
            program.write_text(PYTHON.replace("ROOT", str(self.root)).replace("FIGURES", json.dumps(FIGURES)))
            program.chmod(0o755)

    def call(self, *arguments):
        """Returns the finished process."""
        return subprocess.run(
            [self.root / "deploy/compare", *arguments],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            env={**os.environ, "GIT_DIR": str(self.root / "none")},
        )

    def test_wrong_words_end_in_one_line(self):
        for arguments in (
            ["--foo"],
            ["--peers"],
            ["--peers", "znni,other"],
            ["--peers", ","],
            ["--nets", "resnet"],
            ["--size", "32"],
            ["--size", "513"],
            ["--size", "many"],
            ["--window", "193"],
            ["--rounds", "0"],
            ["--rounds", "21"],
            ["--mem", "much"],
            ["--python", "/none/python"],
        ):
            with self.subTest(" ".join(arguments)):
                done = self.call(*arguments)
                self.assertEqual((done.returncode, done.stdout), (1, ""))
                self.assertRegex(done.stderr, r"^compare: [^\n]*\n$")
                self.assertIn(arguments[0], done.stderr)
        self.assertFalse((self.root / "calls").exists())

    def test_help_lists_all_options(self):
        done = self.call("--help")
        self.assertEqual(done.returncode, 0, done.stderr)
        for option in ("peers", "nets", "size", "window", "rounds", "mem", "output", "python", "help"):
            self.assertIn(f"--{option}", done.stdout)
        self.assertNotIn("set -e", done.stdout)

    def test_each_peer_is_run_with_the_same_limits(self):
        output = self.root / "out"
        options = ["--size", "96", "--window", "64", "--rounds", "2", "--mem", "2G", "--output", str(output)]
        done = self.call("--peers", "znni,monai", "--nets", "unet", "--python", str(self.root / "python"), *options)
        self.assertEqual(done.returncode, 0, done.stderr)
        calls = (self.root / "calls").read_text().splitlines()
        runs = [line.split("compare_run.py ")[1].split() for line in calls if "compare_run.py" in line]
        self.assertEqual([run[-2:] for run in runs], [["znni", "unet"], ["monai", "unet"]] * 2)
        limits = ["--folder", str(output), "--mem", "2G", "--threads", str(len(os.sched_getaffinity(0)))]
        self.assertEqual({tuple(run[:-2]) for run in runs}, {(*limits, "--window", "64")})
        self.assertTrue(all("MALLOC_TOP_PAD_=1 " in line for line in calls if "compare_run.py" in line))
        makes = [line for line in calls if "compare_nets.py" in line]
        self.assertEqual(len(makes), 1)
        self.assertIn("--size 96", makes[0])
        self.assertIn("2G, volume 96^3.", (output / "report.md").read_text())


if __name__ == "__main__":
    unittest.main()

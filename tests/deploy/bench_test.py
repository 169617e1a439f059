"""The command deploy/bench, with stand-ins for what it builds and runs. Usage: bench_test.py DEPLOY-FOLDER."""

import json
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

DEPLOY = pathlib.Path(sys.argv.pop(1)).resolve()

SETUP = """
say() { printf '\\n== %s\\n' "$*"; }
die() { printf 'bench: %s\\n' "$*" >&2; exit 1; }
install_packages() { :; }
install_python() { :; }
build_preset() { :; }
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
"""
LAYER = {"f": 80, "f_out": 80, "k": [3, 3, 3], "n": [64, 64, 64], "S": 1, "device": "a machine", "threads": 2,
         "flops_per_second": 1e11, "read_bytes_per_second": 1e10, "load": 0.1,
         "primitives": [{"primitive": "cpu.conv.onednn", "refusal": "a stand-in"}]}
NET = {"patch": [100] * 3, "S": 1, "bytes": 1 << 30,
       "runs": [{"kind": "warm", "seconds": 1, "measured_over_predicted": 1, "voxels_per_second": 100}]}
PEER = {"patch": [90] * 3, "bytes": 1 << 30, "voxels_per_second": 10}
# Logs its arguments; the file `do` may make it fail or wait.
STAND_IN = """#!/usr/bin/env bash
echo "$(basename "$0") $*" >>"{root}/calls"
. "{root}/do"
[ "$(basename "$0")" != planner ] || touch "${{@: -1}}"
[ "$1" != net ] || {{ echo '{net}'; exit 0; }}
echo '{other}'
"""


class BenchTest(unittest.TestCase):
    def setUp(self):
        kept = tempfile.TemporaryDirectory()
        self.addCleanup(kept.cleanup)
        self.root = pathlib.Path(kept.name)
        (self.root / "deploy" / "lib").mkdir(parents=True)
        shutil.copy(DEPLOY / "bench", self.root / "deploy")
        shutil.copy(DEPLOY / "lib" / "bench_report.py", self.root / "deploy" / "lib")
        (self.root / "deploy" / "lib" / "setup.sh").write_text(SETUP)
        (self.root / ".gitignore").write_text("build\ncalls\ndo\n")
        for path, other in (("release/bin/znni-bench", LAYER), ("release/bin/planner", {}), ("venv/bin/python", PEER)):
            program = self.root / "build" / path
            program.parent.mkdir(parents=True, exist_ok=True)
            program.write_text(STAND_IN.format(root=self.root, net=json.dumps(NET), other=json.dumps(other)))
            program.chmod(0o755)
        self.act("")
        for command in (["init", "-q"], ["add", "."], ["-c", "user.name=n", "-c", "user.email=e", "commit", "-qm", "m"]):
            subprocess.run(["git", "-C", str(self.root), *command], check=True)
        self.output = self.root / "build" / "output"

    def act(self, script):
        (self.root / "do").write_text(script)

    def command(self, *arguments):
        return [str(self.root / "deploy" / "bench"), "--output", str(self.output), *arguments]

    def bench(self, *arguments):
        (self.root / "calls").write_text("")
        return subprocess.run(self.command(*arguments), capture_output=True, text=True, timeout=240, check=False)

    def calls(self, start):
        return [line for line in (self.root / "calls").read_text().split("\n") if line.startswith(start)]

    def steps(self):
        return [json.loads(line)["step"] for line in (self.output / "results.jsonl").read_text().split("\n")[:-1]]

    def test_a_run_leaves_every_step_and_the_report(self):
        done = self.bench()
        self.assertEqual(done.returncode, 0, done.stderr)
        steps = self.steps()
        self.assertEqual(len(steps), len(set(steps)))
        for step in ("layer 80-80 k9 n64 S1", "layer 80-80 k5 n48 S8", "layer 28-36 k3 n64 S1",
                     "layer 80-80 k1,5,5 n64 S1", "net n926 paper 16G recorded", "onnxruntime n337 16G"):
            self.assertIn(step, steps)
        self.assertIn("| n337 16G | all primitives |", (self.output / "report.md").read_text())
        self.assertIn("<svg", (self.output / "ratios.svg").read_text())
        plans = self.calls("planner")
        self.assertEqual(len(plans), 8)
        self.assertEqual(sum("--enable" in call for call in plans), 4)
        self.assertTrue(all(str(self.output / "timings.pbtxt") in call for call in plans))

    def test_done_steps_are_not_run_again_and_failed_ones_are(self):
        self.act('[ "$1 $7" != "layer 9" ] || { echo broken >&2; exit 1; }\n')
        done = self.bench()
        self.assertEqual(done.returncode, 1)
        self.assertIn("'layer 80-80 k9 n64 S1'", done.stderr)
        self.assertNotIn("layer 80-80 k9 n64 S1", self.steps())
        before = len(self.steps())
        self.act("")
        done = self.bench()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(self.steps()), before + 1)
        self.assertEqual(len(self.calls("znni-bench")), 1)

    def test_full_has_all_layers_of_80(self):
        done = self.bench("--full", "--mem", "2G", "--patience", "model")
        self.assertEqual(done.returncode, 0, done.stderr)
        grid = {f"layer 80-80 k{k} n{n} S{S}" for k in (3, 5, 7, 9) for n in (48, 64, 96, 128) for S in (1, 8)}
        self.assertEqual(grid - set(self.steps()), set())
        self.assertIn("net n337 all 2G model", self.steps())

    def test_an_interrupt_keeps_what_is_done(self):
        self.act('[ "$1 $7" != "layer 5" ] || sleep 60\n')
        with subprocess.Popen(self.command(), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              start_new_session=True) as process:
            deadline = time.monotonic() + 60
            while not (self.root / "calls").exists() or "--k 5" not in (self.root / "calls").read_text():
                self.assertLess(time.monotonic(), deadline)
                time.sleep(0.05)
            subprocess.run(["kill", "-INT", "--", f"-{process.pid}"], check=True)
            process.communicate(timeout=30)
        self.assertIn(process.returncode, (130, -signal.SIGINT))
        self.assertEqual(self.steps(), ["layer 80-80 k3 n64 S1"])

    def test_wrong_use_ends_at_once(self):
        for arguments, part in ((["--fast"], "--fast"), (["--mem"], "--mem needs a value"),
                                (["--patience", "none"], "none")):
            done = self.bench(*arguments)
            self.assertEqual(done.returncode, 1)
            self.assertIn(part, done.stderr)
            self.assertEqual(self.calls("znni-bench"), [])


if __name__ == "__main__":
    unittest.main()

"""The command deploy/bench, with stand-ins for what it builds and runs. Usage: bench_test.py DEPLOY-FOLDER."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

DEPLOY = pathlib.Path(sys.argv.pop(1)).resolve()
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "lib"))
import bench_samples as samples  # found beside this test

SETUP = """
say() {
  printf '\\n== %s\\n' "$*"
  case "$*" in "${SLOW_STEP:-none} ("*) SECONDS=$((SECONDS + ${SLOW_STEP_SECONDS})) ;; esac
}
die() { printf 'bench: %s\\n' "$*" >&2; exit 1; }
install_packages() { :; }
install_python() { :; }
add_python() { echo "add_python $*" >>"$root/calls"; }
build_preset() { :; }
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
"""
TORCH = """
install_torch() { :; }
torch_environment=(env A=1)
torch_malloc=(B=2)
"""
LAYER = {
    "f": 80,
    "f_out": 80,
    "k": [3, 3, 3],
    "n": [64, 64, 64],
    "S": 1,
    "device": "a machine",
    "threads": 2,
    "flops_per_second": 1e11,
    "read_bytes_per_second": 1e10,
    "load": 0.1,
    "primitives": [{"primitive": "cpu.conv.onednn", "refusal": "a stand-in"}],
}
NET = {
    "part": "n",
    "poolings_left_out": 0,
    "patch": [100] * 3,
    "S": 1,
    "bytes": 1 << 30,
    "voxels": 100,
    "joules": None,
    "direct_flops": 1e9,
    "traffic_bytes": 1e9,
    "predicted_seconds": 1,
    "planned": {"seconds": 1, "voxels_per_second": 9},
    "carried": {"voxels_per_second": 9},
    "runs": [{"kind": "warm", "seconds": 1}],
}
PEER = {
    **NET,
    "version": "1.2",
    "form": "dilated",
    "runs": [10.0],
    "carried": {"output": [5] * 3, "flops_per_voxel": 1e9, "voxels_per_second": 10},
}
PADDED = ("Symmetric", "Residual", "nnU-Net", "Original", "SegResNet", "MeshNet", "MONAI-UNet", "stack-10")
TIMES = {"best_seconds": 2.0, "best_processor_seconds": 1.0}
TRAIN = {
    "layer": {"f": 80, "f_out": 80, "k": [3, 3, 3], "n": [48, 48, 48], "S": 1},
    "threads": 1,
    "load": [0.5, 0.75],
    "ours": {**TIMES, "predicted_seconds": 0.5},
    "peer": {**TIMES, "version": "1.2", "form": "channels last"},
    "ratio": 1.0,
}
# Logs its arguments; the file `do` may make it fail or wait.
STAND_IN = """#!/usr/bin/env bash
echo "$(basename "$0") $*" >>"{root}/calls"
. "{root}/do"
case "$*" in
  *bench_net.py*) echo '{net}' ;;
  *bench_train.py*) echo '{train}' ;;
  *bench_padded.py*) echo '{padded}' ;;
  *) echo '{other}' ;;
esac
"""


class BenchTest(unittest.TestCase):
    def setUp(self):
        kept = tempfile.TemporaryDirectory()
        self.addCleanup(kept.cleanup)
        self.root = pathlib.Path(kept.name)
        (self.root / "deploy" / "lib").mkdir(parents=True)
        shutil.copy(DEPLOY / "bench", self.root / "deploy")
        for name in ("report", "tables", "padded_tables", "plots"):
            shutil.copy(DEPLOY / "lib" / f"bench_{name}.py", self.root / "deploy" / "lib")
        (self.root / "deploy" / "lib" / "setup.sh").write_text(SETUP)
        (self.root / "deploy" / "lib" / "torch.sh").write_text(TORCH)
        (self.root / ".gitignore").write_text("build\ncalls\ndo\n")
        for path, other in (("release/bin/znni-bench", LAYER), ("venv/bin/python", PEER)):
            program = self.root / "build" / path
            program.parent.mkdir(parents=True, exist_ok=True)
            answers = {"net": NET, "train": TRAIN, "padded": samples.padded(), "other": other}
            program.write_text(
                STAND_IN.format(root=self.root, **{kind: json.dumps(one) for kind, one in answers.items()})
            )
            program.chmod(0o755)
        self.act("")
        for command in (
            ["init", "-q"],
            ["add", "."],
            ["-c", "user.name=n", "-c", "user.email=e", "commit", "-qm", "m"],
        ):
            subprocess.run(["git", "-C", str(self.root), *command], check=True)
        self.output = self.root / "build" / "output"

    def act(self, script):
        (self.root / "do").write_text(script)

    def command(self, *arguments):
        return [str(self.root / "deploy" / "bench"), "--output", str(self.output), *arguments]

    def bench(self, *arguments, **environment):
        (self.root / "calls").write_text("")
        return subprocess.run(
            self.command(*arguments),
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
            env={**os.environ, **environment},
        )

    def calls(self, start):
        return [line for line in (self.root / "calls").read_text().split("\n") if line.startswith(start)]

    def steps(self):
        return [json.loads(line)["step"] for line in (self.output / "results.jsonl").read_text().split("\n")[:-1]]

    def test_a_run_leaves_every_step_and_the_report(self):
        done = self.bench("--mem", "1M", "--only", "layer|machine|r[15]$")
        self.assertEqual(done.returncode, 0, done.stderr)
        steps = self.steps()
        self.assertEqual(len(steps), len(set(steps)))
        threads = os.cpu_count()
        for step in (
            "machine",
            "layer 80-80 k9 n64 S1",
            "layer 80-80 k5 n48 S8",
            "layer 28-36 k3 n64 S1",
            "layer 80-80 k1,5,5 n64 S1",
            f"net n926 paper 1M t{threads} r5",
            f"onnxruntime n337 1M t{threads} r1",
            f"torch n537 1M t{threads} r5",
            f"net n337 onednn 1M t{threads} r1",
            "net n337 all 2G t1 r1",
        ):
            self.assertIn(step, steps)
        self.assertIn("| n337 1M | all primitives |", (self.output / "report.md").read_text())
        for name in ("ratios", "memory"):
            self.assertIn("<svg", (self.output / f"{name}.svg").read_text())
        self.assertFalse((self.output / "left-out.txt").exists())
        nets = self.calls("python -B " + str(self.root / "deploy" / "lib" / "bench_net.py"))
        for call in nets:
            self.assertEqual("--set all" in call, "--limit" not in call)
        self.assertIn("--flops 100000000000.0", self.calls("python")[3])

    def test_what_comes_first_runs_first_and_in_turn(self):
        self.assertEqual(self.bench("--mem", "1M", "--only", "^layer 80-80 k. n64|n337.* 1M .* r[12]").returncode, 0)
        words = [tuple(step.split()[:3]) for step in self.steps()]
        ways = [
            ("net", "n337", "all"),
            ("net", "n337", "onednn"),
            ("net", "n337", "onednn-layerwise"),
            ("torch", "n337", "1M"),
            ("onnxruntime", "n337", "1M"),
            ("net", "n337", "paper"),
            ("net", "n337", "paper-layerwise"),
        ]
        self.assertEqual(words, [("layer", "80-80", f"k{k}") for k in (3, 5, 7, 9)] + ways + ways)

    def test_what_there_is_no_time_for_is_left_out(self):
        # The stand-in for `say` puts the clock of the script forward: 40 s of 100 minutes are left.
        done = self.bench(
            "--mem",
            "1M",
            "--minutes",
            "100",
            "--only",
            "machine|layer 80-80 k. n64 S1|r1$",
            SLOW_STEP="layer 80-80 k5 n64 S1",
            SLOW_STEP_SECONDS=str(100 * 60 - 40),
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        left_out = (self.output / "left-out.txt").read_text().splitlines()
        self.assertIn("layer 80-80 k9 n64 S1", left_out)  # takes longer than is left
        self.assertIn("layer 80-80 k5 n64 S1", self.steps())
        self.assertIn("Left out: layer 80-80 k7 n64 S1", (self.output / "report.md").read_text())
        done = self.bench("--mem", "1M", "--only", "machine|layer 80-80 k. n64 S1|r1$")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("layer 80-80 k9 n64 S1", self.steps())
        self.assertFalse((self.output / "left-out.txt").exists())

    def test_memory_that_is_not_free_is_left_out(self):
        self.assertEqual(self.bench("--mem", "900T", "--only", "machine|net n337 all 900T.* r1").returncode, 0)
        self.assertEqual(self.steps(), ["machine"])
        self.assertIn("MiB free", (self.output / "left-out.txt").read_text())

    def test_done_steps_are_not_run_again_and_failed_ones_are(self):
        self.act('[ "$1 $7" != "layer 9" ] || { echo broken >&2; exit 1; }\n')
        done = self.bench("--only", "layer")
        self.assertEqual(done.returncode, 1)
        self.assertIn("'layer 80-80 k9 n64 S1'", done.stderr)
        self.assertNotIn("layer 80-80 k9 n64 S1", self.steps())
        before = len(self.steps())
        self.act("")
        done = self.bench("--only", "layer")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(self.steps()), before + 1)
        self.assertEqual(len(self.calls("znni-bench")), 1)

    def test_full_has_all_layers_of_80(self):
        done = self.bench("--full", "--mem", "1M", "--patience", "model", "--only", "layer|n537 all [12]. .* r1")
        self.assertEqual(done.returncode, 0, done.stderr)
        grid = {f"layer 80-80 k{k} n{n} S{S}" for k in (3, 5, 7, 9) for n in (48, 64, 96, 128) for S in (1, 8)}
        self.assertEqual(grid - set(self.steps()), set())
        self.assertIn("net n537 all 2G t1 r1", self.steps())
        self.assertTrue(all("--patience model" in call for call in self.calls("python")))

    def test_training_runs_alone_and_its_steps_once(self):
        done = self.bench("--train", "--mem", "1M")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(
            self.steps(),
            [
                "machine",
                "train layer 80-80 k3 n48",
                "train net fib25-boundary 80",
                *(f"train layer 80-80 k{k} n48" for k in (5, 7, 9)),
                "train layer 80-80 k7 n96",
                "train net n726 16 channels 132",
            ],
        )
        call = self.calls("python -B " + str(self.root / "deploy" / "lib" / "bench_train.py"))[0]
        self.assertIn("layer --k 3 --n 48", call)
        self.assertTrue(call.endswith(f"--mem 1M --threads 1 -- env A=1 {self.root}/build/venv/bin/python"), call)
        self.assertIn("## Training", (self.output / "report.md").read_text())
        self.assertEqual(self.bench("--train", "--mem", "1M").returncode, 0)
        self.assertEqual(self.calls("python"), [])

    def test_nets_that_pad_run_alone_beside_their_peers(self):
        done = self.bench("--padded", "--mem", "3G", "--patience", "model")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.calls("add_python"), ["add_python peers"])
        self.assertEqual(
            self.steps(),
            [
                "machine",
                *(f"padded {name}" for name in PADDED),
                *(f"padded FFN-{modules} planned" for modules in (6, 8, 10, 12)),
                *(f"padded {name}" for name in ("Symmetric in 6G", "Residual in 6G", "nnU-Net-batch in 14G")),
            ],
        )
        calls = self.calls("python -B " + str(self.root / "deploy" / "lib" / "bench_padded.py"))
        self.assertIn("bench_padded.py Symmetric --rounds 5 --bin ", calls[0])
        self.assertIn(f"--mem 3G --threads {os.cpu_count()} --patience model", calls[0])
        self.assertIn("bench_padded.py Residual --volume 256,512,512 --peers none --rounds 1 ", calls[-2])
        self.assertIn("--mem 6G", calls[-2])
        self.assertIn("--mem 14G", calls[-1])
        report = (self.output / "report.md").read_text()
        self.assertIn("## Nets that pad", report)
        self.assertEqual(self.bench("--padded", "--mem", "3G").returncode, 0)
        self.assertEqual(self.calls("python"), [])

    def test_another_python_may_have_torch(self):
        done = self.bench("--train", "--only", "k3", "--torch", "/bin/true")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(self.calls("python")[0].endswith("-- env B=2 /bin/true"))

    def test_an_interrupt_keeps_what_is_done(self):
        self.act('[ "$1 $7" != "layer 5" ] || sleep 600\n')
        with subprocess.Popen(
            self.command("--only", "layer"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
        ) as process:
            deadline = time.monotonic() + 240
            while not (self.root / "calls").exists() or "--k 5" not in (self.root / "calls").read_text():
                self.assertLess(time.monotonic(), deadline)
                time.sleep(0.05)
            subprocess.run(["kill", "-INT", "--", f"-{process.pid}"], check=True)
            process.communicate(timeout=240)
        self.assertIn(process.returncode, (130, -signal.SIGINT))
        self.assertEqual(self.steps(), ["layer 80-80 k3 n64 S1"])

    def test_wrong_use_ends_at_once(self):
        for arguments, part in (
            (["--fast"], "--fast"),
            (["--mem"], "--mem needs a value"),
            (["--patience", "none"], "none"),
            (["--mem", "much"], "--mem 'much'"),
            (["--minutes", "few"], "--minutes 'few'"),
            (["--train", "--torch", "/no/python"], "--torch '/no/python': no such program"),
            (["--torch", "/bin/true"], "--torch is for --train"),
        ):
            done = self.bench(*arguments)
            self.assertEqual(done.returncode, 1)
            self.assertIn(part, done.stderr)
            self.assertEqual(self.calls("znni-bench"), [])


if __name__ == "__main__":
    unittest.main()

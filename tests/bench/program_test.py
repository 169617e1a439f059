"""Tests the program `znni-bench` from outside. Usage: program_test.py ZNNI-BENCH PLANNER."""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

import peak_rss
from small_net import SMALL

BESIDE_THE_PLAN = 80 << 20  # bytes that the program takes, as its help says
# A layer for each node: a convolution does not take the pooling behind it in.
APART = ("--disable", "cpu.conv.first_pool")


class Bench(unittest.TestCase):
    program = ""
    planner = ""

    def setUp(self):
        self.kept = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.kept.name)
        self.small = self.write("small.pbtxt", SMALL)

    def tearDown(self):
        self.kept.cleanup()

    def write(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return path

    def environment(self):
        return {**os.environ, "XDG_STATE_HOME": str(self.folder / "state")}

    def run_program(self, *command):
        return subprocess.run(
            [str(word) for word in command],
            capture_output=True,
            text=True,
            timeout=300,
            env=self.environment(),
            check=False,
        )

    def plan(self, network, *arguments, mem="20M"):
        plan = self.folder / f"{network.stem}-plan.pbtxt"
        done = self.run_program(
            self.planner, "--model", network, "--mem", mem, "--threads", 2, "--output", plan, *arguments
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        return plan

    def net(self, plan, *arguments, model=None):
        return self.run_program(self.program, "net", "--plan", plan, "--model", model or self.small, *arguments)

    def refused(self, code, done, *parts):
        """Expects the program to fail with one line on stderr that holds all parts."""
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertEqual(done.stdout, "")
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        for part in ("znni-bench: ", *parts):
            self.assertIn(str(part), done.stderr)

    def test_prints_runs_and_nodes(self):
        done = self.net(self.plan(self.small, *APART), "--mem", "20M", "--repetitions", 2)
        self.assertEqual(done.returncode, 0, done.stderr)
        for word in ("small, seeded random weights", "cold", "warm 2", "voxels/s", "conv1", "pool1", "conv2"):
            self.assertIn(word, done.stdout)
        for line in ("cold run, predicted", "warm run 2 of 2"):
            self.assertIn(line, done.stderr)

    def test_json(self):
        done = self.net(self.plan(self.small, *APART), "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        found = json.loads(done.stdout)
        self.assertEqual([run["kind"] for run in found["runs"]], ["cold", "warm", "warm", "warm"])
        for run in found["runs"]:
            self.assertAlmostEqual(run["measured_over_predicted"], run["seconds"] / found["predicted_seconds"])
        self.assertTrue(all(run["processor_seconds"] > 0 for run in found["runs"][1:]))
        self.assertEqual([node["name"] for node in found["nodes"] if node["node"] >= 0], ["conv1", "pool1", "conv2"])

    def test_heavy_weights_stay_within_what_it_prepares(self):
        """24 layers of 4 MiB of weights each, which some primitives keep in a form of their own, too."""
        maps = self.write("maps.pbtxt", 'name: "maps"\nf_in: 1024\n' + 24 * "node { conv { f_out: 1024 k: 1 } }\n")
        plan = self.plan(maps, "--patch", 8, mem="512M")
        command = [self.program, "net", "--plan", plan, "--model", maps, "--mem", "512M", "--repetitions", 1, "--json"]
        code, errors, peak = peak_rss.run(
            command, data_limit=(512 << 20) + BESIDE_THE_PLAN, environment=self.environment()
        )
        self.assertEqual(code, 0, errors)
        prepared = float(re.search(r"preparing ([0-9.]+) MiB", errors)[1]) * (1 << 20)
        print(f"prepared {prepared / (1 << 20):.0f} MiB, peak {peak >> 20}")
        self.assertGreater(prepared, 24 * (4 << 20))
        self.assertLessEqual(peak, prepared + BESIDE_THE_PLAN)

    def test_refuses_what_does_not_run(self):
        plan = self.plan(self.small)
        other = self.write("other.pbtxt", SMALL.replace("f_out: 4", "f_out: 5"))
        self.refused(2, self.net(plan, model=other), plan, other, "made for another network", "conv1")
        self.refused(2, self.net(plan, "--mem", "1M"), plan, "needs", "the limit is 1.00 MiB")
        self.refused(2, self.net(plan, "--threads", "1"), "planned for 2 threads", "there are 1")
        self.refused(2, self.net(self.folder / "none.pbtxt"), "none.pbtxt")
        self.refused(2, self.net(plan, model=self.folder / "none.onnx"), "none.onnx")
        self.refused(2, self.net(self.small), "small.pbtxt")
        self.refused(2, self.net(plan, "--repetitions", "0"), "--repetitions")

    def layer(self, *arguments):
        return self.run_program(self.program, "layer", "--f", 17, "--f-out", 20, "--n", 12, "--threads", 2, *arguments)

    def test_layer_prints_every_primitive(self):
        done = self.layer("--repetitions", 2)
        self.assertEqual(done.returncode, 0, done.stderr)
        for word in (
            "conv 1x17x12x12x12 -> 20, k 3x3x3",
            "GFLOP/s of multiply-adds",
            "2 threads",
            "cpu.conv.fft_tiled",
            "cpu.conv.onednn",
            "speed: over cpu.conv.onednn",
        ):
            self.assertIn(word, done.stdout)
        self.assertIn("repetition 2 of 2", done.stderr)

    def test_layer_json(self):
        done = self.layer("--primitives", "cpu.conv.direct,cpu.conv.onednn", "--k", "1,3,3", "--S", 2, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        found = json.loads(done.stdout)
        self.assertEqual((found["k"], found["n"], found["S"], found["threads"]), ([1, 3, 3], [12, 12, 12], 2, 2))
        for key in ("flops_per_second", "read_bytes_per_second"):
            self.assertGreater(found[key], 0)
        direct, other = found["primitives"]
        self.assertEqual((direct["primitive"], other["primitive"]), ("cpu.conv.direct", "cpu.conv.onednn"))
        self.assertEqual(len(direct["runs"]), 5)
        self.assertEqual(sorted(direct["runs"])[2], direct["seconds"])
        self.assertAlmostEqual(direct["speed_over_last"], other["seconds"] / direct["seconds"])
        self.assertLess(direct["error"], 1e-5)

    def test_layer_knows_the_other_layout_of_onednn(self):
        done = self.layer(
            "--primitives", "bench.conv.onednn_channels_last,cpu.conv.onednn", "--json", "--repetitions", 1
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        found = {one["primitive"]: one for one in json.loads(done.stdout)["primitives"]}
        self.assertEqual(found["bench.conv.onednn_channels_last"].get("in", "f32:channels_last"), "f32:channels_last")

    def test_layer_refuses_in_one_line(self):
        self.refused(2, self.layer("--primitives", "cpu.conv.none"), "'cpu.conv.none'", "cpu.conv.direct")
        self.refused(2, self.layer("--k", "13"), "n.z = 12 is smaller than the window 13")
        done = self.layer("--mem", "64K")
        self.assertNotEqual(done.returncode, 0)
        self.refused(done.returncode, done, "no primitive ran", "the limit is 64.00 KiB")

    def test_layer_train_prints_a_step(self):
        done = self.layer("--train", "--repetitions", 2, "--mem", "200M")
        self.assertEqual(done.returncode, 0, done.stderr)
        for word in (
            "conv 1x17x12x12x12 -> 20, k 3x3x3",
            "2 threads",
            "within 200.00 MiB",
            "forward",
            "gradient",
            "step",
            "predicted",
        ):
            self.assertIn(word, done.stdout)
        self.assertIn("repetition 2 of 2", done.stderr)

    def test_layer_train_json(self):
        done = self.layer("--train", "--repetitions", 3, "--json", "--primitives", "cpu.conv.direct,cpu.grad.direct")
        self.assertEqual(done.returncode, 0, done.stderr)
        found = json.loads(done.stdout)
        self.assertEqual((found["k"], found["n"], found["S"], found["threads"]), ([3] * 3, [12] * 3, 1, 2))
        apart = {"forward", "gradient of the weights", "gradient of the input"}
        self.assertIn({call["part"] for call in found["calls"]}, (apart, {"forward", "both gradients"}))
        for run in range(3):
            for runs in ("runs", "processor_runs"):
                self.assertAlmostEqual(found[runs][run], sum(call[runs][run] for call in found["calls"]))
        self.assertAlmostEqual(found["predicted_seconds"], sum(call["predicted_seconds"] for call in found["calls"]))
        for one in (found, *found["calls"], *found["others"]):
            self.assertEqual(sorted(one["runs"])[1], one["seconds"])
            self.assertEqual(min(one["runs"]), one["best_seconds"])
        self.assertEqual(
            [(other["part"], other["primitive"]) for other in found["others"]],
            [
                ("forward", "cpu.conv.direct"),
                ("gradient of the weights", "cpu.grad.direct"),
                ("gradient of the input", "cpu.grad.direct"),
            ],
        )
        for call in found["calls"] + found["others"]:
            self.assertLess(call["error"], 1e-5)

    def test_layer_train_refuses_in_one_line(self):
        self.refused(2, self.layer("--train", "--primitives", "cpu.grad.none"), "'cpu.grad.none'", "cpu.grad.fft_tiled")
        self.refused(2, self.layer("--train", "--fast"), "--fast")
        self.refused(2, self.layer("--all"), "--train")
        done = self.layer("--train", "--mem", "64K")
        self.assertNotEqual(done.returncode, 0)
        self.refused(done.returncode, done, "needs at least", "--mem is 64.00 KiB")

    def test_an_interrupt_ends_it(self):
        layers = "node { conv { f_out: 32 k: 3 activation: relu } }\n" * 12
        network = self.write("slow.pbtxt", f'name: "slow"\nf_in: 1\n{layers}')
        plan = self.plan(network, mem="300M")
        command = [self.program, "net", "--plan", plan, "--model", network, "--repetitions", "999"]
        with subprocess.Popen(
            [str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as process:
            said = ""
            while "warm run 1 " not in said:
                line = process.stderr.readline()
                self.assertNotEqual(line, "", said)
                said += line
            process.send_signal(signal.SIGINT)
            out, said = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 130, said)
        self.assertEqual(out, "")
        self.assertIn("interrupted", said)


if __name__ == "__main__":
    Bench.program = sys.argv.pop(1)
    Bench.planner = sys.argv.pop(1)
    unittest.main()

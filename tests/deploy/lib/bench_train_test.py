"""Steps of training beside PyTorch, with stand-ins for both. Usage: bench_train_test.py FOLDER-OF-BENCH_TRAIN."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

FOLDER = pathlib.Path(sys.argv.pop(1))
ROOT = FOLDER.parents[1]
sys.path.insert(0, str(FOLDER))
import bench_train  # found where the argument says

# Answers as bench_train_peer.py does. Processor seconds follow from the form; one form does not run.
PEER = """
import json, sys
SECONDS = {"channels first": 4.0, "channels last": 3.5, "fragments": 9.0, "fragments, max_pool3d": 8.0,
           "dilated, max_pool3d": 5.0, "dilated": 1.0}
def say(what):
    print(json.dumps(what), flush=True)
say({"version": "9.1", "layer": ["channels first", "channels last", "none"],
     "net": ["fragments", "fragments, max_pool3d", "dilated", "dilated, max_pool3d"]})
form = None
for line in sys.stdin:
    request = json.loads(line)
    open(CALLS, "a").write("peer " + line)
    if request.get("form") == "none":
        say({"error": "no such form"})
    elif "form" in request:
        form = request["form"]
        say({})
    else:
        say({"seconds": 2 * SECONDS[form], "processor_seconds": SECONDS[form]})
"""
BENCH = """#!/usr/bin/env python3
import json, sys
open("{calls}", "a").write("ours " + " ".join(sys.argv[1:]) + chr(10))
call = {{"part": "forward", "primitive": "p", "variant": "v", "best_processor_seconds_per_thread": 0.5}}
print(json.dumps({{"runs": [2.0, 3.0], "processor_runs": [1.5, 0.5], "predicted_seconds": 0.25, "calls": [call],
                  "device": "a machine"}}))
"""
# Each step takes 0.05 s of a processor, the start as much as two.
TRAIN = """#!/usr/bin/env python3
import json, pathlib, re, sys, time
open("{calls}", "a").write("ours " + " ".join(sys.argv[1:]) + chr(10))
given = dict(zip(sys.argv[1::2], sys.argv[2::2]))
config = open(given["--config"]).read()
open("{calls}", "a").write("config " + config.replace(chr(10), " ") + chr(10))
steps = int(re.search("steps: ([0-9]+)", config)[1])
if "--explain" in sys.argv:
    print("step: 250.00 ms, 1x2x3 -> 1x1x1; memory")
    sys.exit(0)
while time.process_time() < 0.05 * (steps + 2):
    pass
output = pathlib.Path(given["--output"])
output.mkdir()
seconds = [9.0] + [0.5] * (steps - 1)
(output / "train.jsonl").write_text("".join(json.dumps({{"seconds": one}}) + chr(10) for one in seconds))
"""


class TrainTest(unittest.TestCase):
    def setUp(self):
        kept = tempfile.TemporaryDirectory()
        self.addCleanup(kept.cleanup)
        self.folder = pathlib.Path(kept.name)
        self.calls_file = self.folder / "calls"
        self.calls_file.write_text("")
        for name, text in (("znni-bench", BENCH), ("znni-train", TRAIN)):
            (self.folder / name).write_text(text.format(calls=self.calls_file))
            (self.folder / name).chmod(0o755)
        (self.folder / "peer.py").write_text(f"CALLS = {str(self.calls_file)!r}\n" + PEER)
        # A Python that runs the stand-in, whatever it is told to run.
        (self.folder / "python").write_text(f'#!/bin/sh\nexec "{sys.executable}" "{self.folder}/peer.py"\n')
        (self.folder / "python").chmod(0o755)

    def call(self, *words, peer=True):
        command = [sys.executable, "-B", FOLDER / "bench_train.py", *words, "--bin", self.folder, "--mem", "1G"]
        command += ["--", "env", "A=1", self.folder / "python"] if peer else []
        return subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=120, check=False)

    def figures(self, *words, peer=True):
        done = self.call(*words, peer=peer)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def calls(self, start):
        return [line for line in self.calls_file.read_text().splitlines() if line.startswith(start)]

    def test_a_layer_runs_in_turn_with_the_best_form(self):
        found = self.figures("layer", "--f", 8, "--k", 5, "--n", 64, "--rounds", 2, "--repetitions", 2)
        self.assertEqual(found["layer"], {"f": 8, "f_out": 80, "k": [5] * 3, "n": [64] * 3, "S": 1})
        self.assertEqual(found["peer"]["form"], "channels last")
        self.assertEqual(found["peer"]["tried"], {"channels first": 4.0, "channels last": 3.5, "none": "no such form"})
        self.assertEqual((found["peer"]["best_processor_seconds"], found["peer"]["runs"]), (3.5, [7.0, 7.0]))
        self.assertEqual((found["ours"]["best_processor_seconds"], found["ours"]["processor_seconds"]), (0.5, 1.0))
        self.assertEqual((found["ours"]["best_seconds"], found["ours"]["predicted_seconds"]), (2.0, 0.25))
        self.assertEqual(found["ratio"], 7.0)
        said = [line.split()[0] for line in self.calls_file.read_text().splitlines()]
        self.assertEqual(said[-4:], ["ours", "peer", "ours", "peer"])
        self.assertEqual(
            self.calls("ours")[0],
            "ours layer --train --json --f 8 --f-out 80 --k 5 --n 64 --mem 1G --threads 1 --repetitions 2",
        )
        # The trials are small, and the last that is made is the whole layer.
        made = [json.loads(line[5:]) for line in self.calls("peer") if "form" in line]
        self.assertEqual([one["layer"]["n"][0] for one in made], [36, 36, 36, 64])

    def test_a_net_is_the_difference_of_two_trainings(self):
        text = self.folder / "net.pbtxt"
        text.write_text(
            'name: "n" f_in: 1 node { conv { f_out: 8 k: 3 activation: relu } } node { max_pool { window: 2 } }\n'
            "node { conv { f_out: 3 k: 2 } }"
        )
        found = self.figures("net", text, "--patch", 12, "--channels", 4, "--rounds", 1)
        self.assertEqual((found["net"], found["channels"], found["patch"]), ("net", 4, [12] * 3))
        self.assertTrue(0.02 < found["ours"]["best_processor_seconds"] < 0.2, found["ours"])
        self.assertEqual((found["ours"]["best_seconds"], found["ours"]["predicted_seconds"]), (0.5, 0.25))
        # Of the dilated forms that which is like the best one in fragments runs, and no other.
        self.assertEqual(found["peer"]["form"], "dilated, max_pool3d")
        self.assertNotIn("dilated", found["peer"]["tried"])
        config = self.calls("config")[0]
        for part in ("steps: 2", "patch: 12", "targets: affinities", "kind: binary_cross_entropy"):
            self.assertIn(part, config)
        spec = next(json.loads(line[5:]) for line in self.calls("peer") if "net" in line)["net"]
        self.assertEqual([layer["f_out"] for layer in spec["layers"]], [4, 4, 3])
        self.assertEqual((spec["f_in"], spec["patch"]), (1, [12] * 3))

    def test_ours_runs_alone_without_a_peer(self):
        found = self.figures("layer", "--rounds", 1, peer=False)
        self.assertNotIn("peer", found)
        self.assertNotIn("ratio", found)
        self.assertEqual(found["ours"]["best_processor_seconds"], 0.5)

    def test_errors_are_one_line(self):
        (self.folder / "python").write_text("#!/bin/sh\nexit 3\n")
        done = self.call("layer")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertEqual(done.stderr, "bench_train: the peer ended with code 3: is PyTorch in that Python?\n")
        (self.folder / "znni-bench").write_text("#!/bin/sh\necho 'znni-bench: broken' >&2\nexit 2\n")
        done = self.call("layer", peer=False)
        self.assertEqual(done.stderr, "bench_train: znni-bench: znni-bench: broken\n")
        (self.folder / "znni-bench").write_text("#!/bin/sh\nkill -9 $$\n")
        done = self.call("layer", peer=False)
        self.assertEqual(done.stderr, "bench_train: znni-bench: ended with code -9\n")
        done = self.call("layer", "--kernel", 3, peer=False)
        self.assertEqual(done.returncode, 2)

    def test_layers_of_the_shipped_net(self):
        layers = bench_train.layers_of_onnx(ROOT / "deploy/models/fib25-boundary/1/model.onnx")
        kinds = [(layer["is_conv"], layer["window"][0], layer.get("f_out", 0), layer["relu"]) for layer in layers]
        pool = (False, 2, 0, False)
        self.assertEqual(
            kinds,
            [
                *[(True, 4, 16, True), (True, 3, 16, True), pool],
                *[(True, 3, 24, True), (True, 3, 24, True), pool],
                *[(True, 3, 32, True)] * 3,
                (True, 1, 1, False),
            ],
        )
        self.assertEqual(layers[2]["stride"], [2, 2, 2])


if __name__ == "__main__":
    unittest.main()

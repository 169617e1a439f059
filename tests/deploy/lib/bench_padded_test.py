"""Nets that pad beside other programs, with stand-ins for all programs. Usage: bench_padded_test.py
FOLDER-OF-BENCH_PADDED."""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

FOLDER = pathlib.Path(sys.argv.pop(1)).resolve()
COPIED = ("bench_padded", "bench_work", "net_graph", "peer_nets")

PLANNER = """#!/bin/sh
echo "planner $*" >>"{calls}"
[ ! -e "{folder}/no-plan" ] || {{ echo "planner: reading" >&2; echo "planner: nothing fits" >&2; exit 1; }}
"""
# Its patch is a quarter of the volume.
BENCH = """#!{python}
import json, sys
open("{calls}", "a").write("ours " + " ".join(sys.argv[1:]) + chr(10))
if open("{folder}/fails").read():
    sys.exit(3)
runs = [{{"kind": "cold", "seconds": 9.0}}]
runs += [{{"kind": "warm", "seconds": seconds, "processor_seconds": 2 * seconds}} for seconds in (0.5, 0.5, 1.0)]
print(json.dumps({{"patch": [8, 16, 16], "steps": 1, "voxels": 2048, "bytes": 7, "reserved_bytes": 7,
                  "predicted_seconds": 0.25, "runs": runs, "nodes": []}}))
"""
# OpenVINO ends amid its second round if the file `dies` says so.
PEER = """
import json, os, sys
program = sys.argv[1]
if open("{folder}/refuses").read() == program:
    print(json.dumps({{"error": "no such operator"}}))
    sys.exit(1)
print(json.dumps({{"version": "9.1-7-x", "voxels": 8192}}), flush=True)
for number, _ in enumerate(sys.stdin):
    if number > 3 and open("{folder}/dies").read() == program:
        os._exit(1)
    open("{calls}", "a").write(program + chr(10))
    seconds = {{"onnxruntime": 8.0, "openvino": 4.0}}[program]
    print(json.dumps({{"seconds": seconds if number % 3 else 99.0, "processor_seconds": seconds}}), flush=True)
"""


class PaddedTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.calls_file = self.folder / "calls"
        for name in ("calls", "fails", "refuses", "dies"):
            (self.folder / name).write_text("")
        words = {"calls": self.calls_file, "folder": self.folder, "python": sys.executable}
        for name, text in (("planner", PLANNER), ("znni-bench", BENCH), ("bench_padded_peer.py", PEER)):
            (self.folder / name).write_text(text.format(**words))
            (self.folder / name).chmod(0o755)
        for name in COPIED:
            shutil.copy(FOLDER / f"{name}.py", self.folder)

    def call(self, *words):
        return subprocess.run(
            [
                *(sys.executable, "-B", self.folder / "bench_padded.py", "MONAI-UNet", "--bin", self.folder),
                *("--folder", self.folder, "--mem", "1G", "--threads", "2", "--volume", "16,32,16", *words),
            ],
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    def figures(self, *words):
        done = self.call(*words)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def calls(self):
        return self.calls_file.read_text().splitlines()

    def test_all_programs_run_in_turn(self):
        found = self.figures("--rounds", "2", "--runs", "2")
        kinds = [call.split()[0] for call in self.calls()]
        self.assertEqual(kinds, ["planner", *(["ours"] + ["onnxruntime"] * 3 + ["openvino"] * 3) * 2])
        self.assertEqual(found["openvino"]["runs"], [4.0] * 4)
        self.assertEqual(found["ours"]["seconds"], 0.5)
        self.assertEqual(found["ours"]["voxels_per_second"], 4096)
        self.assertEqual(found["ratios"], {"onnxruntime": 4.0, "openvino": 2.0})
        self.assertEqual(found["processor_ratios"], {"onnxruntime": 2.0, "openvino": 1.0})
        self.assertEqual(found["floors"], {"onnxruntime": 1.5, "openvino": 0.9})
        self.assertEqual(found["goals"], {"onnxruntime": 2.5, "openvino": 1.2})
        self.assertGreater(found["flops_per_voxel"], 1e4)
        self.assertGreater(found["ours"]["peak_bytes"], 1 << 20)

    def test_the_plan_is_for_the_volume(self):
        self.figures("--rounds", "1", "--peers", "none", "--patience", "model")
        plan, ours = self.calls()
        self.assertIn(f"--model {self.folder}/MONAI-UNet-16x32x16.onnx --mem {1 << 30} --threads 2", plan)
        self.assertIn("--volume 16,32,16 --patience model", plan)
        self.assertIn(f"--plan {self.folder}/MONAI-UNet-16x32x16.pbtxt", ours)

    def test_planning_alone(self):
        found = self.figures("--rounds", "0")
        self.assertEqual([call.split()[0] for call in self.calls()], ["planner"])
        self.assertGreaterEqual(found["planning"]["processor_seconds"], 0)
        self.assertNotIn("ours", found)

    def test_no_plan_is_told(self):
        (self.folder / "no-plan").touch()
        self.assertEqual(self.figures()["planning"], {"refusal": "planner: nothing fits"})

    def test_a_peer_that_refuses_leaves_the_others(self):
        (self.folder / "refuses").write_text("onnxruntime")
        found = self.figures("--rounds", "1")
        self.assertEqual(found["onnxruntime"], {"refusal": "no such operator"})
        self.assertEqual(found["ratios"], {"openvino": 2.0})

    def test_a_peer_that_dies_leaves_the_others(self):
        (self.folder / "dies").write_text("openvino")
        found = self.figures("--rounds", "3")
        self.assertIn("ended", found["openvino"]["refusal"])
        self.assertEqual(found["ratios"], {"onnxruntime": 4.0})
        self.assertEqual(len(found["onnxruntime"]["runs"]), 6)

    def test_a_plan_that_does_not_run_ends_it(self):
        (self.folder / "fails").write_text("yes")
        done = self.call("--rounds", "1")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertEqual(done.stderr.splitlines()[-1], "bench_padded: znni-bench ended with status 3")

    def test_wrong_words(self):
        for words, part in (
            (("--volume", "16,16"), "write Z,Y,X"),
            (("--volume", "a,1,1"), "write Z,Y,X"),
            (("--peers", "torch"), "'torch': use some of onnxruntime,openvino, or none"),
        ):
            done = self.call(*words)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn(part, done.stderr)


if __name__ == "__main__":
    unittest.main()

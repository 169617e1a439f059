"""Plans and runs of deploy/bench, with stand-ins for the programs. Usage: bench_net_test.py FOLDER-OF-BENCH_NET."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

FOLDER = pathlib.Path(sys.argv.pop(1)).resolve()
NETWORKS = FOLDER.parents[1] / "planner" / "networks"

# A patch of a whole net takes 100 s, of one after its first pooling 30 s; with less memory also 10 s.
PLANNER = """#!/usr/bin/env python3
import sys
arguments = dict(zip(sys.argv[1::2], sys.argv[2::2]))
open({calls!r}, "a").write(" ".join(sys.argv[1:]) + "\\n")
if int(arguments["--mem"]) < 1000:
    sys.exit("planner: nothing fits")
seconds = [30, 20] if "_after_" in arguments["--model"] else [100, 50]
seconds += [10] if int(arguments["--mem"]) < 1 << 30 and "_after_" in arguments["--model"] else []
rungs = "".join(f"rung {{{{\\n  pass_input: [9, 9, 9]\\n  seconds: {{one}}\\n}}}}\\n" for one in seconds)
open(arguments["--output"], "w").write("predicted {{\\n  voxels_per_second: 5000\\n  seconds: 1\\n}}\\n" + rungs)
"""
BENCH = """#!/usr/bin/env python3
import sys
open({calls!r}, "a").write(" ".join(sys.argv[1:]) + "\\n")
limit = "--limit" in sys.argv
print({result!r}.replace("PREDICTED", "10" if limit else "100"))
"""
RESULT = {
    "patch": [109, 109, 109],
    "S": 2,
    "bytes": 5,
    "predicted_seconds": "PREDICTED",
    "joules": None,
    "planned_voxels_per_second": 7,
    "runs": [
        {"kind": "cold", "seconds": 9, "measured_over_predicted": 9},
        {"kind": "warm", "seconds": 2, "measured_over_predicted": 2},
    ],
}


class NetTest(unittest.TestCase):
    def setUp(self):
        kept = tempfile.TemporaryDirectory()
        self.addCleanup(kept.cleanup)
        self.folder = pathlib.Path(kept.name)
        self.calls_file = self.folder / "calls"
        (self.folder / "plans").mkdir()
        result = json.dumps(RESULT).replace('"PREDICTED"', "PREDICTED")
        for name, text in (("planner", PLANNER), ("znni-bench", BENCH)):
            (self.folder / name).write_text(text.format(calls=str(self.calls_file), result=result))
            (self.folder / name).chmod(0o755)

    def run_net(self, *arguments, mem="2G", net="n337"):
        done = subprocess.run(
            [
                sys.executable,
                "-B",
                str(FOLDER / "bench_net.py"),
                str(NETWORKS / f"{net}.pbtxt"),
                "--mem",
                mem,
                "--bin",
                str(self.folder),
                "--plans",
                str(self.folder / "plans"),
                "--threads",
                "2",
                *arguments,
            ],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def calls(self, word):
        return [line for line in self.calls_file.read_text().splitlines() if word in line]

    def test_the_planned_patch_runs_without_a_limit(self):
        found = self.run_net()
        self.assertEqual(found["planned"], {"seconds": 100.0, "voxels_per_second": 5000.0})
        self.assertEqual((found["poolings_left_out"], found["part"], found["threads"]), (0, "n337", 2))
        self.assertEqual((found["output"], found["voxels"]), ([25, 25, 25], 2 * 25**3))
        self.assertEqual(found["carried"]["voxels_per_second"], 2500.0)
        self.assertNotIn("--limit", self.calls("net --plan")[0])
        self.run_net()
        self.assertEqual(len(self.calls("--patience")), 1)

    def test_the_sets_are_told_to_the_planner(self):
        for name, part in (("onednn", "cpu.conv.onednn,"), ("paper", "cpu.conv.fft_task_parallel,")):
            self.run_net("--set", name)
            self.assertIn(part, self.calls("--enable")[-1])

    def test_a_limit_is_the_programs_where_the_plan_has_such_a_patch(self):
        found = self.run_net("--limit", "60")
        self.assertEqual((found["poolings_left_out"], len(self.calls("--patience"))), (0, 1))
        self.assertIn("--limit 60", self.calls("net --plan")[0])

    def test_else_less_memory_then_the_net_after_its_poolings(self):
        found = self.run_net("--limit", "15")
        self.assertEqual((found["poolings_left_out"], found["part"]), (1, "n337_after_1"))
        self.assertNotIn("planned_voxels_per_second", found)  # of the tail's plan
        self.assertEqual(found["carried"]["voxels_per_second"], 2500.0)
        self.assertIn('name: "n337_after_1"', (self.folder / "plans" / "n337_after_1.pbtxt").read_text())
        self.assertIn(f"n337_after_1-all-{(2 << 30) // 4}-", self.calls("net --plan")[0])

    def test_refusals(self):
        self.assertEqual(self.run_net(mem="900")["refusal"], "planner: nothing fits")
        self.assertIn("at most 1 s", self.run_net("--limit", "1")["refusal"])


if __name__ == "__main__":
    unittest.main()

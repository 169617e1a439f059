"""Tests check_plans.py with a tiny net. Usage: check_plans_test.py FOLDER-OF-PROGRAMS."""

import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import check_plans

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from small_net import SMALL


class CheckPlans(unittest.TestCase):
    programs = pathlib.Path()

    def setUp(self):
        self.kept = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.kept.name)
        self.model = self.folder / "small.pbtxt"
        self.model.write_text(SMALL)

    def tearDown(self):
        self.kept.cleanup()

    def check(self, *more):
        script = pathlib.Path(check_plans.__file__)
        return subprocess.run(
            [
                script,
                "--programs",
                self.programs,
                "--work",
                self.folder / "work",
                "--model",
                self.model,
                "--mem",
                "40M",
                "--patience",
                "model",
                "--threads",
                "1",
                "--repetitions",
                "1",
                *map(str, more),
            ],
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    def test_runs_every_plan_once_and_the_best_in_turn(self):
        arguments = ("--count", 3, "--neighbours", 2, "--rounds", 2)
        first = self.check(*arguments)
        self.assertEqual(first.returncode, 0, first.stderr)
        found = json.loads(first.stdout)
        small = found["models"]["small"]
        self.assertEqual(small["plans"], 6)
        self.assertEqual(
            [row["plan"] for row in small["rows"]],
            ["chosen", "random-1", "random-2", "random-3", "neighbour-1", "neighbour-2"],
        )
        self.assertEqual(small["reserved_as_predicted"], 6)
        self.assertLessEqual(small["error_median"], small["error_ninth_decile"])
        self.assertEqual(found["all"], {key: small[key] for key in found["all"]})
        self.assertIn("chosen", small["contest"]["voxels_per_second"])
        self.assertLessEqual(small["contest"]["over_best"]["chosen"], 1)
        for row in small["rows"]:
            self.assertGreater(row["process_bytes"], row["bytes"])
            self.assertLessEqual(sum(layer["seconds"] for layer in row["layers"]), row["seconds"])
        self.assertIsNone(small["plans_within_bar"])  # formulas alone have no bar
        again = self.check(*arguments)
        self.assertEqual(again.stdout, first.stdout)
        self.assertEqual(again.stderr, "")

    def test_goes_on_where_it_was_stopped(self):
        few = ("--count", 2, "--neighbours", 0, "--rounds", 0)
        self.assertEqual(self.check(*few).returncode, 0)
        (self.folder / "work" / "small" / "random-2.json").unlink()
        again = self.check(*few)
        self.assertEqual(
            [line.split(", ")[-1] for line in again.stderr.splitlines() if line.startswith("check_plans")], ["random-2"]
        )

    def test_named_plans_take_part(self):
        own = self.folder / "own.pbtxt"
        subprocess.run(
            [
                self.programs / "planner",
                "--model",
                self.model,
                "--mem",
                "40M",
                "--threads",
                "1",
                "--patience",
                "model",
                "--strategy",
                "baseline",
                "--output",
                own,
            ],
            capture_output=True,
            timeout=300,
            check=True,
        )
        arguments = ("--count", 1, "--neighbours", 0, "--rounds", 1, "--plan", own)
        done = self.check(*arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        small = json.loads(done.stdout)["models"]["small"]
        self.assertEqual([row["plan"] for row in small["rows"]], ["chosen", "random-1", "named-own"])
        self.assertEqual(set(small["contest"]["over_best"]), {"chosen", "named-own"})
        self.assertIn("two files have one name", self.check("--plan", own, "--plan", own).stderr)
        self.assertEqual(self.check(*arguments).stderr, "")
        own.write_text(own.read_text() + "# another\n")
        lines = self.check(*arguments).stderr.splitlines()
        again = [line.split(", ")[-1] for line in lines if line.startswith("check_plans")]
        self.assertEqual(again, ["named-own", "named-own"])  # alone, and in the contest

    def test_sets_what_was_measured_beside_other_timings(self):
        few = ("--count", 2, "--neighbours", 0, "--rounds", 0)
        timings = self.folder / "timings.pbtxt"
        before = json.loads(self.check(*few).stdout)["models"]["small"]["rows"]
        plan = (self.folder / "work" / "small" / "chosen.pbtxt").read_text()
        device = re.search(r'device: (".*")', plan).group(1)
        primitive, version = re.search(r'primitive: ("cpu.conv.*")\s+version: (\d+)', plan).groups()
        # A formula whose prediction is far too fast.
        timings.write_text(
            f"record {{ primitive: {primitive} version: {version} device: {device} threads: 1 samples: 9 "
            'problem: "conv 1x1x9x9x9 -> 2, k 2x2x2" setting { name: "none" value: 1 } modelled: 1e-3 }\n'
        )
        again = self.check(*few, "--again", "--timings", timings)
        self.assertEqual(again.returncode, 0, again.stderr)
        after = json.loads(again.stdout)["models"]["small"]["rows"]
        self.assertEqual([row["seconds"] for row in after], [row["seconds"] for row in before])
        self.assertNotEqual([row["predicted_seconds"] for row in after], [row["predicted_seconds"] for row in before])
        self.assertIn("--timings", self.check(*few, "--again").stderr)

    def test_says_what_failed(self):
        self.model.write_text("no net")
        refused = self.check()
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn("ended with code 2", refused.stderr)

    def test_bars_hold_both_ways(self):
        rows = [{"seconds": seconds, "predicted_seconds": 10, "bar": 0.25} for seconds in (7, 9, 12, 13)]
        self.assertEqual(check_plans.kept_within([*rows, {"seconds": 1, "predicted_seconds": 10}]), 0.5)

    def test_percentiles_are_nearest_ranks(self):
        self.assertEqual(check_plans.percentile([4, 1, 3, 2], 0.5), 2)
        self.assertEqual(check_plans.percentile(range(1, 11), 0.9), 9)
        self.assertIsNone(check_plans.percentile([], 0.5))


if __name__ == "__main__":
    CheckPlans.programs = pathlib.Path(sys.argv.pop(1))
    unittest.main()

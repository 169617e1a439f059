"""Rounds and tables of deploy/compare. Usage: compare_report_test.py FOLDER-OF-COMPARE_REPORT."""

import json
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, sys.argv.pop(1))
import compare_report  # found where the argument says

# Prints figures for a peer, whose name says what is to happen, and logs that it was asked.
STAND_IN = """
import json, pathlib, sys
log, peer, net = pathlib.Path(sys.argv[1]), *sys.argv[2:]
log.write_text((log.read_text() if log.exists() else "") + f"{peer} {net}\\n")
if peer == "broken":
    sys.exit("no memory | at all")
if peer == "refusing":
    print(json.dumps({"refusal": "does not pad"}))
else:
    print("chatter")
    seconds = 2.0 if peer == "slow" else 1.0
    print(json.dumps({"seconds": seconds, "processor_seconds": 2 * seconds, "peak_bytes": 3 << 20, "difference": 0.5,
                      "root_mean_square": 0.25, "lines": 7, "window": 64}))
"""


def figures(seconds, processor):
    """Returns figures of one run."""
    return {
        "seconds": seconds,
        "processor_seconds": processor,
        "peak_bytes": 2**20,
        "difference": seconds / 10,
        "root_mean_square": 0.001,
        "lines": 5,
        "window": 64,
    }


class ReportTest(unittest.TestCase):
    def setUp(self):
        kept = tempfile.TemporaryDirectory()
        self.addCleanup(kept.cleanup)
        self.folder = pathlib.Path(kept.name)
        (self.folder / "run.py").write_text(STAND_IN)
        self.command = [sys.executable, str(self.folder / "run.py"), str(self.folder / "log")]

    def run_all(self, peers, count):
        """Runs peers on two networks and returns (lines of results, what the stand-in logged)."""
        given = ["--rounds", str(count), "--peers", peers, "--nets", "a,b", "--facts", "Today.", "--", *self.command]
        compare_report.main([str(self.folder), *given])
        lines = [json.loads(line) for line in (self.folder / "results.jsonl").read_text().splitlines()]
        return lines, (self.folder / "log").read_text().splitlines()

    def test_peers_take_turns_in_each_round(self):
        lines, asked = self.run_all("fast,slow", 2)
        once = ["fast a", "slow a", "fast b", "slow b"]
        self.assertEqual(asked, once * 2)
        self.assertEqual([f"{line['peer']} {line['net']}" for line in lines], once * 2)

    def test_what_fails_is_not_asked_again_and_the_table_says_why(self):
        _, asked = self.run_all("fast,broken,refusing", 2)
        self.assertEqual(asked.count("broken a"), 1)
        self.assertEqual(asked.count("refusing b"), 1)
        self.assertEqual(asked.count("fast a"), 2)
        report = (self.folder / "report.md").read_text()
        self.assertIn("| broken | not run: no memory / at all |", report)
        self.assertIn("| refusing | not run: does not pad |", report)

    def test_ratios_stand_over_the_first_peer(self):
        self.run_all("slow,fast", 1)
        report = (self.folder / "report.md").read_text()
        self.assertTrue(report.startswith("Today. Load "), report)
        self.assertIn("## a (windows of 64^3)", report)
        self.assertIn("| slow | 2.0 | 4.0 | 1.00 | 3 | 5.0e-01 | 2.5e-01 | 7 |", report)
        self.assertIn("| fast | 1.0 | 2.0 | 0.50 | 3 | 5.0e-01 | 2.5e-01 | 7 |", report)

    def test_rounds_give_spans_medians_and_the_largest_difference(self):
        runs = [figures(seconds, processor) for seconds, processor in ((1, 8), (3, 4), (2, 6))]
        found = compare_report.row("monai", runs, 3)
        self.assertEqual(
            found,
            [
                "MONAI, sliding windows, PyTorch",
                "1.0 to 3.0",
                "4.0 to 8.0",
                "2.00",
                "1",
                "3.0e-01",
                "1.0e-03",
                "5",
            ],
        )

    def test_all_rows_are_as_wide_as_the_head(self):
        lines = [
            {"net": "a", "peer": "x", "figures": {"refusal": "why"}},
            {"net": "a", "peer": "y", "figures": figures(1, 1)},
            {"net": "b", "peer": "x", "figures": figures(1, 1)},
        ]
        rows = compare_report.table(lines, "a").splitlines()
        self.assertEqual(len(rows), 4)
        self.assertEqual({row.count("|") for row in rows}, {len(compare_report.HEAD) + 1})
        self.assertIn("| y | 1.0 | 1.0 |  | 1 |", rows[3])  # no ratio over what did not run


if __name__ == "__main__":
    unittest.main()

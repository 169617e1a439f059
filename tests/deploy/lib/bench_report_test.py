"""The report of deploy/bench. Usage: bench_report_test.py FOLDER-OF-BENCH_REPORT."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

FOLDER = pathlib.Path(sys.argv.pop(1))
sys.path.insert(0, str(FOLDER))
import bench_report  # found where the argument says
import bench_samples as samples  # beside this file


class ReportTest(unittest.TestCase):
    def setUp(self):
        kept = tempfile.TemporaryDirectory()
        self.addCleanup(kept.cleanup)
        self.folder = pathlib.Path(kept.name)
        self.results = self.folder / "results.jsonl"

    def program(self, *arguments, given=""):
        command = [sys.executable, "-B", str(FOLDER / "bench_report.py"), *map(str, arguments)]
        return subprocess.run(command, input=given, capture_output=True, text=True, timeout=60, check=False)

    def fill(self):
        for line in samples.some():
            bench_report.add(self.results, line["step"], "abc", line["result"])

    def test_a_step_is_there_once_it_was_added(self):
        layer = samples.layer()
        self.assertEqual(self.program("steps", self.results).stdout, "")
        self.assertEqual(self.program("add", self.results, "layer 1", "abc", given=json.dumps(layer)).returncode, 0)
        self.assertEqual(self.program("steps", self.results).stdout, "layer 1\n")
        (line,) = bench_report.load(self.results)
        self.assertEqual((line["step"], line["commit"], line["result"]), ("layer 1", "abc", layer))

    def test_what_is_no_json_is_not_added(self):
        self.assertNotEqual(self.program("add", self.results, "layer 1", "abc", given='{"f": ').returncode, 0)
        self.assertEqual(bench_report.load(self.results), [])

    def test_a_line_cut_short_does_not_count_and_is_dropped(self):
        bench_report.add(self.results, "one", "abc", {})
        whole = self.results.read_text()
        self.results.write_text(whole + '{"step": "two", "com')
        self.assertEqual([line["step"] for line in bench_report.load(self.results)], ["one"])
        bench_report.begin(self.results, "abc")
        self.assertEqual(self.results.read_text(), whole)
        self.results.write_text('{"step"')
        bench_report.begin(self.results, "abc")
        self.assertEqual(self.results.read_text(), "")

    def test_figures_of_another_commit_are_refused(self):
        bench_report.add(self.results, "one", "abc", {})
        done = self.program("begin", self.results, "def")
        self.assertEqual(done.returncode, 1)
        for part in (str(self.results), "abc", "def", "--output"):
            self.assertIn(part, done.stderr)
        self.assertEqual(self.program("begin", self.results, "abc").returncode, 0)
        self.assertEqual(self.program("begin", self.folder / "none", "abc").returncode, 0)

    def test_the_report_has_every_section_and_says_what_was_left_out(self):
        self.fill()
        (self.folder / "left-out.txt").write_text("layer 1\nnet n337 all 16G t2 r4\nnet n337 all 16G t2 r5\n")
        done = self.program("write", self.results, self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual((self.folder / "report.md").read_text(), done.stdout)
        for part in (
            "commit abc",
            "a machine; measured",
            "## Layers",
            "| 10 → 20, k 3, n 100, S 1 | tiled |",
            "## Nets",
            "| n337 16G | all primitives |",
            "## Memory",
            "## Threads",
            "Not measured: GPUs",
            "Left out: layer 1, 2 steps of later rounds.",
        ):
            self.assertIn(part, done.stdout)
        self.assertIn("PyTorch 9.1, fragments", (self.folder / "ratios.svg").read_text())
        self.assertIn("n337", (self.folder / "memory.svg").read_text())

    def test_sections_without_figures_are_left_out(self):
        bench_report.add(self.results, "machine", "abc", samples.layer())
        text = bench_report.markdown(bench_report.load(self.results))
        self.assertNotIn("## ", text)
        self.assertNotIn("Left out", text)

    def test_steps_of_training_are_a_section(self):
        bench_report.add(self.results, "train layer 80-80 k3 n48", "abc", samples.train())
        text = bench_report.markdown(bench_report.load(self.results))
        self.assertIn("## Training", text)
        self.assertIn("| 80 → 80, k 3, n 48, S 1 | 2.1, channels last | 500 | 125 |", text)
        self.assertIn("threads: 1", text)

    def test_ratios_of_layers_and_nets(self):
        found = dict(bench_report.ratios(samples.some()))
        self.assertEqual(found["10 → 20, k 3, n 100, S 1: tiled / oneDNN"], 2.5)
        self.assertEqual(found["n337 16G: all primitives / PyTorch 9.1, fragments"], 2.0)
        self.assertEqual(len(found), 3)

    def test_the_machines_rate_is_told(self):
        self.assertEqual(self.program("flops", self.results).stdout, "100000000000.0\n")
        self.fill()
        self.assertEqual(self.program("flops", self.results).stdout, "200000000000.0\n")

    def test_nothing_done_is_an_error(self):
        done = self.program("write", self.results, self.folder)
        self.assertEqual(done.returncode, 1)
        self.assertIn("no step is done yet", done.stderr)
        self.assertNotEqual(self.program("what").returncode, 0)


if __name__ == "__main__":
    unittest.main()

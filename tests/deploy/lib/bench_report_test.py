"""The report of deploy/bench. Usage: bench_report_test.py FOLDER-OF-BENCH_REPORT."""

import contextlib
import io
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

FOLDER = pathlib.Path(sys.argv.pop(1))
sys.path.insert(0, str(FOLDER))
import bench_report  # noqa: E402: found where the argument says


def layer(speed=2.5, **changes):
    """What znni-bench layer --json says."""
    def primitive(name, seconds, ratio):
        return {"primitive": name, "variant": "tile_z=12", "in": "f32:blocked16", "out": "f32:blocked16", "tried": 3,
                "seconds": seconds, "processor_seconds_per_thread": seconds, "effective_flops_per_second": 4e11,
                "speed_over_last": ratio, "persistent_bytes": 3 << 20, "transient_bytes": 5 << 20, "error": 1.5e-6,
                "runs": [seconds]}
    return {"problem": "conv", "f": 80, "f_out": 80, "k": [3, 3, 3], "n": [64, 64, 64], "S": 1, "device": "a machine",
            "threads": 2, "flops_per_second": 2e11, "read_bytes_per_second": 3e10, "load": 0.5,
            "primitives": [primitive("tiled", 0.1, speed), primitive("direct", 0.25, 1.0)], **changes}


def net(*rates, patch=100):
    """What znni-bench net --json says; the first run is cold."""
    runs = [{"kind": "warm" if i else "cold", "seconds": 1, "measured_over_predicted": 1.25, "voxels_per_second": rate}
            for i, rate in enumerate((1.0, *rates))]
    return {"network": "n337", "patch": [patch] * 3, "S": 1, "bytes": 3 << 29, "runs": runs}


class ReportTest(unittest.TestCase):
    def setUp(self):
        kept = tempfile.TemporaryDirectory()
        self.addCleanup(kept.cleanup)
        self.folder = pathlib.Path(kept.name)
        self.results = self.folder / "results.jsonl"

    def program(self, *arguments, given=""):
        command = [sys.executable, str(FOLDER / "bench_report.py"), *map(str, arguments)]
        return subprocess.run(command, input=given, capture_output=True, text=True, timeout=60, check=False)

    def fill(self):
        for step, result in (("layer 80-80 k3 n64 S1", layer()), ("net n337 all 16G model", net(300, 100, 200)),
                             ("net n337 paper 16G model", net(50)),
                             ("onnxruntime n337 16G", {"voxels_per_second": 20.0, "patch": [90] * 3, "bytes": 1 << 30})):
            bench_report.add(self.results, step, "abc", result)

    def test_a_step_is_there_once_it_was_added(self):
        self.assertEqual(self.program("has", self.results, "layer 1").returncode, 1)
        self.assertEqual(self.program("add", self.results, "layer 1", "abc", given=json.dumps(layer())).returncode, 0)
        self.assertEqual(self.program("has", self.results, "layer 1").returncode, 0)
        self.assertEqual(self.program("has", self.results, "layer").returncode, 1)
        line, = bench_report.load(self.results)
        self.assertEqual((line["step"], line["commit"], line["result"]), ("layer 1", "abc", layer()))

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

    def test_the_table_has_layers_nets_and_the_peer(self):
        self.fill()
        done = self.program("write", self.results, self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual((self.folder / "report.md").read_text(), done.stdout)
        for part in ("commit abc", "a machine; measured", "200 GFLOP/s", "30.0 GB/s", "load 0.50",
                     "| 80 → 80, k 3, n 64, S 1 | tiled | 100.0 | 100.0 | 400 | 2.50 | 3 | 5 | 1.5e-06 | tile_z=12 |",
                     "| n337 16G | all primitives | 100x100x100 | 200 | 1.25 | 1.5 | 1.00 |",
                     "| n337 16G | those of the ZNNi papers | 100x100x100 | 50 | 1.25 | 1.5 | 4.00 |",
                     "| n337 16G | ONNX Runtime, dilated form | 90x90x90 | 20 |  | 1.0 | 10.00 |",
                     "Not measured: PyTorch"):
            self.assertIn(part, done.stdout)

    def test_what_did_not_run_says_why(self):
        refused = layer()
        refused["primitives"][1] = {"primitive": "direct", "refusal": "needs 9 GiB"}
        refused["primitives"][0]["speed_over_last"] = None
        bench_report.add(self.results, "layer 1", "abc", refused)
        bench_report.add(self.results, "net n337 all 16G model", "abc", net(10))
        bench_report.add(self.results, "onnxruntime n337 16G", "abc", {"refusal": "no memory"})
        text = bench_report.markdown(bench_report.load(self.results))
        self.assertIn("not run: needs 9 GiB", text)
        self.assertIn("not run: no memory", text)
        self.assertEqual(bench_report.ratios(bench_report.load(self.results)), [])

    def test_rows_of_a_table_are_equally_long(self):
        self.fill()
        lines = bench_report.load(self.results)
        for rows in (bench_report.layer_rows([layer()]), bench_report.net_rows(bench_report.net_rates(lines))):
            self.assertEqual({len(row) for row in rows}, {len(rows[0])})

    def test_the_plot_is_sound_and_has_every_ratio(self):
        self.fill()
        with contextlib.redirect_stdout(io.StringIO()):
            bench_report.write(self.results, self.folder)
        picture = (self.folder / "ratios.svg").read_text()
        root = xml.etree.ElementTree.fromstring(picture)
        widths = [float(bar.get("width")) for bar in root.iter("{http://www.w3.org/2000/svg}rect") if bar.get("y")]
        self.assertEqual(len(widths), 3)
        for width, ratio in zip(widths, (2.5, 4.0, 10.0)):
            self.assertAlmostEqual(width / widths[2], ratio / 10.0, places=2)
            self.assertIn(f">{ratio:.2f}<", picture)
        self.assertIn("&lt;", bench_report.svg([("a < b", 1.0)]))

    def test_nothing_done_is_an_error(self):
        done = self.program("write", self.results, self.folder)
        self.assertEqual(done.returncode, 1)
        self.assertIn("no step is done yet", done.stderr)
        self.assertNotEqual(self.program("what").returncode, 0)

    def test_spans_and_extents(self):
        self.assertEqual(bench_report.span([2e9, 3e9, 1e9], 1e-9), "1 to 3")
        self.assertEqual(bench_report.span([1.0, 1.04], 1, 1), "1.0")
        self.assertIn("k 1x3x3", bench_report.layer_name(layer(k=[1, 3, 3])))


if __name__ == "__main__":
    unittest.main()

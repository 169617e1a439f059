"""deploy/gpu_check.sh without a GPU: a run of all blocks with programs that only pretend, wrong options, resuming."""

import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

DEPLOY = pathlib.Path(sys.argv.pop(1))
BENCH = """#!/bin/sh
case "$1" in
  machine) echo '{"block": "machine", "gpu": "pretended"}' ;;
  ceilings) echo '{"block": "copy", "what": "device to device", "GB_per_s": 4000}' ;;
  layer) echo '{"block": "layer", "problem": "conv", "primitive": "cuda.conv.fft", "format": "f32:planar",' \\
    '"variant": "tile=32", "ms": 1.5, "predicted_ms": 1, "direct_TFLOP_per_s": 100}' ;;
  net) echo '{"block": "net", "who": "znni", "net": "'$3'", "mode": "f32", "Mvoxels_per_s": 12.5}' ;;
esac
"""
SPLIT = """#!/bin/sh
echo '{"block": "capped", "net": "'$2'", "strategy": "'$4'", "primitives": "'${14}'", "places": "gpu 0-9", "extent": 200,' \
  '"cpu_idle_seconds": 0.5, "gpu_idle_seconds": 0.25, "Mvoxels_per_s": 3.5, "predicted_Mvoxels_per_s": 4}'
"""


class GpuCheck(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.root = pathlib.Path(self.folder.name)
        shutil.copytree(DEPLOY / "lib", self.root / "deploy" / "lib")
        shutil.copy(DEPLOY / "gpu_check.sh", self.root / "deploy")
        self.pack = self.root / "build" / "gpu-check"
        for name, text in [("bin/znni-gpu-bench", BENCH), ("bin/znni-split-bench", SPLIT)] + [
                (f"tests/{test}", "#!/bin/sh\nexit 0\n") for test in ("cuda_tests", "cuda_gpu_tests", "accelerator_tests")]:
            program = self.pack / name
            program.parent.mkdir(parents=True, exist_ok=True)
            program.write_text(text)
            program.chmod(0o755)
        (self.pack / "commit").write_text("0123abcd\n")

    def tearDown(self):
        self.folder.cleanup()

    def run_check(self, *words):
        return subprocess.run([str(self.root / "deploy" / "gpu_check.sh"), *words], capture_output=True, text=True,
                              timeout=300, check=False)

    def lines(self):
        return [json.loads(line) for line in (self.pack / "results.jsonl").read_text().splitlines()]

    def test_every_block_leaves_lines_and_the_table_shows_them(self):
        done = self.run_check()
        self.assertIn("device to device, GB_per_s 4000", done.stdout)
        self.assertIn("12.50 (61)", done.stdout)
        self.assertIn("cuda.conv.fft", done.stdout)
        self.assertRegex(done.stdout, r"n926 +gpu-host-ram +direct +3.500 of 4.000 predicted \(0.50, 0.25\)")
        blocks = {line["name"]: line["status"] for line in self.lines() if line["block"] == "check"}
        self.assertEqual(list(blocks), ["machine", "tests", "ceilings", "errors", "layers", "nets", "capped", "sanitizer"])
        self.assertEqual(blocks["layers"], 0)
        self.assertEqual({line["commit"] for line in self.lines() if line["block"] == "commit"}, {"0123abcd"})

    def test_what_is_done_is_not_done_again(self):
        self.run_check("--only", "ceilings")
        again = self.run_check("--only", "ceilings")
        self.assertIn("ceilings: done before", again.stderr)
        self.assertEqual(sum(line["block"] == "copy" for line in self.lines()), 1)

    def test_limits_add_up_to_less_than_nine_minutes(self):
        limits = re.findall(r"^block \w+ (\d+) ", (DEPLOY / "gpu_check.sh").read_text(), re.M)
        self.assertEqual(len(limits), 8)
        self.assertLess(sum(map(int, limits)), 540)

    def test_a_block_that_was_cut_off_goes_on_where_it_was(self):
        split = self.pack / "bin" / "znni-split-bench"
        split.write_text(SPLIT + '[ "$2 $4" != "n926 gpu" ]\n')
        self.assertIn("capped: status 1", self.run_check("--only", "capped").stderr)
        before = sum(line["block"] == "item" for line in self.lines())
        split.write_text(SPLIT)
        self.run_check("--only", "capped")
        done = [line["name"] for line in self.lines() if line["block"] == "item"]
        self.assertEqual((before, len(done), len(set(done))), (22, 24, 24))

    def test_a_failing_block_is_told_and_run_again(self):
        (self.pack / "tests" / "cuda_gpu_tests").write_text("#!/bin/sh\nexit 3\n")
        failed = self.run_check("--only", "tests")
        self.assertIn("tests: status 1", failed.stderr)
        self.assertEqual(failed.returncode, 1)
        (self.pack / "tests" / "cuda_gpu_tests").write_text("#!/bin/sh\nexit 0\n")
        self.run_check("--only", "tests")
        self.assertEqual([line["status"] for line in self.lines()], [1, 0])

    def test_a_line_that_was_cut_off_is_left_out(self):
        self.pack.joinpath("results.jsonl").write_text('{"block": "copy", "GB_per')
        self.assertEqual(self.run_check("--only", "machine").returncode, 0)

    def test_wrong_words_are_named(self):
        for words, expected in ((["--only", "all"], "no block 'all'"), (["--minutes", "soon"], "--minutes is 'soon'"),
                                (["--fast"], "no option '--fast'"), (["--results"], "--results needs a value")):
            done = self.run_check(*words)
            self.assertEqual(done.returncode, 2)
            self.assertIn(expected, done.stderr)

    def test_without_a_gpu_it_says_so_in_one_line_and_runs_nothing(self):
        (self.pack / "bin" / "znni-gpu-bench").write_text(
            "#!/bin/sh\necho 'znni-gpu-bench: no GPU, or no driver for CUDA 13' >&2\nexit 77\n")
        done = self.run_check()
        self.assertEqual(done.returncode, 2)
        self.assertEqual(done.stderr, "gpu_check.sh: no GPU, or no driver for CUDA 13: there is nothing to check on this "
                                      "machine\n")
        self.assertFalse((self.pack / "results.jsonl").exists())

    def test_programs_that_were_cut_off_are_told_before_anything_runs(self):
        (self.pack / "bin" / "znni-gpu-bench").write_text("#!/bin/sh\nkill -SEGV $$\n")
        done = self.run_check()
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr, r"^gpu_check.sh: build/gpu-check/bin/znni-gpu-bench ends with status 139: is "
                                      r"build/gpu-check whole\? Bring it along again\n$")

    def test_without_programs_it_says_where_they_come_from(self):
        shutil.rmtree(self.pack)
        done = self.run_check()
        self.assertEqual(done.returncode, 2)
        self.assertIn("gpu_check.sh pack", done.stderr)


if __name__ == "__main__":
    unittest.main()

"""deploy/fuzz with targets that only pretend to be libFuzzer's. Usage: fuzz_test.py SOURCE-FOLDER."""

import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(sys.argv.pop()).resolve()
# Writes down its arguments, one per line; `crash` among its seeds makes it end as libFuzzer does.
STAND_IN = """#!/bin/bash
printf '%s\\n' "$@" >"$0.calls"
for argument in "$@"; do
  case "$argument" in -artifact_prefix=*) crashes=${argument#*=} ;; esac
done
[ -e "${@: -2:1}/crash" ] || { echo "stat::number_of_executed_units: 4711"; exit 0; }
echo bad >"${crashes}crash-1"
echo "==1==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x1"
echo "artifact_prefix='$crashes'; Test unit written to ${crashes}crash-1"
exit 77
"""


class FuzzTest(unittest.TestCase):
    def setUp(self):
        kept = tempfile.TemporaryDirectory()
        self.addCleanup(kept.cleanup)
        self.clone = pathlib.Path(kept.name) / "clone"
        (self.clone / "deploy").mkdir(parents=True)
        shutil.copy(ROOT / "deploy/fuzz", self.clone / "deploy")
        shutil.copytree(ROOT / "deploy/lib", self.clone / "deploy/lib")
        (self.clone / "proto").mkdir()
        (self.clone / "proto/plan.proto").write_text("message Plan {\n  repeated int64 extents = 1;  // of all\n}\n")
        self.programs = pathlib.Path(kept.name) / "programs"
        self.programs.mkdir()
        for target in ("onnx", "plan"):
            (self.clone / "tests/fuzz/corpus" / target).mkdir(parents=True)
            (self.programs / f"{target}_fuzz").write_text(STAND_IN)
            (self.programs / f"{target}_fuzz").chmod(0o755)

    def fuzz(self, *arguments):
        """Runs deploy/fuzz and returns the finished process."""
        command = ["bash", str(self.clone / "deploy/fuzz"), "--programs", str(self.programs), *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)

    def call_of(self, target):
        """Returns the arguments that a target was given."""
        return (self.programs / f"{target}_fuzz.calls").read_text().splitlines()

    def test_every_target_has_its_time(self):
        done = self.fuzz("--seconds", "7")
        self.assertEqual(done.returncode, 0, done.stderr)
        for target in ("onnx", "plan"):
            self.assertIn(f"{target}: 4711 inputs, 0 kept", done.stdout)
            self.assertIn("-max_total_time=7", self.call_of(target))

    def test_what_was_found_before_comes_first(self):
        self.fuzz("plan")
        corpus, seeds, crashes = self.call_of("plan")[-3:]
        self.assertEqual(corpus, str(self.clone / "build/fuzz-corpus/plan"))
        self.assertEqual(seeds, str(self.clone / "tests/fuzz/corpus/plan"))
        self.assertEqual(crashes, str(self.clone / "build/fuzz-crashes/plan"))
        self.assertFalse((self.programs / "onnx_fuzz.calls").exists())

    def test_a_dictionary_has_the_names_of_fields(self):
        self.fuzz()
        self.assertEqual((self.clone / "build/fuzz-corpus/plan.dict").read_text(), '"extents"\n')
        self.assertIn(f"-dict={self.clone}/build/fuzz-corpus/plan.dict", self.call_of("plan"))
        self.assertFalse(
            [word for word in self.call_of("onnx") if word.startswith("-dict")], "libFuzzer takes no empty one"
        )

    def test_a_crash_is_one_line_and_a_file_and_the_others_go_on(self):
        (self.clone / "tests/fuzz/corpus/onnx/crash").write_text("")
        done = self.fuzz()
        self.assertEqual(done.returncode, 1)
        kept = self.clone / "build/fuzz-crashes/onnx/crash-1"
        self.assertTrue(kept.exists())
        (line,) = (line for line in done.stdout.splitlines() if line.startswith("onnx:"))
        self.assertIn("heap-buffer-overflow", line)
        self.assertTrue(line.endswith(f"again: {self.programs}/onnx_fuzz {kept}"), line)
        self.assertIn("plan: 4711 inputs", done.stdout)

    def test_wrong_use_says_what_would_be_right(self):
        for arguments, word in (
            (["tiff"], "there are onnx plan"),
            (["--seconds"], "needs a value"),
            (["--seconds", "0"], "from 1 on"),
            (["--seconds", "1m"], "from 1 on"),
            (["--programs", "/nowhere"], "no such program"),
        ):
            done = self.fuzz(*arguments)
            self.assertNotEqual(done.returncode, 0, arguments)
            self.assertIn(word, done.stderr)


if __name__ == "__main__":
    unittest.main()

"""A program on a processor that is too old for it says so; emulated. Usage: old_processor_test.py PROGRAM..."""

import shutil
import subprocess
import sys
import unittest

PROGRAMS = sys.argv[1:]
EMULATOR = shutil.which("qemu-x86_64-static") or shutil.which("qemu-x86_64")


def run(processor, program):
    """Runs `program --help` on such a processor."""
    return subprocess.run(
        [EMULATOR, "-cpu", processor, program, "--help"], capture_output=True, text=True, timeout=300, check=False
    )


class OldProcessorTest(unittest.TestCase):
    def test_is_refused_in_one_line(self):
        for processor in ("qemu64", "Westmere", "SandyBridge"):
            for program in PROGRAMS:
                done = run(processor, program)
                own = [line for line in done.stderr.split("\n") if line and not line.startswith("qemu")]
                self.assertEqual(done.returncode, 1, (processor, program, done.stderr))
                self.assertEqual(len(own), 1, done.stderr)
                self.assertIn(f"{program}: this processor lacks AVX2, FMA or BMI2; x86-64-v3 is needed", own[0])

    def test_a_newer_one_is_not(self):
        for program in PROGRAMS:
            done = run("max", program)
            self.assertEqual(done.returncode, 0, (program, done.stderr))


if __name__ == "__main__":
    if EMULATOR is None:
        print("SKIPPED: no qemu-x86_64-static (Debian package qemu-user-static)")
        sys.exit(0)
    unittest.main(argv=sys.argv[:1])

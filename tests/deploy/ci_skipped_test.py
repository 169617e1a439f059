"""What .ci/skipped counts in logs of ctest: all tests that skip themselves, with their reasons.
Usage: ci_skipped_test.py SOURCE-FOLDER"""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(sys.argv.pop())

# Programs of Python as users write them: what is skipped alone, as a class, and before a class begins.
TESTS = """
import unittest

class Some(unittest.TestCase):
    def test_that_runs(self):
        pass

    @unittest.skip("no loader's library")
    def test_with_words(self):
        '''It says what it is about.'''

    def test_parts(self):
        for part in range(2):
            with self.subTest(part=part):
                self.skipTest("a part")

@unittest.skipUnless(False, "torch is not installed")
class Torch(unittest.TestCase):
    def test_a(self):
        pass

    def test_b(self):
        pass

class Never(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        raise unittest.SkipTest("no server")

    def test_it(self):
        pass

if __name__ == "__main__":
    unittest.main()
"""
GOOGLE = """
[  SKIPPED ] Gpu.Works (0 ms)
[  PASSED  ] 2 tests.
[  SKIPPED ] {} test{}, listed below:
[  SKIPPED ] Gpu.Works
"""


class CiSkippedTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def told(self, *logs):
        """Returns the lines that are printed for the logs of several programs."""
        (self.folder / "log").write_text("".join(logs))
        command = [SOURCE / ".ci/skipped", self.folder / "log"]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()

    def ran(self, *options):
        """Returns what the tests of Python print."""
        (self.folder / "some_test.py").write_text(TESTS)
        command = [sys.executable, "-B", self.folder / "some_test.py", *options]
        plain = {**os.environ, "NO_COLOR": "1", "PYTHON_COLORS": "0"}
        return subprocess.run(command, check=True, capture_output=True, text=True, env=plain).stderr

    def test_reasons_are_told(self):
        log = self.ran("--verbose")
        expected = [
            "2 tests in Python: a part",
            "1 tests in Python: no loader's library",
            "1 tests in Python: no server",
        ]
        self.assertCountEqual(self.told(log), [*expected, "2 tests in Python: torch is not installed"])
        expected = [line.replace("1 ", "2 ", 1) if line[0] == "1" else line.replace("2 ", "4 ", 1) for line in expected]
        self.assertCountEqual(self.told(log, log), [*expected, "4 tests in Python: torch is not installed"])

    def test_what_has_no_reason_is_counted(self):
        self.assertEqual(self.told(self.ran()), ["6 more tests in Python that skipped themselves"])

    def test_failures_are_no_hindrance(self):
        self.assertEqual(
            self.told("FAILED (failures=1, skipped=3)\n"), ["3 more tests in Python that skipped themselves"]
        )

    def test_google_tests(self):
        (found,) = self.told(GOOGLE.format(1, ""), "[  PASSED  ] 3 tests.\n", GOOGLE.format(12, "s"))
        self.assertTrue(found.startswith("13 tests of GoogleTest programs"), found)

    def test_nothing_is_nothing(self):
        self.assertEqual(self.told("Ran 3 tests in 0.1s\n\nOK\n", "[  PASSED  ] 3 tests.\n"), [])


if __name__ == "__main__":
    unittest.main()

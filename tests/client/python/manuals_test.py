"""Manual pages of the package's programs."""

import pathlib
import shutil
import subprocess
import sys
import unittest

CLIENT = pathlib.Path(__file__).resolve().parents[3] / "client/python"
sys.path.append(str(CLIENT))  # behind the package that is installed
import manuals


class ManualsTest(unittest.TestCase):
    def test_the_pages_are_those_of_the_options(self):
        found = {path.name: path.read_text() for path in manuals.FOLDER.iterdir()}
        self.assertEqual(found, manuals.pages(), "run client/python/manuals.py again")

    def test_a_page_has_all_options_and_commands(self):
        pages = manuals.pages()
        self.assertIn(
            ".B znni-job plan\n[\\fIOPTION\\fR]... \\fB\\-\\-input\\fR \\fIINPUT\\fR ", pages["znni-job-plan.1"]
        )
        self.assertIn("\\fB\\-\\-shard\\fR \\fISHARD\\fR\nI/N: every", pages["znni-job-run.1"])
        commands = {name.removeprefix("znni-job-").removesuffix(".1") for name in pages if "znni-job-" in name}
        for command in commands:
            self.assertIn(f"\\fBznni-job\\-{command}\\fR(1)\n", pages["znni-job.1"])
        self.assertEqual(commands, {"plan", "run", "status", "verify", "pyramid", "simulate"})

    def test_text_is_no_request_of_roff(self):
        self.assertEqual(manuals.escaped(".so a\\b\n -x"), "\\&.so a\\eb \\-x")

    def test_roff_has_no_complaint(self):
        if shutil.which("groff") is None:
            self.skipTest("no groff")
        for name, text in manuals.pages().items():
            done = subprocess.run(
                ["groff", "-man", "-Tutf8", "-ww"], input=text, capture_output=True, text=True, check=True
            )
            self.assertEqual(done.stderr, "", name)
            self.assertIn("show this help message and exit", done.stdout)


if __name__ == "__main__":
    unittest.main()

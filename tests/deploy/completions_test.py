"""deploy/completions.bash, with programs that are scripts.
Usage: completions_test.py DEPLOY-FOLDER."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(sys.argv.pop()).resolve() / "completions.bash"
ZNNI = """#!/bin/sh
case "$1" in
  infer) echo "  -m,--model TEXT    name"; echo "  --padding TEXT     none, --model" ;;
  *) printf 'Options:\\n  --version   print\\n\\n'
     printf 'Subcommands:\\n  infer         stream\\n  status, models   list\\n\\nrest\\n' ;;
esac
"""


class CompletionsTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        for name in ("znni", "znni-run", "planner"):
            (self.folder / name).write_text(ZNNI)
            (self.folder / name).chmod(0o755)

    def complete(self, *words):
        """Returns what bash offers for the last of `words`."""
        script = f'. {SCRIPT}; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _znni_complete; echo "${{COMPREPLY[*]}}"'
        environment = {**os.environ, "HOME": str(self.folder), "PATH": f"{self.folder}:/usr/bin:/bin"}
        ran = subprocess.run(
            ["bash", "-c", script, "bash", *words], capture_output=True, text=True, check=True, env=environment
        )
        self.assertEqual(ran.stderr, "")
        return ran.stdout.split()

    def test_commands(self):
        self.assertEqual(self.complete("planner", ""), ["infer", "models", "status"])
        self.assertEqual(self.complete("znni", ""), ["check", "help", "infer", "models", "run", "status"])
        self.assertEqual(self.complete("znni", "help", "r"), ["run"])
        self.assertEqual(self.complete("znni", "in"), ["infer"])

    def test_options_of_program_and_command(self):
        self.assertEqual(self.complete("znni", "--"), ["--version"])
        self.assertEqual(self.complete("znni", "infer", "--"), ["--model", "--padding", "--version"])
        self.assertEqual(self.complete("znni", "infer", "-m", "x", "--p"), ["--padding"])

    def test_programs_as_they_are_written(self):
        self.assertEqual(self.complete("$HOME/planner", "in"), ["infer"])
        self.assertEqual(self.complete("~/planner", "in"), ["infer"])

    def test_files_are_left_to_bash(self):
        self.assertEqual(self.complete("znni", "infer", "fi"), [])


if __name__ == "__main__":
    unittest.main()

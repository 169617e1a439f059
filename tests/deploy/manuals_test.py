"""deploy/debian/manuals.py, with a program that is a script and help2man played by another.
Usage: manuals_test.py DEPLOY-FOLDER."""

import gzip
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(sys.argv.pop()).resolve() / "debian/manuals.py"
HELP = """Does things: many.
Usage: tool [OPTIONS] SUBCOMMAND

Subcommands:
  make, build      make a thing; then
                   rest
  dry-run          do nothing (at all)

Other words do other things:
  tool x           a thing
"""
# What help2man makes of it: it takes the first word of the usage for the program.
HELP2MAN = """#!/bin/sh
printf '.TH TOOL "1" "x"\\n.SH NAME\\ntool \\\\- '
for word; do case "$word" in --name=*) echo "${word#--name=}" ;; esac; done
printf '.SH SYNOPSIS\\n.B wrong\\n[OPTIONS]\\n.SH DESCRIPTION\\n'
echo "$@"
"""


class ManualsTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.write("help2man", HELP2MAN)
        (self.folder / "help").write_text(HELP)
        (self.folder / "make").write_text("Makes.\nUsage: tool make [OPTIONS] FILE\n")
        (self.folder / "dry-run").write_text("Does nothing.\nUsage: tool dry-run\n")
        self.write("tool", f'#!/bin/sh\n[ "$1" = --help ] && exec cat {self.folder}/help\nexec cat {self.folder}/$1\n')

    def write(self, name, text):
        (self.folder / name).write_text(text)
        (self.folder / name).chmod(0o755)

    def test_a_page_for_the_program_and_each_command(self):
        environment = {**os.environ, "PATH": f"{self.folder}:{os.environ['PATH']}"}
        command = [sys.executable, SCRIPT, self.folder / "man1", "1.2", self.folder / "tool"]
        subprocess.run(command, check=True, env=environment)
        pages = {path.name: gzip.decompress(path.read_bytes()).decode() for path in (self.folder / "man1").iterdir()}
        self.assertEqual(sorted(pages), ["tool-dry-run.1.gz", "tool-make.1.gz", "tool.1.gz"])
        page = pages["tool-make.1.gz"]
        self.assertIn('.TH TOOL-MAKE "1"', page)
        self.assertIn(".SH NAME\ntool-make \\- make a thing\n", page)
        self.assertIn(".SH SYNOPSIS\n.B tool\nmake [OPTIONS] FILE\n.SH DESCRIPTION\n", page)
        self.assertIn("--version-string=1.2 --help-option=make --help", page)
        self.assertIn(
            ".SH NAME\ntool \\- Does things\n.SH SYNOPSIS\n.B tool\n[OPTIONS] SUBCOMMAND\n", pages["tool.1.gz"]
        )
        self.assertIn("\ntool-dry-run \\- do nothing\n", pages["tool-dry-run.1.gz"])

    def test_a_help_text_without_its_command_is_refused(self):
        (self.folder / "make").write_text("Makes.\nUsage: make [OPTIONS]\n")
        environment = {**os.environ, "PATH": f"{self.folder}:{os.environ['PATH']}"}
        command = [sys.executable, SCRIPT, self.folder / "man1", "1.2", self.folder / "tool"]
        ran = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
        self.assertEqual(ran.returncode, 1)
        self.assertIn("manuals: tool-make: its help text has no line 'Usage: PROGRAM make...'", ran.stderr)

    def test_usage(self):
        ran = subprocess.run([sys.executable, SCRIPT, "x"], capture_output=True, text=True, check=False)
        self.assertEqual((ran.returncode, ran.stderr), (1, "usage: manuals.py FOLDER VERSION PROGRAM...\n"))


if __name__ == "__main__":
    unittest.main()

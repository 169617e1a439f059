"""The words of the commands of deploy/. A word that is not known gives one line, before anything is installed or built.
Usage: usage_test.py DEPLOY-FOLDER."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

DEPLOY = pathlib.Path(sys.argv.pop(1)).resolve()
# As deploy/lib/setup.sh, but nothing is done, and all that would be is told.
SETUP = """
say() { :; }
die() { printf '%s: %s\\n' "$(basename "$0")" "$*" >&2; exit 1; }
for step in install_packages install_python add_python install_torch build_preset; do
  eval "$step() { echo $step \\"\\$*\\"; }"
done
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
"""


class UsageTest(unittest.TestCase):
    def setUp(self):
        kept = tempfile.TemporaryDirectory()
        self.addCleanup(kept.cleanup)
        self.root = pathlib.Path(kept.name)
        (self.root / "deploy/lib").mkdir(parents=True)
        for name in ("test", "demo", "bench", "compare", "package", "format"):
            shutil.copy(DEPLOY / name, self.root / "deploy")
        (self.root / "deploy/lib/setup.sh").write_text(SETUP)
        (self.root / "deploy/lib/torch.sh").write_text("")
        (self.root / "bin").mkdir()
        self.stand_in("ctest", 'for word; do echo "ctest: $word"; done')

    def stand_in(self, name, what):
        """Writes a program that only pretends."""
        program = self.root / "bin" / name
        program.write_text(f"#!/bin/sh\n{what}\n")
        program.chmod(0o755)

    def stand_in_ruff(self, what):
        """Puts a program that only pretends where install_python installs ruff."""
        (self.root / "build/venv/bin").mkdir(parents=True)
        self.stand_in("../build/venv/bin/ruff", what)

    def call(self, name, *arguments):
        """Returns the finished process of a command."""
        path = f"{self.root / 'bin'}:{os.environ['PATH']}"
        return subprocess.run(
            [self.root / "deploy" / name, *arguments],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            env={**os.environ, "PATH": path},
        )

    def test_unknown_words_end_in_one_line(self):
        wrong = [["--foo"], ["foo"], ["--mem"], ["-j"]]
        for name, more in {
            "test": [["--preset"], ["--preset", "fast"], ["-R"], ["-R", "a", "--foo"], ["--filter"]],
            "demo": [["--input"], ["--mem", "4G", "b"], ["--mem", "much"], ["--input", "none.h5"]],
            "package": [["cpu"]],
            "format": [["--check", "none.cpp"], ["--hook", "a"]],
            "bench": [["--only"], ["--mem", "much"], ["--patience", "none"]],
            "compare": [["--peers", "none"], ["--size", "9"], ["--rounds", "many"]],
        }.items():
            for arguments in wrong + more:
                with self.subTest(f"deploy/{name} {' '.join(arguments)}"):
                    done = self.call(name, *arguments)
                    self.assertEqual((done.returncode, done.stdout), (1, ""), done.stderr)
                    self.assertRegex(done.stderr, rf"^{name}: [^\n]*\n$")
                    self.assertIn(arguments[-1], done.stderr)

    def test_what_chooses_tests_goes_to_ctest_as_it_is(self):
        given = ["-R", "Server|e2e", "-E", "a b", "-LE", "gpu", "--output-on-failure", "--repeat", "until-pass:2"]
        done = self.call("test", "--preset", "dev", *given)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("build_preset dev", done.stdout)
        words = [line[len("ctest: ") :] for line in done.stdout.splitlines() if line.startswith("ctest: ")]
        self.assertEqual((words[:2], words[4:]), (["--preset", "dev"], given))

    def test_a_filter_runs_the_programs_that_have_such_tests(self):
        programs = self.root / "build/release/tests"
        programs.mkdir(parents=True)
        for name, listed in {"one_test": "Suite.\n  Name", "two_tests": "Running main()"}.items():
            program = programs / name
            program.write_text(
                f"#!/bin/sh\ncase $1 in --gtest_list_tests) echo '{listed}' ;; *) echo {name} $1 ;; esac\n"
            )
            program.chmod(0o755)
        done = self.call("test", "--filter", "Suite.N*")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(done.stdout.endswith("\none_test --gtest_filter=Suite.N*\n"), done.stdout)
        self.assertNotIn("ctest:", done.stdout)
        (programs / "one_test").unlink()
        done = self.call("test", "--filter", "None.*")
        self.assertEqual((done.returncode, done.stderr), (1, "test: no test is called 'None.*'\n"))

    def test_sources_are_formatted_or_checked(self):
        self.stand_in("clang-format-14", "echo format $*")
        self.stand_in_ruff("echo ruff $*")
        for name in ("a.cpp", "b.hpp", "c.cu", "d.py"):
            (self.root / name).write_text("int a;\n")
        subprocess.run(
            "git init -q && git add a.cpp b.hpp c.cu d.py", shell=True, cwd=self.root, check=True, timeout=60
        )
        self.assertEqual(
            self.call("format").stdout.splitlines(),
            [
                "format -i a.cpp b.hpp c.cu",
                "install_packages style",
                "install_python ",
                "ruff check --quiet --no-cache --fix d.py",
                "ruff format --quiet --no-cache d.py",
            ],
        )
        self.assertEqual(
            self.call("format", "--check").stdout.splitlines(),
            [
                "format --dry-run -Werror a.cpp b.hpp c.cu",
                "install_packages style",
                "install_python ",
                "ruff check --quiet --no-cache d.py",
                "ruff format --quiet --no-cache --diff d.py",
            ],
        )
        self.assertEqual(self.call("format", self.root / "b.hpp").stdout, f"format -i {self.root / 'b.hpp'}\n")

    def test_faults_of_python_sources_are_refused(self):
        self.stand_in_ruff('[ "$1" = format ]')
        (self.root / "d.py").write_text("a = b\n")
        self.assertNotEqual(self.call("format", "--check", self.root / "d.py").returncode, 0)

    def test_types_of_the_python_client_are_checked(self):
        """Of all of it, if one source of it is named, and only if nothing is to be changed."""
        self.stand_in_ruff("")
        self.stand_in("../build/venv/bin/python", 'echo $1 $2 in "${PWD##*/}"; exit "$WRONG"')
        inside, outside = "client/python/znni/a.py", "client/python/setup.py"
        (self.root / inside).parent.mkdir(parents=True)
        for name in (inside, outside):
            (self.root / name).write_text("a = 1\n")
        for wrong in ("1", "0"):
            with mock.patch.dict(os.environ, WRONG=wrong):
                done = self.call("format", "--check", self.root / outside, self.root / inside)
                self.assertEqual(done.returncode == 0, wrong == "0", done.stderr)
                self.assertIn("-m mypy in python\n", done.stdout)
                for arguments in (["--check", self.root / outside], [self.root / inside]):
                    done = self.call("format", *arguments)
                    self.assertEqual(done.returncode, 0, done.stderr)
                    self.assertNotIn("mypy", done.stdout)

    def test_a_commit_of_sources_that_are_not_formatted_is_refused(self):
        self.stand_in("clang-format-14", 'echo format $*; exit "$WRONG"')
        self.stand_in_ruff("echo ruff $*")
        (self.root / "a.cpp").write_text("int a;\n")
        (self.root / "b.py").write_text("a = 1\n")
        git = ["git", "-c", "user.name=a", "-c", "user.email=a@b.c", "-C", self.root]
        subprocess.run([*git, "init", "-q"], check=True, timeout=60)
        self.assertEqual(self.call("format", "--hook").returncode, 0)
        again = self.call("format", "--hook")
        self.assertRegex(again.stderr, r"^format: [^\n]*pre-commit exists: call deploy/format --check from it\n$")
        subprocess.run([*git, "add", "-A"], check=True, timeout=60)
        for wrong in ("1", "0"):
            path = f"{self.root / 'bin'}:{os.environ['PATH']}"
            done = subprocess.run(
                [*git, "commit", "-qm", "a"],
                check=False,
                timeout=60,
                capture_output=True,
                text=True,
                env={**os.environ, "PATH": path, "WRONG": wrong},
            )
            self.assertEqual(done.returncode == 0, wrong == "0", done.stderr)
            self.assertIn("format --dry-run -Werror a.cpp\n", done.stdout + done.stderr)
        self.assertIn("ruff format --quiet --no-cache --diff b.py\n", done.stdout + done.stderr)

    def test_fast_tests_have_a_label_and_fewer_random_cases(self):
        self.stand_in("ctest", 'echo "ctest $ZNNI_TEST_CASES_DIVISOR: $*"')
        for divisor, given in (("8", None), ("2", "2")):
            with mock.patch.dict(os.environ):
                os.environ.pop("ZNNI_TEST_CASES_DIVISOR", None)
                if given:
                    os.environ["ZNNI_TEST_CASES_DIVISOR"] = given
                done = self.call("test", "--fast")
            self.assertRegex(done.stdout, rf"ctest {divisor}: --preset release -j [0-9]+ -L \^fast\$\n$")
        self.assertIn("--filter stands alone", self.call("test", "--fast", "--filter", "A.*").stderr)

    def test_without_a_word_all_tests_run(self):
        done = self.call("test")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("build_preset release", done.stdout)

    def test_a_package_is_all_that_is_printed(self):
        packages = self.root / "build/release/packages"
        packages.mkdir(parents=True)
        (packages / "znni_0.0.1_amd64.deb").write_text("an old one")
        self.stand_in("cpack", f"echo much; mkdir -p {packages} && echo >{packages}/znni_0.1.0_amd64.deb")
        done = self.call("package")
        self.assertEqual((done.returncode, done.stdout), (0, f"{packages}/znni_0.1.0_amd64.deb\n"))
        self.assertIn("install_packages build package", done.stderr)


if __name__ == "__main__":
    unittest.main()

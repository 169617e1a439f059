"""Programs inside the package, on the PATH, and named by the environment."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import znni
from install import install
from znni.errors import NotFoundError
from znni.local import installed
from znni.local.installed import find_program, program_inside


class InstalledTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.enterContext(mock.patch.object(installed, "_INSIDE", self.folder / "inside"))
        self.enterContext(mock.patch.dict(os.environ, {"PATH": str(self.folder / "path")}))
        os.environ.pop("ZNNID", None)

    def write(self, *parts, text="exit 0"):
        """Makes a program and returns its path."""
        path = self.folder.joinpath(*parts)
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
        return str(path)

    def test_the_environment_comes_before_the_package_before_the_path(self):
        on_path = self.write("path", "znnid")
        self.assertEqual(find_program("znnid", "ZNNID"), on_path)
        self.assertIsNone(program_inside("znnid"))
        inside = self.write("inside", "znnid")
        self.assertEqual(find_program("znnid", "ZNNID"), inside)
        self.assertEqual(program_inside("znnid"), inside)
        named = self.write("named", "other")
        with mock.patch.dict(os.environ, {"ZNNID": named}):
            self.assertEqual(find_program("znnid", "ZNNID"), named)

    def test_not_found(self):
        with mock.patch.dict(os.environ, {"ZNNID": "/none/znnid"}):
            with self.assertRaisesRegex(NotFoundError, "^ZNNID: /none/znnid: there is no such program"):
                find_program("znnid", "ZNNID")
        with self.assertRaisesRegex(NotFoundError, "^znnid is neither in the package znni nor on the PATH"):
            find_program("znnid", "ZNNID")


class TakenInTest(unittest.TestCase):
    """The package installed by pip with programs, which are scripts."""

    def test_runs_the_programs_that_the_package_took_in(self):
        folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        programs = folder / "programs"
        programs.mkdir()
        (programs / "znni").write_text('#!/bin/sh\necho "<$*>"; command -v znni-job\n')
        (programs / "znni").chmod(0o755)
        with mock.patch.dict(os.environ, {"ZNNI_PROGRAMS": str(programs)}):
            install(folder / "target")
        command = [sys.executable, folder / "target/bin/znni", "infer", "a b"]
        ran = subprocess.run(
            command, capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": f"{folder}/target"}
        )
        self.assertEqual(ran.stdout, f"<infer a b>\n{folder}/target/bin/znni-job\n")

    def test_a_package_without_programs_takes_that_on_the_path(self):
        package = pathlib.Path(znni.__file__).parent
        self.assertFalse((package / "bin").exists())
        folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        script = package.parent / "bin/znni"
        os.symlink(script, folder / "znni")

        def call(*folders):
            path = ":".join(map(str, folders))
            return subprocess.run(
                [sys.executable, folder / "znni", "infer"],
                capture_output=True,
                text=True,
                check=False,
                env={**os.environ, "PATH": path},
            )

        ran = call(script.parent, folder)  # itself alone, twice
        self.assertEqual(ran.returncode, 2)
        self.assertRegex(ran.stderr, "^znni: it is neither in the package znni nor on the PATH: .*\n$")
        (folder / "more").mkdir()
        (folder / "more/znni").write_text('#!/bin/sh\necho "<$*>"; command -v znni-job\n')
        (folder / "more/znni").chmod(0o755)
        self.assertEqual(call(script.parent, folder / "more").stdout, f"<infer>\n{script.parent}/znni-job\n")


if __name__ == "__main__":
    unittest.main()

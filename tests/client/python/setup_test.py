"""The source distribution: made in a clone, installed without it. Needs no network."""

import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
MADE = ("znni/wire.binpb", "znni/libznni_conv.so", "znni/bin/znnid")
BUILD = "import sys; from setuptools import build_meta; build_meta.build_sdist(sys.argv[1])"


class SetupTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.clone = self.folder / "clone"
        ignored = shutil.ignore_patterns("build", "*.egg-info", "__pycache__", "bin", "*.so", "*.binpb")
        shutil.copytree(ROOT / "client/python", self.clone / "client/python", ignore=ignored)
        shutil.copytree(ROOT / "proto", self.clone / "proto", ignore=shutil.ignore_patterns("convert"))
        shutil.copy(ROOT / "LICENSE", self.clone)
        unwanted = ("ZNNI_CONV_LIBRARY", "ZNNI_PROGRAMS", "PYTHONPATH")
        self.environment = {name: value for name, value in os.environ.items() if name not in unwanted}

    def call(self, *arguments, **options):
        """Returns the finished process of this Python."""
        return subprocess.run(
            [sys.executable, *map(str, arguments)],
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
            **options,
        )

    def sdist(self, source):
        """Returns the one source distribution that is made of a folder."""
        target = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        done = self.call("-c", BUILD, target, cwd=source)
        self.assertEqual(done.returncode, 0, done.stderr)
        (found,) = target.iterdir()
        return found

    def test_is_installed_where_there_is_no_clone(self):
        for name in MADE:  # as an editable installation leaves them
            path = self.clone / "client/python" / name
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(b"stale")
        made = self.sdist(self.clone / "client/python")
        shutil.rmtree(self.clone)
        target = self.folder / "installed"
        pip = ("-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--no-build-isolation", "--target", target)
        done = self.call(*pip, made)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.environment["PYTHONPATH"] = str(target)
        script = "from znni import wire; from znni.programs import job; print(wire.VolumeHeader(channels=3).channels)"
        done = self.call("-c", script, cwd=self.folder)
        self.assertEqual((done.returncode, done.stdout), (0, "3\n"), done.stderr)
        for name in ("znni/viewing/page.js", "share/man/man1/znni-job-plan.1"):
            self.assertTrue((target / name).is_file(), name)

    def test_holds_sources_alone_and_can_be_made_again_of_itself(self):
        made = self.sdist(self.clone / "client/python")
        with tarfile.open(made) as file:
            names = sorted(name.partition("/")[2] for name in file.getnames())
            file.extractall(self.folder / "unpacked")
        for name in ("proto/volumes.proto", "proto/inference.proto", "LICENSE", "README.md", "znni/py.typed"):
            self.assertIn(name, names)
        self.assertEqual([name for name in MADE if name in names], [])
        (unpacked,) = (self.folder / "unpacked").iterdir()
        with tarfile.open(self.sdist(unpacked)) as file:
            again = sorted(name.partition("/")[2] for name in file.getnames())
        self.assertEqual(names, again)

    def test_without_the_messages_it_says_where_to_install_from(self):
        shutil.rmtree(self.clone / "proto")
        done = self.call("setup.py", "-q", "build_py", cwd=self.clone / "client/python")
        self.assertNotEqual(done.returncode, 0)
        self.assertRegex(done.stderr, r"proto/inference.proto: is missing: install from client/python of a clone")


if __name__ == "__main__":
    unittest.main()

"""The Debian package: what is in it, what it depends on, and that it works in a folder of its own.
Usage: package_test.py CPACK BUILD-FOLDER."""

import gzip
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

BUILD, CPACK = sys.argv.pop(), sys.argv.pop()


def run(*command):
    """Returns the standard output of a command that must succeed."""
    return subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, timeout=500, check=True
    ).stdout


class PackageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.kept = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.kept.name)
        run(CPACK, "-G", "DEB", "-B", cls.folder, "--config", f"{BUILD}/CPackConfig.cmake")
        (cls.package,) = cls.folder.glob("*.deb")

    @classmethod
    def tearDownClass(cls):
        cls.kept.cleanup()

    def field(self, name):
        """Returns a field of the package's control file."""
        return run("dpkg-deb", "--field", self.package, name).strip()

    def test_is_named_as_debian_names_packages(self):
        self.assertRegex(self.package.name, r"^znni_\d+\.\d+\.\d+_(amd64|arm64)\.deb$")

    def test_depends_on_what_the_programs_link(self):
        names = {re.split(r"[ (]", one.strip())[0] for one in self.field("Depends").split(",")}
        for name in ("libc6", "libdnnl2", "libhwloc15", "libprotobuf32"):
            self.assertIn(name, names)
        self.assertFalse([name for name in names if name.endswith("-dev")])

    def test_holds_programs_model_service_and_licence(self):
        listed = run("dpkg-deb", "--contents", self.package)
        paths = {line.split(" ./", 1)[1] for line in listed.splitlines() if " ./" in line}
        for path in (
            "usr/bin/znni-planner",
            "usr/share/znni/models/fib25-boundary/1/model.onnx",
            "usr/share/doc/znni/copyright",
            "usr/lib/systemd/system/znnid.service",
            "usr/share/bash-completion/completions/znni-planner",
        ):
            self.assertIn(path, paths)
        if shutil.which("help2man"):
            self.assertIn("usr/share/man/man1/znni-planner-check.1.gz", paths)
        self.assertNotIn("usr/bin/planner", paths, "that is GNOME's")
        self.assertFalse([path for path in paths if path.endswith((".a", ".hpp", ".cmake"))])
        self.assertTrue(all(" root/root " in line for line in listed.splitlines()))

    def test_names_the_licences_of_all_it_holds(self):
        run("dpkg-deb", "--extract", self.package, self.folder / "named")
        text = (self.folder / "named/usr/share/doc/znni/copyright").read_text()
        for part in (
            "Chart.js Contributors",
            "License: Expat\n Permission is hereby granted",
            "License: Apache-2.0\n Licensed",
        ):
            self.assertIn(part, text)

    def test_the_changelog_is_that_of_the_project(self):
        run("dpkg-deb", "--extract", self.package, self.folder / "changed")
        path = self.folder / "changelog"
        path.write_bytes(gzip.decompress((self.folder / "changed/usr/share/doc/znni/changelog.gz").read_bytes()))
        for name in ("Version", "Maintainer"):
            self.assertEqual(run("dpkg-parsechangelog", "-l", path, "-S", name).strip(), self.field(name))

    def test_programs_run_from_the_unpacked_package(self):
        run("dpkg-deb", "--extract", self.package, self.folder / "root")
        self.assertIn("cpu.conv.fft_tiled", run(self.folder / "root/usr/bin/znni-planner", "primitives"))


if __name__ == "__main__":
    if shutil.which("dpkg-shlibdeps") is None:
        print("SKIPPED: no dpkg-shlibdeps (Debian package dpkg-dev)")
        sys.exit(0)
    unittest.main()

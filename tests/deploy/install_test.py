"""The files that `cmake --install` leaves: programs that run from there, headers that are complete, and libraries that
another project links. Usage: install_test.py CMAKE BUILD-FOLDER CXX-COMPILER."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

CXX, BUILD, CMAKE = sys.argv.pop(), sys.argv.pop(), sys.argv.pop()
CONSUMER = pathlib.Path(__file__).resolve().parent / "consumer"
MODEL = "share/znni/models/fib25-boundary/1/model.onnx"


def run(*command):
    """Returns the standard output of a command that must succeed."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=500, check=False)
    if done.returncode != 0:
        raise AssertionError(f"{command}: exit code {done.returncode}\n{done.stdout[-4000:]}{done.stderr[-4000:]}")
    return done.stdout


class InstallTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.kept = tempfile.TemporaryDirectory()
        cls.prefix = pathlib.Path(cls.kept.name) / "prefix"
        for component in ("runtime", "development", "service"):
            run(CMAKE, "--install", BUILD, "--prefix", cls.prefix, "--component", component)

    @classmethod
    def tearDownClass(cls):
        cls.kept.cleanup()

    def cache(self, name):
        """Returns a value of the build's CMake cache."""
        text = pathlib.Path(BUILD, "CMakeCache.txt").read_text()
        return re.search(rf"^{name}:\w+=(.*)$", text, re.MULTILINE)[1]

    def test_programs_run_where_they_were_installed(self):
        self.assertIn("cpu.conv.fft_tiled", run(self.prefix / "bin/planner", "primitives"))
        if self.cache("ZNNI_SERVER") != "ON":
            self.skipTest("built without ZNNI_SERVER")
        self.assertIn("usage", run(self.prefix / "bin/znni", "--help").lower())
        for program in ("znnid", "znni-train"):
            self.assertIn(self.cache("CMAKE_PROJECT_VERSION"), run(self.prefix / "bin" / program, "--version"))

    def test_programs_know_no_folder_of_the_build(self):
        for program in (self.prefix / "bin").iterdir():
            self.assertNotIn("RUNPATH", run("readelf", "-d", program))

    def test_the_shipped_model_and_the_licences_are_there(self):
        self.assertTrue((self.prefix / MODEL).is_file())
        documents = self.prefix / "share/doc/znni"
        named = re.findall(r"`docs/(\w+\.md)`", (documents / "deploy.md").read_text())
        for name in ("LICENSE", "copyright", *named):
            self.assertTrue((documents / name).is_file(), name)
        self.assertTrue((self.prefix / "lib/systemd/system/znnid.service").is_file())

    def test_headers_include_none_that_was_left_behind(self):
        include = self.prefix / "include/znni"
        headers = list(include.rglob("*.hpp"))
        self.assertGreater(len(headers), 50)
        # Headers that need those of libraries we do not install are for the sources beside them.
        inside = re.compile(r'#include "((?:primitives|planner|proto/convert|server)/[^"]+\.hpp)"')
        for header in headers:
            for name in inside.findall(header.read_text()):
                self.assertTrue(
                    (include / name).is_file() or name == "primitives/cpu/vectors/simd8.hpp", f"{header}: {name}"
                )

    def test_another_project_links_it(self):
        build = pathlib.Path(self.kept.name) / "consumer"
        run(CMAKE, "-S", CONSUMER, "-B", build, f"-DCMAKE_PREFIX_PATH={self.prefix}", f"-DCMAKE_CXX_COMPILER={CXX}")
        run(CMAKE, "--build", build)
        self.assertEqual(run(build / "dense", self.prefix / MODEL), "1x1x1\n")


if __name__ == "__main__":
    os.environ["LC_ALL"] = "C"
    unittest.main()

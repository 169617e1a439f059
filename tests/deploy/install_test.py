"""The files that `cmake --install` leaves: programs that run from there, headers that are complete, and libraries that
another project links. Usage: install_test.py CMAKE BUILD-FOLDER CXX-COMPILER."""

import contextlib
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import time
import unittest

CXX, BUILD, CMAKE = sys.argv.pop(), sys.argv.pop(), sys.argv.pop()
CONSUMERS = pathlib.Path(__file__).resolve().parent / "consumers"
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
        inside = re.compile(r'#include "((?:primitives|planner|proto/convert|server|client)/[^"]+\.hpp)"')
        for header in headers:
            for name in inside.findall(header.read_text()):
                self.assertTrue(
                    (include / name).is_file() or name == "primitives/cpu/vectors/simd8.hpp", f"{header}: {name}"
                )

    def configure(self, source, build):
        run(CMAKE, "-S", source, "-B", build, f"-DCMAKE_PREFIX_PATH={self.prefix}", f"-DCMAKE_CXX_COMPILER={CXX}")

    def build_consumer(self, name):
        """Returns the folder in which a project of `consumers` was built."""
        build = pathlib.Path(self.kept.name) / name
        self.configure(CONSUMERS / name, build)
        run(CMAKE, "--build", build)
        return build

    def test_another_project_plans_and_computes(self):
        self.assertEqual(run(self.build_consumer("engine") / "dense", self.prefix / MODEL), "1x1x1\n")

    def test_another_project_streams_volumes(self):
        if self.cache("ZNNI_SERVER") != "ON":
            self.skipTest("built without ZNNI_SERVER")
        stream = self.build_consumer("client") / "stream"
        # It finds gRPC and protobuf, not what planner and engine link.
        self.assertNotIn("DNNL", (stream.parent / "CMakeCache.txt").read_text().upper())
        with self.served("fib25-boundary") as address:
            self.assertRegex(run(stream, address, "fib25-boundary"), r"^4x1x1 0\.\d+\n$")
        gone = subprocess.run([stream, address, "fib25-boundary"], capture_output=True, text=True, check=False)
        self.assertEqual(gone.returncode, 1)
        self.assertIn(f"no answer from {address}", gone.stderr)

    @contextlib.contextmanager
    def served(self, model):
        """Yields the address of an installed znnid that serves the shipped models."""
        znnid, znni = self.prefix / "bin/znnid", self.prefix / "bin/znni"
        options = ["--model-repository", self.prefix / "share/znni/models", "--mem", "1G", "--grpc-port", "0"]
        state = {**os.environ, "XDG_STATE_HOME": self.kept.name}
        process = subprocess.Popen(
            [znnid, *options, "--metrics-port", "-1"], stderr=subprocess.PIPE, text=True, env=state
        )
        try:
            lines = iter(process.stderr.readline, "")
            address = next(found[1] for found in (re.search(r"listening on (\S+)", line) for line in lines) if found)
            threading.Thread(target=lambda: [None for _ in lines], daemon=True).start()  # else its log would fill up
            while subprocess.run([znni, "status", "-m", model, "--server", address], capture_output=True).returncode:
                self.assertIsNone(process.poll(), "znnid ended")
                time.sleep(0.1)
            yield address
        finally:
            process.terminate()
            process.wait()

    def test_a_component_that_is_missing_is_named(self):
        source = pathlib.Path(self.kept.name) / "wrong"
        source.mkdir()
        (source / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.25)\nproject(wrong CXX)\nfind_package(znni REQUIRED COMPONENTS x)\n"
        )
        with self.assertRaisesRegex(AssertionError, "component x is not installed: there are engine"):
            self.configure(source, source / "build")


if __name__ == "__main__":
    os.environ["LC_ALL"] = "C"
    unittest.main()

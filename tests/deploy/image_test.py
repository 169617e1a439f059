"""deploy/image with stand-ins for the build tools, and the bill of materials it puts into the image.
Usage: image_test.py SOURCE-FOLDER."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(sys.argv.pop()).resolve()
STAND_IN = """#!/bin/sh
echo "$(basename "$0") $*" >>"{log}"
"""


class ImageTest(unittest.TestCase):
    def setUp(self):
        kept = tempfile.TemporaryDirectory()
        self.addCleanup(kept.cleanup)
        self.folder = pathlib.Path(kept.name)
        self.clone = self.folder / "clone"
        (self.clone / "deploy/docker").mkdir(parents=True)
        (self.clone / "deploy/docker/Dockerfile").write_text("FROM scratch\n")
        shutil.copy(ROOT / "deploy/image", self.clone / "deploy")
        shutil.copy(ROOT / "CMakeLists.txt", self.clone)
        for arguments in (["init", "-q"], ["add", "-A"], ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "a"]):
            subprocess.run(["git", "-C", self.clone, *arguments], check=True)
        self.bin = self.folder / "bin"
        self.bin.mkdir()

    def image(self, *arguments, tools=("buildah",)):
        """The finished process, and the calls of the tools."""
        for tool in tools:
            (self.bin / tool).write_text(STAND_IN.format(log=self.folder / "calls"))
            (self.bin / tool).chmod(0o755)
        # Only what the script itself needs, so that no tool of this machine is found.
        for need in ("bash", "git", "sed", "dirname", "basename", "mktemp", "mkdir", "cp", "rm"):
            if not (self.bin / need).exists():
                (self.bin / need).symlink_to(shutil.which(need))
        done = subprocess.run([str(self.bin / "bash"), str(self.clone / "deploy/image"), *arguments], capture_output=True,
                              text=True, timeout=60, check=False, env={**os.environ, "PATH": str(self.bin)})
        calls = self.folder / "calls"
        return done, calls.read_text().splitlines() if calls.exists() else []

    def commit(self):
        """As the tag names it."""
        return subprocess.run(["git", "-C", self.clone, "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True,
                              check=True).stdout.strip()

    def test_the_same_commit_gives_the_same_tag(self):
        tags = {self.image()[0].stdout.strip() for _ in range(2)}
        tag, = tags
        self.assertRegex(tag, rf"^localhost/znni:\d+\.\d+\.\d+-cpu-{self.commit()}$")

    def test_a_changed_tree_says_so(self):
        (self.clone / "CMakeLists.txt").write_text("project(znni VERSION 9.9.9)\n")
        self.assertTrue(self.image()[0].stdout.strip().endswith("-changed"))

    def test_docker_comes_before_the_others(self):
        _, calls = self.image("cpu", tools=("docker", "podman", "buildah"))
        self.assertTrue(calls[0].startswith("docker build "), calls)
        self.assertNotIn("--timestamp", calls[0])

    def test_dates_are_those_of_the_commit(self):
        _, calls = self.image("--builder", "buildah", "--base", "own/debian")
        self.assertRegex(calls[0], r"--timestamp \d+")
        for part in ("--format docker", "--build-arg BASE=own/debian", "--target cpu", f"REVISION={self.commit()}"):
            self.assertIn(part, calls[0])

    def test_build_arguments_are_handed_on(self):
        _, calls = self.image("--build-arg", "CUDA=own/cuda", "--build-arg", "CUDA_ARCHITECTURES=80;90", "cuda")
        for part in ("--target cuda", "--build-arg CUDA=own/cuda", "--build-arg CUDA_ARCHITECTURES=80;90"):
            self.assertIn(part, calls[0])

    def test_programs_may_come_from_a_package(self):
        package = self.folder / "znni_1_amd64.deb"
        package.write_text("")
        done, calls = self.image("--package", str(package))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(calls), 1)
        self.assertIn("--target packaged", calls[0])
        self.assertIn(f"-cpu-{self.commit()}", done.stdout)

    def test_wrong_use_ends_with_one_line(self):
        for arguments in (["gpu"], ["--package"], ["--package", __file__, "cuda"], ["--package", "none.deb"],
                          ["--builder", "make"], ["--builder", "docker"], ["--build-arg"], ["--build-arg", "CUDA"]):
            done, calls = self.image(*arguments)
            self.assertEqual((done.returncode, done.stdout, calls), (2, "", []), arguments)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)

    def test_without_any_tool_it_says_which(self):
        done, _ = self.image(tools=())
        self.assertEqual(done.returncode, 2)
        self.assertIn("docker, podman and buildah", done.stderr)


@unittest.skipIf(shutil.which("dpkg-query") is None, "no dpkg-query")
class BillOfMaterialsTest(unittest.TestCase):
    def test_names_every_package_once(self):
        done = subprocess.run(["sh", ROOT / "deploy/docker/sbom", "libc6"], capture_output=True, text=True, check=True)
        bill = json.loads(done.stdout)
        self.assertEqual((bill["bomFormat"], bill["metadata"]["component"]["name"]), ("CycloneDX", "libc6"))
        urls = [component["purl"] for component in bill["components"]]
        self.assertEqual(len(urls), len(set(urls)))
        self.assertTrue([url for url in urls if url.startswith("pkg:deb/debian/libstdc%2B%2B6@")])
        for component in bill["components"]:
            self.assertNotIn("+", component["purl"])
            self.assertTrue(component["version"])


if __name__ == "__main__":
    unittest.main()

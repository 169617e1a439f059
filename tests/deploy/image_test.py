"""deploy/image with stand-ins for the build tools, and what deploy/docker/toolkit takes of NVIDIA's image.
Usage: image_test.py SOURCE-FOLDER."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

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
        (self.clone / "deploy/packages").mkdir()
        (self.clone / "deploy/packages/bill.txt").write_text("debsbom==0\n")
        (self.clone / ".gitignore").write_text("build\n")
        shutil.copy(ROOT / "CMakeLists.txt", self.clone)
        for arguments in (
            ["init", "-q"],
            ["add", "-A"],
            ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "a"],
        ):
            subprocess.run(["git", "-C", self.clone, *arguments], check=True)
        self.bin = self.folder / "bin"
        self.bin.mkdir()

    def image(self, *arguments, tools=("buildah",), bill=False):
        """Returns the finished process, and the calls of the tools."""
        arguments = arguments if bill else ("--no-bill", *arguments)
        for tool in tools:
            (self.bin / tool).write_text(STAND_IN.format(log=self.folder / "calls"))
            (self.bin / tool).chmod(0o755)
        # Only what the script itself needs, so that no tool of this machine is found.
        for need in ("bash", "cat", "cmp", "git", "sed", "dirname", "basename", "mktemp", "mkdir", "cp", "rm"):
            if not (self.bin / need).exists():
                (self.bin / need).symlink_to(shutil.which(need))
        done = subprocess.run(
            [str(self.bin / "bash"), str(self.clone / "deploy/image"), *arguments],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            env={**os.environ, "PATH": str(self.bin)},
        )
        calls = self.folder / "calls"
        return done, calls.read_text().splitlines() if calls.exists() else []

    def commit(self):
        """Returns the commit as the tag names it."""
        return subprocess.run(
            ["git", "-C", self.clone, "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True, check=True
        ).stdout.strip()

    def test_the_same_commit_gives_the_same_tag(self):
        tags = {self.image()[0].stdout.strip() for _ in range(2)}
        (tag,) = tags
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

    def test_znni_job_has_its_programs_from_a_package_or_is_compiled(self):
        for name in ("proto/volumes.proto", "client/python/setup.py"):
            (self.clone / name).parent.mkdir(parents=True)
            (self.clone / name).touch()
        package = self.folder / "znni_1_amd64.deb"
        package.write_text("")
        listing = STAND_IN + 'for last; do :; done\n(cd "$last" && echo proto/* client/python/* packages/*) >>"{log}"\n'
        with unittest.mock.patch(f"{__name__}.STAND_IN", listing):
            done, (compiled, _) = self.image("job")
            self.assertIn(f"-job-{self.commit()}", done.stdout)
            self.assertIn("--target job ", compiled)
            self.assertNotIn("PROGRAMS", compiled)
            done, (_, _, packed, context) = self.image("--package", str(package), "job")
        self.assertEqual(done.returncode, 0, done.stderr)
        for part in ("--target job ", "--build-arg PROGRAMS=packaged"):
            self.assertIn(part, packed)
        self.assertEqual(context, "proto/volumes.proto client/python/setup.py packages/znni_1_amd64.deb")

    def test_the_bill_of_materials_is_the_last_layer(self):
        environment = self.clone / "build/venv-bill"
        (environment / "bin").mkdir(parents=True)
        shutil.copy(self.clone / "deploy/packages/bill.txt", environment / "installed.txt")
        (environment / "bin/python").write_text('#!/bin/sh\necho "bill: $*"\n')
        (environment / "bin/python").chmod(0o755)
        stand_in = (
            STAND_IN + 'for last; do :; done\n[ ! -e "$last/sbom.cdx.json" ] || cat "$last/sbom.cdx.json" >>"{log}"\n'
        )
        with unittest.mock.patch(f"{__name__}.STAND_IN", stand_in):
            done, calls = self.image(bill=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        tag = done.stdout.strip()
        made, listed, layer = [call for call in calls if call.startswith("buildah")]
        self.assertIn(f"-t {tag} ", made)
        system = re.search(r"--output type=tar,dest=(\S+) ", listed)[1]
        self.assertIn(f"-t {tag} ", layer)
        (bill,) = [call for call in calls if call.startswith("bill: ")]
        self.assertRegex(bill, rf"deploy/lib/bill\.py {system} znni \d+\.\d+\.\d+ \d+$")
        self.assertGreater(calls.index(bill), calls.index(layer))

    def test_without_what_makes_a_bill_it_says_so_before_it_builds(self):
        done, calls = self.image(bill=True)
        self.assertEqual((done.returncode, calls), (2, []))
        self.assertIn("install python3-venv, or give --no-bill", done.stderr)

    def test_wrong_use_ends_with_one_line(self):
        for arguments in (
            ["gpu"],
            ["--package"],
            ["--package", __file__, "cuda"],
            ["--package", "none.deb"],
            ["--builder", "make"],
            ["--builder", "docker"],
            ["--build-arg"],
            ["--build-arg", "CUDA"],
        ):
            done, calls = self.image(*arguments)
            self.assertEqual((done.returncode, done.stdout, calls), (2, "", []), arguments)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)

    def test_without_any_tool_it_says_which(self):
        done, _ = self.image(tools=())
        self.assertEqual(done.returncode, 2)
        self.assertIn("docker, podman and buildah", done.stderr)


class DockerfileTest(unittest.TestCase):
    """deploy/docker/Dockerfile as far as it can be read."""

    def setUp(self):
        text = (ROOT / "deploy/docker/Dockerfile").read_text()
        self.stages = dict(re.findall(r"^FROM \S+ AS (\S+)\n(.*?)(?=^FROM |\Z)", text, re.MULTILINE | re.DOTALL))
        self.order = re.findall(r"^FROM (\S+) AS (\S+)$", text, re.MULTILINE)
        self.arguments = dict(re.findall(r"^ARG (\w+)=(\S*)$", text.partition("\nFROM ")[0], re.MULTILINE))

    def test_the_default_is_the_image_of_the_daemon(self):
        self.assertEqual(self.order[-1], ("built", "cpu"))

    def test_a_stage_takes_what_comes_before_it(self):
        before = set()
        for base, stage in self.order:
            for name in (base, *re.findall(r"COPY --from=(\S+)", self.stages[stage])):
                if name.startswith("${"):
                    name = self.arguments[name[2:-1]]
                self.assertTrue(name in before or "/" in name, (stage, name))
            before.add(stage)

    def test_job_starts_znni_job_as_the_manifests_do(self):
        self.assertIn('ENTRYPOINT ["/opt/znni/bin/znni-job"]', self.stages["job"])
        self.assertLess(self.stages["job"].rindex("USER 0:0"), self.stages["job"].rindex("USER 10001:0"))
        self.assertIn("/opt/znni/bin/znni-job", (ROOT / "deploy/k8s/blocks/run/job.yaml").read_text())
        project = (ROOT / "client/python/pyproject.toml").read_text()
        extras = re.search(r"client/python\[(\S+)\]'", self.stages["client"])[1].split(",")
        for extra in extras:
            self.assertRegex(project, rf"(?m)^{extra} = ")


# Files of NVIDIA's image for Ubuntu as far as they matter: links are "->".
NVIDIA = """
etc/alternatives/cuda -> /usr/local/cuda-13.1
usr/local/cuda-13.1/include -> targets/x86_64-linux/include
usr/local/cuda-13.1/lib64 -> targets/x86_64-linux/lib
usr/local/cuda-13.1/targets/x86_64-linux/include/cufft.h
usr/include/x86_64-linux-gnu/cudnn.h -> cudnn_v9.h
usr/include/x86_64-linux-gnu/cudnn_v9.h
usr/include/x86_64-linux-gnu/stdio.h
usr/lib/x86_64-linux-gnu/libcudnn.so -> /etc/alternatives/libcudnn_so
usr/lib/x86_64-linux-gnu/libcudnn.so.9 -> libcudnn.so.9.17.1
usr/lib/x86_64-linux-gnu/libcudnn.so.9.17.1
usr/lib/x86_64-linux-gnu/libcudnn_graph.so.9 -> libcudnn_graph.so.9.17.1
usr/lib/x86_64-linux-gnu/libcudnn_graph.so.9.17.1
usr/lib/x86_64-linux-gnu/libcudnn_static_v9.a
usr/lib/x86_64-linux-gnu/libc.so.6
""" + "".join(
    f"""
usr/local/cuda-13.1/targets/x86_64-linux/lib/lib{name}.so -> lib{name}.so.13
usr/local/cuda-13.1/targets/x86_64-linux/lib/lib{name}.so.13 -> lib{name}.so.13.1.2
usr/local/cuda-13.1/targets/x86_64-linux/lib/lib{name}.so.13.1.2
"""
    for name in (
        "cublas",
        "cublasLt",
        "cufft",
        "cufftw",
        "cusolver",
        "nvJitLink",
        "nvrtc",
        "nvrtc.alt",
        "nvrtc-builtins",
        "nvrtc-builtins.alt",
    )
)


class ToolkitTest(unittest.TestCase):
    def setUp(self):
        kept = tempfile.TemporaryDirectory()
        self.addCleanup(kept.cleanup)
        self.root = pathlib.Path(kept.name)
        for line in NVIDIA.split("\n"):
            name, _, target = line.partition(" -> ")
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if target:
                path.symlink_to(target)
            elif name:
                path.write_text(name)
        # In the image it leads through /etc/alternatives, which here is another root's.
        (self.root / "usr/local/cuda").symlink_to("cuda-13.1")

    def toolkit(self):
        """Returns the finished process."""
        return subprocess.run(
            ["sh", ROOT / "deploy/docker/toolkit", self.root], capture_output=True, text=True, check=False
        )

    def test_takes_what_programs_are_linked_to_and_what_that_opens(self):
        done = self.toolkit()
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        names = {path.name.split(".so.")[0] for path in (self.root / "libraries").iterdir()}
        self.assertEqual(
            names,
            {
                "libcublas",
                "libcublasLt",
                "libcudnn",
                "libcudnn_graph",
                "libcufft",
                "libnvJitLink",
                "libnvrtc",
                "libnvrtc-builtins",
            },
        )
        self.assertTrue(all(path.exists() for path in (self.root / "libraries").iterdir()), "a link leads nowhere")

    def test_puts_cudnn_to_the_toolkit(self):
        self.assertEqual(self.toolkit().returncode, 0)
        self.assertEqual(
            (self.root / "usr/local/cuda/include/cudnn.h").read_text(), "usr/include/x86_64-linux-gnu/cudnn_v9.h"
        )
        self.assertFalse((self.root / "usr/local/cuda/include/stdio.h").exists())
        self.assertTrue((self.root / "usr/local/cuda/lib64/libcudnn.so.9").exists())

    def test_an_image_without_cudnn_is_refused_in_one_line(self):
        for path in (self.root / "usr/lib/x86_64-linux-gnu").glob("libcudnn*"):
            path.unlink()
        done = self.toolkit()
        self.assertEqual(done.returncode, 1)
        self.assertRegex(
            done.stderr, r"^toolkit: no libcudnn\.so\.\* in [^\n]* an image of CUDA 13 with cuDNN 9 is needed\n$"
        )


if __name__ == "__main__":
    unittest.main()

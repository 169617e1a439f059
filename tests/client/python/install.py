"""Installs the Python client for its tests as users do, by pip, into the folder of the first argument. Needs no
network: the packages that it needs are those of deploy/packages/python.txt."""

import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[3]


def install(target):
    """Replaces what is in `target`. pip works on a copy, because it writes beside the sources."""
    shutil.rmtree(target, ignore_errors=True)
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder)
        ignored = shutil.ignore_patterns("build", "*.egg-info", "__pycache__", "*.binpb")
        shutil.copytree(ROOT / "client/python", copy / "client/python", ignore=ignored)
        shutil.copytree(ROOT / "proto", copy / "proto", ignore=shutil.ignore_patterns("convert"))
        subprocess.run(
            [
                sys.executable,
                "-m",
                "pip",
                "install",
                "--quiet",
                "--disable-pip-version-check",
                "--no-index",
                "--no-deps",
                "--no-build-isolation",
                "--target",
                target,
                copy / "client/python",
            ],
            check=True,
        )


if __name__ == "__main__":
    install(pathlib.Path(sys.argv[1]).resolve())

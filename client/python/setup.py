"""Installs the client. Makes the descriptors of its messages from the repository's proto/*.proto."""

import pathlib

from setuptools import setup
from setuptools.command.build_py import build_py

HERE = pathlib.Path(__file__).resolve().parent
CLONE = HERE.parents[1]
FILES = ("proto/inference.proto", "proto/volumes.proto")


def make_descriptors(target):
    """Writes the descriptors of FILES to `target`."""
    from grpc_tools import protoc

    for name in FILES:
        if not (CLONE / name).is_file():
            raise SystemExit(f"{CLONE / name}: is missing: install from client/python of a clone of the repository")
    if protoc.main(["protoc", f"-I{CLONE}", "--include_imports", f"--descriptor_set_out={target}", *FILES]) != 0:
        raise SystemExit("protoc failed on " + ", ".join(FILES))


class BuildWithDescriptors(build_py):
    """Adds wire.binpb to the package; to the sources themselves for an editable installation."""

    def run(self):
        super().run()
        package = HERE / "znni" if self.editable_mode else pathlib.Path(self.build_lib) / "znni"
        package.mkdir(parents=True, exist_ok=True)
        make_descriptors(package / "wire.binpb")


setup(cmdclass={"build_py": BuildWithDescriptors})

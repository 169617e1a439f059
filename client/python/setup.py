"""Installs the client. Makes the descriptors of its messages from the repository's proto/*.proto, and takes in
libznni_conv.so: the file that the environment's ZNNI_CONV_LIBRARY names, else that of the clone's build of the preset
release, if it is there. Without it znni.torch says what is missing."""

import os
import pathlib
import shutil

from setuptools import setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py
from setuptools.dist import Distribution

HERE = pathlib.Path(__file__).resolve().parent
CLONE = HERE.parents[1]
FILES = ("proto/inference.proto", "proto/volumes.proto")
LIBRARY = "libznni_conv.so"


def make_descriptors(target):
    """Writes the descriptors of FILES to `target`."""
    from grpc_tools import protoc

    for name in FILES:
        if not (CLONE / name).is_file():
            raise SystemExit(f"{CLONE / name}: is missing: install from client/python of a clone of the repository")
    if protoc.main(["protoc", f"-I{CLONE}", "--include_imports", f"--descriptor_set_out={target}", *FILES]) != 0:
        raise SystemExit("protoc failed on " + ", ".join(FILES))


def find_library():
    """Returns the path of the library; None if there is none to take in."""
    named = os.environ.get("ZNNI_CONV_LIBRARY")
    path = pathlib.Path(named) if named else CLONE / "build/release/bin" / LIBRARY
    if named and not path.is_file():
        raise SystemExit(f"ZNNI_CONV_LIBRARY: {named}: there is no such file")
    return path if path.is_file() else None


class BuildWithDescriptors(build_py):
    """Adds wire.binpb and the library to the package; to the sources themselves for an editable installation."""

    def run(self):
        super().run()
        package = HERE / "znni" if self.editable_mode else pathlib.Path(self.build_lib) / "znni"
        package.mkdir(parents=True, exist_ok=True)
        make_descriptors(package / "wire.binpb")
        library = find_library()
        if library:
            shutil.copyfile(library, package / LIBRARY)


class OfPlatform(Distribution):
    """Is for one kind of machine if the library is in it."""

    def has_ext_modules(self):
        return find_library() is not None


class WheelOfAnyPython(bdist_wheel):
    """The library knows no Python, so that a wheel with it is for all versions."""

    def get_tag(self):
        python, abi, platform = super().get_tag()
        return (python, abi, platform) if platform == "any" else ("py3", "none", platform)


setup(distclass=OfPlatform, cmdclass={"build_py": BuildWithDescriptors, "bdist_wheel": WheelOfAnyPython})

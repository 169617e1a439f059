"""Installs the client. Makes the descriptors of its messages from proto/*.proto, of the repository or, in a source
distribution (`python -m build --sdist`), of its own; takes in what the clone's build of the preset release has made:

- libznni_conv.so, or the file that the environment's ZNNI_CONV_LIBRARY names. Without it znni.torch says so.
- The programs znnid, planner and znni, or those of the folder that ZNNI_PROGRAMS names (empty: none). Without them they
  are looked for on the PATH.
"""

import os
import pathlib
import shutil

from setuptools import setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist
from setuptools.dist import Distribution

HERE = pathlib.Path(__file__).resolve().parent
FILES = ("proto/inference.proto", "proto/volumes.proto")
IMPORTED = ("proto/config.proto",)  # by these
# Of the repository: the clone, or a source distribution, into which what lies beside the client was copied.
ROOT = HERE if (HERE / FILES[0]).is_file() else HERE.parent.parent
BUILT = ROOT / "build/release/bin"
LIBRARY = "libznni_conv.so"
PROGRAMS = ("planner", "znni", "znnid")


def make_descriptors(target):
    """Writes the descriptors of FILES to `target`."""
    from grpc_tools import protoc

    for name in FILES:
        if not (ROOT / name).is_file():
            raise SystemExit(
                f"{ROOT / name}: is missing: install from client/python of a clone of the repository, or from the file "
                "that 'python -m build --sdist' makes there"
            )
    if protoc.main(["protoc", f"-I{ROOT}", "--include_imports", f"--descriptor_set_out={target}", *FILES]) != 0:
        raise SystemExit("protoc failed on " + ", ".join(FILES))


def find_library():
    """Returns the path of the library; None if there is none to take in."""
    named = os.environ.get("ZNNI_CONV_LIBRARY")
    path = pathlib.Path(named) if named else BUILT / LIBRARY
    if named and not path.is_file():
        raise SystemExit(f"ZNNI_CONV_LIBRARY: {named}: there is no such file")
    return path if path.is_file() else None


def find_programs():
    """Returns the paths of the programs to take in."""
    named = os.environ.get("ZNNI_PROGRAMS")
    if named == "":
        return []
    folder = pathlib.Path(named) if named else BUILT
    if not folder.is_absolute():
        raise SystemExit(f"ZNNI_PROGRAMS: {named}: found, expected the whole path of a folder, from / on")
    found = [folder / name for name in PROGRAMS if (folder / name).is_file()]
    if named and not found:
        raise SystemExit(f"ZNNI_PROGRAMS: {named}: holds none of {', '.join(PROGRAMS)}")
    return found


def add_programs(folder):
    """Replaces what is in `folder` by the programs."""
    shutil.rmtree(folder, ignore_errors=True)
    for path in find_programs():
        folder.mkdir(exist_ok=True)
        shutil.copy(path, folder)


class BuildWithDescriptors(build_py):
    """Adds what is made to the package; to the sources themselves for an editable installation."""

    def run(self):
        super().run()
        package = HERE / "znni" if self.editable_mode else pathlib.Path(self.build_lib) / "znni"
        package.mkdir(parents=True, exist_ok=True)
        make_descriptors(package / "wire.binpb")
        library = find_library()
        if library:
            shutil.copyfile(library, package / LIBRARY)
        add_programs(package / "bin")


class SdistWithMessages(sdist):
    """Adds what lies beside the client in the repository and is needed without it."""

    def make_release_tree(self, base_dir, files):
        super().make_release_tree(base_dir, files)
        for name in (*FILES, *IMPORTED, "LICENSE"):
            target = pathlib.Path(base_dir) / name
            target.parent.mkdir(exist_ok=True)
            shutil.copyfile(ROOT / name, target)


class OfPlatform(Distribution):
    """Is for one kind of machine if the library or programs are in it."""

    def has_ext_modules(self):
        return bool(find_library() or find_programs())


class WheelOfAnyPython(bdist_wheel):
    """Library and programs know no Python, so that a wheel with them is for all versions."""

    def get_tag(self):
        python, abi, platform = super().get_tag()
        return (python, abi, platform) if platform == "any" else ("py3", "none", platform)


setup(
    distclass=OfPlatform,
    cmdclass={"build_py": BuildWithDescriptors, "bdist_wheel": WheelOfAnyPython, "sdist": SdistWithMessages},
)

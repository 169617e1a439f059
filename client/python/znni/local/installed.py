"""Finds the programs of the project that are not written in Python: those in this package, or on the PATH."""

from __future__ import annotations

import os
import pathlib
import shutil
import sys

from znni.errors import NotFoundError

_INSIDE = pathlib.Path(__file__).resolve().parents[1] / "bin"


def find_program(name: str, variable: str) -> str:
    """Returns the path of a program: that of the environment's ``variable``, else that in this package, else that on
    the PATH. Raises NotFoundError if there is none."""
    named = os.environ.get(variable)
    found = shutil.which(named) if named else program_inside(name) or shutil.which(name)
    if found:
        return found
    raise NotFoundError(
        f"{variable}: {named}: there is no such program"
        if named
        else f"{name} is neither in the package znni nor on the PATH: build it and install the package again "
        f"(docs/install.md), or name it in the environment's {variable}"
    )


def program_inside(name: str) -> str | None:
    """Returns the path of a program that was taken into this package; None if it was not."""
    return shutil.which(name, path=str(_INSIDE))


def _on_path() -> str | None:
    """Returns the first program ``znni`` on the PATH that is not written in Python, as those of packages are."""
    for folder in os.get_exec_path():
        found = shutil.which("znni", path=folder)
        if found and not _is_python(found):
            return found
    return None


def _is_python(path: str) -> bool:
    with open(path, "rb") as file:
        first = file.readline(1000)
    return first.startswith(b"#!") and b"python" in first


def main() -> int:
    """Becomes the program ``znni`` of this package, or else that on the PATH. The other programs of the package are on
    its PATH."""
    program = program_inside("znni") or _on_path()
    if program is None:
        print(
            "znni: it is neither in the package znni nor on the PATH: build it (docs/install.md), then install the "
            "package again",
            file=sys.stderr,
        )
        return 2
    scripts = os.path.dirname(os.path.realpath(sys.argv[0]))
    os.environ["PATH"] = os.pathsep.join(filter(None, (scripts, os.environ.get("PATH"))))
    os.execv(program, [program, *sys.argv[1:]])

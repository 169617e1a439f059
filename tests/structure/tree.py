"""The source files of the project, for the structure checks."""

import pathlib
import subprocess

SOURCE_FOLDERS = ("primitives", "planner", "proto/convert", "proto/tls", "server", "client")


def files(root, folders=SOURCE_FOLDERS, endings=(".hpp", ".cpp", ".cu")):
    """Returns paths below `folders`, relative to `root`: what git tracks or would track."""
    names = tracked(root, folders) or walk(root, folders)
    found = sorted({name for name in names if name.endswith(endings)})
    return [pathlib.PurePosixPath(name) for name in found if (root / name).exists()]


def tracked(root, folders):
    """Names as git lists them; nothing if there is no git or no repository."""
    command = ["git", "-C", str(root), "ls-files", "--cached", "--others", "--exclude-standard", *folders]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split("\n")
    except (OSError, subprocess.CalledProcessError):
        return []


def walk(root, folders):
    """Returns the same for a tree without git."""
    return [path.relative_to(root).as_posix() for folder in folders for path in (root / folder).rglob("*")]


def report(problems, what):
    """Prints the problems and returns the exit code."""
    for problem in problems:
        print(problem)
    print(f"{what}: {len(problems)} problem(s)")
    return 1 if problems else 0

"""Code compiled for one instruction set must not stand in for that of another: the objects that hold it have no
function that the linker may take for all of them.

    shared_code_test.py OBJECT...        objects of the library, of which those of kernels_*, weights_* and
                                         stack_rows_* are looked at
"""

import pathlib
import subprocess
import sys

TABLES = (
    *(f"{table}_{isa}" for table in ("kernels", "weights") for isa in ("avx2", "avx512", "portable")),
    *(f"stack_rows_{isa}" for isa in ("avx512", "simd8")),
)
SHARED = ("W", "V", "u")  # weak and unique symbols: one body is kept of many


def shared_symbols(listing):
    """Names of shared symbols that `nm --format=posix` prints."""
    fields = (line.split() for line in listing.splitlines())
    return [line[0] for line in fields if len(line) > 2 and line[1] in SHARED]


def main(objects):
    kernels = [path for path in objects if pathlib.Path(path).name.startswith(TABLES)]
    if not kernels:
        print(f"only {kernels} among {len(objects)} objects", file=sys.stderr)
        return 1
    if shared_symbols("kept T 0 1\nlost W 0 1\nabsent U\n") != ["lost"]:
        return 1
    found = {
        path: shared_symbols(subprocess.check_output(["nm", "--format=posix", path], text=True)) for path in kernels
    }
    for path, names in found.items():
        print(f"{path}: {len(names)} shared {names[:5]}")
    return 1 if any(found.values()) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

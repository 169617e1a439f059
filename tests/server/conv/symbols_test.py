"""Fails unless a library exports what its C header declares, and nothing else.
Usage: symbols_test.py NM LIBRARY HEADER"""

import pathlib
import re
import subprocess
import sys

# Those that a linker adds.
OF_LINKERS = {"_init", "_fini", "_edata", "_end", "__bss_start"}


def exported(nm, library):
    """Returns the names that the library defines for others."""
    listed = subprocess.run([nm, "-D", "--defined-only", library], capture_output=True, text=True, check=True)
    return {line.split()[-1].split("@")[0] for line in listed.stdout.splitlines()} - OF_LINKERS


def declared(header):
    """Returns the functions that the header declares."""
    return set(re.findall(r"^\w[\w ]*[ *](\w+)\(", pathlib.Path(header).read_text(), re.MULTILINE))


if __name__ == "__main__":
    found, expected = exported(*sys.argv[1:3]), declared(sys.argv[3])
    print("declared:", *sorted(expected))
    print("exported, not declared:", *sorted(found - expected))
    print("declared, not exported:", *sorted(expected - found))
    sys.exit(found != expected or not expected)

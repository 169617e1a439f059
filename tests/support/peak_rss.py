"""Runs a program with a hard bound on its data and measures its peak RSS."""

import subprocess
import sys

# Prints the exit code and the peak RSS in KiB, behind what the command prints. It is a separate process, because the
# caller's memory would count as the child's.
PEAK_OF = """
import os, resource, sys
limit = int(sys.argv[1])
child = os.fork()
if child == 0:
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    os.execv(sys.argv[2], sys.argv[2:])
_, status, usage = os.wait4(child, 0)
print(os.waitstatus_to_exitcode(status), usage.ru_maxrss)
"""


def run(command, data_limit=-1, environment=None):
    """Returns (exit code, standard error, bytes at the peak)."""
    done = subprocess.run([sys.executable, "-c", PEAK_OF, str(data_limit), *map(str, command)], capture_output=True,
                          text=True, timeout=300, env=environment, check=True)
    code, kibibytes = done.stdout.split()[-2:]
    return int(code), done.stderr, int(kibibytes) << 10

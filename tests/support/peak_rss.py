"""Runs a program with hard bounds on its data and its address space, and measures its peak RSS."""

import os
import subprocess
import sys

# Prints the exit code and the peak RSS in KiB, behind what the command prints. It is a separate process, because the
# caller's memory would count as the child's.
PEAK_OF = """
import os, resource, sys
data, address, stack = map(int, sys.argv[1:4])
child = os.fork()
if child == 0:
    for limit, size in (resource.RLIMIT_DATA, data), (resource.RLIMIT_AS, address):
        if size != -1:
            resource.setrlimit(limit, (size, size))
    resource.setrlimit(resource.RLIMIT_STACK, (stack, resource.getrlimit(resource.RLIMIT_STACK)[1]))
    os.execv(sys.argv[4], sys.argv[4:])
_, status, usage = os.wait4(child, 0)
print(os.waitstatus_to_exitcode(status), usage.ru_maxrss)
"""
STACK = 8 << 20  # bytes of each thread's stack, which count as data whatever `ulimit -s` says


def run(command, data_limit=-1, environment=None, address_limit=-1):
    """Returns (exit code, standard error, bytes at the peak). `address_limit`: what `ulimit -v` would set, in bytes."""
    environment = {**(environment or os.environ), "OMP_STACKSIZE": f"{STACK}B"}
    done = subprocess.run(
        [sys.executable, "-c", PEAK_OF, *map(str, (data_limit, address_limit, STACK, *command))],
        capture_output=True,
        text=True,
        timeout=300,
        env=environment,
        check=True,
    )
    code, kibibytes = done.stdout.split()[-2:]
    return int(code), done.stderr, int(kibibytes) << 10

"""znni-job that writes down which blocks it begins to compute, for deploy/soak: a line of a file for each.
Usage: soak_counted.py FILE ARGUMENT...    (those of znni-job)"""

import os
import sys

import distributed
from znni.blocks.work import Worker
from znni.programs import job as program

_computed = Worker._computed


def count(path):
    """Has all workers of this process write down which blocks they begin to compute."""

    def computed(worker, number):
        with open(path, "a", encoding="ascii") as file:  # one write of a line: no process cuts that of another
            file.write(f"{number} {os.getpid()}\n")
        return _computed(worker, number)

    Worker._computed = computed


class Counting(distributed.WorkerPlugin):
    """Counts in all processes of a Dask cluster, also in those that come later."""

    def __init__(self, path):
        self.path = path

    def setup(self, worker):
        count(self.path)


if __name__ == "__main__":
    count(sys.argv[1])
    sys.exit(program.main(sys.argv[2:]))

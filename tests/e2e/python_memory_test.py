"""The Python client's memory, measured in a process of its own that streams a large volume."""

import pathlib
import re
import subprocess
import sys
import unittest

import numpy as np
import zarr
import znni
from python_case import PythonCase


class PythonMemoryTest(PythonCase):
    def growth(self, volume, output):
        """Returns by how many bytes a process of its own grows at most while it streams a volume."""
        ran = subprocess.run(
            [sys.executable, __file__, "grow", self.daemon.url, self.work / volume, self.work / output],
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertEqual(ran.returncode, 0, ran.stderr)
        return int(ran.stdout)

    def test_memory_stays_bounded(self):
        """300 MB in and 300 MB out, in a process that may grow by half of one."""
        np.lib.format.open_memmap(self.work / "large.npy", "w+", np.uint8, (300, 1000, 1000))[:] = 7
        self.assertLess(self.growth("large.npy", "whole.npy"), 150e6)
        whole = np.load(self.work / "whole.npy", mmap_mode="r")
        self.assertEqual(whole.shape, (300, 1000, 1000))
        self.assertTrue((whole == 7).all())

    def test_memory_stays_bounded_from_zarr_to_zarr(self):
        """Of 300 MB, in chunks that were never written but for one; layers of output chunks have 128 MB."""
        sparse = zarr.create_array(self.work / "sparse.zarr", shape=(300, 1000, 1000), chunks=(64, 64, 64), dtype="u1")
        sparse[100:110, 900:, 700:710] = 7
        self.assertLess(self.growth("sparse.zarr", "dense.zarr"), 270e6)
        dense = zarr.open_group(self.work / "dense.zarr", mode="r")["0"]
        self.assertEqual(dense.shape, (300, 1000, 1000))
        np.testing.assert_array_equal(dense[90:120], sparse[90:120])


def peak():
    """Returns the most bytes that this process has held. (getrusage() counts those of its parent, too.)"""
    return 1024 * int(re.search(r"VmHWM:\s+(\d+) kB", pathlib.Path("/proc/self/status").read_text())[1])


def grow(url, volume, output):
    """Prints by how many bytes the process grew at most while it streamed a volume, a file of NumPy mapped."""
    with znni.Client(url) as client:
        client.predict("same", np.zeros((8, 8, 8), np.uint8), progress=False)
        before = peak()
        given = np.load(volume, mmap_mode="r") if volume.endswith(".npy") else volume
        client.predict("same", given, output, dtype="uint8", progress=False)
        print(peak() - before)


if __name__ == "__main__":
    if sys.argv[1:2] == ["grow"]:
        grow(*sys.argv[2:])
    else:
        unittest.main()

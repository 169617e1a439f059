"""Mapped arrays leave no pages behind."""

import mmap
import pathlib
import re
import tempfile
import unittest

import numpy as np
from znni.box import Box
from znni.stores.memmap import MemmapSource, MemmapTarget, shared_map_of
from znni.stores.seam import OutputFacts

EXTENT = (32, 512, 1024)  # 16 MiB


def mapped():
    """Returns the bytes of mapped files that this process holds."""
    return 1024 * int(re.search(r"RssFile:\s+(\d+) kB", pathlib.Path("/proc/self/status").read_text())[1])


class MemmapTest(unittest.TestCase):
    def setUp(self):
        self.path = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory())) / "v.npy"

    def make(self, mode="w+"):
        return np.lib.format.open_memmap(self.path, mode, np.uint8, EXTENT)

    def test_reads(self):
        volume = self.make()
        volume[:] = 9
        del volume
        again = np.load(self.path, mmap_mode="r")
        source = MemmapSource(again, "v")
        before = mapped()
        found = source.read(Box((0, 0, 0), EXTENT))
        self.assertLess(mapped() - before, 4 << 20)
        self.assertTrue((found == 9).all())

    def test_writes(self):
        volume = self.make()
        facts = OutputFacts((1, *EXTENT), np.dtype("u1"), 3, None, None, (0, 0, 0), {})
        target = MemmapTarget(volume, facts)
        before = mapped()
        target.write((0, 0, 0), np.full((1, *EXTENT), 7, np.uint8))
        self.assertLess(mapped() - before, 4 << 20)
        self.assertTrue((np.load(self.path) == 7).all())

    def test_maps(self):
        volume = self.make()
        volume[:] = 1
        volume.flush()
        self.assertIsNotNone(shared_map_of(volume[3:, None]))
        self.assertIsNotNone(shared_map_of(np.asarray(volume)))
        self.assertIsNone(shared_map_of(np.zeros(3)))
        self.assertIsNone(shared_map_of([1]))

    def test_changes_of_a_private_map_are_kept(self):
        self.make()[:] = 1
        private = np.load(self.path, mmap_mode="c")
        private[:] = 5
        self.assertIsNone(shared_map_of(private[1:]))
        nameless = mmap.mmap(-1, 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        self.assertIsNone(shared_map_of(np.frombuffer(nameless, np.uint8)))


if __name__ == "__main__":
    unittest.main()

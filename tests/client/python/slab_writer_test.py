"""Planes become slabs of whole chunks."""

import unittest
from unittest import mock

import numpy as np
from znni import slab_writer
from znni.slab_writer import SlabWriter
from znni.stores.seam import Target


class Recorder(Target):
    """Keeps blocks."""

    def __init__(self, depth):
        self.depth = depth
        self.output = np.zeros((2, 20, 6, 7), np.uint8)
        self.ranges = []

    def begin(self):
        pass

    def finish(self):
        pass

    def write(self, start, block):
        z, y, x = start
        _, planes, rows, columns = block.shape
        self.ranges.append((z, z + planes))
        self.output[:, z:z + planes, y:y + rows, x:x + columns] = block


class SlabWriterTest(unittest.TestCase):
    def run_through(self, depth, sizes, start=(0, 0, 0)):
        """Writes planes in pieces of these sizes."""
        target = Recorder(depth)
        volume = np.random.default_rng(3).integers(1, 255, (20, 2, 6 - start[1], 7 - start[2])).astype(np.uint8)
        writer, z = SlabWriter(target, start), 0
        for size in sizes:
            writer.write(z, volume[z:z + size])
            z += size
        writer.flush()
        np.testing.assert_array_equal(target.output[:, :z, start[1]:, start[2]:], volume[:z].transpose(1, 0, 2, 3))
        return target.ranges

    def test_whole_chunks(self):
        self.assertEqual(self.run_through(8, [1] * 20), [(0, 8), (8, 16), (16, 20)])
        self.assertEqual(self.run_through(8, [3, 17]), [(0, 8), (8, 16), (16, 20)])
        self.assertEqual(self.run_through(8, [20], (0, 2, 3)), [(0, 8), (8, 16), (16, 20)])

    def test_at_once(self):
        self.assertEqual(self.run_through(1, [5, 15]), [(0, 5), (5, 20)])

    def test_no_more_than_fits(self):
        with mock.patch.object(slab_writer, "MOST_BYTES", 3 * 2 * 6 * 7):
            self.assertEqual(self.run_through(8, [1] * 10), [(0, 3), (3, 6), (6, 8), (8, 10)])

    def test_planes_that_come_again_are_dropped(self):
        target = Recorder(4)
        writer = SlabWriter(target, (0, 0, 0))
        ones, twos = np.ones((6, 2, 6, 7), np.uint8), np.full((3, 2, 6, 7), 2, np.uint8)
        writer.write(0, ones)
        writer.write(5, twos)
        writer.flush()
        self.assertEqual(target.ranges, [(0, 4), (4, 8)])
        self.assertEqual(target.output[0, :, 0, 0].tolist(), [1] * 6 + [2] * 2 + [0] * 12)


if __name__ == "__main__":
    unittest.main()

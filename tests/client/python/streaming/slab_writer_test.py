"""Planes become slabs of whole chunks."""

import contextlib
import unittest
from unittest import mock

import numpy as np
from znni.box import Box
from znni.errors import UnavailableError
from znni.stores.seam import Target
from znni.streaming import slab_writer
from znni.streaming.slab_writer import SlabWriter

U8 = np.dtype("u1")


class Recorder(Target):
    """Keeps blocks, and the planes and rows that came together."""

    def __init__(self, depth, rows=2):
        self.depth, self.rows = depth, rows
        self.output = np.zeros((2, 20, 6, 7), np.uint8)
        self.planes, self.strips = [], []

    def begin(self):
        pass

    def finish(self):
        pass

    def write(self, start, block):
        z, y, x = start
        _, planes, rows, columns = block.shape
        self.planes.append((z, z + planes))
        self.strips.append((y, y + rows))
        self.output[:, z : z + planes, y : y + rows, x : x + columns] = block


class SlabWriterTest(unittest.TestCase):
    def run_through(self, depth, sizes, start=(0, 0, 0)):
        """Writes planes in pieces of these sizes. Returns the target."""
        target = Recorder(depth)
        volume = np.random.default_rng(3).integers(1, 255, (20, 2, 6 - start[1], 7 - start[2])).astype(np.uint8)
        writer, z = SlabWriter(target, Box(start, (20, 6, 7)), 2, U8), 0
        for size in sizes:
            writer.write(z, volume[z : z + size])
            z += size
        writer.flush()
        np.testing.assert_array_equal(target.output[:, :z, start[1] :, start[2] :], volume[:z].transpose(1, 0, 2, 3))
        return target

    def test_whole_chunks(self):
        whole = [(0, 8), (8, 16), (16, 20)]
        self.assertEqual(self.run_through(8, [1] * 20).planes, whole)
        self.assertEqual(self.run_through(8, [3, 17]).planes, whole)
        self.assertEqual(self.run_through(8, [20], (0, 2, 3)).planes, whole)
        self.assertEqual(self.run_through(50, [3, 17]).planes, [(0, 20)])

    def test_at_once(self):
        target = self.run_through(1, [5, 15])
        self.assertEqual((target.planes, target.strips), ([(0, 5), (5, 20)], [(0, 6)] * 2))

    def test_large_slabs_lie_in_a_file_and_are_written_row_by_row(self):
        with (
            mock.patch.object(slab_writer, "MOST_BYTES", 1),
            mock.patch.object(slab_writer, "make_spool", wraps=slab_writer.make_spool) as spool,
        ):
            target = self.run_through(16, [7, 13], (0, 1, 2))
        spool.assert_called_once_with((2, 16, 5, 5), U8, None)
        self.assertEqual(target.planes, [(0, 16)] * 3 + [(16, 20)] * 3)
        self.assertEqual(target.strips, [(1, 2), (2, 4), (4, 6)] * 2)

    def test_planes_that_come_again_are_dropped(self):
        for depth in (1, 4):
            target = Recorder(depth)
            writer = SlabWriter(target, Box((0, 0, 0), (20, 6, 7)), 2, U8)
            ones, twos = np.ones((6, 2, 6, 7), np.uint8), np.full((3, 2, 6, 7), 2, np.uint8)
            writer.write(0, ones)
            writer.write(5, twos)
            writer.flush()
            self.assertEqual(target.output[0, :, 0, 0].tolist(), [1] * 6 + [2] * 2 + [0] * 12)

    def test_a_slab_that_could_not_be_written_is_written_when_planes_come_again(self):
        volume = np.random.default_rng(3).integers(1, 255, (20, 2, 6, 7)).astype(np.uint8)
        for depth in (1, 4, 20):
            target, z = Recorder(depth), 0
            writer = SlabWriter(target, Box((0, 0, 0), (20, 6, 7)), 2, U8)
            for size in (3, 6, 11):
                with (
                    mock.patch.object(target, "write", side_effect=UnavailableError("busy")),
                    contextlib.suppress(UnavailableError),
                ):
                    writer.write(z, volume[z : z + size])
                writer.write(z, volume[z : z + size])
                z += size
            writer.flush()
            np.testing.assert_array_equal(target.output, volume.transpose(1, 0, 2, 3))


if __name__ == "__main__":
    unittest.main()

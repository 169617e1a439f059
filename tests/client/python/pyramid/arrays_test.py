"""Arrays of an image, and those that are halved."""

import math
import tempfile
import tracemalloc
import unittest

import numpy as np
import zarr
from znni.pyramid.arrays import Layout, boxes, fill, layout_of, make_array
from znni.pyramid.halving import halve

DRAW = np.random.default_rng(6)


class Counted:
    """An array that counts how often each of its voxels is read or written."""

    def __init__(self, array):
        self.array, self.shape, self.chunks = array, array.shape, array.chunks
        self.shards, self.dtype, self.writes = array.shards, array.dtype, 0
        self.count = np.zeros(array.shape, int)

    def __getitem__(self, box):
        self.count[box] += 1
        return self.array[box]

    def __setitem__(self, box, values):
        self.writes += 1
        self.count[box] += 1
        self.array[box] = values


class ArraysTest(unittest.TestCase):
    def setUp(self):
        folder = self.enterContext(tempfile.TemporaryDirectory())
        self.groups = [zarr.open_group(f"{folder}/{n}", mode="w", zarr_format=n) for n in (2, 3)]

    def test_form(self):
        for group, key in zip(self.groups, ("0/0/0", "c/0/0/0")):
            array = make_array(group, "a", (9, 9, 9), np.dtype("<u2"), Layout((4, 4, 4)))
            self.assertEqual((array.shape, array.chunks, array.dtype, array[0, 0, 0]), ((9, 9, 9), (4, 4, 4), "<u2", 0))
            self.assertEqual(array.metadata.encode_chunk_key((0, 0, 0)), key)
            self.assertIn("zstd", str(array.compressors))
        self.assertEqual(self.groups[1]["a"].metadata.dimension_names, ("z", "y", "x"))

    def test_filled_as_numpy_halves_the_whole(self):
        for group in self.groups:
            for number, (shape, coarse) in enumerate(
                (((9, 10, 11), (5, 5, 6)), ((9, 10, 11), (9, 5, 6)), ((2, 9, 10, 11), (2, 5, 10, 6)))
            ):
                voxels = DRAW.random(shape, np.float32)
                layouts = [Layout((4, 3, 8))]
                layouts += [Layout((4, 3, 4), (8, 3, 8))] if group.metadata.zarr_format == 3 else []
                for layout in layouts:
                    name = f"{number}{layout.shard}"
                    fine = make_array(group, f"fine{name}", shape, voxels.dtype, layout)
                    fine[...] = voxels
                    made = make_array(group, f"coarse{name}", coarse, voxels.dtype, layout)
                    read, written = Counted(fine), Counted(made)
                    fill(read, written, False)
                    axes = [axis for axis, (n, m) in enumerate(zip(shape, coarse)) if n != m]
                    np.testing.assert_array_equal(made[...], halve(voxels, axes, False))
                    self.assertEqual((read.count.min(), read.count.max()), (1, 1))
                    self.assertEqual((written.count.min(), written.count.max()), (1, 1))
                    stored = (1,) * (len(shape) - 3) + (layout.shard or layout.chunk)
                    self.assertEqual(written.writes, math.prod(-(-n // m) for n, m in zip(coarse, stored)))

    def test_memory(self):
        shape = (100, 640, 640)  # 164 MB
        layout = Layout((64, 64, 64))
        fine = make_array(self.groups[1], "fine", shape, np.dtype("<f4"), layout)
        fine[:] = 1
        coarse = make_array(self.groups[1], "coarse", tuple(n // 2 for n in shape), np.dtype("<f4"), layout)
        tracemalloc.start()
        self.addCleanup(tracemalloc.stop)
        fill(fine, coarse, False)
        _, peak = tracemalloc.get_traced_memory()
        self.assertLess(peak, 6 * 4 * 128**3)  # what becomes a chunk has 8.4 MB
        self.assertGreater(4 * math.prod(shape), 3 * peak)
        self.assertEqual(coarse[:].min(), 1)

    def test_shards_are_no_wider_than_an_array_needs(self):
        for extent, expected in (
            ((200, 200, 200), Layout((64, 64, 64), (128, 128, 64))),
            ((100, 64, 65), Layout((64, 64, 64), (128, 64, 64))),
            ((10, 65, 9), Layout((10, 64, 9), (10, 128, 9))),
        ):
            layout = Layout((64, 64, 64), (128, 128, 64)).within(extent)
            self.assertEqual(layout, expected)
            array = make_array(self.groups[1], str(extent), (2, *extent), np.dtype("u1"), layout)
            self.assertEqual(layout_of(array), layout)
        self.assertEqual(Layout((64, 64, 64)).within((10, 65, 9)), Layout((10, 64, 9)))

    def test_boxes(self):
        found = list(boxes((5, 4), (2, 4)))
        self.assertEqual(
            [(z.start, z.stop, x.start, x.stop) for z, x in found], [(0, 2, 0, 4), (2, 4, 0, 4), (4, 5, 0, 4)]
        )


if __name__ == "__main__":
    unittest.main()

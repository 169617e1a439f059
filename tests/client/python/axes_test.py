"""Axes of volumes and outputs."""

import types
import unittest

from znni import axes
from znni.errors import InvalidError


class AxesTest(unittest.TestCase):
    def test_volumes(self):
        self.assertEqual(axes.czyx((2, 3, 4), "v"), (1, 2, 3, 4))
        self.assertEqual(axes.czyx((5, 2, 3, 4), "v"), (5, 2, 3, 4))
        self.assertEqual(axes.czyx((1, 5, 2, 3, 4), "v"), (5, 2, 3, 4))
        for shape in ((3, 4), (2, 5, 2, 3, 4), (1,) * 6):
            with self.assertRaisesRegex(InvalidError, "^v: shape .* found, expected"):
                axes.czyx(shape, "v")

    def test_outputs(self):
        self.assertEqual(axes.output_shape((1, 2, 3, 4), 3), (2, 3, 4))
        self.assertEqual(axes.output_shape((6, 2, 3, 4), 3), (6, 2, 3, 4))
        self.assertEqual(axes.output_shape((1, 2, 3, 4), 4), (1, 2, 3, 4))
        self.assertEqual(axes.output_shape((6, 2, 3, 4), 5), (1, 6, 2, 3, 4))

    def test_index(self):
        ranges = [slice(0, 1)] * 3
        self.assertEqual(axes.index_of(3, ranges), tuple(ranges))
        self.assertEqual(axes.index_of(5, ranges), (0, slice(None), *ranges))

    def test_chunks(self):
        self.assertEqual(axes.chunk_of(object(), 3), (1, 1))
        stored = types.SimpleNamespace(chunks=(1, 32, 64, 65))
        self.assertEqual(axes.chunk_of(stored, 4), (32, 64))
        stored.shards = (1, 128, 96, 64)
        self.assertEqual(axes.chunk_of(stored, 4), (128, 96))
        dask = types.SimpleNamespace(chunks=((30, 30, 7), (10, 4), (10,)))
        self.assertEqual(axes.chunk_of(dask, 3), (30, 10))


if __name__ == "__main__":
    unittest.main()

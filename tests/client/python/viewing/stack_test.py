"""The voxels of a volume in cells, compared with sums over each cell's own voxels."""

import unittest
import unittest.mock

import numpy as np
from view_case import ArrayOfNumbers
from znni.viewing import stack
from znni.viewing.grid import axis_over, cells_of
from znni.viewing.stack import StackReader


def cells_for(extent, limits):
    return [cells_of(axis_over([(0.0, float(n))], most), 0.0, 1.0, n) for n, most in zip(extent, limits)]


class StackTest(unittest.TestCase):
    def setUp(self):
        self.random = np.random.default_rng(4)
        self.shown = []

    def read(self, source, limits, channels=(0,), is_mean=True):
        """Returns cells and what was read."""
        cells = cells_for(source.shape[1:], limits)
        reader = StackReader(source, cells, channels, is_mean)
        found = reader.read(self.shown.append)
        self.assertEqual(self.shown[-1], reader.voxels)
        self.assertEqual(self.shown, sorted(self.shown))
        return cells, found

    def check(self, source, limits, channels, is_mean):
        (z, y, x), found = self.read(source, limits, channels, is_mean)
        expected = np.empty(found.cells.shape)
        for at in np.ndindex(expected.shape):
            plane = source.array[channels[at[0]], z.middles[at[1]]].astype(np.float64)
            cell = plane[y.starts[at[2]] : y.stops[at[2]], x.starts[at[3]] : x.stops[at[3]]]
            expected[at] = cell.mean() if is_mean else plane[y.middles[at[2]], x.middles[at[3]]]
        np.testing.assert_allclose(found.cells, expected, rtol=1e-5)

    def volume(self, dtype):
        shape = (int(self.random.integers(1, 4)), *self.random.integers(1, 24, 3))
        return self.random.integers(0, 200, shape).astype(dtype)

    def test_means_and_samples(self):
        for dtype in ("u1", "u2", "f2", "f4"):
            for is_mean in (True, False):
                for _ in range(10):
                    array = self.volume(dtype)
                    channels = self.random.permutation(array.shape[0])[: self.random.integers(1, array.shape[0] + 1)]
                    source = ArrayOfNumbers(array, int(self.random.integers(1, 9)))
                    self.shown.clear()
                    self.check(source, self.random.integers(1, 24, 3), channels, is_mean)

    def test_slabs_of_few_bytes(self):
        for size in (1, 50, 300, 2000):
            self.enterContext(unittest.mock.patch.object(stack, "_SLAB_BYTES", size))
            for _ in range(10):
                array = self.volume("u1")
                source = ArrayOfNumbers(array, int(self.random.integers(1, 9)))
                limits = self.random.integers(1, 24, 3)
                self.shown.clear()
                self.check(source, limits, [0], True)
                y, x = cells_for(source.shape[1:], limits)[1:]
                least = int(np.max(y.stops - y.starts)) * int(x.stops[-1]) * source.shape[0]
                for box in source.boxes:
                    self.assertLessEqual(np.prod(box.extent) * source.shape[0], max(size, least))

    def test_planes_that_chunks_have_together_are_read_at_once(self):
        source = ArrayOfNumbers(np.zeros((1, 64, 8, 8), np.uint8), depth=16)
        self.read(source, (16, 8, 8))
        self.assertEqual([(box.start[0], box.stop[0]) for box in source.boxes], [(2, 15), (18, 31), (34, 47), (50, 63)])

    def test_only_the_planes_that_are_shown_are_read(self):
        source = ArrayOfNumbers(np.zeros((1, 100, 8, 8), np.uint8))
        self.read(source, (10, 8, 8))
        self.assertEqual([box.start[0] for box in source.boxes], list(range(5, 100, 10)))
        self.assertEqual(self.shown[-1], 10 * 64)

    def test_what_is_said_of_values(self):
        array = self.random.normal(size=(2, 4, 5, 6)).astype(np.float32)
        array[0, 1, 2, 3], array[1, 0, 0, 0], array[0, 3, 4, 5] = np.nan, np.inf, -7
        _, found = self.read(ArrayOfNumbers(array), (4, 5, 6), (0, 1))
        self.assertEqual(found.nonfinite, 2)
        for channel in range(2):
            finite = array[channel][np.isfinite(array[channel])]
            self.assertEqual((found.least[channel], found.most[channel]), (finite.min(), finite.max()))
            self.assertEqual(np.sort(found.sample[channel]).tobytes(), np.sort(array[channel].ravel()).tobytes())

    def test_the_sample_is_bounded_and_of_all_planes(self):
        self.enterContext(unittest.mock.patch.object(stack, "_MAX_SAMPLE", 1000))
        array = np.broadcast_to(np.arange(32, dtype=np.uint8)[None, :, None, None], (1, 32, 32, 32))
        _, found = self.read(ArrayOfNumbers(array), (32, 4, 4))
        self.assertLessEqual(found.sample.shape[1], 1100)
        counts = np.bincount(found.sample[0].astype(int), minlength=32)
        self.assertLessEqual(counts.max() - counts.min(), 2)


if __name__ == "__main__":
    unittest.main()

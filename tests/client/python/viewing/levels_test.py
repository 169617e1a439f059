"""Values as levels of grey."""

import unittest

import numpy as np
from znni.viewing.levels import levels_of

ALL = (0.0, 100.0)


class LevelsTest(unittest.TestCase):
    def setUp(self):
        self.random = np.random.default_rng(3)

    def test_each_value_of_a_byte_is_a_level(self):
        values = np.arange(256, dtype=np.float32)
        levels = levels_of(values[50:90], np.dtype("u1"), (0.5, 99.5))
        np.testing.assert_array_equal(levels.grey(values), np.arange(256))
        self.assertEqual(levels.window, tuple(np.percentile(values[50:90], (0.5, 99.5))))

    def test_real_values_are_told_apart(self):
        for _ in range(50):
            scale = 10.0 ** self.random.integers(-30, 30)
            values = (self.random.normal(size=5000) * scale).astype(np.float32)
            levels = levels_of(values, np.dtype("f4"), (1.0, 99.0))
            first, last = np.percentile(values.astype(np.float64), (1, 99))
            np.testing.assert_allclose(levels.window, (first, last), rtol=1e-6)
            self.assertLessEqual(levels.low, first - 0.1 * (last - first))
            self.assertGreaterEqual(levels.high, last + 0.1 * (last - first))
            inner = values[(values >= first) & (values <= last)]
            back = levels.low + (levels.high - levels.low) * levels.grey(inner) / 255.0
            self.assertLess(np.max(np.abs(back - inner)), (last - first) / 200)

    def test_what_lies_beyond_becomes_the_outermost_level(self):
        values = np.concatenate([np.linspace(0, 1, 1000), [1e6, -1e6]]).astype(np.float32)
        levels = levels_of(values, np.dtype("f4"), (1.0, 99.0))
        self.assertEqual(levels.grey(np.float32([-1e6, 1e6])).tolist(), [0, 255])
        self.assertLess(levels.high, 2)

    def test_the_histogram_counts_all_finite_values(self):
        values = self.random.integers(0, 4, 1000).astype(np.float32)
        levels = levels_of(np.concatenate([values, [np.nan, np.inf]]), np.dtype("f4"), ALL)
        self.assertEqual(sum(levels.histogram), 1000)
        width = len(levels.histogram)
        for value in range(4):
            bin_of_value = min(width - 1, int((value - levels.low) / (levels.high - levels.low) * width))
            self.assertEqual(levels.histogram[bin_of_value], np.sum(values == value))

    def test_values_that_are_not_finite(self):
        levels = levels_of(np.float32([0, 1]), np.dtype("f4"), ALL)
        self.assertEqual(levels.grey(np.float32([np.nan, np.inf, -np.inf, 1])).tolist(), [0, 0, 0, 255])
        none = levels_of(np.float32([np.nan]), np.dtype("f4"), ALL)
        self.assertEqual((none.window, sum(none.histogram)), ((0.0, 1.0), 0))

    def test_one_value_alone(self):
        for dtype in ("u1", "u2", "f4"):
            for value in (0, 1, 255):
                levels = levels_of(np.full(9, value, np.float32), np.dtype(dtype), (0.5, 99.5))
                self.assertLess(levels.low, levels.high)
                self.assertLess(*levels.window)
                self.assertLessEqual(levels.low, levels.window[0])
                self.assertGreaterEqual(levels.high, levels.window[1])

    def test_few_voxels_of_interest_among_many(self):
        values = np.zeros(10000, np.float32)
        values[:3] = 1
        levels = levels_of(values, np.dtype("f4"), (0.5, 99.5))
        self.assertEqual(levels.grey(np.float32([0, 1])).tolist(), [0, 255])


if __name__ == "__main__":
    unittest.main()

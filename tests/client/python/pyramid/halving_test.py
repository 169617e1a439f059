"""Voxels whose axes are halved, beside their means in float64."""

import itertools
import unittest

import numpy as np
from znni.pyramid.halving import halve

DRAW = np.random.default_rng(4)


def mean(voxels, axes):
    """Returns the means of all voxels that become one, each taken at once, in float64."""
    steps = [2 if axis in axes else 1 for axis in range(voxels.ndim)]
    found = np.empty([-(-n // step) for n, step in zip(voxels.shape, steps)])
    for at in np.ndindex(found.shape):
        box = tuple(slice(i * step, (i + 1) * step) for i, step in zip(at, steps))
        found[at] = voxels[box].astype(np.float64).mean()
    return found


class HalvingTest(unittest.TestCase):
    def cases(self):
        for shape in ((4, 6, 8), (5, 7, 3), (1, 1, 2), (2, 3, 4, 5)):
            for count in range(4):
                for axes in itertools.combinations(range(len(shape) - 3, len(shape)), count):
                    yield shape, axes

    def test_means_of_floats(self):
        for shape, axes in self.cases():
            voxels = DRAW.normal(size=shape).astype(np.float32)
            found = halve(voxels, axes, False)
            self.assertEqual(found.dtype, np.float32)
            bound = 3 * np.finfo(np.float32).eps / 2 * np.abs(voxels).max()  # each of three means rounds once
            np.testing.assert_allclose(found, mean(voxels, axes), rtol=0, atol=bound)

    def test_means_of_whole_numbers_are_rounded_once(self):
        for dtype in (np.uint8, np.uint16):
            for shape, axes in self.cases():
                voxels = DRAW.integers(0, np.iinfo(dtype).max, shape, dtype, endpoint=True)
                found = halve(voxels, axes, False)
                self.assertEqual(found.dtype, dtype)
                np.testing.assert_array_equal(found, np.rint(mean(voxels, axes)))

    def test_means_of_float16_are_rounded_once(self):
        voxels = DRAW.random((4, 4, 4)).astype(np.float16)
        found = halve(voxels, (0, 1, 2), False)
        np.testing.assert_array_equal(found, mean(voxels, (0, 1, 2)).astype(np.float16))

    def test_labels_are_those_of_the_first_voxels(self):
        voxels = np.arange(5 * 4 * 3).reshape(5, 4, 3)
        np.testing.assert_array_equal(halve(voxels, (0, 2), True), voxels[::2, :, ::2])

    def test_large_values_stay_finite(self):
        voxels = np.full((2, 2, 2), np.finfo(np.float32).max)
        np.testing.assert_array_equal(halve(voxels, (0, 1, 2), False), voxels[:1, :1, :1])

    def test_what_is_given_is_kept(self):
        voxels = DRAW.random((3, 3, 3), np.float32)
        kept = voxels.copy()
        halve(voxels, (0, 1, 2), False)
        halve(voxels, (), False)
        np.testing.assert_array_equal(voxels, kept)


if __name__ == "__main__":
    unittest.main()

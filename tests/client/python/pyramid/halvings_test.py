"""Which resolutions an image has."""

import random
import unittest

from znni.geometry import Geometry
from znni.pyramid.halvings import halved, halvings_of

NM = ("nanometer",) * 3


class HalvingsTest(unittest.TestCase):
    def test_small_images_have_one(self):
        self.assertEqual(halvings_of((256, 1, 256), Geometry()), [(0, 0, 0)])

    def test_equal_voxels_are_halved_along_all_axes(self):
        self.assertEqual(halvings_of((1000, 300, 700), Geometry()), [(0, 0, 0), (1, 1, 1), (2, 2, 2)])
        self.assertEqual(halved((1000, 300, 701), (2, 2, 2)), (250, 75, 176))

    def test_long_voxels_wait_for_the_others(self):
        found = halvings_of((2000, 9000, 9000), Geometry((40.0, 4.0, 4.0), units=NM))
        self.assertEqual(found[:5], [(0, 0, 0), (0, 1, 1), (0, 2, 2), (0, 3, 3), (1, 4, 4)])
        self.assertEqual(halved((2000, 9000, 9000), found[-1]), (250, 141, 141))

    def test_lengths_in_several_units(self):
        units = ("micrometer", "nanometer", "nanometer")
        self.assertEqual(
            halvings_of((300, 600, 600), Geometry((0.05, 10.0, 10.0), units=units)),
            halvings_of((300, 600, 600), Geometry((50.0, 10.0, 10.0), units=NM)),
        )

    def test_an_axis_of_one_voxel_stays_and_holds_up_no_other(self):
        found = halvings_of((1, 2000, 2000), Geometry((1.0, 50.0, 50.0)))
        self.assertEqual(found[-1], (0, 3, 3))

    def test_lengths_that_are_none(self):
        for scale in ((0.0, 1.0, 1.0), (-3.0, 1.0, 1.0)):
            self.assertEqual(halvings_of((300, 300, 300), Geometry(scale)), [(0, 0, 0), (1, 1, 1)])

    def test_any_image_ends_with_a_small_one(self):
        draw = random.Random(3)
        for _ in range(300):
            extent = tuple(int(10 ** draw.uniform(0, 6)) for _ in range(3))
            geometry = Geometry(tuple(10 ** draw.uniform(-3, 3) for _ in range(3)))
            found = halvings_of(extent, geometry)
            self.assertLessEqual(max(halved(extent, found[-1])), 256)
            for before, after in zip(found, found[1:]):
                self.assertGreater(max(halved(extent, before)), 256)
                self.assertIn(1, {b - a for a, b in zip(before, after)})
                self.assertLessEqual({b - a for a, b in zip(before, after)}, {0, 1})


if __name__ == "__main__":
    unittest.main()

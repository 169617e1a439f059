"""Where an output lies in its input."""

import unittest

import numpy as np
from view_case import ArrayOfNumbers, geometry
from znni.errors import InvalidError
from znni.geometry import Frame, Geometry
from znni.viewing.placement import place


def volume(extent, its=None, notes=None):
    return ArrayOfNumbers(np.zeros((1, *extent), np.uint8), geometry=its, notes=notes)


class PlacementTest(unittest.TestCase):
    def check(self, found, begin, step=(1, 1, 1), reason=""):
        np.testing.assert_allclose(found.begin, begin, atol=1e-9)
        np.testing.assert_allclose(found.step, step, atol=1e-9)
        self.assertIn(reason, found.reason)

    def test_by_voxel_sizes_and_translations(self):
        random = np.random.default_rng(7)
        for _ in range(50):
            scale, first = random.uniform(0.1, 50, 3), random.uniform(-1000, 1000, 3)
            offset = random.integers(0, 20, 3)
            its = geometry(scale, first)
            own = its.moved(tuple(map(int, offset)))
            found = place(volume((10, 10, 10), own), volume((40, 40, 40), its), None)
            self.check(found, offset, reason="voxel sizes and translations")

    def test_units_may_differ(self):
        its, own = geometry((40, 8, 8), (400, 0, 80)), geometry((0.04, 0.008, 0.008), (0.8, 0.16, 0.24), "micrometer")
        self.check(place(volume((10, 9, 8), own), volume((90, 90, 90), its), None), (10, 20, 20))

    def test_a_coarse_output_lies_where_its_centres_do(self):
        # Each voxel stands for two by two by two, so that its centre lies between two centres of the input.
        its, own = geometry((4, 4, 4)), geometry((8, 8, 8), (2, 2, 2))
        found = place(volume((5, 5, 5), own), volume((10, 10, 10), its), None)
        self.check(found, (0, 0, 0), (2, 2, 2))
        self.assertEqual(found.end((5, 5, 5)), (10, 10, 10))

    def test_rounding_of_files_is_taken_back(self):
        its = geometry([float(np.float32(n)) for n in (0.04, 0.004, 0.004)])
        own = geometry(its.scale, [float(np.float32(n * s)) for n, s in zip((30, 299, 301), (0.04, 0.004, 0.004))])
        found = place(volume((9, 9, 9), own), volume((400, 400, 400), its), None)
        self.assertEqual((found.begin, found.step), ((30.0, 299.0, 301.0), (1.0, 1.0, 1.0)))

    def test_by_notes_where_units_cannot_be_compared(self):
        notes = {"offset": [3, 4, 5]}
        for own, its in (
            (geometry(unit=""), geometry((40, 8, 8))),
            (None, geometry()),
            (geometry(), None),
            (None, None),
        ):
            found = place(volume((5, 5, 5), own, notes), volume((20, 20, 20), its), None)
            self.check(found, (3, 4, 5), reason="the offset in the output's attributes")
        moved = geometry().moved((1, 1, 1))
        self.check(place(volume((5, 5, 5), moved, notes), volume((20, 20, 20), geometry()), None), (1, 1, 1))

    def test_wrong_notes_are_passed_over(self):
        for wrong in ("1,2,3", [1, 2], [1, 2, "3"], None, {}):
            found = place(volume((5, 5, 5), None, {"offset": wrong}), volume((9, 9, 9)), None)
            self.check(found, (2, 2, 2), reason="assumed")

    def test_by_the_translation_of_an_output_alone(self):
        own = geometry((2, 2, 2), (6, 8, 10))
        self.check(place(volume((5, 5, 5), own), volume((20, 20, 20)), None), (3, 4, 5), reason="translation")

    def test_in_the_middle(self):
        found = place(volume((10, 9, 8)), volume((10, 20, 21)), None)
        self.check(found, (0, 5, 6))
        self.assertTrue(found.is_assumed)
        same = place(volume((10, 9, 8)), volume((10, 9, 8)), None)
        self.check(same, (0, 0, 0))
        self.assertFalse(same.is_assumed)
        with self.assertRaisesRegex(
            InvalidError, "10x9x8 voxels and no offset found, .* 10x8x9 of volume: pass --offset"
        ):
            place(volume((10, 9, 8)), volume((10, 8, 9)), None)

    def test_the_caller_comes_first(self):
        own = geometry().moved((1, 1, 1))
        found = place(volume((5, 5, 5), own, {"offset": [2, 2, 2]}), volume((9, 9, 9), geometry()), (-1, 3, 4))
        self.check(found, (-1, 3, 4), reason="--offset")

    def test_elsewhere(self):
        for offset in ((9, 0, 0), (0, -5, 0), (0, 0, 100)):
            with self.assertRaisesRegex(InvalidError, r"volume: lies at z .* of volume \(--offset\), which has 9x9x9"):
                place(volume((5, 5, 5)), volume((9, 9, 9)), offset)

    def test_axes_that_lead_other_ways(self):
        along = ((2.0, 0.0, 0.0, 5.0), (0.0, 2.0, 0.0, 6.0), (0.0, 0.0, 2.0, 7.0))
        across = (along[1], along[0], along[2])
        its = Geometry((2.0, 2.0, 2.0), (7.0, 6.0, 5.0), ("millimeter",) * 3, Frame(along, True))
        self.check(place(volume((5, 5, 5), its.moved((1, 2, 3))), volume((9, 9, 9), its), None), (1, 2, 3))
        turned = Geometry(its.scale, its.translation, its.units, Frame(across, True))
        with self.assertRaisesRegex(InvalidError, "axes that lead other ways than those of volume found"):
            place(volume((5, 5, 5), turned), volume((9, 9, 9), its), None)


if __name__ == "__main__":
    unittest.main()

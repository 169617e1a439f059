"""Axes of mirrors, and places in them."""

import unittest

from znni.box import Box
from znni.errors import InvalidError
from znni.mirrors import Mirror, mirror_axes, names_of, passes_of

BOX = Box((1, 2, 3), (2, 4, 9))
WHOLE = Box((-4, 0, 1), (10, 6, 11))


class MirrorsTest(unittest.TestCase):
    def test_axes(self):
        for tta, axes in ((None, ()), ("mirror", (0, 1, 2)), ("zyx", (0, 1, 2)), ("xy", (1, 2)), ("z", (0,))):
            self.assertEqual(mirror_axes(tta), axes)
        self.assertEqual(names_of((1, 2)), "yx")

    def test_what_names_none(self):
        for tta in ("", "xx", "c", "mirrored", True, 3, ["y", "x"]):
            with self.assertRaisesRegex(InvalidError, "^tta: .* found, expected 'mirror', or axes among z, y and x"):
                mirror_axes(tta)

    def test_passes(self):
        self.assertEqual(passes_of((1,)), [(), (1,)])
        self.assertEqual(passes_of((0, 2)), [(), (0,), (2,), (0, 2)])
        self.assertEqual(len(set(passes_of((0, 1, 2)))), 8)

    def test_places(self):
        mirror = Mirror((0, 2), WHOLE)
        found = mirror.place_of(BOX)
        self.assertEqual(found, Box((4, 2, 3), (5, 4, 9)))
        self.assertEqual(mirror.place_of(found), BOX)
        self.assertEqual([mirror.sum(axis) for axis in range(3)], [6, None, 12])
        self.assertEqual(Mirror().place_of(BOX), BOX)

    def test_a_place_is_that_of_the_voxels(self):
        voxels = {(z, x) for z in range(1, 2) for x in range(3, 9)}
        start, stop = Mirror((0, 2), WHOLE).place_of(BOX)
        there = {(z, x) for z in range(start[0], stop[0]) for x in range(start[2], stop[2])}
        self.assertEqual(there, {(-4 + 9 - z, 1 + 10 - x) for z, x in voxels})


if __name__ == "__main__":
    unittest.main()

"""What a page says of its volumes."""

import unittest

import numpy as np
from view_case import ArrayOfNumbers, geometry
from znni.geometry import Geometry
from znni.viewing.grid import Axis
from znni.viewing.parts import Part, cell_notes, place_notes, place_text
from znni.viewing.placement import Placement, place
from znni.viewing.stack import Stack


def stack(count, nonfinite=0):
    return Stack(None, None, np.arange(count) / 2, np.arange(count) + 1.0, nonfinite)


class PartsTest(unittest.TestCase):
    def part(self, shape=(1, 4, 5, 6), channels=(0,), role="output", **facts):
        return Part(role, ArrayOfNumbers(np.zeros(shape, np.float32), **facts), Placement(), channels)

    def test_facts(self):
        facts = self.part(geometry=geometry((40, 4, 4), (80, 0, 2))).facts(stack(1))
        self.assertEqual(facts["voxels"], "4x5x6")
        self.assertEqual(facts["type"], "float32")
        self.assertEqual(facts["voxel size"], "40 x 4 x 4 nanometer")
        self.assertEqual(facts["first voxel at"], "80 x 0 x 2 nanometer")
        self.assertEqual(facts["values read"], "0 to 1")

    def test_facts_of_channels_and_units(self):
        mixed = Geometry((4.0, 0.5, 0.5), units=("nanometer", "micrometer", "micrometer"))
        facts = self.part((9, 4, 5, 6), (0, 3), geometry=mixed).facts(stack(2))
        self.assertEqual(facts["voxels"], "9 channels of 4x5x6")
        self.assertEqual(facts["voxel size"], "4 nanometer x 0.5 micrometer x 0.5 micrometer")
        self.assertEqual(facts["values read"], "0 to 1 (0); 0.5 to 2 (3)")
        self.assertEqual(self.part(geometry=Geometry()).facts(stack(1))["voxel size"], "1 x 1 x 1 (no unit)")
        self.assertNotIn("voxel size", self.part().facts(stack(1)))
        nothing = Stack(None, None, np.array([np.inf]), np.array([-np.inf]))
        self.assertEqual(self.part().facts(nothing)["values read"], "none is finite")

    def test_notes(self):
        self.assertEqual(self.part().notes(stack(1)), [])
        many = self.part((9, 4, 5, 6), (0, 3)).notes(stack(2))
        self.assertEqual(many, ["output: channels 0, 3 of 9 are shown; --channels names others"])
        (note,) = self.part(role="input").notes(stack(1, 7))
        self.assertRegex(note, "^input: 7 of the voxels that were read are NaN or infinite")

    def test_notes_of_cells(self):
        plain = Axis(0, 1, 100, 100)
        self.assertEqual(cell_notes([plain] * 3, True), [])
        (note,) = cell_notes([Axis(0, 3, 34, 100), plain, Axis(0, 4, 50, 200)], True)
        self.assertIn("not all of 100x100x200 voxels are shown: one of 3 planes and the mean of 1x4 voxels; ", note)
        (note,) = cell_notes([plain, plain, Axis(0, 4, 50, 200)], False)
        self.assertIn("shown: the middle one of 1x4 voxels; ", note)

    def test_notes_of_places(self):
        large, small = (ArrayOfNumbers(np.zeros((1, n, n, n), np.uint8)) for n in (9, 5))
        assumed = place(small, large, None)
        self.assertRegex(place_notes(assumed)[0], "^place of the output is assumed .* --offset says another$")
        self.assertEqual(place_text(assumed), "2, 2, 2 voxels from the input's first one, assumed")
        given = place(small, large, (1, 2, 3))
        self.assertEqual(place_notes(given), [])
        self.assertEqual(place_text(given), "1, 2, 3 voxels from the input's first one, by --offset")
        coarse = Placement((0.5, 0.0, 0.0), (2.0, 2.0, 2.0), "that")
        self.assertEqual(
            place_text(coarse), "0.5, 0, 0 voxels from the input's first one, in steps of 2 x 2 x 2, by that"
        )


if __name__ == "__main__":
    unittest.main()

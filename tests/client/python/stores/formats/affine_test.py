"""Affine matrices of voxels."""

import unittest

import numpy as np
from znni.errors import InvalidError
from znni.geometry import Frame, Geometry
from znni.stores.formats.affine import affine_of, geometry_of_affine

TURNED = np.array([[0.0, -0.5, 0.0, 10.0], [-0.25, 0.0, 0.0, -20.0], [0.0, 0.0, 2.0, 30.0]])


class AffineTest(unittest.TestCase):
    def test_there_and_back(self):
        for matrix, is_body in ((TURNED, True), (np.eye(4)[:3] * 3, True), (np.eye(4)[:3] * 3, False)):
            geometry = geometry_of_affine(matrix, "millimeter", is_body, "v")
            np.testing.assert_array_equal(affine_of(geometry, "millimeter"), [*matrix, [0, 0, 0, 1]])

    def test_offsets_are_along_the_own_axes(self):
        geometry = geometry_of_affine(TURNED, "", True, "v")
        self.assertEqual((geometry.scale, geometry.translation), ((2.0, 0.5, 0.25), (30.0, -10.0, 20.0)))
        moved = geometry.moved((1, 2, 3))
        again = geometry_of_affine(np.array(moved.frame.matrix), "", True, "v")
        np.testing.assert_allclose(again.translation, moved.translation)
        self.assertEqual(again.frame, moved.frame)

    def test_axes_of_their_own_need_no_frame(self):
        matrix = np.column_stack([np.diag([1.0, 2.0, 3.0]), [4.0, 5.0, 6.0]])
        found = geometry_of_affine(matrix, "meter", False, "v")
        self.assertEqual(found, Geometry((3.0, 2.0, 1.0), (6.0, 5.0, 4.0), ("meter",) * 3))
        self.assertIsInstance(geometry_of_affine(matrix, "meter", True, "v").frame, Frame)

    def test_other_units(self):
        geometry = Geometry((3.0, 2.0, 1.0), (6.0, 5.0, 4.0), ("nanometer", "nanometer", "micrometer"))
        found = affine_of(geometry, "micrometer")
        np.testing.assert_allclose(np.diag(found), [1.0, 0.002, 0.003, 1.0])
        np.testing.assert_allclose(found[:3, 3], [4.0, 0.005, 0.006])

    def test_none_of_a_volume(self):
        flat, unknown = TURNED.copy(), TURNED.copy()
        flat[2], unknown[0, 0] = 0, np.nan
        parallel = TURNED.copy()
        parallel[:, 1] = parallel[:, 0] * 2
        for matrix in (flat, unknown, parallel):
            with self.assertRaisesRegex(
                InvalidError, "^v: affine: .* found, expected three directions that span space"
            ):
                geometry_of_affine(matrix, "", True, "v: affine")


if __name__ == "__main__":
    unittest.main()

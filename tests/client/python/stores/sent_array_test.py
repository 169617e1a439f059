"""Voxels of all types as types that are sent."""

import unittest
from unittest import mock

import numpy as np
from znni.errors import InvalidError
from znni.stores.sent_array import SentArray

ALL = np.s_[:, :, :]


class SentArrayTest(unittest.TestCase):
    def test_types(self):
        for found, sent in (
            ("u1", "u1"),
            (">u2", "<u2"),
            ("<f2", "<f2"),
            (">f4", "<f4"),
            ("?", "u1"),
            ("i1", "<f4"),
            (">i2", "<f4"),
            ("<i4", "<f4"),
            ("<u8", "<f4"),
            (">f8", "<f4"),
        ):
            array = np.arange(24).reshape(2, 3, 4).astype(found)
            volume = SentArray(array, "v")
            self.assertEqual((volume.dtype, volume[ALL].dtype), (np.dtype(sent), np.dtype(sent)))
            np.testing.assert_array_equal(volume[ALL], array)

    def test_no_numbers(self):
        for dtype in ("<c8", "S3", [("r", "u1"), ("g", "u1")]):
            with self.assertRaisesRegex(InvalidError, "^v: voxels of type .* found, expected whole or real numbers"):
                SentArray(np.zeros((2, 3, 4), dtype), "v")
        of_another_library = mock.Mock(shape=(2, 3, 4), dtype="torch.uint8")
        with self.assertRaisesRegex(InvalidError, "^v: voxels of type torch.uint8 found, expected whole or real"):
            SentArray(of_another_library, "v")

    def test_rescaled(self):
        array = np.full((2, 3, 4), 100, "u1")
        volume = SentArray(array, "v", 0.1, -3.0)
        self.assertEqual((volume.dtype, volume[ALL][0, 0, 0]), (np.dtype("<f4"), np.float32(100 * 0.1 - 3)))

    def test_rescaled_by_the_caller(self):
        """The product and sum of all types are rounded once, also behind slope and intercept of a file."""
        draw = np.random.default_rng(5)
        for kind in ("u1", ">i2", "u2", "<i4", "u8", "f2", ">f4", "f8"):
            array = (draw.random((2, 3, 4)) * 100).astype(kind)
            if kind in ("<i4", "u8"):
                array += (1 << 24) + 1  # more than float32 holds
            volume = SentArray(array, "v")
            volume.rescale(0.5, -7.25)
            expected = (array.astype("f8") * 0.5 - 7.25).astype("<f4")
            self.assertEqual((volume.dtype, volume[ALL].dtype), (np.dtype("<f4"), np.dtype("<f4")))
            np.testing.assert_array_equal(volume[ALL], expected)
            behind = SentArray(array, "v", 3.0, 1.0)
            behind.rescale(0.5, -7.25)
            expected = ((array.astype("f8") * 3 + 1) * 0.5 - 7.25).astype("<f4")
            np.testing.assert_array_equal(behind[ALL], expected)

    def test_whole_numbers_that_float32_does_not_hold(self):
        for value in ((1 << 24) + 1, -(1 << 24) - 1):
            array = np.full((2, 3, 4), value, "<i8")
            with self.assertRaisesRegex(InvalidError, f"^v: voxel {value} of type int64 found, expected 16777216"):
                SentArray(array, "v")[ALL]
        exact = np.full((2, 3, 4), 1 << 24, "<u4")
        np.testing.assert_array_equal(SentArray(exact, "v")[ALL], exact)

    def test_what_becomes_infinite_is_no_warning(self):
        self.assertTrue(np.isinf(SentArray(np.full((2, 3, 4), 1e300), "v")[ALL]).all())


if __name__ == "__main__":
    unittest.main()

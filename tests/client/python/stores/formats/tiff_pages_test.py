"""Pages of TIFF. tiff_test.py reads them."""

import unittest

import numpy as np
from znni.errors import InvalidError
from znni.stores.formats.tiff_pages import PageArray, check_complete, natural_order


class TiffPagesTest(unittest.TestCase):
    def test_order(self):
        self.assertEqual(natural_order(["z10.tif", "z9.tif", "a.tif"]), ["a.tif", "z9.tif", "z10.tif"])
        self.assertEqual(natural_order(["10.tif", "9.tif", "cover.tif"]), ["9.tif", "10.tif", "cover.tif"])

    def test_gaps(self):
        for names in (
            ["z1.tif", "z2.tif", "z3.tif"],
            ["z005.tif", "z010.tif", "z015.tif"],
            ["a1.tif", "b2.tif", "c9.tif"],
            ["s1z1.tif", "s1z9.tif", "s2z1.tif"],
            ["z1.tif", "z7.tif"],
        ):
            check_complete("f", names)
        with self.assertRaisesRegex(InvalidError, "^f: pages s1_z2.tif and s1_z4.tif found, expected steps of 1"):
            check_complete("f", ["s1_z1.tif", "s1_z2.tif", "s1_z4.tif"])

    def test_arrays(self):
        whole = np.arange(2 * 3 * 4 * 5).reshape(2, 3, 4, 5)

        def read(c, z, rows, columns):
            return whole[c : c + 1, z, rows.start : rows.stop, columns.start : columns.stop]

        array = PageArray((2, 3, 4, 5), whole.dtype, read, False)
        for index in np.s_[:, 1:3, 0:2, 3:5], np.s_[1, 0:1, 0:4, 0:5], np.s_[1:2, 2:3, 1:2, 4:5]:
            np.testing.assert_array_equal(array[index], whole[index])
        single = PageArray((1, 3, 4, 5), whole.dtype, read, False)
        self.assertEqual(single.shape, (3, 4, 5))
        np.testing.assert_array_equal(single[1:3, 0:2, 3:5], whole[0, 1:3, 0:2, 3:5])


if __name__ == "__main__":
    unittest.main()

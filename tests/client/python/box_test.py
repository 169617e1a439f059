"""Regions of interest."""

import unittest

import numpy as np
from znni.box import Box, parse_roi, text_of
from znni.errors import InvalidError

VOLUME = (10, 20, 30)


class BoxTest(unittest.TestCase):
    def test_forms(self):
        expected = Box((2, 0, 5), (9, 20, 6))
        for roi in (
            "2:9,:,5:6",
            " 2 : 9 , 0:20 ,5:6",
            np.s_[2:9, :, 5:6],
            [(2, 9), (0, 20), (5, 6)],
            (slice(2, 9, 1), (None, None), (5, 6)),
        ):
            self.assertEqual(parse_roi(roi, VOLUME), expected)
        self.assertEqual(expected.extent, (7, 20, 1))

    def test_whole(self):
        self.assertEqual(parse_roi(None, VOLUME), Box((0, 0, 0), VOLUME))

    def test_out_of_the_volume(self):
        for roi in ("0:11,:,:", "5:5,:,:", np.s_[-3:4, :, :], "7:3,:,:"):
            with self.assertRaisesRegex(InvalidError, "^roi: z from .* found, expected a range within 0 to 10"):
                parse_roi(roi, VOLUME)
        with self.assertRaisesRegex(InvalidError, "^roi: x from 0 to 31"):
            parse_roi(":,:,0:31", VOLUME)

    def test_no_region(self):
        for roi in ("1:2,3:4", "a:2,:,:", np.s_[0:2, 0:2], np.s_[0:4:2, :, :], (1, 2, 3), ""):
            with self.assertRaisesRegex(InvalidError, "expected 'z0:z1,y0:y1,x0:x1'"):
                parse_roi(roi, VOLUME)

    def test_text(self):
        self.assertEqual(text_of((1, 20, 3)), "1x20x3")


if __name__ == "__main__":
    unittest.main()

"""Padding, beside numpy.pad."""

import unittest

import numpy as np
from znni.box import Box
from znni.errors import InvalidError
from znni.padding import check_pad, padded, sources, span, take

MODES = {"zero": "constant", "reflect": "reflect", "edge": "edge"}


class PaddingTest(unittest.TestCase):
    def test_equals_numpy(self):
        for pad, mode in MODES.items():
            for extent in (1, 2, 5):
                line = np.arange(1, extent + 1)
                expected = np.pad(line, (11, 12), mode=mode)
                found = sources(pad, extent, -11, extent + 12)
                first, last = span(found)
                np.testing.assert_array_equal(take(line[first:last], found, 0), expected, f"{pad} {extent}")

    def test_what_zero_is(self):
        found = sources("zero", 3, -2, 4)
        np.testing.assert_array_equal(take(np.arange(1, 4), found, 0, 7), [7, 7, 1, 2, 3, 7])

    def test_a_range_of_the_padded_line(self):
        line = np.arange(1, 8)
        for pad, mode in MODES.items():
            expected = np.pad(line, 5, mode=mode)
            for first in range(-5, 11):
                for last in range(first + 1, 12):
                    found = sources(pad, 7, first, last)
                    low, high = span(found)
                    self.assertLessEqual(high - low, max(1, last - first))
                    np.testing.assert_array_equal(take(line[low:high], found, 0), expected[first + 5 : last + 5])

    def test_a_range_from_its_end(self):
        line = np.arange(1, 8)
        for pad, mode in MODES.items():
            expected = np.pad(line, 5, mode=mode)
            for first, last in ((0, 7), (2, 5), (-3, 4), (4, 11)):
                found = sources(pad, 7, first, last)[::-1]
                low, high = span(found)
                np.testing.assert_array_equal(take(line[low:high], found, 0), expected[first + 5 : last + 5][::-1])

    def test_half_of_an_even_border_comes_behind(self):
        roi = Box((0, 10, 20), (5, 15, 25))
        self.assertEqual(padded("none", roi, (10, 1, 3)), roi)
        self.assertEqual(padded("zero", roi, (10, 1, 3)), Box((-4, 10, 19), (10, 15, 26)))

    def test_names(self):
        self.assertEqual(check_pad("edge"), "edge")
        with self.assertRaisesRegex(InvalidError, "^pad: 'same' found, expected one of none, zero, reflect, edge"):
            check_pad("same")


if __name__ == "__main__":
    unittest.main()

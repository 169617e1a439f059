"""Factors and offsets as callers write them."""

import fractions
import unittest

import numpy as np
from znni.errors import InvalidError
from znni.scaling import Scaling, is_by_slice, parse_scaling


class ScalingTest(unittest.TestCase):
    def test_forms(self):
        for scale, expected in (
            (None, None),
            (2, (2.0, 0.0)),
            (1e-44, (float(np.float32(1e-44)), 0.0)),
            ((0, -0.0), (0.0, 0.0)),
            (0.5, (0.5, 0.0)),
            (np.float32(0.5), (0.5, 0.0)),
            (fractions.Fraction(1, 2), (0.5, 0.0)),
            ((2, -1), (2.0, -1.0)),
            ([0.5, np.int64(3)], (0.5, 3.0)),
            (np.array([0.5, 3]), (0.5, 3.0)),
        ):
            self.assertEqual(parse_scaling(scale), expected)

    def test_by_slice(self):
        self.assertEqual(parse_scaling("slice_zscore"), (1.0, 0.0))
        self.assertTrue(is_by_slice("slice_zscore"))
        for scale in (None, 2, (1, 0), "volume", np.array([1, 0])):
            self.assertFalse(is_by_slice(scale))

    def test_is_rounded_to_float32(self):
        found = parse_scaling((1 / 255, 0.1))
        self.assertEqual(found, Scaling(float(np.float32(1 / 255)), float(np.float32(0.1))))

    def test_what_is_none(self):
        for scale in (
            "0.5",
            True,
            (1, 2, 3),
            (1,),
            (1, "2"),
            (1, None),
            {},
            np.nan,
            (1, np.inf),
            1e39,
            10**400,
            1j,
            1e-46,
            (1, -1e-99),
        ):
            with self.assertRaisesRegex(InvalidError, "^scale: .* found, expected a factor or .factor, offset."):
                parse_scaling(scale)


if __name__ == "__main__":
    unittest.main()

"""Units of length."""

import unittest

from znni.errors import InvalidError
from znni.stores.formats.units import common_unit, factor, name_of


class UnitsTest(unittest.TestCase):
    def test_names(self):
        for unit, name in (
            ("µm", "micrometer"),
            ("um", "micrometer"),
            ("micron", "micrometer"),
            (" mm ", "millimeter"),
            ("pixel", ""),
            ("", ""),
            ("???", ""),
            ("second", "second"),
            ("nm", "nanometer"),
        ):
            self.assertEqual(name_of(unit), name)

    def test_factors(self):
        self.assertEqual(factor("millimeter", "micrometer"), 1000.0)
        self.assertEqual((factor("", "micrometer"), factor("meter", "")), (1.0, 1.0))

    def test_common(self):
        for units, name in (
            (("", "", ""), ""),
            (("nanometer", "", ""), "micrometer"),
            (("meter", "millimeter", "centimeter"), "millimeter"),
            (("millimeter", "millimeter", "micrometer"), "micrometer"),
        ):
            self.assertEqual(common_unit(units, "v"), name)
        with self.assertRaisesRegex(InvalidError, "^v: voxels in 'second' found, expected a unit of length"):
            common_unit(("second", "", ""), "v")


if __name__ == "__main__":
    unittest.main()

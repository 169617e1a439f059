"""The header of an NRRD file."""

import unittest

import numpy as np
from znni.errors import InvalidError
from znni.geometry import Geometry
from znni.stores.formats.nrrd_header import geometry_of_header, layout_of, type_of

PLAIN = {"type": "uchar", "sizes": np.array([7, 6, 5])}
NONE = np.full(3, np.nan)


class NrrdHeaderTest(unittest.TestCase):
    def test_types(self):
        for name, endian, dtype in (
            ("unsigned short int", "big", ">u2"),
            ("Double", "little", "<f8"),
            ("signed char", None, "i1"),
        ):
            self.assertEqual(type_of({"type": name, "endian": endian}, "v"), np.dtype(dtype))
        with self.assertRaisesRegex(
            InvalidError, "^v: field 'type': block found, expected that of whole or real numbers"
        ):
            type_of({"type": "block"}, "v")
        with self.assertRaisesRegex(InvalidError, "^v: field 'endian': None found, expected little or big"):
            type_of({"type": "float"}, "v")

    def test_layouts(self):
        self.assertEqual(layout_of(PLAIN, "v")[:2], ((5, 6, 7), (0, 1, 2)))
        four = {"type": "uchar", "sizes": np.array([2, 7, 6, 5])}
        self.assertEqual(
            layout_of({**four, "kinds": ["vector", "space", "space", "space"]}, "v")[:2], ((5, 6, 7, 2), (3, 0, 1, 2))
        )
        self.assertEqual(layout_of({**four, "space directions": [None, *np.eye(3)]}, "v").order, (3, 0, 1, 2))
        self.assertEqual(layout_of({**four, "space directions": np.array([*np.eye(3), NONE])}, "v").order, (0, 1, 2, 3))

    def test_no_volume(self):
        for header in (
            {"sizes": np.array([7, 6])},
            {"sizes": np.array([7, 6, 5, 4, 3])},
            {"sizes": np.array([3, 7, 6]), "kinds": ["RGB-color", "domain", "domain"]},
            {},
        ):
            with self.assertRaisesRegex(InvalidError, "^v: field 'sizes': "):
                layout_of({"type": "uchar", **header}, "v")

    def test_geometry(self):
        directions = {"space directions": np.diag([1.0, 2.0, 3.0]), "space origin": np.array([4.0, 5.0, 6.0])}
        plain = Geometry((3.0, 2.0, 1.0), (6.0, 5.0, 4.0), ("micrometer",) * 3)
        self.assertEqual(geometry_of_header({**PLAIN, **directions, "space units": ["um"] * 3}, "v"), plain)
        body = geometry_of_header({**PLAIN, **directions, "space": "LPS"}, "v")
        self.assertEqual(body.frame.matrix[0], (-1.0, 0.0, 0.0, -4.0))
        self.assertTrue(body.frame.is_body)
        spaced = {"spacings": np.array([1.0, 2.0, 3.0]), "axis mins": np.array([4.0, np.nan, 6.0]), "units": ["mm"] * 3}
        expected = Geometry((3.0, 2.0, 1.0), (6.0, 0.0, 4.0), ("millimeter",) * 3)
        self.assertEqual(geometry_of_header({**PLAIN, **spaced}, "v"), expected)
        self.assertIsNone(geometry_of_header(PLAIN, "v"))

    def test_geometry_of_another_form(self):
        with self.assertRaisesRegex(InvalidError, "^v: field 'space directions': .* found, expected three"):
            geometry_of_header({**PLAIN, "space directions": np.eye(3, 2)}, "v")
        with self.assertRaisesRegex(InvalidError, "^v: field 'spacings': .* found, expected three directions"):
            geometry_of_header({**PLAIN, "spacings": np.array([1.0, np.nan, 1.0])}, "v")


if __name__ == "__main__":
    unittest.main()

"""Attributes of N5 that say where an array lies."""

import math
import unittest

from znni.errors import InvalidError
from znni.geometry import Geometry
from znni.stores.formats.n5_geometry import attributes_of, geometry_of

EXPECTED = Geometry((40.0, 4.0, 5.0), (7.0, 8.0, 9.0), ("nm", "nm", "um"))
TRANSFORM = {"axes": ["z", "y", "x"], "scale": [40, 4, 5], "translate": [7, 8, 9], "units": ["nm", "nm", "um"]}
TURNED = {name: values[::-1] for name, values in TRANSFORM.items()}
CORNER = {"resolution": [5, 4, 40], "offset": [9, 8, 7], "units": ["um", "nm", "nm"]}


class N5GeometryTest(unittest.TestCase):
    def test_each_form_says_the_same(self):
        for attributes in (
            {"transform": TRANSFORM},
            {"transform": TURNED},
            CORNER,
            {"transform": TRANSFORM, "resolution": [1, 1, 1]},
        ):
            self.assertEqual(geometry_of(attributes, "v"), EXPECTED)

    def test_forms_without_an_offset(self):
        scale = (40.0, 4.0, 5.0)
        self.assertEqual(
            geometry_of({"pixelResolution": {"dimensions": [5, 4, 40], "unit": "nm"}}, "v"),
            Geometry(scale, units=("nm",) * 3),
        )
        for attributes in ({"pixelResolution": [5, 4, 40]}, {"resolution": [5, 4, 40]}, {"resolution": [5, 4, 40, 1]}):
            self.assertEqual(geometry_of(attributes, "v"), Geometry(scale))
        self.assertIsNone(geometry_of({"dimensions": [1, 2, 3]}, "v"))

    def test_other_forms(self):
        for attributes in (
            {"transform": {"axes": ["a"]}},
            {"resolution": 3},
            {"resolution": [1, 2]},
            {"pixelResolution": {"unit": "nm"}},
            {"pixelResolution": ["a", "b", "c"]},
            {"resolution": [0, 1, 1]},
            {"resolution": [1, 1, math.nan]},
            {"resolution": [1, 1, -1]},
            {**CORNER, "units": 5},
            {**CORNER, "units": [None] * 3},
            {**CORNER, "offset": [math.inf, 0, 0]},
            {"transform": 5},
            {"transform": {**TRANSFORM, "scale": [1]}},
            {"transform": {**TRANSFORM, "units": None}},
            {"pixelResolution": {"dimensions": [5, 4, 40], "unit": 5}},
        ):
            with self.assertRaisesRegex(InvalidError, "^v: attribute '[a-zA-Z]+': .* found, expected the form"):
                geometry_of(attributes, "v")

    def test_all_forms_are_written(self):
        for ndim in (3, 4):
            attributes = attributes_of(EXPECTED, ndim)
            self.assertEqual(attributes["axes"], ["x", "y", "z", "c"][:ndim])
            self.assertEqual((len(attributes["resolution"]), len(attributes["units"])), (ndim, ndim))
            for field in ("transform", "resolution"):
                kept = {name: value for name, value in attributes.items() if name in (field, "units", "offset")}
                self.assertEqual(geometry_of(kept, "v"), EXPECTED)
            self.assertEqual(attributes["pixelResolution"], {"dimensions": [5.0, 4.0, 40.0], "unit": "um"})


if __name__ == "__main__":
    unittest.main()

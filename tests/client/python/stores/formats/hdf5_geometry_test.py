"""Voxel size, offset and axes of HDF5."""

import json
import pathlib
import tempfile
import unittest

import h5py
import numpy as np
from znni.errors import InvalidError
from znni.geometry import Geometry
from znni.stores.formats.hdf5_geometry import NAMES, read_geometry, write_geometry

UM, NM = ("micrometer",) * 3, ("nanometer",) * 3
GEOMETRY = Geometry((40.0, 4.0, 4.0), (7.0, -8.0, 9.5), NM)


class Hdf5GeometryTest(unittest.TestCase):
    def setUp(self):
        path = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory())) / "v.h5"
        self.file = self.enterContext(h5py.File(path, "w"))
        self.attributes = self.file.create_dataset("v", (1, 2, 3), "u1").attrs

    def read(self, **attributes):
        """Returns the geometry that these attributes say."""
        for name in list(self.attributes):
            del self.attributes[name]
        self.attributes.update(attributes)
        return read_geometry(self.attributes, "v")

    def test_what_is_written_is_read(self):
        units = ("micrometer", "", "parsec")
        for geometry in (GEOMETRY, Geometry((1.0, 2.0, 3.0)), Geometry((1.0, 2.0, 3.0), (4.0, 5.0, 6.0), units)):
            for ndim in (3, 4):
                write_geometry(self.attributes, geometry, ndim)
                self.assertEqual(read_geometry(self.attributes, "v"), geometry)
                self.assertEqual(self.attributes["znni_axes"], "czyx"[-ndim:])
                self.assertLessEqual(set(NAMES), self.attributes.keys())

    def test_the_size_in_micrometers(self):
        write_geometry(self.attributes, Geometry((1.0, 2.0, 3.0)), 3)
        self.assertNotIn("element_size_um", self.attributes)
        write_geometry(self.attributes, GEOMETRY, 3)
        np.testing.assert_allclose(self.attributes["element_size_um"], (0.04, 0.004, 0.004), rtol=1e-15)
        mixed = Geometry((1.0, 2.0, 3.0), units=("millimeter", "micrometer", "angstrom"))
        write_geometry(self.attributes, mixed, 3)
        np.testing.assert_allclose(self.attributes["element_size_um"], (1000, 2, 0.0003), rtol=1e-15)

    def test_without_geometry(self):
        self.assertIsNone(self.read())
        write_geometry(self.attributes, None, 3)
        self.assertEqual(list(self.attributes), ["znni_axes"])
        self.assertIsNone(read_geometry(self.attributes, "v"))

    def test_attributes_of_others(self):
        size = np.array([2, 1, 1], np.float32)
        self.assertEqual(self.read(element_size_um=size), Geometry((2.0, 1.0, 1.0), units=UM))
        cremi = {"resolution": [40.0, 4.0, 4.0], "offset": [1480, 3644, 3644]}
        self.assertEqual(self.read(**cremi), Geometry((40.0, 4.0, 4.0), (1480.0, 3644.0, 3644.0), NM))
        self.assertEqual(self.read(resolution=[40, 4, 4]), Geometry((40.0, 4.0, 4.0), units=NM))
        self.assertEqual(self.read(element_size_um=size, **cremi).scale, (2.0, 1.0, 1.0))

    def test_names_that_mean_something_else(self):
        for value in (300, "fine", [72, 72], [40, 4, 0]):
            self.assertIsNone(self.read(resolution=value))

    def test_wrong_values(self):
        for key, value in (("element_size_um", [1, 2]), ("element_size_um", "x"), ("znni_voxel_size", [1, 1, -1])):
            with self.assertRaisesRegex(InvalidError, f"^v: attribute '{key}': .* found, expected three numbers above"):
                self.read(**{key: value})
        with self.assertRaisesRegex(InvalidError, "^v: attribute 'znni_translation': None found"):
            self.read(znni_voxel_size=[1, 1, 1])
        with self.assertRaisesRegex(InvalidError, "^v: attribute 'znni_units': nanometer found, expected three"):
            self.read(znni_voxel_size=[1, 1, 1], znni_translation=[0, 0, 0], znni_units="nanometer")

    def test_axes(self):
        def tags(axes):
            return json.dumps({"axes": [{"key": key, "typeFlags": 2} for key in axes]})

        for axes in ("zyx", "czyx", "tczyx"):
            self.assertIsNone(self.read(axistags=tags(axes)))
        for axes in ("zyxc", "xyz", "yx"):
            with self.assertRaisesRegex(
                InvalidError, f"^v: axes {', '.join(axes)} found, expected z, y, x as the last"
            ):
                self.read(axistags=tags(axes))
        for others in ("no JSON", "[]", "{}", 5):
            self.assertIsNone(self.read(axistags=others))


if __name__ == "__main__":
    unittest.main()

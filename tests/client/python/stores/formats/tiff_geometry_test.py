"""Voxel sizes and offsets in TIFF."""

import pathlib
import tempfile
import unittest

import numpy as np
import tifffile
from znni.geometry import Geometry
from znni.stores.formats.tiff_geometry import description_of, geometry_of_tiff


class TiffGeometryTest(unittest.TestCase):
    def found(self, **options):
        """Returns the geometry of a file that tifffile writes."""
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "v.tif"
            tifffile.imwrite(path, np.zeros((3, 4, 5), np.uint8), photometric="minisblack", **options)
            with tifffile.TiffFile(path) as file:
                return geometry_of_tiff(file)

    def test_imagej(self):
        metadata = {"axes": "ZYX", "spacing": 3.0, "unit": "um", "zorigin": -2.0, "xorigin": 4}
        found = self.found(imagej=True, resolution=(4, 2), metadata=metadata)
        self.assertEqual(found, Geometry((3.0, 0.5, 0.25), (6.0, 0.0, -1.0), ("micrometer",) * 3))
        micro = self.found(imagej=True, metadata={"axes": "ZYX", "unit": "\\u00B5m"})
        self.assertEqual(micro.units, ("micrometer",) * 3)
        self.assertIsNone(self.found(imagej=True, metadata={"axes": "ZYX", "unit": "pixel"}))

    def test_ome(self):
        sizes = {"PhysicalSizeX": 0.25, "PhysicalSizeY": 0.5, "PhysicalSizeZ": 3.0, "PhysicalSizeZUnit": "nm"}
        found = self.found(ome=True, metadata={"axes": "ZYX", **sizes})
        self.assertEqual(found, Geometry((3.0, 0.5, 0.25), units=("nanometer", "micrometer", "micrometer")))
        plane = {"PositionX": [7.0] * 3, "PositionXUnit": ["µm"] * 3}
        found = self.found(ome=True, metadata={"axes": "ZYX", **sizes, "Plane": plane})
        self.assertEqual(found.translation, (0.0, 0.0, 7.0))
        self.assertIsNone(self.found(ome=True, metadata={"axes": "ZYX"}))

    def test_nothing_is_said(self):
        self.assertIsNone(self.found())
        self.assertIsNone(self.found(resolution=(72, 72), resolutionunit="INCH"))  # z is not known

    def test_there_and_back(self):
        geometry = Geometry((3.0, 0.5, 0.25), (6.0, 0.0, -1.0), ("micrometer",) * 3)
        text = description_of(geometry, "micron", 1, 3, '{"model": "net"}')
        self.assertEqual(self.found(description=text, metadata=None, resolution=(4, 2)), geometry)


if __name__ == "__main__":
    unittest.main()

"""Files of NIfTI."""

import gzip
import pathlib
import sys
from unittest import mock

import nibabel
import numpy as np
from file_case import SHAPE, TYPES, FileCase, voxels
from znni.box import Box
from znni.errors import InvalidError, NotFoundError
from znni.geometry import Geometry
from znni.stores.opening import open_raw, open_source

# Turned about z, flipped along x: columns are the steps of x, y and z.
AFFINE = np.array([[0.0, -0.5, 0.0, 10.0], [-0.25, 0.0, 0.0, -20.0], [0.0, 0.0, 2.0, 30.0], [0.0, 0.0, 0.0, 1.0]])


class NiftiTest(FileCase):
    def save(self, array, name="v.nii", affine=AFFINE, unit="mm", kind=nibabel.Nifti1Image, slope=None):
        """Writes [Z, Y, X] or [C, Z, Y, X] as nibabel does, in the array's byte order."""
        path = self.folder / name
        header = kind.header_class(endianness=">" if array.dtype.byteorder == ">" else "<")
        header.set_data_dtype(array.dtype)
        header.set_xyzt_units(unit)
        image = kind(array.transpose(), affine, header)
        if slope:
            image.header.set_slope_inter(*slope)
        nibabel.save(image, path)
        return path

    def test_all_types(self):
        for number, dtype in enumerate(TYPES):
            for ending in (".nii", ".nii.gz"):
                path = self.save(voxels(dtype), f"{number}{ending}")
                self.assertEqual(nibabel.load(path).dataobj.dtype, np.dtype(dtype))
                self.check_sent(path, voxels(dtype))

    def test_version_2_and_channels(self):
        four = voxels("<f4", (2, *SHAPE))
        for name, kind in (("1.nii", nibabel.Nifti1Image), ("2.nii", nibabel.Nifti2Image), ("3.nii.gz", None)):
            path = self.save(four, name, kind=kind or nibabel.Nifti1Image)
            np.testing.assert_array_equal(self.read(path), four)
            np.testing.assert_array_equal(self.read(path, Box((1, 2, 3), (4, 5, 6))), four[:, 1:4, 2:5, 3:6])
        vectors = self.save(four[:, None], "vectors.nii")
        np.testing.assert_array_equal(self.read(vectors), four)

    def test_planes_of_a_compressed_file_in_any_order(self):
        path = self.save(voxels("<i2"), "v.nii.gz")
        with open_source(path) as source:
            for z in (3, 0, 4):
                np.testing.assert_array_equal(source.read(Box((z, 0, 0), (z + 1, 6, 7)))[0, 0], voxels("<i2")[z])

    def test_scaled(self):
        path = self.save(voxels("<i2"), slope=(0.5, 3))
        raw = nibabel.load(path).dataobj
        self.assertNotEqual((raw.slope, raw.inter), (1.0, 0.0))
        np.testing.assert_array_equal(self.read(path)[0], np.asarray(raw).T.astype(np.float32))
        with self.assertRaisesRegex(InvalidError, "v.nii: a voxel of 0 stands for .* there, expected a mask"):
            open_raw(str(path))
        path = self.save(voxels("<i2"), "slope.nii", slope=(0.5, 0))
        self.assertEqual((open_raw(str(path)).dtype, self.read(path).dtype), (np.int16, np.float32))

    def test_geometry(self):
        found = self.geometry(self.save(voxels()))
        self.assertEqual((found.scale, found.units), ((2.0, 0.5, 0.25), ("millimeter",) * 3))
        self.assertTrue(found.frame.is_body)
        np.testing.assert_array_equal(found.frame.matrix, AFFINE[:3])
        self.assertEqual(found.translation, (30.0, -10.0, 20.0))

    def test_geometry_without_codes(self):
        path = self.save(voxels(), affine=None)
        image = nibabel.load(path)
        image.header.set_zooms((0.1, 0.2, 0.3))
        image.header["sform_code"] = image.header["qform_code"] = 0
        nibabel.save(nibabel.Nifti1Image(np.asarray(image.dataobj), None, image.header), path)
        self.assertEqual(self.geometry(path), Geometry((0.3, 0.2, 0.1), (0.0, 0.0, 0.0), ("millimeter",) * 3))

    def test_writes(self):
        self.check_round_trip(".nii")
        self.check_round_trip(".nii.gz")
        image = nibabel.load(self.folder / "4f4.nii.gz")
        np.testing.assert_array_equal(np.asarray(image.dataobj).T, voxels("<f4", (2, *SHAPE)))
        self.assertIn(b'"model": "net"', image.header.extensions[0].get_content())
        self.assertEqual(image.header.get_xyzt_units()[0], "unknown")

    def test_the_affine_moves_with_the_output(self):
        source = self.save(voxels())
        for name in ("out.nii", "out.nii.gz"):
            self.predict(source, self.folder / name, roi="1:4,2:6,3:7", dtype="uint8")
            image = nibabel.load(self.folder / name)
            np.testing.assert_array_equal(np.asarray(image.dataobj).T, voxels()[1:4, 2:6, 3:7])
            expected = AFFINE.copy()
            expected[:, 3] = AFFINE @ (3, 2, 1, 1)
            np.testing.assert_array_equal(image.affine, expected)
            self.assertEqual((image.header["sform_code"], image.header.get_xyzt_units()[0]), (1, "mm"))

    def test_units_become_those_of_nifti(self):
        nanometers = Geometry((40.0, 4.0, 5.0), (-80.0, 8.0, 10.0), ("nanometer",) * 3)
        self.write(self.folder / "v.nii", voxels(), nanometers)
        found = self.geometry(self.folder / "v.nii")
        self.assertEqual((found.scale, found.translation), ((0.04, 0.004, 0.005), (-0.08, 0.008, 0.01)))
        self.assertEqual(found.units, ("micrometer",) * 3)
        with self.assertRaisesRegex(InvalidError, "w.nii: voxels in 'second' found, expected a unit of length"):
            self.write(self.folder / "w.nii", voxels(), Geometry(units=("second",) * 3))

    def test_long_axes_need_version_2(self):
        self.write(self.folder / "v.nii", voxels("u1", (1, 3, 40000)))
        self.assertIsInstance(nibabel.load(self.folder / "v.nii"), nibabel.Nifti2Image)
        np.testing.assert_array_equal(self.read(self.folder / "v.nii")[0], voxels("u1", (1, 3, 40000)))

    def test_a_file_cut_short(self):
        for ending in (".nii", ".nii.gz"):
            path = self.save(voxels("<f4", (20, 30, 40)), "v" + ending)
            whole = path.read_bytes()
            path.write_bytes(whole[: len(whole) * 3 // 4])
            self.check_refused(path, "bytes.* found, expected .* 20x30x40 voxels of float32: it is cut short")
            path.write_bytes(whole[:100])
            self.check_refused(path, "found, expected|no file of NIfTI, or damaged")

    def test_a_damaged_stream(self):
        path = self.save(voxels("<f4"), "v.nii.gz")
        whole = bytearray(path.read_bytes())
        whole[len(whole) // 2] ^= 0xFF
        whole[len(whole) // 2 + 1] ^= 0xFF
        path.write_bytes(whole)
        with self.assertRaises(InvalidError):
            self.read(path)

    def test_other_contents(self):
        path = self.save(voxels())
        wrong = self.folder / "w.nii.gz"
        wrong.write_bytes(path.read_bytes())
        self.check_refused(wrong, "a file of NIfTI found, expected one of gzip: name it FILE.nii$")
        wrong.rename(self.folder / "x.nii").write_bytes(gzip.compress(path.read_bytes()))
        self.check_refused(self.folder / "x.nii", "a file of gzip found, expected one of NIfTI: name it FILE.nii.gz$")
        (self.folder / "y.nii.gz").write_bytes(gzip.compress(b"no volume" * 100))
        self.check_refused(self.folder / "y.nii.gz", "no file of NIfTI, or damaged: ")
        self.check_refused(self.folder / "none.nii", "there is no such file", NotFoundError)

    def test_what_is_no_volume(self):
        path = self.save(voxels("u1", (2, 3, 4, 5, 6)))
        self.check_refused(
            path, r"field 'dim': \(6, 5, 4, 3, 2\) found, expected x, y, z and, if there are any, channels"
        )
        self.check_refused(self.save(voxels("u1", (3, 4))), "field 'dim'")
        self.check_refused(self.save(voxels("<f4").astype("<c8")), "complex64 found, expected whole or real numbers")

    def test_types_that_it_does_not_hold(self):
        with self.assertRaisesRegex(InvalidError, "v.nii: float16 found, .* pass dtype float32 or uint8"):
            self.write(self.folder / "v.nii", voxels("<f2"))

    def test_a_failed_output_leaves_nothing(self):
        for name in ("v.nii", "v.nii.gz"):
            with mock.patch("os.replace", side_effect=KeyboardInterrupt), self.assertRaises(KeyboardInterrupt):
                self.predict(voxels(), self.folder / name, dtype="uint8")
            self.assertEqual(list(self.folder.iterdir()), [])

    def test_without_nibabel(self):
        path = self.save(voxels())
        words = r"files of NIfTI need nibabel: pip install 'znni\[files\]'"
        with mock.patch.dict(sys.modules, {"nibabel": None}):
            for call in (self.read, lambda path: self.write(pathlib.Path(str(path) + ".nii"), voxels())):
                with self.assertRaisesRegex(InvalidError, words):
                    call(path)


if __name__ == "__main__":
    import unittest

    unittest.main()

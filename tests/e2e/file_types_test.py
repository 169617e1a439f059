"""Tests `znni infer` with files of numbers of every type, in either byte order, beside the Python client and NumPy."""

import subprocess
import unittest

import h5py
import numpy as np
import tifffile
from python_case import ZNNI, PythonCase

NUMBERS = ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8")
KINDS = [order + number for order in "<>" for number in NUMBERS]
SCALE = ("--scale", "0.0117", "--offset", "-0.3")


def numbers(kind, most):
    """Returns random numbers of a type: whole ones up to `most`, real ones of many magnitudes."""
    rng = np.random.default_rng(sum(kind.encode()))
    dtype = np.dtype(kind)
    if dtype.kind == "f":
        signs = rng.choice((-1.0, 1.0), (5, 6, 7))
        return (signs * 2 ** rng.uniform(-8, 15 if dtype.itemsize == 2 else 60, (5, 6, 7))).astype(kind)
    info = np.iinfo(dtype)
    first = max(info.min, -most)
    return rng.integers(first, min(info.max, most), (5, 6, 7), dtype.newbyteorder("="), endpoint=True).astype(kind)


class FileTypesTest(PythonCase):
    """The model `same` returns its input times `input_scale`; with a scale of the client's, its input."""

    def infer_file(self, source, *options):
        """Returns (what the program says, its output; None if it fails) for a file."""
        command = [ZNNI, "infer", "-m", "same", "-i", source, "-o", self.work / "out.npy", "--overwrite"]
        ran = subprocess.run(
            [*map(str, command), "--server", self.daemon.url, *options], capture_output=True, text=True, check=False
        )
        self.assertIn(ran.returncode, (0, 2), ran.stderr)
        return ran.stderr, None if ran.returncode else np.load(self.work / "out.npy")

    def files_of(self, volume):
        """Yields the names of files that hold a volume, in its byte order."""
        np.save(self.work / "in.npy", volume)
        yield str(self.work / "in.npy")
        with h5py.File(self.work / "in.h5", "w") as file:
            file["raw"] = volume
        yield f"{self.work / 'in.h5'}:/raw"
        order = volume.dtype.str[0].replace("|", "<")
        tifffile.imwrite(self.work / "in.tif", volume, byteorder=order, photometric="minisblack", metadata=None)
        yield str(self.work / "in.tif")

    def test_every_type_is_read_as_python_reads_it(self):
        for kind in KINDS:
            volume = numbers(kind, 1 << 24)
            expected = self.predict(volume, model="same")
            for source in self.files_of(volume):
                with self.subTest(kind=kind, source=source):
                    self.assert_same(self.infer_file(source)[1], expected)
                    self.assert_same(self.predict(source, model="same"), expected)

    def test_a_scale_is_applied_as_numpy_does(self):
        """In float64, rounded once: also whole numbers that float32 cannot hold."""
        for kind in KINDS:
            volume = numbers(kind, 1 << 62)
            scaled = volume.astype(np.float64) * np.float32(0.0117).item() + np.float32(-0.3).item()
            expected = self.predict(scaled.astype("<f4"), model="same", scale=1)
            for source in self.files_of(volume):
                with self.subTest(kind=kind, source=source):
                    self.assert_same(self.infer_file(source, *SCALE)[1], expected)
                    self.assert_same(self.predict(source, model="same", scale=(0.0117, -0.3)), expected)

    def test_whole_numbers_that_would_become_others_are_refused(self):
        for kind in ("<i4", ">u4", "<i8", ">u8"):
            volume = numbers(kind, 1 << 24)
            volume[3, 2, 1] = (1 << 24) + 1
            for source in self.files_of(volume):
                said, output = self.infer_file(source)
                self.assertIsNone(output)
                self.assertIn(f"{source}: voxel 16777217 of type {volume.dtype.name} found, expected 16777216", said)
                self.assertIn("save it as float32, or give --scale", said)
                self.assertEqual(said.count("\n"), 1, said)

    def test_truth_values_are_0_and_1(self):
        volume = np.random.default_rng(1).random((5, 6, 7)) < 0.5
        expected = self.predict(volume, model="same")
        for source in list(self.files_of(volume))[:2]:  # TIFF packs them into bits
            self.assert_same(self.infer_file(source)[1], expected)

    def test_what_is_no_real_number_is_refused(self):
        for source in self.files_of(np.ones((5, 6, 7), np.complex64)):
            said, output = self.infer_file(source)
            self.assertIsNone(output)
            self.assertTrue(said.startswith(f"znni: {source}: "), said)
            self.assertIn(" found, expected whole numbers of 8 to 64 bits or real numbers of 16, 32 or 64", said)

    def test_a_voxel_that_becomes_infinite_is_named(self):
        volume = np.ones((5, 6, 7), ">f8")
        volume[4, 3, 2] = 1e300
        for source in self.files_of(volume):
            said, output = self.infer_file(source)
            self.assertIsNone(output)
            self.assertIn("that is not finite is at channel 0, z 4, y 3, x 2 (inf)", said)


if __name__ == "__main__":
    unittest.main()

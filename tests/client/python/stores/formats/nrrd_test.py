"""Files of NRRD."""

import bz2
import contextlib
import gzip
import pathlib
import sys
from unittest import mock

import nrrd
import numpy as np
from file_case import SHAPE, TYPES, FileCase, voxels
from znni.box import Box
from znni.errors import InvalidError, NotFoundError
from znni.geometry import Geometry
from znni.stores.opening import open_raw

# As a scanner has it: rows are the steps of x, y and z, towards left, posterior and superior.
SCAN = {
    "space": "left-posterior-superior",
    "space directions": np.diag([0.25, 0.5, 2.0]),
    "space origin": np.array([10.0, 20.0, 30.0]),
    "space units": ["mm", "mm", "mm"],
}


class NrrdTest(FileCase):
    def save(self, array, name="v.nrrd", encoding="raw", **header):
        """Writes [Z, Y, X] or [C, Z, Y, X] as pynrrd does."""
        path = self.folder / name
        header = {"encoding": encoding, **header}
        if array.itemsize > 1:
            header["endian"] = "big" if array.dtype.byteorder == ">" else "little"
        nrrd.write(str(path), array, header, index_order="C", detached_header=name.endswith(".nhdr"))
        return path

    def test_all_types(self):
        for number, dtype in enumerate(TYPES):
            for encoding in ("raw", "gzip", "bzip2"):
                self.check_sent(self.save(voxels(dtype), f"{number}{encoding}.nrrd", encoding), voxels(dtype))

    def test_voxels_beside_the_header(self):
        for encoding in ("raw", "gzip"):
            path = self.save(voxels("<u2"), f"{encoding}.nhdr", encoding)
            np.testing.assert_array_equal(self.read(path)[0], voxels("<u2"))
        (self.folder / "raw.raw").unlink()
        self.check_refused(self.folder / "raw.nhdr", "field 'data file': raw.raw found, but there is no", NotFoundError)

    def test_an_address_as_data_file(self):
        self.enterContext(contextlib.chdir(self.folder))
        path = pathlib.Path("v.nhdr")
        path.write_text(
            "NRRD0004\ntype: uchar\ndimension: 3\nsizes: 7 6 5\nencoding: raw\ndata file: http://host/v.raw\n\n"
        )
        self.check_refused(path, "field 'data file': http://host/v.raw found, expected the name of a file beside it")

    def test_several_data_files(self):
        path = self.folder / "v.nhdr"
        path.write_text(
            "NRRD0004\ntype: uchar\ndimension: 3\nsizes: 7 6 5\nencoding: raw\ndata file: v%02d.raw 0 4 1\n\n"
        )
        self.check_refused(path, "field 'data file': v%02d.raw 0 4 1 found, expected one file")

    def test_skips(self):
        plain = voxels().tobytes()
        head = "NRRD0004\ntype: uchar\ndimension: 3\nsizes: 7 6 5\n"
        for number, (fields, data) in enumerate(
            (
                ("encoding: raw\nbyte skip: 3\n", b"abc" + plain),
                ("encoding: raw\nbyte skip: -1\n", b"whatever it is" + plain),
                ("encoding: raw\nline skip: 2\nbyte skip: 1\n", b"one\ntwo\n-" + plain),
                ("encoding: gzip\nbyte skip: 3\n", gzip.compress(b"abc" + plain)),
                ("encoding: bz2\nline skip: 1\n", b"one\n" + bz2.compress(plain)),
            )
        ):
            path = self.folder / f"{number}.nrrd"
            path.write_bytes(f"{head}{fields}\n".encode() + data)
            np.testing.assert_array_equal(self.read(path)[0], voxels())

    def test_channels(self):
        four = voxels("<f4", (2, *SHAPE))
        last = {"kinds": ["domain", "domain", "domain", "list"]}
        path = self.save(four, **last)
        np.testing.assert_array_equal(self.read(path), four)
        np.testing.assert_array_equal(self.read(self.save(four, "unsaid.nrrd")), four)
        for encoding in ("raw", "gzip"):
            fastest = np.ascontiguousarray(four.transpose(1, 2, 3, 0))
            path = self.save(fastest, f"{encoding}.nrrd", encoding, kinds=["vector", "domain", "domain", "domain"])
            np.testing.assert_array_equal(self.read(path), four)
            np.testing.assert_array_equal(self.read(path, Box((1, 2, 3), (4, 5, 6))), four[:, 1:4, 2:5, 3:6])
            raw = open_raw(str(path))
            np.testing.assert_array_equal(raw[0, 1:2, 0:6, 0:7], four[0, 1:2])
            if encoding == "gzip":
                raw.file.close()

    def test_the_frame_moves_with_the_output(self):
        source = self.save(voxels(), **SCAN)
        self.predict(source, self.folder / "out.nrrd", roi="1:4,2:6,3:7", dtype="uint8")
        found, header = nrrd.read(str(self.folder / "out.nrrd"), index_order="C")
        np.testing.assert_array_equal(found, voxels()[1:4, 2:6, 3:7])
        self.assertEqual(header["space"], "right-anterior-superior")
        np.testing.assert_array_equal(header["space directions"], np.diag([-0.25, -0.5, 2.0]))
        np.testing.assert_array_equal(header["space origin"], [-10.75, -21.0, 32.0])
        self.assertEqual(header["space units"], ["mm"] * 3)

    def test_to_nifti_and_back(self):
        source = self.save(voxels(), **SCAN)
        self.predict(source, self.folder / "a.nii", dtype="uint8")
        self.predict(self.folder / "a.nii", self.folder / "b.nrrd", dtype="uint8")
        self.assertEqual(self.geometry(source), self.geometry(self.folder / "b.nrrd"))

    def test_writes(self):
        self.check_round_trip(".nrrd")
        header = nrrd.read_header(str(self.folder / "4f4.nrrd"))
        self.assertEqual((header["kinds"][3], header["znni"]), ("list", '{"model": "net"}'))
        with self.assertRaisesRegex(InvalidError, "v.nrrd: float16 found, .* pass dtype float32 or uint8"):
            self.write(self.folder / "v.nrrd", voxels("<f2"))
        with self.assertRaisesRegex(InvalidError, "v.nhdr: this kind of file is not written"):
            self.write(self.folder / "v.nhdr", voxels())

    def test_geometry_round_trip(self):
        geometry = Geometry((40.0, 4.0, 5.0), (-80.0, 8.0, 10.0), ("micrometer",) * 3)
        self.write(self.folder / "v.nrrd", voxels(), geometry)
        self.assertEqual(self.geometry(self.folder / "v.nrrd"), geometry)

    def test_a_file_cut_short(self):
        for encoding in ("raw", "gzip", "bzip2"):
            path = self.save(voxels("<f4"), f"{encoding}.nrrd", encoding)
            path.write_bytes(path.read_bytes()[:-30])
            self.check_refused(path, "bytes.* found, expected .* 5x6x7 voxels of float32: it is cut short")
        path.write_bytes(b"NRRD0004\ntype: fl")
        self.check_refused(path, "found, expected|no file of NRRD, or damaged")

    def test_other_contents(self):
        path = self.save(voxels(), "v.nrrd")
        (self.folder / "w.nrrd").write_bytes(b"P5 7 6 255")
        self.check_refused(self.folder / "w.nrrd", "first bytes b'P5 7 6 2' found, expected a file of NRRD")
        path.write_text("NRRD0004\ntype: uchar\ndimension: 3\nsizes: 7 6 5\nencoding: ascii\n\n1 2 3")
        self.check_refused(path, "field 'encoding': ascii found, expected raw, gzip or bzip2")

    def test_without_pynrrd(self):
        path = self.save(voxels())
        with mock.patch.dict(sys.modules, {"nrrd": None}):
            with self.assertRaisesRegex(InvalidError, r"files of NRRD need pynrrd: pip install 'znni\[files\]'"):
                self.read(path)


if __name__ == "__main__":
    import unittest

    unittest.main()

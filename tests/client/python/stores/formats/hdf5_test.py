"""Datasets of HDF5."""

import dataclasses
import pathlib
import sys
import tempfile
import unittest
from unittest import mock

import h5py
import numpy as np
from znni.box import Box
from znni.errors import InvalidError, NotFoundError
from znni.geometry import Geometry
from znni.stores.formats.hdf5 import Hdf5Source, Hdf5Target, check_alone
from znni.stores.seam import OutputFacts

FACTS = OutputFacts((2, 3, 4, 5), np.dtype("<f4"), 3, None, None, (4, 0, 0), {"model": "net", "offset": [4, 0, 0]})


class Hdf5Test(unittest.TestCase):
    def setUp(self):
        self.path = str(pathlib.Path(self.enterContext(tempfile.TemporaryDirectory())) / "v.h5")
        self.volume = np.arange(60, dtype=np.uint8).reshape(3, 4, 5)

    def make(self, *names):
        with h5py.File(self.path, "w") as file:
            file["line"] = np.zeros(3)
            for name in names:
                file.create_dataset(name, data=self.volume, chunks=(2, 2, 2))

    def test_reads(self):
        self.make("g/raw")
        for dataset in ("/g/raw", "g/raw", ""):
            with Hdf5Source(self.path, dataset) as source:
                np.testing.assert_array_equal(source.read(Box((0, 1, 0), (3, 3, 5)))[0], self.volume[:, 1:3])
                self.assertEqual(source.depth, 2)
        h5py.File(self.path, "a").close()  # it was closed

    def test_lists_what_is_there(self):
        self.make("a", "b/c")
        with self.assertRaisesRegex(NotFoundError, "no 3D or 4D dataset /x found; volumes in the file: /a, /b/c$"):
            Hdf5Source(self.path, "/x")
        with self.assertRaisesRegex(NotFoundError, "2 volumes found, expected a dataset; .* file: /a, /b/c$"):
            Hdf5Source(self.path, "")
        with self.assertRaisesRegex(NotFoundError, "there is no such file"):
            Hdf5Source(self.path + "x", "")

    def test_writes(self):
        target = Hdf5Target(self.path, "/g/prob", FACTS, False)
        target.begin()
        target.write((0, 0, 0), np.ones((2, 3, 4, 5), np.float32))
        target.finish()
        with h5py.File(self.path) as file:
            np.testing.assert_array_equal(file["g/prob"][:], np.ones((2, 3, 4, 5), np.float32))
            self.assertEqual((file["g/prob"].chunks, file["g/prob"].compression), ((1, 3, 4, 5), "gzip"))
            self.assertEqual(
                (file["g/prob"].attrs["znni_model"], list(file["g/prob"].attrs["znni_offset"])), ("net", [4, 0, 0])
            )

    def test_geometry_stands_beside_the_notes(self):
        geometry = Geometry((40.0, 4.0, 4.0), (7.0, 8.0, 9.0), ("nanometer",) * 3)
        for given in (geometry, None):
            target = Hdf5Target(self.path, "/x", dataclasses.replace(FACTS, geometry=given), True)
            target.begin()
            target.finish()
            with Hdf5Source(self.path, "/x") as source:
                self.assertEqual((source.geometry, source.notes), (given, FACTS.notes))

    def test_no_dataset(self):
        with self.assertRaisesRegex(InvalidError, "no dataset found, expected .*v.h5:/dataset"):
            Hdf5Target(self.path, "", FACTS, False)

    def test_other_datasets_are_not_lost(self):
        check_alone(self.path, "/a")
        self.make("a", "b/c")
        with self.assertRaisesRegex(InvalidError, "v.h5: holds /b/c, /line, which would be lost: name another file"):
            check_alone(self.path, "/a")
        with h5py.File(self.path, "w") as file:
            file["a"] = self.volume
        check_alone(self.path, "a")

    def test_a_file_that_is_cut_short(self):
        self.make("a")
        whole = pathlib.Path(self.path).read_bytes()
        pathlib.Path(self.path).write_bytes(whole[: len(whole) // 2])
        with self.assertRaisesRegex(InvalidError, "v.h5: not a file of HDF5, or cut short: "):
            Hdf5Source(self.path, "")

    def test_without_h5py(self):
        self.make("a")
        with mock.patch.dict(sys.modules, {"h5py": None}), self.assertRaisesRegex(InvalidError, "znni\\[hdf5\\]"):
            Hdf5Source(self.path, "")


if __name__ == "__main__":
    unittest.main()

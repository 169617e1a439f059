"""Arrays in compressed files."""

import bz2
import gzip
import pathlib
import tempfile
import unittest
import warnings
from unittest import mock

import numpy as np
from znni.errors import InvalidError
from znni.stores.formats import decompressed
from znni.stores.formats.decompressed import Decompressed

ARRAY = np.arange(2 * 5 * 3 * 4, dtype=">u2").reshape(2, 5, 3, 4)


class DecompressedTest(unittest.TestCase):
    def setUp(self):
        self.path = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory())) / "v"

    def open(self, array, **options):
        self.path.write_bytes(gzip.compress(array.tobytes()))
        found = Decompressed(str(self.path), "gzip", array.shape, array.dtype, **options)
        self.addCleanup(found.file.close)
        return found

    def test_reads_as_far_as_it_must(self):
        volume = self.open(ARRAY[0])
        with mock.patch.object(decompressed, "_AT_ONCE", 5):
            np.testing.assert_array_equal(volume[1:3, :, 2:], ARRAY[0, 1:3, :, 2:])
            self.assertEqual(volume._filled, 3 * 24)
            np.testing.assert_array_equal(volume[0:1, :, :], ARRAY[0, :1])
            np.testing.assert_array_equal(volume[:, :, :], ARRAY[0])

    def test_channels(self):
        np.testing.assert_array_equal(self.open(ARRAY)[:, 1:2, :, :], ARRAY[:, 1:2])

    def test_nothing_is_read_before_it_is_asked_for(self):
        self.path.touch()
        volume = Decompressed(str(self.path), "gzip", (2, 3, 4), np.dtype("u1"))
        self.assertIsNone(volume._spool)
        volume.file.close()

    def test_what_lies_in_front(self):
        self.path.write_bytes(b"head" + bz2.compress(b"abc" + ARRAY[0].tobytes()))
        volume = Decompressed(str(self.path), "bzip2", (5, 3, 4), ARRAY.dtype, 4, 3)
        np.testing.assert_array_equal(volume[:, :, :], ARRAY[0])
        volume.file.close()

    def test_cut_short_or_damaged(self):
        whole = gzip.compress(np.random.default_rng(1).bytes(1000))
        for data in (whole[:-500], whole[:3], b"", b"none of gzip" * 100, gzip.compress(b"short")):
            self.path.write_bytes(data)
            volume = Decompressed(str(self.path), "gzip", (10, 10, 10), np.dtype("u1"))
            with self.assertRaisesRegex(
                InvalidError, "v: .* expected 1000 of 10x10x10 voxels of uint8: it is cut short"
            ):
                volume[:, :, :]
            volume.file.close()

    def test_tells_of_much_disk(self):
        with mock.patch.object(decompressed, "_MUCH", 10), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            self.open(ARRAY)[:, :, :, :]
        self.assertIn("v: is compressed, and takes 0.0 GB of", str(caught[0].message))


if __name__ == "__main__":
    unittest.main()

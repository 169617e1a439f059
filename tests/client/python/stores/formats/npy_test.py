"""Files of NumPy."""

import errno
import os
import pathlib
import tempfile
import unittest
from unittest import mock

import numpy as np
from znni.box import Box
from znni.errors import InvalidError, NotFoundError
from znni.stores.formats.npy import NpyTarget, open_npy
from znni.stores.seam import OutputFacts

FACTS = OutputFacts((1, 3, 4, 5), np.dtype("<f4"), 5, None, None, (0, 0, 0), {})


class NpyTest(unittest.TestCase):
    def setUp(self):
        self.path = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory())) / "v.npy"

    def test_reads(self):
        volume = np.arange(60, dtype=">u2").reshape(3, 4, 5)
        np.save(self.path, volume)
        source = open_npy(self.path)
        np.testing.assert_array_equal(source.read(Box((0, 1, 0), (3, 3, 5)))[0], volume[:, 1:3])
        self.assertEqual((source.name, source.dtype), (str(self.path), np.dtype("<u2")))

    def test_no_volume(self):
        with self.assertRaisesRegex(NotFoundError, "v.npy: there is no such file"):
            open_npy(self.path)
        self.path.write_bytes(b"nothing of the kind")
        with self.assertRaisesRegex(InvalidError, "v.npy: is not an array of NumPy"):
            open_npy(self.path)

    def test_writes(self):
        target = NpyTarget(self.path, FACTS, False)
        target.begin()
        target.write((1, 0, 0), np.ones((1, 2, 4, 5), np.float32))
        self.assertFalse(self.path.exists())
        target.finish()
        expected = np.zeros((1, 3, 4, 5), np.float32)
        expected[:, 1:] = 1
        np.testing.assert_array_equal(np.load(self.path), expected)

    def test_a_full_disk(self):
        target = NpyTarget(self.path, FACTS, False)
        with mock.patch("os.posix_fallocate", side_effect=OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))):
            with self.assertRaisesRegex(OSError, "No space left"):
                target.begin()
        target.discard()
        self.assertEqual(list(self.path.parent.iterdir()), [])

    def test_nothing_is_there_before_it_begins(self):
        NpyTarget(self.path, FACTS, False).discard()
        self.assertEqual(list(self.path.parent.iterdir()), [])


if __name__ == "__main__":
    unittest.main()

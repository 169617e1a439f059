"""Volumes in files that are opened at once."""

import pathlib
import tempfile
import unittest
from unittest import mock

import numpy as np
from znni.box import Box
from znni.geometry import Geometry
from znni.stores.file_source import FileSource
from znni.stores.memmap import shared_map_of

ALL = Box((0, 0, 0), (2, 3, 4))


class FileSourceTest(unittest.TestCase):
    def test_a_mapped_file_is_copied(self):
        path = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory())) / "v"
        path.write_bytes(bytes(range(24)))
        source = FileSource(np.memmap(path, "u1", "r", shape=(2, 3, 4)), "v", None)
        found = source.read(Box((1, 0, 0), (2, 3, 4)))
        self.assertIsNone(shared_map_of(found))
        self.assertEqual(found.tobytes(), bytes(range(12, 24)))
        source.close()

    def test_rescaled(self):
        geometry = Geometry((2.0, 1.0, 1.0))
        source = FileSource(np.arange(24, dtype=">i2").reshape(2, 3, 4), "v", geometry, 0.5, -3)
        np.testing.assert_array_equal(source.read(ALL)[0], np.arange(24).reshape(2, 3, 4) / 2 - 3)
        self.assertEqual((source.geometry, source.dtype), (geometry, np.float32))

    def test_closes_the_file_that_the_array_has(self):
        array = mock.Mock(shape=(2, 3, 4), dtype=np.uint8, chunks=None, shards=None, __getitem__=mock.Mock())
        FileSource(array, "v", None).close()
        array.file.close.assert_called_once()


if __name__ == "__main__":
    unittest.main()

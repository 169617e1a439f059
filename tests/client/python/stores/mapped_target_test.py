"""Outputs in files that are mapped."""

import errno
import os
import pathlib
import tempfile
import unittest
from unittest import mock

import numpy as np
from znni.stores.mapped_target import MappedTarget, map_behind
from znni.stores.seam import OutputFacts

FACTS = OutputFacts((2, 3, 4, 5), np.dtype("<f4"), 4, None, None, (0, 0, 0), {})


class Headed(MappedTarget):
    """Writes three bytes, and voxels behind them."""

    def _make(self, path):
        return map_behind(path, b"abc", self._facts.file_shape, self._facts.dtype)


class MappedTargetTest(unittest.TestCase):
    def setUp(self):
        self.path = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory())) / "v"

    def test_writes(self):
        target = Headed(self.path, FACTS, False)
        self.assertEqual(target.folder, str(self.path.parent))
        target.begin()
        target.write((1, 0, 0), np.ones((2, 2, 4, 5), np.float32))
        self.assertFalse(self.path.exists())
        target.finish()
        expected = np.zeros((2, 3, 4, 5), np.float32)
        expected[:, 1:] = 1
        self.assertEqual(self.path.read_bytes(), b"abc" + expected.tobytes())

    def test_a_full_disk(self):
        target = Headed(self.path, FACTS, False)
        with mock.patch("os.posix_fallocate", side_effect=OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))):
            with self.assertRaisesRegex(OSError, "No space left"):
                target.begin()
        target.discard()
        self.assertEqual(list(self.path.parent.iterdir()), [])


if __name__ == "__main__":
    unittest.main()

"""Arrays in files without a name."""

import errno
import os
import pathlib
import tempfile
import unittest
from unittest import mock

import numpy as np
from znni.spool import make_spool


class SpoolTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def test_holds_what_is_written(self):
        spool = make_spool((2, 3, 4), np.dtype("<f4"), str(self.folder))
        self.assertEqual((spool.shape, spool.dtype), ((2, 3, 4), np.float32))
        spool[:] = np.arange(24).reshape(2, 3, 4)
        np.testing.assert_array_equal(spool.ravel(), np.arange(24))
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_a_full_disk(self):
        with mock.patch("os.posix_fallocate", side_effect=OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))):
            for folder in (None, str(self.folder)):
                words = f"No space left on device: 96 bytes are needed for a while: '{folder or tempfile.gettempdir()}'"
                with self.assertRaisesRegex(OSError, words):
                    make_spool((2, 3, 4), np.dtype("<f4"), folder)


if __name__ == "__main__":
    unittest.main()

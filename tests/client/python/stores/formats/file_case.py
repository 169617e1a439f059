"""Volumes in files of formats that other programs write, through the client and a daemon that returns the voxels."""

import pathlib
import tempfile
import unittest

import numpy as np
import znni
from fake_daemon import FakeDaemon
from znni.box import Box
from znni.stores.opening import open_source, open_target
from znni.stores.seam import OutputFacts

SHAPE = (5, 6, 7)
TYPES = ("i1", "u1", "<i2", ">i2", "<u2", ">u2", "<i4", ">i4", "<u4", "<i8", ">u8", "<f4", ">f4", "<f8", ">f8")


def voxels(dtype="u1", shape=SHAPE):
    """Returns whole numbers, some below 0 if the type has such."""
    dtype = np.dtype(dtype)
    least = -100 if dtype.kind in "if" else 0
    return np.random.default_rng(3).integers(least, 100, shape).astype(dtype)


class FileCase(unittest.TestCase):
    """Has a folder, and a daemon at `address`."""

    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.daemon = FakeDaemon()

    def predict(self, path, output=None, **options):
        """Returns what the daemon was sent of a volume, or writes it."""
        with self.daemon.served() as address, znni.Client(address) as client:
            return client.predict("same", path, output, progress=False, **options)

    def check_sent(self, path, expected):
        """Checks that a file is sent as the same voxels in a file of NumPy are, bit by bit."""
        sent = expected if expected.dtype.name in ("uint8", "uint16", "float32") else expected.astype("<f4")
        np.save(self.folder / "same.npy", sent)
        as_long = {1: "uint8", 2: "float16", 4: "float32"}[
            sent.itemsize
        ]  # the daemon returns the bytes that it is sent
        for volume in (self.folder / "same.npy", path):
            self.predict(volume, dtype=as_long)
        self.assertEqual(*self.daemon.sent[-2:])
        self.assertEqual(self.daemon.headers[-1].datatype, self.daemon.headers[-2].datatype)

    @staticmethod
    def read(path, box=None):
        """Returns the voxels of a volume, or of a box of it."""
        with open_source(path) as source:
            return source.read(box or Box((0, 0, 0), source.shape[1:]))

    @staticmethod
    def geometry(path):
        with open_source(path) as source:
            return source.geometry

    @staticmethod
    def write(path, array, geometry=None, ndim=None):
        """Writes an output of an array, rows in two parts."""
        shape = (1,) * (4 - array.ndim) + array.shape
        facts = OutputFacts(shape, array.dtype, ndim or array.ndim, None, geometry, (0, 0, 0), {"model": "net"})
        target = open_target(path, facts, False)
        target.begin()
        block = array.reshape(shape)
        target.write((0, 0, 0), block[:, :, :2])
        target.write((0, 2, 0), block[:, :, 2:])
        target.finish()

    def check_round_trip(self, name):
        """Checks outputs of one and of two channels, which are read again bit by bit."""
        for dtype in ("u1", "<f4"):
            for shape in (SHAPE, (2, *SHAPE)):
                path = self.folder / f"{len(shape)}{dtype[-2:]}{name}"
                self.write(path, voxels(dtype, shape))
                self.assertEqual(self.read(path).tobytes(), voxels(dtype, shape).tobytes())
                self.assertEqual(self.read(path).dtype, np.dtype(dtype))

    def check_refused(self, path, words, error=znni.InvalidError):
        """Checks that a volume is refused, when it is opened or read, in one line that begins with its name."""
        with self.assertRaisesRegex(error, words) as caught:
            self.read(path)
        self.assertTrue(str(caught.exception).startswith(str(path)), caught.exception)
        self.assertNotIn("\n", str(caught.exception))

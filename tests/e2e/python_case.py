"""A daemon with a net of three channels, and one that returns its input, for tests of the Python client."""

import json
import pathlib
import subprocess
import tempfile
import unittest

import nets
import numpy as np
import znni
from harness import ZNNID, Daemon

ZNNI = ZNNID.parent / "znni"


class PythonCase(unittest.TestCase):
    """Has a folder `work`, a `daemon`, and a `client` of it."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.work = pathlib.Path(cls.folder.name)
        cls.save_models(cls.work / "models")
        # The memory for requests is so little that wide volumes go in parts.
        cls.daemon = Daemon(cls.work / "models", mem="256M").wait_ready()
        cls.client = znni.Client(cls.daemon.url)

    @classmethod
    def save_models(cls, repository):
        """Writes the models that the daemon serves."""
        nets.save(nets.small_net(7, f_out=3), repository, "net")
        nets.save(nets.same_net(), repository, "same", config=nets.SAME_CONFIG)

    @classmethod
    def tearDownClass(cls):
        cls.client.close()
        cls.daemon.stop()
        cls.folder.cleanup()

    def tearDown(self):
        self.assertIsNone(self.daemon.process.poll(), "\n".join(self.daemon.log))

    def predict(self, volume, output=None, model="net", **options):
        """Returns the client's output, without a bar."""
        return self.client.predict(model, volume, output, progress=False, **options)

    def volume(self, extent, kind=np.float32, seed=0):
        """Returns random voxels."""
        return (np.random.default_rng(seed).random(extent) * (1 if kind == np.float32 else 200)).astype(kind)

    def assert_same(self, found, expected):
        """Expects the same type, shape and bits."""
        self.assertEqual((found.dtype, found.shape), (expected.dtype, expected.shape))
        np.testing.assert_array_equal(found, expected)

    def refused(self, kind, words, volume, **options):
        """Expects this class of error, in one line with these words."""
        with self.assertRaises(kind) as caught:
            self.predict(volume, **options)
        self.assertIsInstance(caught.exception, znni.Error)
        self.assertIn(words, str(caught.exception))
        self.assertNotIn("\n", str(caught.exception))

    def infer(self, volume, *options):
        """Returns (summary, output) of `znni infer` for the same volume."""
        np.save(self.work / "in.npy", volume)
        command = [
            ZNNI,
            "infer",
            "-m",
            "net",
            "-i",
            self.work / "in.npy",
            "-o",
            self.work / "out.npy",
            "--json",
            "--overwrite",
            "--server",
            self.daemon.url,
            *options,
        ]
        ran = subprocess.run(command, check=True, capture_output=True)
        return json.loads(ran.stdout), np.load(self.work / "out.npy")

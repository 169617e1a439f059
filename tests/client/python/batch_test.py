"""Batches of volumes through a daemon that returns its input."""

import unittest

import numpy as np
import znni
from znni.batch import predict_batch

from fake_daemon import FakeDaemon

BATCH = np.random.default_rng(1).random((3, 1, 4, 6, 8), np.float32)


class BatchTest(unittest.TestCase):
    def served(self, **properties):
        """The daemon, a client, and the model."""
        self.daemon = FakeDaemon(properties=properties)
        client = self.enterContext(znni.Client(self.enterContext(self.daemon.served())))
        return client, client.model("same")

    def test_volumes_go_one_after_the_other(self):
        found, = predict_batch(*self.served(), BATCH, "none", True)
        np.testing.assert_array_equal(found, BATCH)
        self.assertEqual(len(self.daemon.headers), 3)
        self.assertEqual(self.daemon.headers[0].model_version, "3")

    def test_none(self):
        found, = predict_batch(*self.served(), BATCH[:0], "none", True)
        self.assertEqual(found.shape, (0, 1, 4, 6, 8))
        self.assertEqual(self.daemon.headers, [])

    def test_voxels_of_coarse_outputs(self):
        client, model = self.served(output_stride="1,2,4")
        found, = predict_batch(client, model, BATCH, "none", True)
        np.testing.assert_array_equal(found, BATCH[:, :, :, ::2, ::4])
        self.assertTrue(found.flags.c_contiguous)
        found, = predict_batch(client, model, BATCH, "none", False)
        np.testing.assert_array_equal(found, BATCH)

    def test_a_window_alone_is_not_blended(self):
        client, model = self.served(output_stride="2,2,2", window="4,6,8")
        found, = predict_batch(client, model, BATCH, "none", True)
        np.testing.assert_array_equal(found, BATCH[:, :, ::2, ::2, ::2])
        with self.assertRaisesRegex(znni.InvalidError, "blends windows: its outputs have no voxels of their own"):
            predict_batch(client, model, np.zeros((1, 1, 4, 6, 10), np.float32), "none", True)

    def test_what_is_refused(self):
        client, model = self.served()
        with self.assertRaisesRegex(znni.InvalidError, "2 channels found, expected the 1"):
            predict_batch(client, model, np.zeros((1, 2, 4, 6, 8), np.float32), "none", True)
        with self.assertRaisesRegex(znni.InvalidError, "pad: 'x' found"):
            predict_batch(client, model, BATCH, "x", True)


if __name__ == "__main__":
    unittest.main()

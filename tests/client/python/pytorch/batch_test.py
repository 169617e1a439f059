"""Batches of volumes through a daemon that returns its input."""

import dataclasses
import unittest
from unittest import mock

import numpy as np
import znni
from fake_daemon import FakeDaemon
from znni.pytorch.batch import predict_batch

BATCH = np.random.default_rng(1).random((3, 1, 4, 6, 8), np.float32)


def copying():
    """Returns a client whose outputs are its volumes."""
    client = mock.create_autospec(znni.Client, instance=True)
    client.predict.side_effect = lambda name, volume, output, **_: np.copyto(output, volume)
    return client


class BatchTest(unittest.TestCase):
    def served(self, **properties):
        """Returns the daemon, a client, and the model."""
        self.daemon = FakeDaemon(properties=properties)
        client = self.enterContext(znni.Client(self.enterContext(self.daemon.served())))
        return client, client.model("same")

    def test_volumes_go_one_after_the_other(self):
        (found,) = predict_batch(*self.served(), BATCH, "none", True)
        np.testing.assert_array_equal(found, BATCH)
        self.assertEqual(len(self.daemon.headers), 3)
        self.assertEqual(self.daemon.headers[0].model_version, "3")

    def test_none(self):
        (found,) = predict_batch(*self.served(), BATCH[:0], "none", True)
        self.assertEqual(found.shape, (0, 1, 4, 6, 8))
        self.assertEqual(self.daemon.headers, [])

    def test_voxels_of_coarse_outputs(self):
        client, model = self.served(output_stride="1,2,4")
        (found,) = predict_batch(client, model, BATCH, "none", True)
        np.testing.assert_array_equal(found, BATCH[:, :, :, ::2, ::4])
        self.assertTrue(found.flags.c_contiguous)
        (found,) = predict_batch(client, model, BATCH, "none", False)
        np.testing.assert_array_equal(found, BATCH)

    def test_a_window_alone_is_not_blended(self):
        client, model = self.served(output_stride="2,2,2", window="4,6,8")
        (found,) = predict_batch(client, model, BATCH, "none", True)
        np.testing.assert_array_equal(found, BATCH[:, :, ::2, ::2, ::2])
        sent = len(self.daemon.headers)
        with self.assertRaisesRegex(
            znni.InvalidError,
            "^inputs: 4x6x10 voxels found, expected 4x6x8: model 'same' "
            "blends .*; pass volumes of the window's extents, or compile with dense=True$",
        ):
            predict_batch(client, model, np.zeros((1, 1, 4, 6, 10), np.float32), "none", True)
        self.assertEqual(len(self.daemon.headers), sent)
        (found,) = predict_batch(client, model, np.ones((1, 1, 4, 6, 10), np.float32), "none", False)
        self.assertEqual(found.shape, (1, 1, 4, 6, 10))

    def test_a_window_has_what_padding_adds(self):
        _, model = self.served(output_stride="1,2,2", window="6,8,10", field_of_view="3,3,5")
        client = copying()
        (found,) = predict_batch(client, model, BATCH[..., :6], "edge", True)
        np.testing.assert_array_equal(found, BATCH[:, :, :, ::2, :6:2])
        client = copying()
        with self.assertRaisesRegex(znni.InvalidError, "^inputs: 6x8x10 voxels found, expected 4x6x6 with pad='zero'"):
            predict_batch(client, model, np.zeros((1, 1, 6, 8, 10), np.float32), "zero", True)
        client.predict.assert_not_called()

    def test_outputs_are_contiguous(self):
        _, model = self.served()
        model = dataclasses.replace(
            model,
            channels=3,
            output_channels=3,
            outputs={"a": slice(0, 2), "b": slice(2, 3)},
            output_strides={"a": (1, 1, 1), "b": (1, 2, 2)},
        )
        batch = np.random.default_rng(2).random((2, 3, 4, 6, 8), np.float32)
        a, b = predict_batch(copying(), model, batch, "none", True)
        np.testing.assert_array_equal(a, batch[:, :2])
        np.testing.assert_array_equal(b, batch[:, 2:, :, ::2, ::2])
        self.assertTrue(a.flags.c_contiguous and b.flags.c_contiguous)

    def test_what_is_refused(self):
        client, model = self.served()
        with self.assertRaisesRegex(znni.InvalidError, "2 channels found, expected the 1"):
            predict_batch(client, model, np.zeros((1, 2, 4, 6, 8), np.float32), "none", True)
        with self.assertRaisesRegex(znni.InvalidError, "pad: 'x' found"):
            predict_batch(client, model, BATCH, "x", True)


if __name__ == "__main__":
    unittest.main()

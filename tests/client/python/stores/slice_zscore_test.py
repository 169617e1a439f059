"""Volumes whose slices are brought to mean 0 and deviation 1, against NumPy."""

import unittest
from unittest import mock

import numpy as np
from znni.box import Box
from znni.scaling import Scaling
from znni.stores import slice_zscore
from znni.stores.array import ArraySource
from znni.stores.slice_zscore import SliceZscoreSource


def expected_of(volume):
    """Returns what the slices of [C, Z, Y, X] become."""
    values = volume.astype(np.float64)
    mean = values.mean(axis=(2, 3), keepdims=True)
    deviation = np.maximum(values.std(axis=(2, 3), keepdims=True), 1e-8)
    return (values - mean) / deviation


def source_of(volume):
    source = ArraySource(volume, "volume")
    source.rescale(Scaling(1.0, 0.0))
    return SliceZscoreSource(source)


def whole(shape):
    return Box((0, 0, 0), tuple(shape[-3:]))


class SliceZscoreTest(unittest.TestCase):
    def test_whole_slices(self):
        random = np.random.default_rng(1)
        for _ in range(20):
            shape = tuple(random.integers(1, 9, 4))
            kind = random.choice(["u1", "u2", "i4", "f2", "f4", "f8"])
            volume = (random.normal(size=shape) * 50 + 100).astype(kind)
            found = source_of(volume).read(whole(shape))
            self.assertEqual(found.dtype, np.float32)
            np.testing.assert_allclose(found, expected_of(volume.astype(np.float32)), atol=1e-6)

    def test_parts_are_of_their_whole_slice(self):
        """In any order, with statistics that are taken some rows at a time."""
        volume = np.random.default_rng(2).integers(0, 1000, (2, 5, 7, 6)).astype(np.uint16)
        expected = expected_of(volume)
        for voxels, block, depth in ((1, 1, 1), (30, 12, 2), (60, 24, 3), (1 << 24, 1 << 16, 9)):
            with (
                mock.patch.object(slice_zscore, "_VOXELS_AT_ONCE", voxels),
                mock.patch.object(slice_zscore, "_BLOCK", block),
            ):
                source = source_of(volume)
                source.depth = depth
                for box in (Box((3, 1, 2), (5, 4, 6)), Box((0, 0, 0), (5, 7, 6)), Box((0, 0, 0), (1, 7, 5))):
                    cut = tuple(slice(a, b) for a, b in zip(box.start, box.stop))
                    np.testing.assert_allclose(source.read(box), expected[(slice(None), *cut)], atol=1e-6)

    def test_a_slice_is_read_for_its_statistics_once(self):
        base = ArraySource(np.arange(24, dtype=np.float32).reshape(2, 3, 4), "volume")
        source = SliceZscoreSource(base)
        with mock.patch.object(base, "read", wraps=base.read) as read:
            source.read(whole((2, 3, 4)))
            self.assertEqual(read.call_count, 1)
            source.read(Box((0, 0, 0), (2, 1, 1)))
            self.assertEqual(read.call_count, 2)

    def test_slices_that_are_stored_together_are_read_together(self):
        """For a part of one, all of them; rows beside each other are in one read as far as memory allows."""
        volume = np.random.default_rng(4).integers(0, 99, (1, 10, 6, 8)).astype(np.float32)
        base = ArraySource(volume, "volume")
        base.depth = 4
        part = Box((5, 2, 2), (6, 3, 3))
        for voxels, block, expected in (
            (1 << 24, 1 << 16, [part, Box((4, 0, 0), (8, 6, 8))]),
            (64, 16, [part, Box((4, 0, 0), (8, 2, 8)), Box((4, 2, 0), (8, 4, 8)), Box((4, 4, 0), (8, 6, 8))]),
            (100, 48, [part, Box((4, 0, 0), (6, 6, 8))]),
        ):
            with (
                mock.patch.object(base, "read", wraps=base.read) as read,
                mock.patch.object(slice_zscore, "_VOXELS_AT_ONCE", voxels),
                mock.patch.object(slice_zscore, "_BLOCK", block),
            ):
                source = SliceZscoreSource(base)
                np.testing.assert_allclose(source.read(part)[0, 0], expected_of(volume)[0, 5, 2:3, 2:3], atol=1e-6)
                self.assertEqual([call.args[0] for call in read.call_args_list], expected)
                source.read(Box((4, 1, 1), (6, 2, 2)))
                self.assertEqual(read.call_count, len(expected) + 1)

    def test_a_part_is_rounded_as_the_whole(self):
        volume = np.random.default_rng(5).normal(100, 9, (2, 7, 40, 30)).astype(np.float32)
        with mock.patch.object(slice_zscore, "_BLOCK", 300), mock.patch.object(slice_zscore, "_VOXELS_AT_ONCE", 9000):
            all_of_it = source_of(volume).read(whole(volume.shape))
            cut = source_of(volume)
            cut.depth = 3
            np.testing.assert_array_equal(cut.read(Box((1, 3, 4), (6, 20, 9))), all_of_it[:, 1:6, 3:20, 4:9])

    def test_far_from_zero(self):
        """Means that are large beside deviations do not spoil them."""
        volume = 1e6 + np.random.default_rng(3).integers(0, 4, (1, 3, 50, 50)).astype(np.float32)
        with mock.patch.object(slice_zscore, "_BLOCK", 500):
            found = source_of(volume.astype(np.float32)).read(whole(volume.shape))
        np.testing.assert_allclose(found, expected_of(volume.astype(np.float32)), atol=1e-6)

    def test_a_slice_of_one_value_becomes_zero(self):
        found = source_of(np.full((2, 3, 4), 7, np.uint8)).read(whole((2, 3, 4)))
        np.testing.assert_array_equal(found, np.zeros((1, 2, 3, 4)))

    def test_what_is_kept(self):
        base = ArraySource(np.zeros((2, 3, 4), np.uint8), "volume")
        base.rescale(Scaling(1.0, 0.0))
        with SliceZscoreSource(base) as source:
            self.assertEqual((source.name, source.shape, source.ndim), ("volume", (1, 2, 3, 4), 3))
            self.assertEqual(source.scaling, (1.0, 0.0))
            self.assertTrue(source.standardised)
            self.assertFalse(base.standardised)


if __name__ == "__main__":
    unittest.main()

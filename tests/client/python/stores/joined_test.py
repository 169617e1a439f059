"""Volumes of several inputs, read as one."""

import unittest

import numpy as np
from znni.box import Box
from znni.errors import InvalidError
from znni.scaling import Scaling
from znni.stores.array import ArraySource
from znni.stores.joined import JoinedSource

RAW = np.arange(2 * 60, dtype=np.float32).reshape(2, 3, 4, 5)
MASK = -np.arange(60, dtype=np.float32).reshape(3, 4, 5)
INPUTS = {"raw": slice(0, 2), "mask": slice(2, 3)}


def joined(**volumes):
    return JoinedSource({name: ArraySource(array, "volume") for name, array in volumes.items()})


class JoinedTest(unittest.TestCase):
    def test_channels_follow_each_other(self):
        source = joined(raw=RAW, mask=MASK)
        self.assertEqual((source.shape, source.ndim, source.dtype), ((3, 3, 4, 5), 4, np.dtype("<f4")))
        found = source.read(Box((1, 0, 2), (3, 4, 5)))
        np.testing.assert_array_equal(found, np.concatenate([RAW, MASK[None]])[:, 1:3, :, 2:5])

    def test_rescaled(self):
        source = joined(raw=RAW, mask=MASK.astype(np.int8))
        source.rescale(Scaling(0.5, 1))
        self.assertEqual((source.dtype, source.scaling), (np.dtype("<f4"), (0.5, 1)))
        np.testing.assert_array_equal(source.read(Box((0, 0, 0), (3, 4, 5))), np.concatenate([RAW, MASK[None]]) / 2 + 1)

    def test_in_the_models_order(self):
        source = joined(mask=MASK, raw=RAW)
        source.arrange(INPUTS, "net")
        np.testing.assert_array_equal(source.read(Box((0, 0, 0), (3, 4, 5))), np.concatenate([RAW, MASK[None]]))

    def test_has_the_geometry_that_a_volume_has(self):
        geometry, raw, mask = object(), ArraySource(RAW, "volume"), ArraySource(MASK, "volume")
        raw.geometry, raw.zarr_format = geometry, 3
        for parts in ({"raw": raw, "mask": mask}, {"mask": mask, "raw": raw}):
            source = JoinedSource(parts)
            self.assertEqual((source.geometry, source.zarr_format), (geometry, 3))

    def test_volumes_that_differ(self):
        with self.assertRaisesRegex(InvalidError, "input 'mask': 2x4x5 voxels found, expected 3x4x5 as input 'raw'"):
            joined(raw=RAW, mask=MASK[:2])

    def test_types_that_differ_are_read_as_float32(self):
        labels = np.arange(60, dtype=np.uint8).reshape(3, 4, 5)
        for raw in (RAW, RAW.astype(np.uint16), RAW.astype(np.float16)):
            source = joined(raw=raw, mask=labels)
            found = source.read(Box((0, 0, 0), (3, 4, 5)))
            self.assertEqual((source.dtype, found.dtype), (np.dtype("<f4"), np.dtype("<f4")))
            np.testing.assert_array_equal(found, np.concatenate([RAW, labels[None]]))
        self.assertEqual(joined(raw=RAW.astype(np.uint8), mask=labels).dtype, np.uint8)

    def test_inputs_that_are_not_the_models(self):
        with self.assertRaisesRegex(InvalidError, "input 'mask' is missing, which model 'net' has"):
            joined(raw=RAW).arrange(INPUTS, "net")
        with self.assertRaisesRegex(InvalidError, "input 'more' found, expected 'raw', 'mask', which model 'net' has"):
            joined(raw=RAW, mask=MASK, more=MASK).arrange(INPUTS, "net")
        with self.assertRaisesRegex(InvalidError, "input 'raw': 1 channels found, expected the 2 that model 'net'"):
            joined(raw=MASK, mask=MASK).arrange(INPUTS, "net")


if __name__ == "__main__":
    unittest.main()

"""Outputs that come mirrored."""

import unittest
from unittest import mock

import numpy as np
from znni.stores.array import ArrayTarget
from znni.stores.seam import OutputFacts
from znni.targets.mirrored import MirroredTarget

SHAPE = (2, 5, 6, 7)
FACTS = OutputFacts(SHAPE, np.dtype("<f4"), 4, None, None, (0, 0, 0), {})


class MirroredTargetTest(unittest.TestCase):
    def test_blocks(self):
        voxels = np.random.default_rng(1).random(SHAPE, np.float32)
        for axes in ((0,), (1, 2), (0, 1, 2)):
            output = np.zeros(SHAPE, np.float32)
            target = MirroredTarget(ArrayTarget(output, FACTS), SHAPE[1:], axes)
            self.assertEqual((target.depth, target.rows), (1, 1))
            target.begin()
            for z in range(0, 5, 2):
                for x in range(0, 7, 4):
                    target.write((z, 0, x), voxels[:, z : z + 2, :, x : x + 4])
            np.testing.assert_array_equal(output, np.flip(voxels, [axis + 1 for axis in axes]))

    def test_passes_on(self):
        inner = mock.Mock(folder="/here")
        target = MirroredTarget(inner, SHAPE[1:], (0,))
        target.begin()
        target.finish()
        target.discard()
        self.assertEqual([call[0] for call in inner.method_calls], ["begin", "finish", "discard"])
        self.assertEqual(target.folder, "/here")


if __name__ == "__main__":
    unittest.main()

"""Outputs that are 0 where a mask is."""

import random
import unittest

import numpy as np
from znni.mask import Mask
from znni.stores.array import ArrayTarget, NewArrayTarget
from znni.stores.seam import OutputFacts
from znni.targets.masked import MaskedTarget

SHAPE = (2, 9, 10, 11)
FACTS = OutputFacts(SHAPE, np.dtype("<f4"), 4, None, None, (0, 0, 0), {})
ORIGIN = (3, 1, 2)
VOLUME = (15, 12, 20)  # the output lies in it


class Recorded(ArrayTarget):
    """Keeps what becomes of it, and says how it is best written."""

    depth, rows, folder = 4, 5, "/here"

    def __init__(self, array):
        self.array, self.ended = array, []

    def finish(self):
        self.ended.append("finished")

    def discard(self):
        self.ended.append("discarded")


class MaskedTargetTest(unittest.TestCase):
    def test_blocks_in_any_order(self):
        draw, voxels = random.Random(2), np.random.default_rng(3).random(SHAPE, np.float32) + 1
        voxels[0, 0, 0, 0] = np.nan
        for factor in ((1, 1, 1), (2, 3, 4)):
            coarse = np.random.default_rng(4).random([-(-n // f) for n, f in zip(VOLUME, factor)]) < 0.5
            fine = coarse
            for axis, f in enumerate(factor):
                fine = fine.repeat(f, axis)
            inside = fine[tuple(slice(a, a + n) for a, n in zip(ORIGIN, SHAPE[1:]))]
            output = np.full(SHAPE, -1, np.float32)
            target = MaskedTarget(ArrayTarget(output, FACTS), Mask(coarse, VOLUME), ORIGIN)
            target.begin()
            starts = [(z, y, x) for z in range(0, 9, 2) for y in range(0, 10, 5) for x in range(0, 11, 6)]
            for z, y, x in draw.sample(starts, len(starts)):
                target.write((z, y, x), voxels[:, z : z + 2, y : y + 5, x : x + 6])
            np.testing.assert_array_equal(output, np.where(inside, voxels, 0))

    def test_keeps_the_type(self):
        output = np.full(SHAPE, 7, np.uint8)
        facts = OutputFacts(SHAPE, np.dtype("u1"), 4, None, None, (0, 0, 0), {})
        target = MaskedTarget(ArrayTarget(output, facts), Mask(np.zeros(VOLUME, bool), VOLUME), ORIGIN)
        target.write((0, 0, 0), np.ones(SHAPE, np.uint8))
        self.assertEqual((output.dtype, int(output.sum())), (np.uint8, 0))

    def test_passes_on(self):
        inner = Recorded(np.zeros(SHAPE, np.float32))
        target = MaskedTarget(inner, Mask(np.ones(VOLUME), VOLUME), ORIGIN)
        self.assertEqual((target.depth, target.rows, target.folder), (4, 5, "/here"))
        target.finish()
        target.discard()
        self.assertEqual(inner.ended, ["finished", "discarded"])
        made = MaskedTarget(NewArrayTarget(FACTS), Mask(np.ones(VOLUME), VOLUME), ORIGIN)
        self.assertIsNone(made.array)
        made.begin()
        self.assertEqual(made.array.shape, SHAPE)


if __name__ == "__main__":
    unittest.main()

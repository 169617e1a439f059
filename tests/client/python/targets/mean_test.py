"""Outputs that are the mean of several."""

import collections
import logging
import pathlib
import tempfile
import unittest
from unittest import mock

import numpy as np
from znni.calls.patience import Patience
from znni.errors import UnavailableError
from znni.stores.array import ArrayTarget, NewArrayTarget
from znni.stores.seam import OutputFacts
from znni.targets import mean as mean_target
from znni.targets.mean import MeanTarget

SHAPE = (2, 9, 6, 7)


def facts(dtype):
    return OutputFacts(SHAPE, np.dtype(dtype), 4, None, None, (0, 0, 0), {})


def patience():
    """Returns that of a store, without waiting."""
    return Patience(1000, sleep=lambda _: None)


class Busy(ArrayTarget):
    """Does not answer the first two times that a slab is written."""

    def __init__(self, array, depth):
        super().__init__(array, facts(array.dtype))
        self.depth, self.tries = depth, collections.Counter()

    def write(self, start, block):
        self.tries[start] += 1
        if self.tries[start] < 3:
            raise UnavailableError("busy")
        super().write(start, block)


class Counted(ArrayTarget):
    """Keeps where it was written to, and what became of it."""

    def __init__(self, array, depth=4):
        super().__init__(array, facts(array.dtype))
        self.depth, self.starts, self.ended = depth, [], []

    def write(self, start, block):
        self.starts.append(start)
        super().write(start, block)

    def finish(self):
        self.ended.append("finished")

    def discard(self):
        self.ended.append("discarded")


class MeanTargetTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.each = [np.random.default_rng(n).normal(0.5, 0.4, SHAPE).astype(np.float32) for n in range(8)]
        self.mean = np.mean(self.each, axis=0, dtype=np.float64)

    def write_all(self, target):
        for voxels in self.each:
            for z in range(0, 9, 2):
                target.write((z, 0, 0), voxels[:, z : z + 2])
        target.finish()

    def test_the_mean_is_written_once_in_whole_slabs(self):
        for most in (mean_target.MOST_BYTES, 0):  # in memory, and in a file
            inner = Counted(np.zeros(SHAPE, np.float32))
            inner.folder = str(self.folder)
            with mock.patch.object(mean_target, "MOST_BYTES", most), mock.patch.object(mean_target, "_STEP_BYTES", 1):
                target = MeanTarget(inner, SHAPE, inner.array.dtype, 8, patience)
                target.begin()
                self.write_all(target)
            bound = 7 * 2.0**-24 * np.mean(np.abs(self.each), axis=0, dtype=np.float64)
            self.assertTrue((np.abs(inner.array - self.mean) <= bound).all())
            self.assertEqual((inner.starts, inner.ended), ([(0, 0, 0), (4, 0, 0), (8, 0, 0)], ["finished"]))
            self.assertEqual(list(self.folder.iterdir()), [])

    def test_other_types(self):
        for dtype, expected in (
            ("u1", np.clip(self.mean * 255, 0, 255)),
            ("<f2", self.mean),
        ):
            inner = Counted(np.zeros(SHAPE, dtype))
            target = MeanTarget(inner, SHAPE, np.dtype(dtype), 8, patience)
            target.begin()
            self.write_all(target)
            error = np.abs(inner.array - expected).max()
            self.assertLess(error, 0.5001 if dtype == "u1" else 2.0**-10)
            self.assertGreater(np.ptp(inner.array), 0.5)

    def test_an_array_that_is_made(self):
        target = MeanTarget(NewArrayTarget(facts("<f4")), SHAPE, np.dtype("<f4"), 8, patience)
        self.assertIsNone(target.array)
        target.begin()
        self.write_all(target)
        np.testing.assert_allclose(target.array, self.mean, atol=1e-6)

    def test_a_store_that_is_busy_is_tried_again(self):
        log = logging.getLogger("znni")
        self.addCleanup(log.setLevel, log.level)
        log.setLevel(logging.ERROR)
        for depth, starts in ((1, 9), (4, 3)):
            inner = Busy(np.zeros(SHAPE, np.float32), depth)
            with mock.patch.object(mean_target, "_STEP_BYTES", 1):
                target = MeanTarget(inner, SHAPE, inner.array.dtype, 8, patience)
                target.begin()
                self.write_all(target)
            np.testing.assert_allclose(inner.array, self.mean, atol=1e-6)
            self.assertEqual(list(inner.tries.values()), [3] * starts)
        target = MeanTarget(Busy(inner.array, 4), SHAPE, inner.array.dtype, 8, lambda: Patience(0))
        target.begin()
        with self.assertRaisesRegex(UnavailableError, "^busy$"):
            self.write_all(target)

    def test_is_discarded(self):
        inner = Counted(np.full(SHAPE, 7, np.float32))
        target = MeanTarget(inner, SHAPE, inner.array.dtype, 2, patience)
        target.begin()
        target.write((0, 0, 0), self.each[0])
        target.discard()
        self.assertEqual((inner.starts, inner.ended, inner.array.min()), ([], ["discarded"], 7))


if __name__ == "__main__":
    unittest.main()

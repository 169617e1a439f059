"""Blocks that are computed to know what the others take."""

import shutil
from unittest import mock

import grpc
import numpy as np
import zarr
from fake_daemon import Refused
from job_case import JobCase
from znni.blocks import measuring
from znni.blocks.measuring import measure


class MeasuringTest(JobCase):
    def setUp(self):
        super().setUp()
        self.volume = np.random.default_rng(2).random((320, 320, 16), np.float32)
        self.save()
        self.spec = None

    def save(self):
        shutil.rmtree(self.input, ignore_errors=True)
        zarr.save_array(self.input, self.volume)

    def measured(self, **wishes):
        """Returns what is measured of a job of 5 x 5 x 1 blocks; the number of the one in the middle is 12."""
        self.spec = self.plan(block=(64, 64, 16), **wishes)
        with self.serving() as serving:
            return measure(self.spec, serving, self.said.append)

    def done(self):
        return [number for number, _ in self.spec.marks.done()]

    def test_blocks_of_the_middle_are_computed_and_done(self):
        found = self.measured()
        done = self.done()
        self.assertIn(len(done), (2, 3, 4))
        self.assertEqual(set(done), {found.number, *(number for number, _ in found.before)})
        self.assertEqual(found.before[0][0], 12)
        for number in done:
            start, stop = self.spec.grid.box(number)
            self.assertTrue(all(0 < a and b < 320 for a, b in zip(start[:2], stop[:2])))
            box = tuple(slice(a, b) for a, b in zip(start, stop))
            np.testing.assert_array_equal(self.found()[box], self.volume[box])
        self.assertGreater(found.seconds, 0)
        self.assertGreater(found.peaks[1], 1 << 20)
        self.assertIsNone(found.peaks[0])  # no daemon of its own

    def test_it_goes_on_until_a_block_takes_as_long_as_the_one_before(self):
        for times, steady in (
            ([], False),
            ([9.0], False),
            ([21.0], True),
            ([9.0, 7.0], False),
            ([9.0, 7.5], True),
            ([9.0, 12.0], True),
            ([9.0, 7.0, 5.0], False),
            ([9.0, 7.0, 5.0, 3.0], True),
        ):
            self.assertEqual(measuring._is_steady(times), steady, times)

    def test_a_long_block_is_computed_once(self):
        self.enterContext(self.long_blocks())
        self.assertEqual(self.measured().number, 12)
        self.assertEqual(self.done(), [12])

    @staticmethod
    def long_blocks():
        """Lets any block count as one that takes long."""
        return mock.patch.object(measuring, "_SURE_SECONDS", 0.0)

    def test_where_there_is_one_block_it_is_the_measure(self):
        self.volume = self.volume[:40, :40]
        self.save()
        found = self.measured()
        self.assertEqual((found.number, found.before), (0, ()))

    def test_where_all_blocks_touch_a_border_the_largest_are_measured(self):
        self.volume = self.volume[:100, :120]
        self.save()
        self.assertEqual(self.measured().before[0][0], 0)
        self.assertEqual(self.done()[:2], [0, 1])  # 64 x 64, 64 x 56 of 36 x 64 and 36 x 56

    def test_what_is_empty_is_not_measured(self):
        self.volume[64:256, 64:256] = 0
        self.volume[64:128, 128:192] = 1
        self.save()
        self.enterContext(self.long_blocks())
        self.assertEqual(self.measured(skip_empty=True).number, 7)
        self.volume[:] = 0
        self.save()
        self.assertIsNone(self.measured(skip_empty=True, overwrite=True))
        self.assertIn("no block was measured", self.said[-1])

    def test_a_block_that_fails_is_told_and_is_no_measure(self):
        self.daemon.streams = [Refused(grpc.StatusCode.INVALID_ARGUMENT, "a NaN")]
        self.assertIsNone(self.measured())
        self.assertIn("block 12 failed: a NaN", self.said)
        self.assertEqual(self.spec.marks.failed(), {12: "a NaN"})
        self.assertEqual(self.done(), [])


if __name__ == "__main__":
    import unittest

    unittest.main()

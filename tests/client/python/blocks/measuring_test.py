"""Blocks that are computed to know what the others take."""

import collections
import contextlib
import shutil
from unittest import mock

import grpc
import numpy as np
import zarr
from fake_daemon import WHOLE, Refused
from job_case import JobCase
from znni.blocks import measuring
from znni.blocks.estimate import Sample
from znni.blocks.grid import Shard
from znni.blocks.kept import Kept
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
        return self.measured_again()

    def measured_again(self, kept=None, sharers=()):
        """Returns what is measured of the job."""
        predicted = {one["block"]: one["seconds"] for one in self.spec.predicted["classes"]}
        with self.serving() as serving:
            return measure(self.spec, predicted, serving, self.said.append, kept, sharers)

    def done(self):
        return [number for number, _ in self.spec.marks.done()]

    def test_blocks_of_the_middle_are_computed_and_done(self):
        found = self.measured()
        done = self.done()
        self.assertIn(len(done), (4, 5, 6))  # up to four, and then two
        self.assertEqual(set(done), {sample.number for sample in (*found.samples, *found.before)})
        self.assertEqual((len(found.samples), found.before[0].number), (1, 12))
        for number in done:
            start, stop = self.spec.grid.box(number)
            self.assertTrue(all(0 < a and b < 320 for a, b in zip(start[:2], stop[:2])))
            box = tuple(slice(a, b) for a, b in zip(start, stop))
            np.testing.assert_array_equal(self.found()[box], self.volume[box])
        self.assertGreater(found.samples[0].seconds, 0)
        self.assertGreater(found.peaks[1], 1 << 20)
        self.assertIsNone(found.peaks[0])  # no daemon of its own

    def test_it_goes_on_until_a_block_takes_as_long_as_the_one_before(self):
        for times, most, steady in (
            ([], 4, False),
            ([9.0], 4, False),
            ([9.0], 1, True),
            ([21.0], 4, False),
            ([21.0], 1, True),
            ([40.0, 25.0], 4, True),  # of long blocks two are enough
            ([40.0, 18.0], 4, False),
            ([121.0], 4, True),
            ([9.0, 7.0], 4, False),
            ([9.0, 7.0], 2, True),
            ([9.0, 7.5], 4, True),
            ([9.0, 12.0], 4, True),
            ([9.0, 7.0, 5.0], 4, False),
            ([9.0, 7.0, 5.0, 3.0], 4, True),
        ):
            self.assertEqual(measuring._is_steady(times, most), steady, times)

    def test_alike_blocks_speak_together(self):
        for times, spoken in (
            ([9.0], 9.0),
            ([9.0, 8.0], 8.5),
            ([9.0, 7.0], 7.0),
            ([9.0, 5.0, 6.0], 5.5),
            ([40.0, 36.0], 36.0),  # of long blocks the shorter
            ([36.0, 40.0], 36.0),
            ([40.0, 25.0], 25.0),
            ([130.0], 130.0),
        ):
            found = [Sample(number, seconds) for number, seconds in enumerate(times)]
            self.assertEqual(measuring._speaking(found), [Sample(len(times) - 1, spoken)])
        self.assertEqual(measuring._speaking([]), [])

    def thin(self):
        """Has a volume of 6 x 4 x 1 blocks, the last of which have 10 planes and 34 rows."""
        self.volume = np.random.default_rng(2).random((330, 226, 16), np.float32)
        self.save()

    def extents(self):
        """Returns the extents of the blocks that are done, and how many of each are."""
        return collections.Counter(self.spec.grid.box(number).extent[:2] for number in self.done())

    def test_blocks_of_other_extents_that_take_much_are_measured(self):
        self.thin()
        found = self.measured()
        extents = [self.spec.grid.box(sample.number).extent[:2] for sample in found.samples]
        self.assertEqual(extents, [(64, 64), (64, 34), (10, 64)])  # by what all take; 10 x 34 is less than 0.5 % of it
        self.assertIn(self.extents()[64, 64], (4, 5, 6))
        self.assertLessEqual(max(self.extents()[extent] for extent in extents[1:]), 2)
        self.assertRegex(self.said[-1], r"^block \d+ of 64x64x16 voxels")  # once more, by a daemon that is warm
        for line in self.said:
            self.assertRegex(line, r"^block \d+ of \d+x\d+x16 voxels is computed, to measure it")
        self.assertRegex(self.said[-1], "; that takes about .* s$")

    def test_what_takes_little_is_not_measured(self):
        self.thin()
        with mock.patch.object(measuring, "_LEAST_SHARE", 0.1):
            self.measured()
        self.assertEqual(self.extents().keys(), {(64, 64), (64, 34)})  # 10 planes take 3 %

    def test_what_takes_long_is_not_measured(self):
        self.thin()
        self.enterContext(self.slow_blocks())
        self.measured()
        self.assertEqual(self.extents(), {(64, 64): 1, (10, 64): 2})

    def slow_blocks(self, *full):
        """Lets a block of full size take 250 seconds, or so many, one after the other."""
        compute, seconds, times = measuring.Worker.compute, [0.0], list(full)

        def slowly(worker, number):
            seconds[0] += (
                (times.pop(0) if times else 250) * np.prod(worker._spec.grid.box(number).extent) / (64 * 64 * 16)
            )
            return compute(worker, number)

        clock = mock.Mock(monotonic=lambda: seconds[0])
        stack = contextlib.ExitStack()
        stack.enter_context(mock.patch.object(measuring, "time", clock))
        stack.enter_context(mock.patch.object(measuring.Worker, "compute", slowly))
        return stack

    def test_of_long_blocks_the_shorter_of_two_counts(self):
        for full, spoken, more in (((40.0, 25.0), 25.0, 15.0), ((25.0, 29.0), 25.0, 0.0)):
            with self.slow_blocks(*full):
                found = self.measured(overwrite=True)
            self.assertEqual([sample.seconds for sample in found.samples], [spoken])
            self.assertEqual([sample.seconds - spoken for sample in found.before], [more])
            self.assertEqual(len(self.done()), 2)

    def test_a_long_block_without_another_of_its_extent_is_computed_again(self):
        self.volume = self.volume[:100, :64]
        self.save()
        self.enterContext(self.slow_blocks(40.0, 25.0, 80.0, 70.0))
        found = self.measured()
        self.assertEqual(found.samples, (Sample(0, 25.0), Sample(1, 70.0 * 36 / 64)))
        self.assertEqual([sample.number for sample in found.before], [0, 1])
        self.assertEqual(self.done(), [0, 1])
        np.testing.assert_array_equal(self.found(), self.volume)

    def test_a_very_long_block_is_computed_once(self):
        self.enterContext(self.very_long_blocks())
        self.assertEqual(self.measured().samples[0].number, 12)
        self.assertEqual(self.done(), [12])

    @staticmethod
    def very_long_blocks():
        """Lets any block count as one that takes very long."""
        stack = contextlib.ExitStack()
        for name in ("_SURE_SECONDS", "_LONG_SECONDS"):
            stack.enter_context(mock.patch.object(measuring, name, 0.0))
        return stack

    def test_where_there_is_one_block_it_is_the_measure(self):
        self.volume = self.volume[:40, :40]
        self.save()
        found = self.measured()
        self.assertEqual(([sample.number for sample in found.samples], found.before), ([0], ()))

    def test_where_all_blocks_touch_a_border_each_is_measured(self):
        self.volume = self.volume[:100, :120]
        self.save()
        self.assertEqual([sample.number for sample in self.measured().samples], [0, 1, 2, 3])
        self.assertEqual(self.done(), [0, 1, 2, 3])  # 64 x 64, 64 x 56, 36 x 64 and 36 x 56

    def test_what_is_empty_is_not_measured(self):
        self.volume[64:256, 64:256] = 0
        self.volume[64:128, 128:192] = 1
        self.save()
        self.enterContext(self.very_long_blocks())
        self.assertEqual(self.measured(skip_empty=True).samples[0].number, 7)
        self.volume[:] = 0
        self.save()
        self.assertIsNone(self.measured(skip_empty=True, overwrite=True))
        self.assertIn("no block was measured, because none of those that were tried had to be", self.said[-1])
        self.assertEqual(len(self.done()), 16)  # of 25: more say nothing

    def test_what_a_mask_leaves_out_is_not_tried(self):
        kept = np.zeros((5, 5, 1), bool)
        kept[1, 3] = kept[4, 4] = True
        self.spec = self.plan(block=(64, 64, 16))
        found = self.measured_again(Kept(self.spec.grid, kept))
        self.assertEqual([sample.number for sample in found.samples], [24])
        self.assertEqual(self.done(), [8, 24])
        self.assertEqual(len(self.said), 2)

    def test_blocks_are_computed_at_once_that_share_a_machine(self):
        found = self.measured()
        self.assertIsNone(found.sharing)
        before = len(self.done())
        found = self.measured_again(sharers=[0, 1, 2])
        self.assertEqual(found.sharing.at_once, 3)
        self.assertGreaterEqual(found.sharing.factor, 1.0)
        at_once = [line for line in self.said if line.startswith("3 blocks are computed at once")]
        self.assertEqual(len(at_once), 3)
        self.assertGreaterEqual(len(self.done()), before + 3 * 3 + 3)

    def test_more_workers_share_a_machine_than_are_tried(self):
        self.spec = self.plan(block=(64, 64, 16))
        with mock.patch.object(measuring, "MOST_AT_ONCE", 2):
            self.assertEqual(self.measured_again(sharers=range(50)).sharing.at_once, 2)

    def test_a_block_that_fails_is_told_and_is_no_measure(self):
        self.daemon.streams = [Refused(grpc.StatusCode.INVALID_ARGUMENT, "a NaN")]
        self.assertIsNone(self.measured())
        self.assertIn("block 12 failed: a NaN", self.said)
        self.assertRegex(self.said[-1], "^no block was measured: ")
        self.assertEqual(self.spec.marks.failed(), {12: "a NaN"})
        self.assertEqual(self.done(), [])

    def test_what_was_measured_before_a_block_fails_is_told(self):
        self.thin()
        self.enterContext(self.slow_blocks())
        self.daemon.streams = [WHOLE, Refused(grpc.StatusCode.INVALID_ARGUMENT, "a NaN")]
        found = self.measured()
        self.assertEqual(len(found.samples), 1)
        self.assertEqual(self.done(), [found.samples[0].number])
        self.assertRegex(self.said[-1], "^block .* failed: a NaN")

    def test_a_block_that_fails_after_another_of_its_extent(self):
        self.daemon.streams = [WHOLE, Refused(grpc.StatusCode.INVALID_ARGUMENT, "a NaN")]
        found = self.measured()
        self.assertEqual([sample.number for sample in found.samples], [12])
        self.assertEqual(self.done(), [12])

    def test_blocks_that_are_done_are_not_measured(self):
        self.spec = self.plan(block=(64, 64, 16))
        self.run_shard(self.spec, Shard(12, 25))
        self.measured_again()
        self.assertFalse(any(line.startswith("block 12 ") for line in self.said[2:]), self.said)
        self.assertGreater(len(self.done()), 2)


if __name__ == "__main__":
    import unittest

    unittest.main()

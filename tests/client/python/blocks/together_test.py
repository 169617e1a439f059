"""Blocks that are computed at once, to know what workers take that share a machine."""

import contextlib
import dataclasses
import threading
from unittest import mock

import grpc
import numpy as np
import zarr
from fake_daemon import Held, Refused
from job_case import JobCase
from script import use_script
from znni.blocks import together
from znni.blocks.estimate import Estimate, Sample
from znni.blocks.serving import serving_of
from znni.blocks.sharing import Sharing
from znni.blocks.together import Together

BLOCKS = 12  # of 64 x 64 x 8 voxels, each of which takes two seconds alone


class TogetherTest(JobCase):
    def setUp(self):
        super().setUp()
        self.volume = np.random.default_rng(2).random((64 * BLOCKS, 64, 8), np.float32)
        zarr.save_array(self.input, self.volume, overwrite=True)
        self.spec = self.plan(block=(64, 64, 8))

    def measured(self, turns, numbers=range(BLOCKS), seconds=2.0, serving=None):
        """Returns what is measured of these blocks."""
        estimate = Estimate(self.spec.grid, dict.fromkeys(self.spec.grid.classes(), 1.0), [Sample(0, seconds)])
        with serving or self.serving() as serving:
            return Together(self.spec, estimate, serving, turns, self.said.append).measure(iter(numbers))

    @contextlib.contextmanager
    def rounds(self, *seconds):
        """Lets the rounds take so many seconds, one after the other, by a clock that takes no time."""
        now, times = 0.0, []
        for each in seconds:
            times += [now, now + each]
            now += each
        clock = mock.Mock(monotonic=iter(times).__next__)
        with mock.patch.object(together, "time", clock):
            yield

    def done(self):
        return sorted(number for number, _ in self.spec.marks.done())

    def test_blocks_are_computed_at_once(self):
        met = threading.Barrier(3, timeout=60)
        compute = together.Worker.compute

        def computed(worker, number):
            met.wait()  # for the others
            return compute(worker, number)

        with mock.patch.object(together.Worker, "compute", computed), self.rounds(9.0, 5.0, 4.0):
            self.assertEqual(self.measured([0, 1, 2]), Sharing(3, 4.5 / 2))  # the longest does not count
        self.assertEqual(self.done(), list(range(9)))
        np.testing.assert_array_equal(self.found()[: 9 * 64], self.volume[: 9 * 64])
        self.assertEqual(self.said, ["3 blocks are computed at once, to measure that; it takes up to 6 s"] * 3)

    def test_no_round_begins_after_two_minutes(self):
        with self.rounds(121.0):
            self.assertEqual(self.measured([0, 1], seconds=100.0), Sharing(2, 1.21))
        self.assertEqual(self.done(), [0, 1])

    def test_of_two_rounds_the_shorter_counts(self):
        for seconds in ((3.0, 4.0), (4.0, 3.0)):
            with self.rounds(*seconds):
                self.assertEqual(self.measured([0, 1], self.missing(5)), Sharing(2, 1.5))

    def missing(self, count):
        return self.spec.marks.missing(range(BLOCKS))[:count]

    def test_sharing_makes_nothing_faster(self):
        with self.rounds(1.9):
            self.assertEqual(self.measured([0, 1], self.missing(2)), Sharing(2, 1.0))

    def test_each_block_counts_by_what_it_takes_alone(self):
        weights = {number: 1.0 + number for number in self.spec.grid.classes()}  # 0, those between, and the last
        estimate = Estimate(self.spec.grid, weights, [Sample(0, 1.0)])
        between = self.spec.grid.middle
        with self.rounds(10.0), self.serving() as serving:
            found = Together(self.spec, estimate, serving, [0, 1], self.said.append).measure(iter([0, between]))
        self.assertAlmostEqual(found.factor, 10.0 / ((1.0 + 1.0 + between) / 2))

    def test_where_too_few_are_left_that_is_told(self):
        self.assertIsNone(self.measured([0, 1, 2], [4, 5]))
        self.assertEqual(self.said, ["3 blocks at once are not measured: 2 of full size are left"])
        self.assertEqual(self.done(), [])

    def test_what_takes_very_long_is_not_measured(self):
        self.assertIsNone(self.measured([0, 1, 2], seconds=401.0))
        self.assertEqual(self.said, ["3 blocks at once are not measured: they may take 20 min"])
        self.assertEqual(self.done(), [])

    def test_a_block_that_fails(self):
        self.daemon.streams = [Refused(grpc.StatusCode.INVALID_ARGUMENT, "a NaN")]
        self.assertIsNone(self.measured([0, 1]))
        self.assertRegex(self.said[1], "^block . failed: a NaN")
        self.assertEqual(self.said[2], "2 blocks at once are not measured: one failed, or had not to be computed")
        self.assertEqual(len(self.done()), 1)

    def test_rounds_do_not_count_in_which_a_block_is_empty(self):
        self.volume[: 3 * 64] = 0  # blocks 0 to 2
        zarr.save_array(self.input, self.volume, overwrite=True)
        self.spec = self.plan(block=(64, 64, 8), skip_empty=True, overwrite=True)
        with self.rounds(1.0, 1.0, 3.0):
            self.assertEqual(self.measured([0, 1]), Sharing(2, 1.5))
        self.assertEqual(self.done(), list(range(6)))

    def test_a_daemon_that_does_not_start(self):
        (self.folder / "same.onnx").touch()
        use_script(self, "znnid", "ZNNID", 'echo "error no memory" >&2', "exit 3")
        own = dataclasses.replace(self.spec, network=str(self.folder / "same.onnx"), servers=[])
        with mock.patch.object(together, "serving_of", lambda _, turn: serving_of(own, turn)):
            self.assertIsNone(self.measured([0, 1]))
        self.assertRegex(self.said[-1], "^2 blocks at once are not measured: .*no memory")
        self.assertEqual(self.done(), [])

    def test_an_interruption_ends_all_blocks(self):
        """Also one that waits for its daemon."""
        self.daemon.streams = [Held(100)]
        compute = together.Worker.compute

        def computed(worker, number):
            if number == 0:
                self.daemon.held.wait(60)
                raise KeyboardInterrupt
            return compute(worker, number)

        with mock.patch.object(together.Worker, "compute", computed), self.assertRaises(KeyboardInterrupt):
            self.measured([0, 1])
        self.assertTrue(self.daemon.left.wait(60))
        self.assertEqual(self.done(), [])


if __name__ == "__main__":
    import unittest

    unittest.main()

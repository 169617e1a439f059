"""Simulated jobs."""

import dataclasses
import math
import random

import numpy as np
from job_case import EXTENT, JobCase
from znni.blocks.grid import Grid, Shard
from znni.blocks.scenario import Work, measured_seconds, predicted_seconds, work_of
from znni.errors import InvalidError


class ScenarioTest(JobCase):
    def test_shares_are_those_of_the_voxels(self):
        for output, block in (((70, 130, 20), (64, 64, 20)), ((5, 9, 31), (2, 3, 7)), ((5, 9, 31), (8, 9, 40))):
            work = Work(Grid(output, block), (2.0, 4.0), 0, 0)
            shares = [work.share(number) for number in range(len(work.grid))]
            for number, share in enumerate(shares):
                self.assertAlmostEqual(share, math.prod(work.grid.box(number).extent) / math.prod(block))
                self.assertAlmostEqual(work.time(number), share)
            self.assertAlmostEqual(sum(shares), work.blocks)
            self.assertAlmostEqual(work.total_seconds, 3 * work.blocks)

    def test_times_are_those_of_the_voxels_that_blocks_are_computed_from(self):
        work = Work(Grid((70, 130, 20), (64, 64, 20)), (2.0,), 0, 0, halo=(4, 2, 0))
        for number in range(len(work.grid)):
            z, y, x = work.grid.box(number).extent
            self.assertAlmostEqual(work.time(number), (z + 4) * (y + 2) * x / (68 * 66 * 20))

    def test_times_are_those_of_their_classes(self):
        draw = random.Random(1)
        grid = Grid((9, 30, 7), (2, 4, 7))
        times = {number: draw.random() for number in grid.classes()}
        work = Work(grid, (2.0,), 0, 0, (3, 3, 3), times)
        for number in range(len(grid)):
            self.assertEqual(work.time(number), times[grid.class_of(number)])
        self.assertAlmostEqual(work.total_seconds, 2 * sum(map(work.time, range(len(grid)))))

    def test_a_job(self):
        self.daemon.properties = {"padding_before": "3,0,2", "padding_after": "5,1,2"}
        spec = self.plan()
        work = work_of(spec, predicted_seconds(spec), None, 1.0)
        self.assertEqual((work.grid, work.seconds), (spec.grid, (spec.predicted["seconds_of_a_block"],)))
        for each, whole in ((work.bytes_read, "bytes_read"), (work.bytes_written, "bytes_written")):
            self.assertAlmostEqual(each * work.blocks, spec.predicted[whole])
        other = work_of(spec, (1.0,), (700, 650, 200), 4.0)
        self.assertEqual((other.grid, other.bytes_read), (Grid((700, 650, 200), (64, 64, 20)), work.bytes_read / 4))
        self.assertEqual((other.halo, other.times), ((8, 1, 4), {}))

    def test_times_are_those_that_the_plan_told(self):
        spec = self.plan()
        told = spec.predicted
        for one in told["classes"]:
            one["seconds"] *= 3.0 if one["block"] else 1.0
        told["seconds_of_a_block"] *= 3.0
        work = work_of(spec, predicted_seconds(spec), None, 1.0)
        self.assertAlmostEqual(work.time(0), 1 / 3)
        self.assertAlmostEqual(work.time(1), 1)
        self.assertAlmostEqual(work.total_seconds, sum(one["seconds"] for one in told["classes"]))
        self.assertEqual(work_of(spec, (1.0,), EXTENT, 1.0), work_of(spec, (1.0,), None, 1.0))
        del told["classes"]  # as in jobs of older versions
        self.assertAlmostEqual(work_of(spec, (1.0,), None, 1.0).time(0), 1)

    def test_blocks_have_their_bytes_also_if_a_mask_leaves_others_out(self):
        whole = self.plan()
        mask = np.zeros(EXTENT, bool)
        mask[0, 0, 0] = True
        np.save(self.folder / "mask.npy", mask)
        for path in (self.folder / "mask.npy", self.input):  # which leaves none out
            spec = self.plan(mask=str(path), overwrite=True)
            self.assertEqual(work_of(spec, (1.0,), None, 1.0), work_of(whole, (1.0,), None, 1.0))
        np.save(self.folder / "mask.npy", mask & False)
        spec = self.plan(mask=str(self.folder / "mask.npy"), overwrite=True)
        self.assertEqual(work_of(spec, (1.0,), None, 1.0).bytes_read, 0)

    def test_blocks_that_are_larger_than_the_output(self):
        spec = dataclasses.replace(self.plan(), block=(128, 192, 64))
        work = work_of(spec, (1.0,), None, 1.0)
        self.assertEqual((work.grid.block, work.blocks), (EXTENT, 1.0))

    def test_measured_seconds_are_those_of_full_blocks(self):
        spec = self.plan()
        with self.assertRaisesRegex(InvalidError, "out.zarr: no block was computed yet"):
            measured_seconds(spec)
        self.run_shard(spec, Shard(5, 6))  # of 6 x 2 x 20 voxels
        spec.marks.finish(0, {"digest": "", "seconds": 9.0, "skipped": "empty"})
        spec.marks.finish(5, {"digest": "", "seconds": 3.0, "skipped": None})
        (seconds,) = measured_seconds(spec)
        self.assertAlmostEqual(seconds, 3.0 * 64 * 64 / (6 * 2))
        for number, taken in ((1, 4.0), (0, 5.0)):
            spec.marks.finish(number, {"digest": "", "seconds": taken, "skipped": None})
        self.assertEqual(sorted(measured_seconds(spec)), [4.0, 5.0])  # thin blocks say little of full ones

    def test_a_daemon_that_predicts_nothing_of_some_blocks(self):
        spec = self.plan()
        thin = next(one for one in spec.predicted["classes"] if one["block"] == 5)
        thin["seconds"] = 0.0
        self.assertAlmostEqual(work_of(spec, (1.0,), None, 1.0).time(5), 6 * 2 / (64 * 64))  # by voxels
        spec.marks.finish(5, {"digest": "", "seconds": 3.0, "skipped": None})
        (seconds,) = measured_seconds(spec)
        self.assertAlmostEqual(seconds, 3.0 * 64 * 64 / (6 * 2))

    def test_a_daemon_that_predicts_nothing(self):
        self.daemon.voxel_seconds = 0.0
        with self.assertRaisesRegex(InvalidError, "out.zarr: the daemon .* predicted no seconds: pass --seconds"):
            predicted_seconds(self.plan())


if __name__ == "__main__":
    import unittest

    unittest.main()

"""Shards, computed by a fake daemon."""

import itertools

import grpc
import numpy as np
import zarr
from znni.blocks.grid import Shard
from znni.blocks.marks import Marks
from znni.blocks.work import open_output
from znni.errors import InvalidError, UnavailableError

from fake_daemon import WHOLE, Broken, Refused
from job_case import EXTENT, JobCase

ALL = Shard(0, 1)


class WorkTest(JobCase):
    def test_shards_make_the_output_together(self):
        for pad in ("none", "reflect"):
            spec = self.plan(pad=pad, overwrite=True)
            for index in range(4):
                self.assertEqual(self.run_shard(spec, Shard(index, 4)), {})
            np.testing.assert_array_equal(self.found(), self.volume)

    def test_what_is_there_is_not_computed_again(self):
        spec = self.plan()
        self.run_shard(spec, Shard(1, 3))
        self.daemon.headers.clear()
        Marks(spec.folder).forget(4)
        self.run_shard(spec, ALL)
        self.assertEqual(len(self.daemon.headers), 5)
        self.run_shard(spec, ALL)
        self.assertEqual(len(self.daemon.headers), 5)
        np.testing.assert_array_equal(self.found(), self.volume)

    def test_a_block_that_fails_is_tried_again(self):
        self.daemon.streams = [Refused(grpc.StatusCode.RESOURCE_EXHAUSTED), Broken(1000, grpc.StatusCode.INTERNAL)]
        self.assertEqual(self.run_shard(self.plan(), ALL, retries=2), {})
        np.testing.assert_array_equal(self.found(), self.volume)

    def test_the_others_are_computed_when_one_fails(self):
        refused = Refused(grpc.StatusCode.RESOURCE_EXHAUSTED, "no turn for it")
        self.daemon.streams = [WHOLE, refused, refused]
        spec = self.plan()
        failed = self.run_shard(spec, ALL, retries=1)
        self.assertEqual({number: str(error) for number, error in failed.items()}, {1: "no turn for it"})
        self.assertEqual(Marks(spec.folder).failed(), {1: "no turn for it"})
        self.assertEqual(len(Marks(spec.folder).done()), 5)
        self.assertEqual(self.run_shard(spec, ALL), {})
        self.assertEqual(Marks(spec.folder).failed(), {})

    def test_what_fails_whenever_it_is_tried_is_tried_once(self):
        self.daemon.streams = [Refused(grpc.StatusCode.INVALID_ARGUMENT, "a NaN")]
        failed = self.run_shard(self.plan(), ALL, retries=5)
        self.assertIsInstance(failed[0], InvalidError)
        self.assertEqual(len(self.daemon.headers), 6)

    def test_blocks_outside_the_mask_are_skipped(self):
        mask = np.zeros(EXTENT, bool)
        mask[69, 100, 3] = True
        zarr.save_array(str(self.folder / "mask.zarr"), mask)
        spec = self.plan(mask=str(self.folder / "mask.zarr"))
        self.run_shard(spec, ALL)
        expected = np.zeros_like(self.volume)
        expected[64:, 64:128] = self.volume[64:, 64:128]
        np.testing.assert_array_equal(self.found(), expected)
        self.assertEqual([facts["skipped"] for _, facts in sorted(Marks(spec.folder).done().items())],
                         ["outside the mask"] * 4 + [None] + ["outside the mask"])

    def test_empty_blocks_are_skipped(self):
        self.volume[:, :64] = 0
        zarr.open_array(self.input)[:] = self.volume
        self.run_shard(self.plan(skip_empty=True), ALL)
        self.assertEqual(len(self.daemon.headers), 4)
        np.testing.assert_array_equal(self.found(), self.volume)

    def test_says_how_far_it_is(self):
        self.run_shard(self.plan(), ALL)
        self.assertEqual(self.said[0], "6 blocks to compute, 0 are there")
        for number, line in itertools.islice(enumerate(self.said[1:]), 5):
            self.assertRegex(line, rf"^block {number}: {number + 1} of 6, .* Mvoxel/s, [\d.e-]+ s left$")

    def test_the_output_of_another_job_is_refused(self):
        spec = self.plan()
        self.plan(overwrite=True)
        with self.assertRaisesRegex(InvalidError, "out.zarr: was not made for this job"):
            open_output(spec)

    def test_a_block_that_breaks_off_is_not_marked(self):
        self.daemon.streams = [Broken(1000, grpc.StatusCode.ABORTED)]
        spec = self.plan()
        failed = self.run_shard(spec, Shard(0, 6))
        self.assertEqual((list(failed), Marks(spec.folder).done()), ([0], {}))
        self.assertNotIsInstance(failed[0], UnavailableError)


if __name__ == "__main__":
    import unittest
    unittest.main()

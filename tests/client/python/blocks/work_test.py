"""Shards, computed by a fake daemon."""

import pathlib
from unittest import mock

import grpc
import nibabel
import numpy as np
import tifffile
import zarr
from fake_daemon import WHOLE, Broken, Refused
from job_case import EXTENT, JobCase
from znni.blocks import work
from znni.blocks.grid import Shard
from znni.blocks.marks import Marks
from znni.blocks.work import open_output
from znni.errors import InvalidError, UnavailableError
from znni.stores.tensors import error_of

ALL = Shard(0, 1)


class WorkTest(JobCase):
    def test_shards_make_the_output_together(self):
        for pad in ("none", "reflect"):
            spec = self.plan(pad=pad, overwrite=True)
            for index in range(4):
                self.assertEqual(self.run_shard(spec, Shard(index, 4)), {})
            np.testing.assert_array_equal(self.found(), self.volume)

    def test_volumes_and_masks_of_other_programs(self):
        nibabel.save(nibabel.Nifti1Image(self.volume.T, np.eye(4)), self.folder / "in.nii.gz")
        mask = np.ones(EXTENT, np.uint8)
        mask[:64, :64] = 0
        tifffile.imwrite(self.folder / "mask.tif", mask, photometric="minisblack", compression="zlib")
        spec = self.plan(input=str(self.folder / "in.nii.gz"), mask=str(self.folder / "mask.tif"))
        for index in range(2):
            self.assertEqual(self.run_shard(spec, Shard(index, 2)), {})
        np.testing.assert_array_equal(self.found(), self.volume * mask)

    def test_what_is_there_is_not_computed_again(self):
        spec = self.plan()
        self.run_shard(spec, Shard(1, 3))
        self.daemon.headers.clear()
        spec.marks.forget(4)
        self.run_shard(spec, ALL)
        self.assertEqual(len(self.daemon.headers), 5)
        self.run_shard(spec, ALL)
        self.assertEqual(len(self.daemon.headers), 5)
        np.testing.assert_array_equal(self.found(), self.volume)

    def test_a_block_that_fails_is_tried_again(self):
        self.daemon.streams = [Refused(grpc.StatusCode.RESOURCE_EXHAUSTED), Broken(1000, grpc.StatusCode.INTERNAL)]
        self.assertEqual(self.run_shard(self.plan(), ALL, retries=2), {})
        np.testing.assert_array_equal(self.found(), self.volume)

    def test_a_block_whose_stream_breaks_is_computed_from_its_first_plane_on(self):
        self.daemon.streams = [Broken(30 * 64 * 20 * 4)]
        self.assertEqual(self.run_shard(self.plan(), Shard(0, 6), retries=1), {})
        self.assertEqual([header.first_plane for header in self.daemon.headers], [0, 0])
        np.testing.assert_array_equal(self.found()[:64, :64], self.volume[:64, :64])

    def test_a_store_that_fails_is_tried_again_by_the_same_daemon(self):
        spec = self.plan()
        odd = error_of(ValueError("INTERNAL: odd"), "s3://data/out.zarr")
        for of, name in (
            (Marks, "is_done"),
            (Marks, "finish"),
            (work, "open_output"),
            (work.Region, "sync"),
            (work.Region, "digest"),
            (work.Region, "__setitem__"),
        ):
            for error in (odd, OSError("disk is away")):
                spec.marks.forget(0)
                self.said.clear()
                with self.serving() as serving:
                    worker = work.Worker(spec, serving, 1, self.said.append)
                    whole, left = getattr(of, name), [error]

                    def fails_once(*arguments):
                        if left:
                            raise left.pop()
                        return whole(*arguments)

                    with mock.patch.object(of, name, fails_once), mock.patch.object(serving, "drop") as drop:
                        self.assertIsNone(worker.compute(0), name)
                self.assertEqual((left, drop.mock_calls, len(self.said)), ([], [], 1))
                self.assertIn("block 0, again in 0 s: ", self.said[0])
                self.assertTrue(spec.marks.is_done(0))

    def test_the_others_are_computed_when_one_fails(self):
        refused = Refused(grpc.StatusCode.RESOURCE_EXHAUSTED, "no turn for it")
        self.daemon.streams = [WHOLE, refused, refused]
        spec = self.plan()
        failed = self.run_shard(spec, ALL, retries=1)
        self.assertEqual({number: str(error) for number, error in failed.items()}, {1: "no turn for it"})
        self.assertEqual(spec.marks.failed(), {1: "no turn for it"})
        self.assertEqual(len(dict(spec.marks.done())), 5)
        self.assertEqual(self.run_shard(spec, ALL), {})
        self.assertEqual(spec.marks.failed(), {})

    def test_what_fails_once_the_run_has_ended_is_not_recorded(self):
        self.daemon.streams = [Refused(grpc.StatusCode.INVALID_ARGUMENT, "a NaN")]
        spec = self.plan()
        with self.serving() as serving:
            worker = work.Worker(spec, serving, 4, self.said.append, lambda: True)
            self.addCleanup(worker.close)
            self.assertRegex(str(worker.compute(0)), "a NaN")
        self.assertEqual((spec.marks.failed(), self.said), ({}, []))

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
        self.assertEqual(
            [facts["skipped"] for _, facts in sorted(spec.marks.done())],
            ["outside the mask"] * 4 + [None] + ["outside the mask"],
        )

    def test_empty_blocks_are_skipped(self):
        self.volume[:, :64] = 0
        zarr.open_array(self.input)[:] = self.volume
        self.run_shard(self.plan(skip_empty=True), ALL)
        self.assertEqual(len(self.daemon.headers), 4)
        np.testing.assert_array_equal(self.found(), self.volume)

    def test_what_a_network_that_pads_depends_on_is_not_empty(self):
        """Blocks of planes from 64 on have voxels; those before them read 3 planes more."""
        self.volume[:64] = 0
        zarr.open_array(self.input)[:] = self.volume
        self.daemon.properties = {"padding_before": "0,0,0", "padding_after": "3,0,0"}
        self.run_shard(self.plan(skip_empty=True), ALL)
        self.assertEqual(len(self.daemon.headers), 6)
        self.daemon.headers.clear()
        self.daemon.properties = {}
        self.run_shard(self.plan(skip_empty=True, overwrite=True), ALL)
        self.assertEqual(len(self.daemon.headers), 3)

    def test_input_that_cannot_be_read_fails_its_blocks_alone(self):
        self.input = str(self.folder / "chunks.zarr")
        zarr.create_array(self.input, data=self.volume, chunks=(64, 64, 20))
        chunk = pathlib.Path(self.input, "c/1/0/0")
        chunk.write_bytes(chunk.read_bytes()[:50])
        spec = self.plan()
        self.assertEqual(list(self.run_shard(spec, ALL)), [3])
        self.assertEqual((set(spec.marks.failed()), len(dict(spec.marks.done()))), ({3}, 5))

    def test_an_output_that_another_job_replaces_is_left_alone(self):
        spec = self.plan()
        say, later = self.said.append, []

        def replace(line):
            say(line)
            if not later and line.startswith("block 0"):
                later.append(self.plan(overwrite=True))

        self.said = mock.Mock(append=replace)
        failed = self.run_shard(spec, ALL)
        self.assertEqual(sorted(failed), [1, 2, 3, 4, 5])
        self.assertIn("was not made for this job", str(failed[1]))
        self.assertEqual((dict(later[0].marks.done()), self.found().max()), ({}, 0))

    def test_what_another_run_computed_meanwhile_is_kept(self):
        spec = self.plan()
        say = self.said.append

        def compute_all(line):
            say(line)
            if line.startswith("block 0:"):
                self.said = []
                self.run_shard(spec, ALL)

        self.said = mock.Mock(append=compute_all)
        self.assertEqual(self.run_shard(spec, ALL), {})
        self.assertEqual(len(self.daemon.headers), 6)

    def test_a_failure_that_cannot_be_recorded_is_said(self):
        self.daemon.streams = [Refused(grpc.StatusCode.INVALID_ARGUMENT, "a NaN")]
        with mock.patch.object(Marks, "fail", side_effect=OSError("disk full")):
            self.assertEqual(list(self.run_shard(self.plan(), ALL)), [0])
        self.assertIn("block 0: this is not recorded: disk full", self.said)

    def test_says_how_far_it_is(self):
        with mock.patch.object(work, "_QUIET_SECONDS", 0):
            self.run_shard(self.plan(), ALL)
        self.assertEqual(self.said[0], "6 blocks to compute, 0 are there")
        for number, line in enumerate(self.said[1:-1]):
            self.assertRegex(line, rf"^block {number}: {number + 1} of 6, .* Mvoxel/s, [\d.e-]+ s left$")
        self.assertEqual(self.said[-1], "block 5: 6 of 6")
        self.said.clear()
        self.run_shard(self.plan(overwrite=True), ALL)  # faster than there is something to say
        self.assertEqual(len(self.said), 3)

    def test_the_output_of_another_job_is_refused(self):
        spec = self.plan()
        self.plan(overwrite=True)
        with self.assertRaisesRegex(InvalidError, "out.zarr: was not made for this job"):
            open_output(spec)

    def test_a_block_that_breaks_off_is_not_marked(self):
        self.daemon.streams = [Broken(1000, grpc.StatusCode.ABORTED)]
        spec = self.plan()
        failed = self.run_shard(spec, Shard(0, 6))
        self.assertEqual((list(failed), dict(spec.marks.done())), ([0], {}))
        self.assertNotIsInstance(failed[0], UnavailableError)


if __name__ == "__main__":
    import unittest

    unittest.main()

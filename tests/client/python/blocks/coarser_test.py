"""Coarser resolutions of a job's output."""

import unittest
from unittest import mock

import numpy as np
import zarr
from job_case import JobCase
from znni.blocks.coarser import forget_coarser, lacks_coarser, make_coarser
from znni.blocks.grid import Shard
from znni.errors import InvalidError, UnavailableError
from znni.pyramid import halvings
from znni.pyramid.halving import halve


class CoarserTest(JobCase):
    def setUp(self):
        super().setUp()
        self.enterContext(mock.patch.object(halvings, "MOST", 64))
        self.output = str(self.folder / "out.ome.zarr")

    def test_made_once_all_blocks_are_there(self):
        spec = self.plan()
        self.assertTrue(lacks_coarser(spec))
        self.run_shard(spec, Shard(0, 2))
        with self.assertRaisesRegex(UnavailableError, "out.ome.zarr: 3 blocks are missing"):
            make_coarser(spec)
        self.run_shard(spec, Shard(0, 1))
        make_coarser(spec)
        self.assertFalse(lacks_coarser(spec))
        first = halve(self.volume, (0, 1, 2), False)
        np.testing.assert_array_equal(zarr.open_array(f"{self.output}/1")[:], first)
        np.testing.assert_array_equal(zarr.open_array(f"{self.output}/2")[:], halve(first, (0, 1, 2), False))
        np.testing.assert_array_equal(self.found(), self.volume)
        make_coarser(spec)  # again

    def test_forgotten(self):
        spec = self.plan()
        self.run_shard(spec, Shard(0, 1))
        make_coarser(spec)
        forget_coarser(spec)
        self.assertTrue(lacks_coarser(spec))

    def test_other_outputs_have_none(self):
        self.output = str(self.folder / "out.zarr")
        spec = self.plan()
        self.assertFalse(lacks_coarser(spec))
        forget_coarser(spec)
        with self.assertRaisesRegex(InvalidError, "out.zarr: has one resolution: only FOLDER.ome.zarr"):
            make_coarser(spec)


if __name__ == "__main__":
    unittest.main()

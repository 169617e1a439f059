"""Coarser resolutions of an image."""

import tempfile
import unittest
from unittest import mock

import numpy as np
import zarr
from znni.errors import InvalidError
from znni.geometry import Geometry, geometry_of
from znni.pyramid import halvings, making
from znni.pyramid.arrays import Layout, layout_of, make_array
from znni.pyramid.halving import halve
from znni.pyramid.making import describe, forget, is_complete, is_pyramid, make_resolutions

GEOMETRY = Geometry((8.0, 4.0, 4.0), (7.0, 8.0, 9.0), ("nanometer",) * 3)
SHAPE = (2, 7, 61, 30)  # of two channels


class MakingTest(unittest.TestCase):
    def setUp(self):
        self.folder = self.enterContext(tempfile.TemporaryDirectory())
        self.enterContext(mock.patch.object(halvings, "MOST", 16))
        self.voxels = np.random.default_rng(2).random(SHAPE, np.float32)

    def image(self, version, notes=None, shard=None):
        """Returns the group of an image of one resolution."""
        group = zarr.open_group(f"{self.folder}/{version}", mode="w", zarr_format=version)
        group.attrs["znni"] = notes or {"model": "net"}
        array = make_array(group, "0", SHAPE, self.voxels.dtype, Layout((7, 16, 16), shard))
        array[...] = self.voxels
        describe(group, GEOMETRY, "net", 4, [(0, 0, 0)])
        return group

    def multiscale(self, group):
        found = dict(zarr.open_group(group.store, mode="r").attrs)
        return (found["ome"] if group.metadata.zarr_format == 3 else found)["multiscales"][0]

    def test_names(self):
        self.assertTrue(is_pyramid("s3://b/v.ome.zarr/"))
        self.assertFalse(is_pyramid("v.zarr") or is_pyramid("v.ome.zarr/0"))

    def test_each_is_the_one_before_halved(self):
        for version in (2, 3):
            group = self.image(version)
            self.assertFalse(is_complete(group, "v"))
            make_resolutions(group, "v")
            self.assertTrue(is_complete(group, "v"))
            first = halve(self.voxels, (2, 3), False)
            second = halve(first, (1, 2, 3), False)
            self.assertEqual(sorted(group.array_keys()), ["0", "1", "2"])
            for path, expected in (("0", self.voxels), ("1", first), ("2", second)):
                np.testing.assert_array_equal(group[path][...], expected)
                self.assertEqual(group[path].dtype, expected.dtype)
            self.assertEqual(group["2"].chunks, (1, 4, 16, 8))

    def test_shards(self):
        group = self.image(3, shard=(7, 32, 48))
        make_resolutions(group, "v")
        np.testing.assert_array_equal(group["1"][...], halve(self.voxels, (2, 3), False))
        self.assertEqual(layout_of(group["1"]), Layout((7, 16, 15), (7, 32, 15)))
        self.assertEqual(layout_of(group["2"]), Layout((4, 16, 8), (4, 16, 8)))

    def test_they_are_described(self):
        for version in (2, 3):
            group = self.image(version)
            self.assertNotIn("type", self.multiscale(group))
            make_resolutions(group, "v")
            found = self.multiscale(group)
            self.assertEqual((found["name"], found["type"]), ("net", "mean"))
            self.assertEqual([one["path"] for one in found["datasets"]], ["0", "1", "2"])
            self.assertEqual(
                found["datasets"][2]["coordinateTransformations"],
                [
                    {"type": "scale", "scale": [1.0, 16.0, 16.0, 16.0]},
                    {"type": "translation", "translation": [0.0, 11.0, 14.0, 15.0]},
                ],
            )
            self.assertEqual(geometry_of(found, "1", "v"), GEOMETRY.halved((0, 1, 1)))

    def test_labels(self):
        self.voxels = np.random.default_rng(3).integers(0, 9, SHAPE).astype(np.float32)
        group = self.image(3, {"model": "net", "is_label": True})
        make_resolutions(group, "v")
        np.testing.assert_array_equal(group["2"][...], self.voxels[:, ::2, ::4, ::4])
        self.assertEqual(self.multiscale(group)["type"], "nearest")

    def test_nothing_is_described_before_all_is_there(self):
        for version in (2, 3):
            group = self.image(version)
            with mock.patch.object(making, "fill", side_effect=KeyboardInterrupt), self.assertRaises(KeyboardInterrupt):
                make_resolutions(group, "v")
            self.assertEqual(len(self.multiscale(group)["datasets"]), 1)
            self.assertIn("1", group)
            made = []
            make_resolutions(group, "v", made.append)
            self.assertEqual((made, is_complete(group, "v")), (["1", "2"], True))
            np.testing.assert_array_equal(group["1"][...], halve(self.voxels, (2, 3), False))

    def test_what_others_left_there_is_replaced(self):
        group = self.image(2)
        group.create_array("1", data=np.ones((2, 2)))
        make_resolutions(group, "v")
        self.assertEqual(group["1"].shape, (2, 7, 31, 15))

    def test_forgotten(self):
        group = self.image(3)
        make_resolutions(group, "v")
        forget(group, "v")
        self.assertFalse(is_complete(group, "v"))
        self.assertEqual(geometry_of(self.multiscale(group), "0", "v"), GEOMETRY)

    def test_other_groups(self):
        group = zarr.open_group(f"{self.folder}/x", mode="w")
        for ome in ({}, {"multiscales": 5}, {"multiscales": [{"datasets": [{"path": "s0"}]}]}):
            group.attrs["ome"] = ome
            with self.assertRaisesRegex(InvalidError, "^v: no image with an array '0' found"):
                make_resolutions(group, "v")


if __name__ == "__main__":
    unittest.main()

"""Zarr at addresses."""

import numpy as np
import zarr
from store_case import VOXELS, StoreCase
from znni.errors import InvalidError
from znni.stores.opening import open_source
from znni.stores.remote import Remote
from znni.stores.zarr_remote import RemoteStore


class ZarrRemoteTest(StoreCase):
    def store(self, **options):
        return RemoteStore(Remote("s3://data/g"), **options)

    def test_zarr_writes_and_reads(self):
        for version in (2, 3):
            group = zarr.open_group(self.store(), mode="w", zarr_format=version)
            group.create_array("a/b", data=VOXELS, chunks=(1, 9, 8, 7))
            again = zarr.open_group(self.store(read_only=True), mode="r")
            np.testing.assert_array_equal(again["a/b"][:, 3:50], VOXELS[:, 3:50])
            self.assertEqual([key for key, _ in again.groups()], ["a"])
            self.assertEqual([key for key, _ in again["a"].arrays()], ["b"])
            with self.assertRaises(ValueError):
                again["a/b"][:] = 0
            del group["a"]
            self.assertEqual({name.count("/") for name in self.objects}, {1})
            self.objects.clear()

    def test_ranges_of_objects(self):
        array = zarr.create_array(
            self.store(), shape=VOXELS.shape, dtype="f4", chunks=(1, 7, 5, 5), shards=(1, 35, 10, 10)
        )
        array[:] = VOXELS
        np.testing.assert_array_equal(array[0, 8, 3:9], VOXELS[0, 8, 3:9])
        self.assertEqual(sum("/c/" in name for name in self.objects), 4)

    def test_what_describes_is_held_back(self):
        store = self.store(holds_back=True)
        group = zarr.open_group(store, mode="w")
        array = group.create_array("a", shape=VOXELS.shape, dtype="f4", chunks=VOXELS.shape)
        group.attrs["b"] = 1
        array[:] = VOXELS
        self.assertEqual(list(self.objects), ["g/a/c/0/0/0/0"])
        self.assertEqual(zarr.open_group(store)["a"].shape, VOXELS.shape)
        store.release()
        self.assertEqual(list(self.objects)[1:], ["g/a/zarr.json", "g/zarr.json"])
        self.assertEqual(dict(zarr.open_group(self.store(), mode="r").attrs), {"b": 1})

    def test_a_group_is_not_listed(self):
        zarr.open_group(self.store(), mode="w").create_array("a", data=VOXELS)
        self.s3.asked.clear()
        with self.assertRaisesRegex(
            InvalidError, "zarr://s3://data/g|s3://data/g: a group found, expected an array or an"
        ):
            open_source("s3://data/g")
        self.assertFalse([path for _, path in self.s3.asked if "list-type" in path])


if __name__ == "__main__":
    import unittest

    unittest.main()

"""Outputs that would remove their own volumes."""

import unittest

import dask.array
import numpy as np
import tensorstore
import zarr
from store_case import StoreCase
from znni.errors import InvalidError
from znni.stores.formats.zarr_store import store_of
from znni.stores.overlap import check_apart, check_output_apart, overlap

OUTPUT = "s3://data/a/v.zarr"


class Fsspec:
    """The part of an fsspec store that says where it is."""

    def __init__(self, protocol, path):
        self.fs = type("FileSystem", (), {"protocol": protocol})
        self.path = path


class OverlapTest(StoreCase):
    def refuse(self, volume, overwrite, output=OUTPUT):
        with self.assertRaisesRegex(InvalidError, "name another output") as found:
            check_apart(volume, output, overwrite)
        self.assertNotIn("\n", str(found.exception))

    def test_paths_that_overlap(self):
        for one, other, expected in (
            ("a/v.n5/b", "a/v.n5", True),
            ("a/v.n5", "a/x/../v.n5/b", True),
            ("a/v.n5/b", "a/v.n5/c", False),
            ("s3://b/v", "precomputed://s3://b/v/w", True),
            ("s3://b/v", "s3://b/v2", False),
            ("s3://b/v", "b/v", False),
            ("v.h5:/a", "v.h5:/b", True),
            ("a:b.zarr", "a:c.zarr", False),
        ):
            self.assertEqual(overlap(one, other), expected, (one, other))
        for path in ("s3://data//a/v.zarr", "s3://data/a//v.zarr", "s3://data/a/./v.zarr", "s3://data/b/../a/v.zarr"):
            with self.assertRaisesRegex(InvalidError, "expected one without //, /./ and /../ in its path"):
                overlap(path, OUTPUT)

    def test_outputs_on_this_machine(self):
        here = f"{self.folder}/v.zarr"
        for volume in (here, f"{here}/0", {"raw": f"{self.folder}/a.npy", "mask": here}):
            with self.assertRaisesRegex(InvalidError, "v.zarr.* lies in the output .*v.zarr, .*: name another output"):
                check_output_apart(here, volume, True)
        for output in (None, np.zeros(3), f"{self.folder}/w.zarr"):
            check_output_apart(output, here, True)
        check_output_apart(here, zarr.array(np.zeros(3)), True)

    def test_volumes_in_the_same_bucket(self):
        for path in (OUTPUT, OUTPUT + "/", OUTPUT + "/0", "zarr://s3://data/a"):
            for overwrite in (False, True):
                self.refuse(path, overwrite)
        for path in ("s3://other/a/v.zarr", "s3://data/a/v.zarr2", "/a/v.zarr"):
            check_apart(path, OUTPUT, True)

    def test_volumes_on_web_servers_that_may_serve_the_bucket(self):
        for path in (
            "http://h/data/a/v.zarr",
            "https://data.h/a/v.zarr/0",
            "https://cdn/v.zarr",
            "http://h/data/a",
            "http://h/data/a/v%2Ezarr",
            "zarr://http://h",
        ):
            self.refuse(path, True)
            check_apart(path, OUTPUT, False)
        self.refuse("http://h/in.zarr", True, "/srv/in.zarr")
        check_apart("http://h/data/raw.zarr", OUTPUT, True)

    def test_arrays_of_zarr(self):
        self.write(OUTPUT)
        self.refuse(zarr.open_group(store_of(OUTPUT, read_only=True), mode="r"), False)
        self.refuse(zarr.open_array(store_of("s3://data/a", read_only=True), path="v.zarr/0", mode="r"), False)
        check_apart(zarr.open_array(store_of(OUTPUT, read_only=True), path="0", mode="r"), "s3://data/b.zarr", True)
        for store, is_same in ((Fsspec(("s3", "s3a"), "data/a/v.zarr"), True), (Fsspec("s3", "data/a/w.zarr"), False)):
            array = type("Array", (), {"store": store})()
            if is_same:
                self.refuse(array, True)
            else:
                check_apart(array, OUTPUT, True)

    def test_arrays_that_may_be_stored_anywhere(self):
        local = zarr.create_array(f"{self.folder}/v.zarr", data=np.zeros((2, 3, 4), "u1"))
        for volume in (np.zeros(3), local, zarr.array(np.zeros(3))):
            check_apart(volume, OUTPUT, True)
        unknown = type("Array", (), {"store": zarr.storage.LoggingStore(local.store)})()
        for volume in (dask.array.zeros((2, 3, 4)), tensorstore.array(np.zeros(3)), unknown):
            self.refuse(volume, True)
            check_apart(volume, OUTPUT, False)


if __name__ == "__main__":
    unittest.main()

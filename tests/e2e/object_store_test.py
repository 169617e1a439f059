"""Tests volumes in buckets of moto, which speaks S3 and knows nothing of ours, beside files: the same voxels, and
objects that boto3 sees under their names."""

import logging
import os
import pathlib
import sys
import unittest
from unittest import mock

import boto3
import numpy as np
import zarr
import znni
from moto.server import ThreadedMotoServer
from python_case import PythonCase
from znni.box import Box
from znni.stores.opening import open_source
from znni.stores.remote import Remote

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "client/python"))
from s3_server import KEY, SECRET, without_others


class ObjectStoreTest(PythonCase):
    """Has a bucket `data`, and `s3`, which sees it."""

    @classmethod
    def setUpClass(cls):
        logging.getLogger("werkzeug").setLevel(logging.ERROR)  # else each request is a line
        server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
        server.start()
        cls.addClassCleanup(server.stop)
        address = "http://{}:{}".format(*server.get_host_and_port())
        names = {
            "AWS_ENDPOINT_URL": address,
            "AWS_ACCESS_KEY_ID": KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_REGION": "us-east-1",
            "MOTO_S3_DEFAULT_MAX_KEYS": "5",  # names in an answer
        }
        cls.enterClassContext(mock.patch.dict(os.environ, {**without_others(os.environ), **names}, clear=True))
        cls.s3 = boto3.client("s3", region_name="us-east-1")
        cls.s3.create_bucket(Bucket="data")
        super().setUpClass()

    def put(self, folder, prefix):
        """Puts the files of a folder into the bucket."""
        for path in folder.rglob("*"):
            if path.is_file():
                self.s3.put_object(Bucket="data", Key=f"{prefix}/{path.relative_to(folder)}", Body=path.read_bytes())

    def names(self, prefix):
        """Returns the names of the objects below a prefix, as boto3 lists them."""
        pages = self.s3.get_paginator("list_objects_v2").paginate(Bucket="data", Prefix=prefix)
        return sorted(found["Key"] for page in pages for found in page.get("Contents", []))

    def copied(self, prefix):
        """Returns a folder of what lies below a prefix."""
        folder = self.work / f"copy of {prefix}"
        for name in self.names(f"{prefix}/"):
            path = folder / name.removeprefix(f"{prefix}/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(self.s3.get_object(Bucket="data", Key=name)["Body"].read())
        return folder

    def test_volumes_and_outputs(self):
        volume = self.volume((24, 30, 40), np.uint8)
        zarr.create_array(self.work / "in.zarr", data=volume, chunks=(9, 10, 11))
        self.put(self.work / "in.zarr", "in.zarr")
        expected = self.predict(volume, pad="reflect")
        for output in ("s3://data/out.zarr", "s3://data/out.n5/raw", "precomputed://s3://data/out"):
            with self.subTest(output):
                self.predict("s3://data/in.zarr", output, pad="reflect")
                with open_source(output) as source:
                    self.assert_same(source.read(Box((0, 0, 0), volume.shape)), expected)

    def test_an_output_is_refused_or_replaced(self):
        """The smaller one leaves no object of the larger."""
        volume = self.volume((75, 20, 20))
        self.predict(volume, "s3://data/twice.zarr")
        before = self.names("twice.zarr/")
        with self.assertRaisesRegex(znni.Error, "s3://data/twice.zarr"):
            self.predict(volume, "s3://data/twice.zarr")
        self.assertEqual(self.names("twice.zarr/"), before)
        self.predict(volume[:20], "s3://data/twice.zarr", overwrite=True)
        self.assertLess(len(self.names("twice.zarr/")), len(before))
        made = zarr.open_group(self.copied("twice.zarr"), mode="r")["0"]
        self.assert_same(made[:], self.predict(volume[:20]))

    def test_names_that_addresses_encode(self):
        place = Remote("s3://data/a b+c/é%20")
        for name in ("plain", "two words", "1+1=2", "ä/ö~", "100%"):
            place.write(name, name.encode())
            self.assertEqual(place.read(name), name.encode())
        self.assertEqual(
            self.names("a b+c/"), sorted(f"a b+c/é%20/{n}" for n in ("plain", "two words", "1+1=2", "ä/ö~", "100%"))
        )
        place.clear()
        self.assertEqual(self.names("a b+c/"), [])

    def test_lists_of_more_than_one_answer(self):
        place = Remote("s3://data/many")
        names = [f"{number:04d}" for number in range(23)]
        for name in names:
            self.s3.put_object(Bucket="data", Key=f"many/{name}", Body=b"")
        self.assertTrue(self.s3.list_objects_v2(Bucket="data", Prefix="many/")["IsTruncated"])
        self.assertEqual(place.all_names(""), names)

    def test_what_is_missing(self):
        for path, words in (("s3://data/none.zarr", "there is no "), ("s3://none/in.zarr", "NoSuchBucket")):
            with self.assertRaisesRegex(znni.NotFoundError, words):
                self.predict(path)


if __name__ == "__main__":
    unittest.main()

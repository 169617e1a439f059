"""Volumes in buckets and on web servers."""

import os
from unittest import mock

import numpy as np
import zarr
from s3_server import KEY, SECRET
from store_case import OUTPUTS, VOXELS, StoreCase
from znni.box import Box
from znni.errors import AccessError, InvalidError, NotFoundError, UnavailableError
from znni.stores.opening import open_raw, open_source
from znni.stores.remote import Remote, remote_scheme


class RemoteTest(StoreCase):
    def refuse(self, kind, words, path="s3://data/v.zarr"):
        with self.assertRaisesRegex(kind, words) as found:
            open_source(path)
        self.assertNotIn("\n", str(found.exception))

    def test_schemes(self):
        self.assertEqual(
            [remote_scheme(path) for path in ("s3://a", "http://a", "https://a", "s3:/a", "n5://s3://a", "a")],
            ["s3", "http", "https", "", "", ""],
        )
        for path in ("s3://", "http:///v.zarr", "http://h/v.zarr?x", "s3://data/v.zarr#x", "s3://[x/y.zarr"):
            self.refuse(InvalidError, "this address found, expected s3://BUCKET/PATH", path)

    def test_objects(self):
        place = Remote("s3://data/a/")
        names = [f"b/{number:02d}" for number in range(20)]
        for name in names:
            place.write(name, name.encode())
        place.inside("c").write("d", b"")
        self.objects["az/b"] = self.objects["a"] = b"others"
        self.assertEqual((place.read("b/03"), place.read("none"), place.inside("c").read("d")), (b"b/03", None, b""))
        self.assertEqual(place.read_all([*names, "x"]), [*(name.encode() for name in names), None])
        self.assertEqual((place.all_names("b"), place.all_names("")), (names, [*names, "c/d"]))
        place.remove("b/00")
        place.remove("b/00")
        self.assertEqual(place.all_names("b"), names[1:])
        place.clear()
        self.assertEqual(self.objects, {"az/b": b"others", "a": b"others"})

    def test_a_signature_for_each_request(self):
        self.write("s3://data/v.zarr")
        for name, words in (
            ("AWS_SECRET_ACCESS_KEY", "SignatureDoesNotMatch"),
            ("AWS_ACCESS_KEY_ID", "InvalidAccessKeyId"),
        ):
            with mock.patch.dict(os.environ, {name: "other"}):
                self.refuse(AccessError, f"s3://data/v.zarr.*: {words}.*; the keys are those of AWS_ACCESS_KEY_ID")

    def test_settings_of_the_tester_do_not_count(self):
        others = {
            "http_proxy": "http://127.0.0.1:1",
            "HTTPS_PROXY": "http://127.0.0.1:1",
            "AWS_PROFILE": "me",
            "OTHER": "x",
        }
        with mock.patch.dict(os.environ, others), self.s3.served():
            self.assertFalse(others.keys() & os.environ.keys() - {"OTHER"})
            self.write("s3://data/v.zarr")
        self.assertTrue(self.objects)

    def test_without_keys(self):
        self.write("s3://data/v.zarr")
        with mock.patch.dict(os.environ, {"AWS_NO_SIGN_REQUEST": "YES"}):
            self.refuse(AccessError, "AccessDenied.*AWS_NO_SIGN_REQUEST=YES is for public buckets")
            self.s3.public.add("data")
            np.testing.assert_array_equal(self.read("s3://data/v.zarr"), VOXELS)

    def test_no_keys_at_all(self):
        self.write("s3://data/v.zarr")
        without = {"AWS_ACCESS_KEY_ID": "", "AWS_EC2_METADATA_DISABLED": "true", "HOME": str(self.folder)}
        with mock.patch.dict(os.environ, without):
            self.refuse(AccessError, "AccessDenied.*; the keys are those of AWS_ACCESS_KEY_ID")

    def test_keys_of_a_profile(self):
        self.write("s3://data/v.zarr")
        (self.folder / "config").touch()
        profile = {
            "AWS_ACCESS_KEY_ID": "",
            "AWS_SECRET_ACCESS_KEY": "",
            "AWS_SHARED_CREDENTIALS_FILE": f"{self.folder}/credentials",
            "AWS_CONFIG_FILE": f"{self.folder}/config",
            "AWS_EC2_METADATA_DISABLED": "true",
        }
        for name, more in (("default", {}), ("me", {"AWS_PROFILE": "me"})):
            keys = f"[{name}]\naws_access_key_id = {KEY}\naws_secret_access_key = {SECRET}\n"
            (self.folder / "credentials").write_text(keys)
            with mock.patch.dict(os.environ, {**profile, **more}):
                np.testing.assert_array_equal(self.read("s3://data/v.zarr"), VOXELS)

    def test_no_such_bucket_or_object(self):
        for form in OUTPUTS:
            self.refuse(NotFoundError, "s3://none/.*: NoSuchBucket", form.format("s3://none"))
            self.refuse(NotFoundError, "s3://data/x.*: there is no ", form.format("s3://data/x"))
        self.refuse(NotFoundError, "s3://none/v: NoSuchBucket", "s3://none/v")
        self.refuse(NotFoundError, "s3://data/v: no volume found: neither zarr, nor N5", "s3://data/v")

    def test_a_bucket_that_cannot_be_listed(self):
        for form in OUTPUTS:
            self.write(form.format("s3://data"))
        self.write("s3://data/two.zarr", version=2)
        self.s3.unlisted.add("data")
        self.objects.update({name.replace("two.zarr", "two"): data for name, data in self.objects.items()})
        for path in (
            *(form.format("s3://data") for form in OUTPUTS),
            "s3://data/two.zarr",
            "s3://data/two.zarr/0",
            "s3://data/p",
            "s3://data/two",
        ):
            np.testing.assert_array_equal(self.read(path), VOXELS)
        for path in ("s3://data/x.zarr", "s3://data/x.n5", "precomputed://s3://data/x", "s3://data/x"):
            self.refuse(AccessError, "s3://data/x.*: AccessDenied", path)

    def test_kinds_by_what_lies_there(self):
        for form in OUTPUTS:
            self.write(form.format("s3://data"))
        for name, prefix in (("z", "v.zarr"), ("n", "c.n5/raw"), ("q", "p")):
            self.objects.update(
                {key.replace(prefix, name, 1): data for key, data in self.objects.items() if key.startswith(prefix)}
            )
            np.testing.assert_array_equal(self.read(f"s3://data/{name}"), VOXELS)
            self.assertEqual(np.sum(open_raw(f"s3://data/{name}")[...]), np.sum(open_raw("s3://data/c.n5/raw")[...]))

    def test_an_object_cut_in_half(self):
        for form in OUTPUTS:
            self.write(form.format("s3://data"))
        for key in [key for key, data in self.objects.items() if len(data) > 5000]:
            self.objects[key] = self.objects[key][:2000]
        for form in OUTPUTS:
            path = form.format("s3://data")
            with self.assertRaisesRegex(InvalidError, path.rpartition("//")[2]) as found:
                self.read(path)
            self.assertNotIn("\n", str(found.exception))

    def test_a_description_cut_in_half(self):
        for version, names in ((2, (".zgroup", ".zattrs", "0/.zarray")), (3, ("zarr.json", "0/zarr.json"))):
            for name in names:
                self.objects.clear()
                self.write("s3://data/v.zarr", version)
                self.objects[f"v.zarr/{name}"] = self.objects[f"v.zarr/{name}"][:9]
                self.refuse(InvalidError, f"s3://data/v.zarr/{name}: no JSON, or cut short")

    def test_an_object_that_is_missing_is_zero(self):
        for form in OUTPUTS:
            self.write(form.format("s3://data"))
        expected = VOXELS.copy()
        expected[:, 64:] = 0
        for key in ("v.zarr/0/c/1/0/0", "c.n5/raw/0/0/1", "p/1_1_1/0-10_0-20_64-70"):
            del self.objects[key]
        for form in OUTPUTS:
            np.testing.assert_array_equal(self.read(form.format("s3://data")), expected)

    def test_a_server_that_is_busy_is_asked_again(self):
        self.write("s3://data/c.n5/raw")
        self.s3.broken = 2
        np.testing.assert_array_equal(self.read("s3://data/c.n5/raw"), VOXELS)
        self.s3.broken = 1000
        self.refuse(
            UnavailableError,
            "s3://data/c.n5/raw/attributes.json: All 3 retry attempts failed: .*",
            "s3://data/c.n5/raw",
        )

    def test_no_server(self):
        with mock.patch.dict(os.environ, {"AWS_ENDPOINT_URL": "http://127.0.0.1:1"}):
            self.refuse(UnavailableError, "s3://data/v.zarr.*: .*Could not connect")

    def test_web_servers(self):
        for version in (2, 3):
            (self.folder / str(version)).mkdir()
            self.write(f"{self.folder}/{version}/v.zarr", version)
        for form in OUTPUTS[1:]:
            self.write(form.format(self.folder))
        with self.served() as address:
            for path in (
                f"{address}/2/v.zarr",
                f"{address}/3/v.zarr",
                f"{address}/3/v.zarr/0",
                f"{address}/c.n5/raw",
                f"precomputed://{address}/p",
                f"{address}/p",
            ):
                np.testing.assert_array_equal(self.read(path), VOXELS)
            for name, kind, words in (
                ("x.zarr", NotFoundError, "there is no zarr array"),
                ("x", NotFoundError, "no volume"),
                ("x.n5/raw", NotFoundError, "no array of N5"),
                ("forbidden.zarr", AccessError, "403"),
                ("v.npy", NotFoundError, "404"),
                ("v.h5:/raw", NotFoundError, "404"),
            ):
                self.refuse(kind, f"{address}/{name.partition(':')[0]}.*{words}", f"{address}/{name}")

    def test_a_web_server_that_knows_no_ranges(self):
        zarr.create_array(str(self.folder / "s.zarr"), data=VOXELS[0], chunks=(7, 5, 5), shards=(35, 10, 10))
        with self.served(ranges=False) as address, open_source(f"{address}/s.zarr") as source:
            with self.assertRaisesRegex(InvalidError, "s.zarr/c/0/0/0: .*range .* ignored by server"):
                source.read(Box((0, 0, 0), (7, 5, 5)))

    def test_shards_in_a_bucket(self):
        zarr.create_array(str(self.folder / "s.zarr"), data=VOXELS[0], chunks=(7, 5, 5), shards=(35, 10, 10))
        for path in (self.folder / "s.zarr").rglob("*"):
            if path.is_file():
                self.objects[str(path.relative_to(self.folder))] = path.read_bytes()
        with open_source("s3://data/s.zarr") as source:
            np.testing.assert_array_equal(source.read(Box((8, 0, 3), (9, 6, 9))), VOXELS[:, 8:9, :6, 3:9])


if __name__ == "__main__":
    import unittest

    unittest.main()

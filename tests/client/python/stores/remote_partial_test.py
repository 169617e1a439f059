"""Outputs in buckets until they are complete."""

import numpy as np
from store_case import OUTPUTS, VOXELS, StoreCase
from znni.errors import AccessError, InvalidError, NotFoundError, ReplacedError
from znni.stores.opening import open_target
from znni.stores.remote import Remote
from znni.stores.remote_partial import RemotePartial

PATH = "s3://data/a/o.zarr"


class RemotePartialTest(StoreCase):
    def test_an_output_that_was_written(self):
        partial = RemotePartial(PATH, False)
        self.assertEqual(self.objects, {})
        self.assertEqual(partial.begin(), PATH)
        Remote(PATH).write("zarr.json", b"{}")
        partial.finish()
        self.assertEqual(self.objects, {"a/o.zarr/zarr.json": b"{}"})
        with self.assertRaisesRegex(InvalidError, "a/o.zarr: is there already: pass overwrite=True"):
            RemotePartial(PATH, False)

    def begun(self, path, overwrite=False):
        """Returns an output that is written, as a killed call leaves it."""
        target = open_target(path, self.facts(), overwrite)
        target.begin()
        target.write((0, 0, 0), VOXELS)
        return target

    def test_what_a_killed_writer_left_behind_is_removed_by_overwrite(self):
        for form in OUTPUTS:
            path = form.format("s3://data")
            self.begun(path)
            prefix = next(name for name in self.objects if name.endswith(".znni-partial")).rpartition("/")[0]
            self.objects[f"{prefix}/thesis.pdf"] = b"x"
            left = dict(self.objects)
            with self.assertRaisesRegex(InvalidError, "another call writes it, or was killed while it did: pass"):
                open_target(path, self.facts(), False)
            self.assertEqual(self.objects, left)
            target = open_target(path, self.facts(2), True)
            target.begin()
            self.assertEqual(set(self.objects) & set(left), {f"{prefix}/.znni-partial"})
            target.write((0, 0, 0), VOXELS)
            target.finish()
            np.testing.assert_array_equal(self.read(path), VOXELS)
            self.assertFalse([name for name in self.objects if name.endswith(".znni-partial")])
            self.objects.clear()

    def test_of_two_writers_the_first_fails(self):
        for form in OUTPUTS:
            path = form.format("s3://data")
            first, second = self.begun(path), self.begun(path, overwrite=True)
            there = dict(self.objects)
            with self.assertRaisesRegex(
                ReplacedError, "s3://data/.*: another call has replaced this output while it was"
            ):
                first.finish()
            first.discard()
            self.assertEqual(self.objects, there)
            second.finish()
            np.testing.assert_array_equal(self.read(path), VOXELS)

    def test_what_came_before_the_first_object_is_kept(self):
        for form in OUTPUTS:
            path = form.format("s3://data")
            late = open_target(path, self.facts(), False)
            self.write(path)
            with self.assertRaisesRegex(InvalidError, "is there already"):
                late.begin()
            late.discard()
            np.testing.assert_array_equal(self.read(path), VOXELS)

    def test_discarded(self):
        partial = RemotePartial(PATH, False)
        partial.begin()
        Remote(PATH).write("0/c/0", b"x")
        partial.discard()
        partial.discard()
        self.assertEqual(self.objects, {})

    def test_what_cannot_be_removed_is_said(self):
        partial = RemotePartial(PATH, False)
        partial.begin()
        self.s3.frozen.add("data")
        with self.assertLogs("znni", "WARNING") as said:
            partial.discard()
        self.assertRegex(said.output[0], "s3://data/a/o.zarr: what was written is still there: .*AccessDenied")

    def test_what_others_wrote_is_kept(self):
        self.objects.update({"a/o.zarr/thesis.pdf": b"x", "a/o.zarr2": b"y"})
        with self.assertRaisesRegex(InvalidError, "is there already"):
            RemotePartial(PATH, False)
        RemotePartial(PATH, True).discard()
        self.assertEqual(len(self.objects), 2)
        RemotePartial(PATH, True).begin()
        self.assertEqual(sorted(self.objects), ["a/o.zarr/.znni-partial", "a/o.zarr2"])

    def test_where_nothing_can_be_written(self):
        for path, kind, words in (
            ("http://127.0.0.1:1/o.zarr", InvalidError, "is read only: name an output in a folder or at"),
            ("s3://data", InvalidError, "s3://data: a whole bucket found"),
            ("s3://none/o.zarr", NotFoundError, "s3://none/o.zarr: NoSuchBucket"),
        ):
            with self.assertRaisesRegex(kind, words):
                RemotePartial(path, False)
        self.s3.frozen.add("data")
        with self.assertRaisesRegex(AccessError, "o.zarr/.*: AccessDenied"):
            RemotePartial(PATH, False).begin()

    def test_an_output_is_no_volume_before_it_is_complete(self):
        for form in OUTPUTS:
            path = form.format("s3://data")
            target = open_target(path, self.facts(), False)
            target.begin()
            target.write((0, 0, 0), VOXELS)
            names = {name.rpartition("/")[2] for name in self.objects}
            self.assertFalse(names & {"zarr.json", "attributes.json", "info"})
            with self.assertRaises(NotFoundError):
                self.read(path)
            target.discard()
            self.assertEqual(self.objects, {})


if __name__ == "__main__":
    import unittest

    unittest.main()

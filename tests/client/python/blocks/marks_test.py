"""Marks of blocks."""

import pathlib
import tempfile
import unittest
from unittest import mock

from znni.blocks.marks import Marks
from znni.stores import place as module
from znni.stores.place import Folder

FACTS = {"digest": "d", "seconds": 1.5, "skipped": None}


class MarksTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory())) / "out.zarr.job"
        self.marks = Marks(Folder(self.folder))

    def done(self):
        return dict(self.marks.done())

    def test_a_mark_that_was_damaged_is_none(self):
        for number, text in enumerate(("", "{", "[]", '"done"', '{"digest": "d"}')):
            self.marks.finish(number, FACTS)
            (self.folder / f"done/000000/00000000{number}.json").write_text(text)
            self.assertFalse(self.marks.is_done(number))
        self.assertEqual(self.done(), {})

    def test_a_block_is_done_until_it_is_forgotten(self):
        self.assertEqual((self.done(), self.marks.failed()), ({}, {}))
        self.marks.fail(1234567, "no memory")
        self.assertEqual(self.marks.failed(), {1234567: "no memory"})
        self.marks.finish(1234567, FACTS)
        self.marks.finish(0, {**FACTS, "digest": "e"})
        self.assertEqual((self.done(), self.marks.failed()), ({0: {**FACTS, "digest": "e"}, 1234567: FACTS}, {}))
        self.assertTrue(self.marks.is_done(0))
        self.marks.forget(0)
        self.assertFalse(self.marks.is_done(0))

    def test_a_mark_that_was_being_written_is_none(self):
        with mock.patch.object(module.os, "replace", side_effect=OSError("killed here")):
            self.assertRaises(OSError, self.marks.finish, 5, FACTS)
        self.assertEqual((self.done(), self.marks.is_done(5)), ({}, False))

    def test_a_mark_is_on_disk_before_it_has_its_name(self):
        steps = []
        with (
            mock.patch.object(module, "sync", lambda path: steps.append(("sync", pathlib.Path(path).name))),
            mock.patch.object(module.os, "replace", lambda old, new: steps.append(("name", new.name))),
        ):
            self.marks.finish(5, {})
        self.assertRegex(steps[0][1], r"^\.000000005\.json\.")
        self.assertEqual(steps[1:], [("name", "000000005.json"), ("sync", "000000")])


if __name__ == "__main__":
    unittest.main()

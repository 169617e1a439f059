"""Names of what is not complete."""

import pathlib
import tempfile
import unittest

from znni.errors import InvalidError
from znni.stores.partial import Partial


class PartialTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def names(self):
        return sorted(path.name for path in self.folder.iterdir())

    def test_files(self):
        partial = Partial(self.folder / "o", False)
        partial.begin().write_text("new")
        self.assertEqual(self.names(), ["o.partial"])
        partial.finish()
        self.assertEqual((self.folder / "o").read_text(), "new")

    def test_folders_are_replaced(self):
        (self.folder / "o").mkdir()
        (self.folder / "o/old").touch()
        (self.folder / "o.partial").mkdir()
        (self.folder / "o.partial/older").touch()
        partial = Partial(self.folder / "o", True)
        partial.begin().mkdir()
        (self.folder / "o.partial/new").touch()
        partial.finish()
        self.assertEqual([path.name for path in (self.folder / "o").iterdir()], ["new"])
        self.assertEqual(self.names(), ["o"])

    def test_what_lies_beside_is_kept(self):
        for name in ("o.replaced", ".o", "o.old"):
            (self.folder / name).touch()
        for overwrite in (False, True):
            partial = Partial(self.folder / "o", overwrite)
            partial.begin().mkdir()
            partial.finish()
        self.assertEqual(self.names(), [".o", "o", "o.old", "o.replaced"])

    def test_discarded(self):
        (self.folder / "o").write_text("old")
        partial = Partial(self.folder / "o", True)
        partial.begin().write_text("new")
        partial.discard()
        partial.discard()
        self.assertEqual((self.names(), (self.folder / "o").read_text()), (["o"], "old"))

    def test_folders_that_were_made_are_removed(self):
        container = self.folder / "c"
        partial = Partial(container / "a/o", False, str(container))
        partial.begin().write_text("new")
        partial.discard()
        self.assertEqual(self.names(), [])
        partial.begin().write_text("new")
        (container / "b").touch()
        partial.discard()
        self.assertEqual([path.name for path in container.iterdir()], ["b"])

    def test_what_others_write_is_kept(self):
        (self.folder / "o.partial").touch()
        Partial(self.folder / "o", True).discard()
        self.assertEqual(self.names(), ["o.partial"])

    def test_is_there_already(self):
        (self.folder / "o").touch()
        with self.assertRaisesRegex(InvalidError, "/o: is there already: pass overwrite=True"):
            Partial(self.folder / "o", False)

    def test_no_folder(self):
        with self.assertRaisesRegex(InvalidError, "there is no folder .*/none"):
            Partial(self.folder / "none/o", False)


if __name__ == "__main__":
    unittest.main()

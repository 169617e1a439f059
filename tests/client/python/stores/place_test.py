"""Folders of files that are read and written as a whole."""

import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest
from unittest import mock

from znni.errors import AccessError, InvalidError
from znni.stores import place as module
from znni.stores.place import Folder, is_unfinished


class FolderTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.place = Folder(f"{self.folder}/v/")

    def test_files(self):
        self.assertEqual((self.place.read("a"), self.place.names(), self.place.path), (None, [], f"{self.folder}/v"))
        self.place.write("a", b"old")
        self.place.write("a", b"new")
        self.place.inside("b").write("c/d", b"x")
        self.assertEqual(
            (self.place.read("a"), self.place.read("b/c/d"), self.place.names()), (b"new", b"x", ["a", "b"])
        )
        self.assertIsNone(self.place.read("a/x"))
        self.assertEqual((self.place.kvstore["path"], self.place.room), (f"{self.folder}/v/", str(self.folder)))

    def test_json(self):
        self.assertIsNone(self.place.read_json("a"))
        for data, words in (
            (b"{", "v/a: no JSON, or cut short"),
            (b"\xff", "v/a: no JSON"),
            (b"[]", "v/a: list found"),
        ):
            self.place.write("a", data)
            with self.assertRaisesRegex(InvalidError, words):
                self.place.read_json("a")
        self.place.write("a", b'{"b": 1}')
        self.assertEqual(self.place.read_json("a"), {"b": 1})

    def test_what_must_not_be_read(self):
        with mock.patch.object(pathlib.Path, "read_bytes", side_effect=PermissionError(13, os.strerror(13))):
            with self.assertRaisesRegex(AccessError, "v/a: Permission denied"):
                self.place.read("a")

    def test_a_file_is_on_disk_before_it_has_its_name(self):
        steps = []
        with (
            mock.patch.object(module, "sync", lambda path: steps.append(("sync", pathlib.Path(path).name))),
            mock.patch.object(module.os, "replace", lambda old, new: steps.append(("name", new.name))),
        ):
            self.place.write("a", b"x")
        self.assertRegex(steps[0][1], r"^\.a\.")
        self.assertEqual(steps[1:], [("name", "a"), ("sync", "v")])

    def test_what_a_killed_process_did_not_finish_is_known_by_its_name(self):
        for name in (".d.2026.11", ".c.2026.11", "c", "c.other.1.2"):
            self.place.write(f"b/{name}", b"x")
        code = (
            "import os, sys; from znni.stores.place import Folder; os.replace = lambda *_: os._exit(3); "
            "Folder(sys.argv[1]).write('b/c', b'x')"
        )
        self.assertEqual(subprocess.run([sys.executable, "-c", code, self.place.path], check=False).returncode, 3)
        left = [name for name in os.listdir(self.folder / "v/b") if is_unfinished(name, "c")]
        self.assertRegex(left.pop(), rf"^\.c\.{os.uname().nodename}\.")
        self.assertEqual((left, len(self.place.all_names("b"))), ([], 5))
        with mock.patch.object(module, "sync", side_effect=OSError(28, os.strerror(28))):
            with self.assertRaisesRegex(OSError, "No space left"):
                self.place.write("b/d", b"x")
        self.assertEqual(len(os.listdir(self.folder / "v/b")), 5)

    def test_what_others_did_not_finish_is_removed_with_the_next(self):
        host, own = os.uname().nodename, os.getpid()
        ended = subprocess.Popen(["true"])
        ended.wait()
        folder = self.folder / "v/b"
        folder.mkdir(parents=True)
        old = {
            f".c.{host}.{ended.pid}.1": 0,
            f".c.{host}.{own}.1": 0,
            ".c.other.1.1": 0,
            ".c.other.1.2": 120,
            f".c.{host}.{own}.2": 120,
            ".c.notes": 120,
            f".d.{host}.{ended.pid}.1": 0,
            f".c.a.{host}.{ended.pid}.1": 0,
        }
        for name, seconds in old.items():
            (folder / name).touch()
            os.utime(folder / name, (time.time() - seconds,) * 2)
        self.place.write("b/c", b"x")
        self.assertEqual(
            sorted(os.listdir(folder)),
            sorted(
                [
                    "c",
                    f".c.{host}.{own}.1",
                    ".c.other.1.1",
                    ".c.notes",
                    f".d.{host}.{ended.pid}.1",
                    f".c.a.{host}.{ended.pid}.1",
                ]
            ),
        )

    def test_what_others_did_not_finish_may_stay(self):
        """It cannot be removed."""
        left = self.folder / "v/.c.other.1.1"
        left.mkdir(parents=True)
        os.utime(left, (time.time() - 120,) * 2)
        self.place.write("c", b"x")
        self.assertEqual(sorted(os.listdir(self.folder / "v")), [left.name, "c"])

    def test_what_another_users_process_with_the_same_number_did_not_finish_is_removed(self):
        host = os.uname().nodename
        (self.folder / "v").mkdir()
        for name, seconds in ((f".c.{host}.1.1", 120), (f".c.{host}.1.2", 0)):
            (self.folder / "v" / name).touch()
            os.utime(self.folder / "v" / name, (time.time() - seconds,) * 2)
        with mock.patch.object(module.os, "kill", side_effect=PermissionError):
            self.place.write("c", b"x")
        self.assertEqual(sorted(os.listdir(self.folder / "v")), [f".c.{host}.1.2", "c"])

    def test_files_that_are_there_are_synced_with_their_folders(self):
        self.place.write("b/c", b"x")
        synced = []
        with mock.patch.object(module, "sync", lambda path: synced.append(str(path))):
            self.place.sync(["b/c", "b/d"])
        self.assertEqual(synced, [f"{self.folder}/v/b/c", f"{self.folder}/v/b"])


if __name__ == "__main__":
    unittest.main()

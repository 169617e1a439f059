"""Folders for temporary files of a process."""

import os
import pathlib
import platform
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

from znni.local.own_folder import OwnFolder

_PREFIX = f"znni-own-{platform.node()}-"
_MAKES_ONE = """
import pathlib, sys
from znni.local.own_folder import OwnFolder
folder = OwnFolder()
pathlib.Path(folder.name, "file").touch()
print(folder.name, flush=True)
sys.stdin.read()
"""


class OwnFolderTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.enterContext(mock.patch("tempfile.tempdir", str(self.folder)))

    def names(self):
        return sorted(os.listdir(self.folder))

    def test_it_is_removed_with_what_lies_in_it(self):
        own = OwnFolder()
        pathlib.Path(own.name, "a").mkdir()
        self.assertEqual(self.names(), [os.path.basename(own.name)])
        own.cleanup()
        self.assertEqual(self.names(), [])

    def test_those_of_killed_processes_are_removed_and_no_others(self):
        processes = [
            subprocess.Popen(
                [sys.executable, "-c", _MAKES_ONE],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env={**os.environ, "TMPDIR": str(self.folder)},
            )
            for _ in range(2)
        ]
        killed, lives = (process.stdout.readline().strip() for process in processes)
        processes[0].kill()
        processes[0].communicate()
        for name in ("znni-plans-0", _PREFIX + "0"):  # of a daemon; of a process that has not locked it yet
            (self.folder / name).mkdir()
        (self.folder / "znni-plans-0/plan").touch()
        (self.folder / (_PREFIX + "1")).symlink_to(self.folder / "znni-plans-0")
        self.assertTrue(os.path.exists(killed))
        own = OwnFolder()
        kept = [lives, own.name, "znni-plans-0", _PREFIX + "0", _PREFIX + "1"]
        self.assertEqual(self.names(), sorted(map(os.path.basename, kept)))
        self.assertEqual((os.listdir(lives), os.listdir(self.folder / "znni-plans-0")), (["file"], ["plan"]))
        processes[1].communicate()
        own.cleanup()

    def test_a_pipe_of_such_a_name_is_not_waited_for(self):
        os.mkfifo(self.folder / (_PREFIX + "0"))
        found = subprocess.run(
            [sys.executable, "-c", _MAKES_ONE],
            input="",
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
            env={**os.environ, "TMPDIR": str(self.folder)},
        )
        self.assertIn(_PREFIX, found.stdout)

    def test_those_of_other_machines_are_kept(self):
        """Their processes may live, and their locks need not hold here."""
        others = ["znni-own-other-0", f"{_PREFIX}other-0", f"znni-own-other-{platform.node()}-0"]
        for name in others:
            (self.folder / name).mkdir()
            (self.folder / name / "file").touch()
        OwnFolder().cleanup()
        self.assertEqual(self.names(), sorted(others))

    def test_where_there_are_no_locks(self):
        with mock.patch("fcntl.flock", side_effect=OSError):
            first = OwnFolder()
            pathlib.Path(first.name, "file").touch()
            second = OwnFolder()
        self.assertEqual(len(self.names()), 2)
        first.cleanup()
        second.cleanup()
        self.assertEqual(self.names(), [])


if __name__ == "__main__":
    unittest.main()

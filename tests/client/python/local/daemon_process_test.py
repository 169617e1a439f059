"""Processes that say where they listen, or why they end, played by scripts."""

import pathlib
import shutil
import subprocess
import tempfile
import threading
import unittest
from types import SimpleNamespace
from unittest import mock

from znni.local import daemon_process
from znni.local.daemon_process import DaemonProcess


class DaemonProcessTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.running = DaemonProcess()
        self.addCleanup(self.running.stop)

    def command(self, *lines):
        """Returns the command of a script."""
        path = self.folder / "program"
        path.write_text("\n".join(["#!/bin/sh", *lines, ""]))
        path.chmod(0o755)
        return [str(path)]

    def test_listens_until_it_is_stopped(self):
        self.assertEqual((self.running.address, self.running.process, self.running.wait(0)), ("", None, None))
        lines = ['echo "info $1" >&2', 'echo "info listening on 127.0.0.1:80" >&2', "exec sleep 600"]
        self.assertTrue(self.running.start([*self.command(*lines), "word"]))
        self.assertEqual(self.running.address, "127.0.0.1:80")
        self.assertEqual(self.running.lines(), ["info word", "info listening on 127.0.0.1:80"])
        self.assertIsNone(self.running.wait(0))
        process = self.running.process
        self.running.stop()
        self.assertIsNotNone(process.returncode)
        self.assertEqual((self.running.process, self.running.wait()), (None, None))

    def test_ends_before_it_listens(self):
        lines = ['echo "2026-01-01 error --mem: too little" >&2', "for i in $(seq 30); do echo $i >&2; done", "exit 3"]
        self.assertFalse(self.running.start(self.command(*lines)))
        self.assertEqual(self.running.wait(), 3)
        self.assertEqual(self.running.lines(), [str(i) for i in range(11, 31)])
        self.assertEqual(self.running.last_line(), "30")

    def test_its_last_error_is_told(self):
        for lines, told in (
            (['echo "1 error first" >&2', 'echo "2 error second: worse" >&2', "echo bye >&2"], "second: worse"),
            (["echo bye >&2"], "bye"),
            ([], "it said nothing"),
        ):
            running = DaemonProcess()
            self.assertFalse(running.start(self.command(*lines, "exit 1")))
            self.assertEqual((running.wait(), running.last_line()), (1, told))

    @unittest.skipUnless(shutil.which("setpriv"), "needs setpriv of util-linux")
    def test_outlives_the_thread_that_started_it(self):
        command = self.command('echo "listening on 127.0.0.1:80" >&2', "exec sleep 600")
        starter = threading.Thread(target=self.running.start, args=(command,))
        starter.start()
        starter.join()
        with self.assertRaises(subprocess.TimeoutExpired):
            self.running.process.wait(0.5)  # the kernel's signal would come with the thread's end

    def test_is_stopped_by_the_thread_that_reads_its_log(self):
        running, started = self.running, threading.Event()

        class Lines(list):
            """Stops the process as the collector of Python may: while a line is kept."""

            def append(self, line):
                super().append(line)
                if line == "later" and started.wait(60):
                    running.stop()

        running._lines = Lines()
        running.start(self.command('echo "listening on 127.0.0.1:80" >&2', "echo later >&2", "exec sleep 600"))
        process = running.process
        started.set()
        running._reader.join()
        self.assertIsNotNone(process.returncode)
        self.assertTrue(process.stderr.closed)
        self.assertIsNone(running._failure)

    def test_is_stopped_before_it_starts(self):
        mark = self.folder / "started"
        self.running.stop()
        self.assertFalse(self.running.start(self.command(f"touch {mark}")))
        self.assertIsNone(self.running.process)
        self.assertFalse(mark.exists())

    def test_what_keeps_it_from_starting_is_raised(self):
        with self.assertRaises(FileNotFoundError), mock.patch.object(daemon_process, "_tied", list):
            self.running.start([str(self.folder / "none")])

    def test_a_log_that_cannot_be_read(self):
        with mock.patch.object(DaemonProcess, "_read", side_effect=OSError("cut off")):
            with self.assertRaisesRegex(OSError, "^cut off$"):
                self.running.start(self.command("exec sleep 600"))
        self.running.stop()
        self.assertIsNone(self.running.process)

    def test_without_setpriv_it_is_run_as_it_is(self):
        with mock.patch.object(daemon_process, "shutil", SimpleNamespace(which=lambda name: None)):
            self.assertFalse(self.running.start(self.command('echo "$#" >&2', "exit 0")))
        self.assertEqual((self.running.wait(), self.running.lines()), (0, ["0"]))


if __name__ == "__main__":
    unittest.main()

"""A daemon of our own, played by scripts. tests/e2e/python_client_test.py has the real one."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest
from unittest import mock

from fake_daemon import FakeDaemon
from script import use_script
from znni.errors import UnavailableError
from znni.local.daemon_process import DaemonProcess
from znni.local.private_daemon import PrivateDaemon


class PrivateDaemonTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.enterContext(mock.patch("tempfile.tempdir", str(self.folder)))
        self.network = self.folder / "same.onnx"
        self.network.touch()

    def program(self, *lines):
        use_script(self, "znnid", "ZNNID", *lines)

    def left(self):
        """Returns the folders that a daemon left."""
        return list(self.folder.glob("znni-*"))

    def test_serves_until_the_end(self):
        address = self.enterContext(FakeDaemon().served())
        self.program(f'echo "info listening on {address}" >&2', "exec sleep 600")
        with PrivateDaemon(self.network, mem="8G", threads=3, progress=False) as daemon:
            self.assertEqual((daemon.address, daemon.model), (address, "same"))
            process = daemon.process
            self.assertEqual(len(self.left()), 1)
        self.assertIsNotNone(process.poll())
        self.assertEqual(self.left(), [])
        arguments = (self.folder / "arguments").read_text()
        self.assertIn("--grpc-address 127.0.0.1 --grpc-port 0 --metrics-port -1", arguments)
        self.assertIn("--mem 8G --threads 3", arguments)

    def test_says_what_it_took_to_plan(self):
        fake = FakeDaemon()
        address = self.enterContext(fake.served())
        self.program(f'echo "info listening on {address}" >&2', "exec sleep 600")
        for loading, planned in (
            (["planning within 1 GiB for 0 s: 1 of 9 patches looked at", "preparing its layers and memory"], True),
            (["preparing its layers and memory"], False),
        ):
            fake.loading = loading
            with PrivateDaemon(self.network, progress=False) as daemon:
                self.assertEqual(daemon.planning_seconds > 0, planned)

    @unittest.skipUnless(shutil.which("setpriv"), "needs setpriv of util-linux")
    def test_outlives_the_thread_that_started_it(self):
        address = self.enterContext(FakeDaemon().served())
        self.program(f'echo "info listening on {address}" >&2', "exec sleep 600")
        daemon = PrivateDaemon(self.network, progress=False)
        starter = threading.Thread(target=daemon.__enter__)
        starter.start()
        starter.join()
        self.addCleanup(daemon.stop)
        with self.assertRaises(subprocess.TimeoutExpired):
            daemon.process.wait(0.5)  # the kernel's signal would come with the thread's end

    def test_is_stopped_by_the_thread_that_reads_its_log(self):
        address = self.enterContext(FakeDaemon().served())
        self.program(f'echo "info listening on {address}" >&2', "echo later >&2", "exec sleep 600")
        daemon, served = PrivateDaemon(self.network, progress=False), threading.Event()

        class Lines(list):
            """Stops the daemon as the collector of Python may: while a line is kept."""

            def append(self, line):
                super().append(line)
                if line == "later" and served.wait(60):
                    daemon.stop()

        daemon._running._lines = Lines()
        with daemon:
            process = daemon.process
            served.set()
            daemon._running._reader.join()
            self.assertIsNotNone(process.returncode)
            self.assertTrue(process.stderr.closed)
            self.assertEqual(self.left(), [])
            self.assertIsNone(daemon._running._failure)

    def test_is_stopped_before_its_thread_runs(self):
        self.program("exit 0")
        daemon, held = PrivateDaemon(self.network, progress=False), []

        def interrupted(thread):
            held.append(thread)
            raise KeyboardInterrupt

        with mock.patch.object(threading.Thread, "start", interrupted), self.assertRaises(KeyboardInterrupt):
            daemon.__enter__()
        held[0].start()
        held[0].join()
        self.assertIsNone(daemon.process)
        self.assertEqual(self.left(), [])

    def test_a_log_that_cannot_be_read(self):
        self.program("exec sleep 600")
        with mock.patch.object(DaemonProcess, "_read", side_effect=OSError("cut off")):
            with self.assertRaisesRegex(OSError, "^cut off$"):
                PrivateDaemon(self.network, progress=False).__enter__()
        self.assertEqual(self.left(), [])

    def test_a_program_that_cannot_be_run(self):
        self.program()
        with mock.patch.object(subprocess, "Popen", side_effect=PermissionError("no")):
            with self.assertRaisesRegex(PermissionError, "^no$"):
                PrivateDaemon(self.network, progress=False).__enter__()
        self.assertEqual(self.left(), [])

    def test_does_not_start(self):
        self.program('echo "2026-01-01 error --mem: too little" >&2', 'echo "bye" >&2', "exit 3")
        with self.assertRaisesRegex(UnavailableError, "^znnid ended with exit code 3: --mem: too little$"):
            PrivateDaemon(self.network, progress=False).__enter__()
        self.assertEqual(self.left(), [])

    def test_names_the_file_of_the_user(self):
        self.program('echo "2026-01-01 error $2/same/1/model.onnx: cut off" >&2', "exit 1")
        with self.assertRaisesRegex(UnavailableError, f": {self.network}: cut off$"):
            PrivateDaemon(self.network, progress=False).__enter__()
        self.program('echo "1 error $2/same/config.pbtxt: wrong" >&2', "exit 1")
        config = self.folder / "own.pbtxt"
        config.touch()
        for given, name in ((config, str(config)), ({"input_scale": 2}, "config")):
            with self.assertRaisesRegex(UnavailableError, f": {name}: wrong$"):
                PrivateDaemon(self.network, config=given, progress=False).__enter__()

    def test_names_no_flag_of_its_own(self):
        words = "how large, with --volume Z,Y,X or the parameter 'window' of its config.pbtxt"
        self.program(f'echo "1 error {words}" >&2', "exit 1")
        wanted = "with the parameter 'window' of its config, in znni run --parameter window=Z,Y,X$"
        with self.assertRaisesRegex(UnavailableError, wanted):
            PrivateDaemon(self.network, progress=False).__enter__()

    def test_ends_without_an_error(self):
        for lines, words in ((['echo "a line" >&2'], "a line"), ([], "it said nothing")):
            self.program(*lines, "exit 1")
            with self.assertRaisesRegex(UnavailableError, f"^znnid ended with exit code 1: {words}$"):
                PrivateDaemon(self.network, progress=False).__enter__()

    def test_ends_too_early(self):
        self.program('echo "info listening on 127.0.0.1:1" >&2', 'echo "1 error killed" >&2', "exit 4")
        with self.assertRaisesRegex(UnavailableError, "^znnid ended with exit code 4: killed$"):
            PrivateDaemon(self.network, progress=False).__enter__()
        self.assertEqual(self.left(), [])

    def test_a_model_that_is_not_served(self):
        address = self.enterContext(FakeDaemon().served())
        self.program(f'echo "info listening on {address}" >&2', "exec sleep 600")
        other = self.folder / "unknown.onnx"
        other.touch()
        with self.assertRaisesRegex(UnavailableError, "^the daemon does not know it$"):
            PrivateDaemon(other, progress=False).__enter__()
        self.assertEqual(self.left(), [])

    @unittest.skipUnless(shutil.which("setpriv"), "needs setpriv of util-linux")
    def test_does_not_start_for_a_process_that_was_killed(self):
        setpriv = shutil.which("setpriv")
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        ended = self.enterContext(open(os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)))
        self.program("echo started >&9")
        lines = [
            "#!/bin/sh",
            f"exec 9>{pipe}",
            "kill -9 $PPID",
            'while grep -q "^PPid:.$PPID$" /proc/$$/status',
            "do :; done",
            f'exec {setpriv} "$@"',
            "",
        ]
        (self.folder / "setpriv").write_text("\n".join(lines))
        (self.folder / "setpriv").chmod(0o755)
        code = f"from znni.local.private_daemon import PrivateDaemon; PrivateDaemon({str(self.network)!r}).__enter__()"
        environment = {**os.environ, "PATH": f"{self.folder}:{os.environ['PATH']}", "TMPDIR": str(self.folder)}
        killed = subprocess.run([sys.executable, "-c", code], env=environment, timeout=60, check=False)
        self.assertEqual(killed.returncode, -9)
        os.set_blocking(ended.fileno(), True)
        self.assertEqual(ended.read(), "")  # the end comes when no process has it


if __name__ == "__main__":
    unittest.main()

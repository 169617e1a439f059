"""`znni run` as users type it: a network and a volume in, an output and no daemon left."""

import os
import pathlib
import select
import signal
import subprocess
import tempfile
import time
import unittest

import nets
import numpy as np
import zarr
import znni
from harness import ZNNID

ZNNI = ZNNID.parent / "znni"


class RunTest(unittest.TestCase):
    def setUp(self):
        self.work = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        nets.save(nets.same_net(), self.work / "models", "same", config=nets.SAME_CONFIG)
        self.network = self.work / "models/same/1/model.onnx"
        # pip has written the program for the interpreter of these tests.
        programs = pathlib.Path(znni.__file__).parents[1] / "bin"
        self.environment = {
            **os.environ,
            "PATH": f"{programs}:{os.environ['PATH']}",
            "XDG_STATE_HOME": str(self.work / "state"),
            "TMPDIR": str(self.work),
        }
        self.environment.pop("ZNNID", None)
        self.volume = np.random.default_rng(1).integers(0, 255, (20, 30, 40)).astype(np.uint8)
        raw = zarr.create_array(self.work / "raw.zarr", shape=self.volume.shape, dtype="u1", chunks=(10, 30, 40))
        raw[:] = self.volume

    def start(self, *arguments):
        return subprocess.Popen(
            [ZNNI, "run", *map(str, arguments), "--mem", "256M"],
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def call(self, *arguments):
        """Returns (exit code, standard output, standard error)."""
        process = self.start(*arguments)
        out, err = process.communicate()
        return process.returncode, out, err

    def test_a_zarr_through_a_network(self):
        output = self.work / "out.zarr"
        code, out, err = self.call(self.network, self.work / "raw.zarr", output, "--dtype", "uint8")
        self.assertEqual(code, 0, err)
        self.assertRegex(out, "^.*out.zarr: 1x20x30x40 uint8 in .+\n$")
        np.testing.assert_array_equal(zarr.open(output)["0"][:], self.volume)
        code, _, err = self.call(self.network, self.work / "raw.zarr", output)
        self.assertEqual(code, 2)
        self.assertRegex(err, "^znni-run: .*out.zarr: is there already")

    def test_what_is_wrong_is_one_line(self):
        cut = self.work / "cut.onnx"
        cut.write_bytes(self.network.read_bytes()[:40])
        for words, network, volume in (
            ("cut.onnx: not an ONNX model", cut, "raw.zarr"),
            ("none.zarr", self.network, "none.zarr"),
        ):
            code, out, err = self.call(network, self.work / volume, self.work / "out.npy", "--no-progress")
            self.assertEqual((code, out), (2, ""), err)
            self.assertRegex(err, f"^znni-run: .*{words}.*\n$")
            self.assertFalse((self.work / "out.npy").exists())

    def read_pipe(self, path, process):
        """Returns what is written to a pipe. Fails if the process ends before."""
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK)) as pipe:
            while not select.select([pipe], [], [], 0.1)[0] or not (text := pipe.read()):
                self.assertIsNone(process.poll(), "it ended")
                time.sleep(0.05)
        return text

    def test_ctrl_c_leaves_neither_output_nor_daemon(self):
        """The signal comes when a script that stands for znnid has begun, which never serves."""
        os.mkfifo(self.work / "begun")
        script = self.work / "script"
        script.write_text(f'#!/bin/sh\necho $$ >"{self.work}/begun"\nexec sleep 600\n')
        script.chmod(0o755)
        self.environment["ZNNID"] = str(script)
        process = self.start(self.network, self.work / "raw.zarr", self.work / "out.npy")
        daemon = int(self.read_pipe(self.work / "begun", process))
        process.send_signal(signal.SIGINT)
        _, err = process.communicate()
        self.assertEqual((process.returncode, err), (130, "znni-run: interrupted; no output was left\n"))
        self.assertEqual([path for path in self.work.iterdir() if path.name.startswith(("out", "znni-"))], [])
        with self.assertRaises(ProcessLookupError):
            os.kill(daemon, 0)


if __name__ == "__main__":
    unittest.main()

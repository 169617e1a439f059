"""The program znni-run, with a script as znnid. tests/e2e has it with a daemon."""

import contextlib
import io
import os
import pathlib
import tempfile
import unittest
from unittest import mock

import h5py
import numpy as np
import zarr
from fake_daemon import FakeDaemon
from znni import __version__
from znni.programs import run

VOLUME = np.arange(60, dtype=np.uint8).reshape(3, 4, 5)


class RunTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.enterContext(mock.patch("signal.signal"))
        self.network = self.path("same.onnx")
        pathlib.Path(self.network).touch()
        np.save(self.path("in.npy"), VOLUME)
        with h5py.File(self.path("two.h5"), "w") as file:
            file["raw"] = VOLUME

    def path(self, name):
        return str(self.folder / name)

    def serve(self):
        """Makes znnid a script that tells the address of a daemon, and its own command."""
        address = self.enterContext(FakeDaemon().served())
        script = self.folder / "znnid"
        script.write_text(
            f'#!/bin/sh\necho "$@" >{self.folder}/command\ncat {self.folder}/none "$2"/*/config.pbtxt '
            f'>{self.folder}/config 2>/dev/null\necho "info listening on {address}" >&2\nexec sleep 600\n'
        )
        script.chmod(0o755)
        self.enterContext(mock.patch.dict(os.environ, {"ZNNID": str(script)}))

    def call(self, *arguments):
        """Returns (exit code, standard output, standard error)."""
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                code = run.main(arguments)
            except SystemExit as end:
                code = end.code
        return code, out.getvalue(), err.getvalue()

    def test_writes_an_output_in_shards(self):
        self.serve()
        output = self.path("o.zarr")
        code, out, err = self.call(
            self.network, self.path("in.npy"), output, "--shard", "64", "--dtype", "uint8", "--no-progress"
        )
        self.assertEqual((code, err), (0, ""))
        self.assertRegex(out, "^.*/o.zarr: 1x3x4x5 uint8 in ")
        self.assertEqual(zarr.open_array(output + "/0").shards, (3, 4, 5))
        code, _, err = self.call(self.network, self.path("in.npy"), self.path("o.npy"), "--shard", "64")
        self.assertEqual((code, err.count("\n")), (2, 1))
        self.assertIn("o.npy: only outputs in zarr, FOLDER.zarr, have shards", err)
        code, _, err = self.call(self.network, self.path("in.npy"), output, "--shard", "64,0,64")
        self.assertEqual(code, 2)
        self.assertIn("--shard: '64,0,64' found, expected Z,Y,X", err)

    def test_writes_the_output(self):
        self.serve()
        code, out, err = self.call(
            self.network,
            self.path("in.npy"),
            self.path("out.npy"),
            "--mem=3G",
            "--threads=2",
            "--roi=0:3,0:4,0:5",
            "--dtype=uint8",
            "--no-progress",
            "--parameter=input_scale=0.5",
            "--parameter=input_offset=-1",
        )
        self.assertEqual((code, err), (0, ""))
        self.assertRegex(out, "^.*/out.npy: 1x3x4x5 uint8 in .+\n$")
        np.testing.assert_array_equal(np.load(self.path("out.npy")), VOLUME)
        self.assertIn("--mem 3G --threads 2", (self.folder / "command").read_text())
        config = (self.folder / "config").read_text()
        self.assertIn('"input_scale" value { string_value: "0.5" }', config)
        self.assertIn('"input_offset" value { string_value: "-1" }', config)

    def test_scale_and_offset(self):
        self.serve()
        for number, (options, expected) in enumerate(
            (
                (("--scale=0.5", "--offset=-1"), VOLUME / 2 - 1),
                (("--scale=0.5",), VOLUME / 2),
                (("--offset=3",), VOLUME + 3),
            )
        ):
            output = self.path(f"out{number}.npy")
            code, _, err = self.call(self.network, self.path("in.npy"), output, "--no-progress", *options)
            self.assertEqual((code, err), (0, ""))
            np.testing.assert_array_equal(np.load(output), expected)

    def test_mirrored_passes(self):
        self.serve()
        arguments = (self.network, self.path("in.npy"), self.path("out.npy"), "--scale=0.5", "--tta=mirror")
        code, _, err = self.call(*arguments, "--no-progress")
        self.assertEqual((code, err), (0, ""))
        np.testing.assert_array_equal(np.load(self.path("out.npy")), VOLUME / 2)

    def test_mask(self):
        self.serve()
        mask = VOLUME % 2
        np.save(self.path("mask.npy"), mask)
        arguments = (self.network, self.path("in.npy"), self.path("out.npy"), "--dtype=uint8", "--no-progress")
        code, _, err = self.call(*arguments, "--mask", self.path("mask.npy"))
        self.assertEqual((code, err), (0, ""))
        np.testing.assert_array_equal(np.load(self.path("out.npy")), VOLUME * mask)

    def test_an_output_that_exists_is_kept(self):
        self.serve()
        np.save(self.path("out.npy"), VOLUME[:1])
        arguments = (self.network, self.path("in.npy"), self.path("out.npy"), "--dtype=uint8", "--no-progress")
        code, _, err = self.call(*arguments)
        self.assertEqual(code, 2)
        self.assertRegex(err, "^znni-run: .*out.npy: is there already.*\n$")
        np.testing.assert_array_equal(np.load(self.path("out.npy")), VOLUME[:1])
        self.assertEqual(self.call(*arguments, "--overwrite")[0], 0)
        np.testing.assert_array_equal(np.load(self.path("out.npy")), VOLUME)

    def test_wrong_input_is_one_line_and_exit_code_2(self):
        whole = (self.network, self.path("in.npy"), self.path("out.npy"))
        for words, arguments in (
            ("none.npy: ", (self.network, self.path("none.npy"), whole[2])),
            ("expected FILE.onnx", (self.path("net.txt"), *whole[1:])),
            ("--config and --parameter exclude", (*whole, "--config=c", "--parameter=a=1")),
            ("'in.npy' found, expected NAME=VOLUME", (whole[0], "a=b.npy", "in.npy", whole[2])),
            ("name each input once", (whole[0], "a=b.npy", "a=c.npy", whole[2])),
            ("name each key once", (*whole, "--parameter=a=1", "--parameter=a=2")),
            ("would be lost: name another file", (whole[0], whole[1], self.path("two.h5:/out"), "--overwrite")),
            ("name another output", (whole[0], whole[1], whole[1], "--overwrite")),
            ("argument --threads: '2x' found", (*whole, "--threads=2x")),
            ("the following arguments are required: output; see znni-run --help", whole[:2]),
            ("unrecognized arguments: --volume=3,4,5; see znni-run --help", (*whole, "--volume=3,4,5")),
            ("--scale: 'x' found, expected a finite number", (*whole, "--scale=x")),
            ("--offset: 'nan' found, expected a finite number", (*whole, "--offset=nan")),
            ("scale: (1e+39, 0.0) found", (*whole, "--scale=1e39")),
            ("channels: '1' found, expected numbers of channels from 0 to 0", (*whole, "--channels=1")),
            ("tta: 'zz' found, expected 'mirror'", (*whole, "--tta=zz")),
            ("none.npy: there is no such file", (*whole, "--mask=none.npy")),
            ("'scale' found, expected KEY=VALUE", (*whole, "--parameter=scale")),
        ):
            with self.subTest(words):
                self.serve()
                code, out, err = self.call(*arguments)
                self.assertEqual((code, out, err.count("\n")), (2, "", 1), err)
                self.assertTrue(err.startswith("znni-run: "), err)
                self.assertIn(words, err)
                self.assertFalse((self.folder / "out.npy").exists())

    def test_tells_its_version(self):
        self.assertEqual(self.call("--version")[:2], (0, f"znni-run {__version__}\n"))


if __name__ == "__main__":
    unittest.main()

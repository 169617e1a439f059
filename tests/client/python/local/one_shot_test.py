"""Errors that are told before a daemon is started. tests/e2e/python_client_test.py has the rest."""

import inspect
import os
import pathlib
import tempfile
import unittest
from unittest import mock

import numpy as np
import znni
from fake_daemon import FakeDaemon

VOLUME = np.arange(60, dtype=np.uint8).reshape(3, 4, 5)


class OneShotTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.network = self.folder / "same.onnx"
        self.network.touch()

    def play(self, *lines):
        """Makes znnid a script."""
        path = self.folder / "znnid"
        path.write_text("\n".join(["#!/bin/sh", *lines, ""]))
        path.chmod(0o755)
        self.enterContext(mock.patch.dict(os.environ, {"ZNNID": str(path)}))

    def test_returns_the_output(self):
        address = self.enterContext(FakeDaemon().served())
        self.play(f'echo "info listening on {address}" >&2', "exec sleep 600")
        output = np.zeros_like(VOLUME)
        found = znni.predict(self.network, VOLUME, output, dtype="uint8", roi="0:3,0:4,0:5", progress=False)
        self.assertIs(found, output)
        np.testing.assert_array_equal(found, VOLUME)
        found = znni.predict(self.network, VOLUME, scale=(0.5, -1), progress=False)
        np.testing.assert_array_equal(found, VOLUME / np.float32(2) - 1)

    def test_takes_all_that_a_client_does(self):
        """With the same defaults; it hands them on. There is one version of its network."""
        address = self.enterContext(FakeDaemon().served())
        self.play(f'echo "info listening on {address}" >&2', "exec sleep 600")
        theirs = inspect.signature(znni.Client.predict).parameters
        own = inspect.signature(znni.predict).parameters
        shared = {name: each for name, each in theirs.items() if name not in ("self", "model", "version")}
        for name, each in shared.items():
            self.assertEqual((own[name].kind, own[name].default), (each.kind, each.default), name)
        given = {
            "roi": "0:2,0:3,0:4",
            "pad": "edge",
            "dtype": "uint8",
            "scale": (2, 1),
            "mask": np.ones((3, 4, 5)),
            "channels": [0],
            "tta": "yx",
            "overwrite": True,
            "resume": False,
            "progress": False,
        }
        self.assertEqual({"volume", "output", *given}, shared.keys())
        with mock.patch.object(znni.Client, "predict", return_value="all") as called:
            self.assertEqual(znni.predict(self.network, VOLUME, **given), "all")
        self.assertEqual(called.call_args, mock.call("same", VOLUME, None, **given))

    def test_plans_for_a_volume_that_is_large(self):
        address = self.enterContext(FakeDaemon().served())
        self.play(f'echo "$@" >>{self.folder}/options', f'echo "info listening on {address}" >&2', "exec sleep 600")
        for shape, pad, roi in (
            ((20, 320, 320), "zero", None),
            ((20, 320, 320), "none", None),
            ((20, 320, 320), "none", "0:10,0:320,0:320"),
        ):
            volume = np.zeros(shape, np.uint8)
            znni.predict(self.network, volume, dtype="uint8", pad=pad, roi=roi, progress=False)
        options = (self.folder / "options").read_text().splitlines()
        self.assertTrue(options[0].endswith("--volume 20,320,320 --volume-is-padded"), options)
        self.assertTrue(options[1].endswith("--volume 20,320,320"), options)
        self.assertNotIn("--volume", options[2])

    def test_wrong_use_starts_nothing(self):
        self.play(f"touch {self.folder}/started")
        for words, volume, options in (
            ("pad: 'x'", VOLUME, {"pad": "x"}),
            ("dtype: 'int8'", VOLUME, {"dtype": "int8"}),
            ("tta: 'w' found", VOLUME, {"tta": "w"}),
            ("scale: 'x' found", VOLUME, {"scale": "x"}),
            ("complex128 found", VOLUME.astype(complex), {}),
            ("no such file", "/none.npy", {}),
            ("roi: z from 0 to 9 found", VOLUME, {"roi": "0:9,0:4,0:5"}),
        ):
            with self.assertRaisesRegex(znni.Error, words):
                znni.predict(self.network, volume, progress=False, **options)
        with self.assertRaisesRegex(znni.InvalidError, "same.npy: is there already"):
            (self.folder / "same.npy").touch()
            znni.predict(self.network, VOLUME, self.folder / "same.npy", progress=False)
        with self.assertRaisesRegex(
            znni.InvalidError, "^mask: a mask of 3x4x6 voxels found, expected one channel of 3x4"
        ):
            znni.predict(self.network, VOLUME, mask=np.ones((3, 4, 6)), progress=False)
        np.save(self.folder / "mask.npy", np.ones((3, 4, 5)))
        with self.assertRaisesRegex(znni.InvalidError, "mask.npy: lies in the output"):
            mask = self.folder / "mask.npy"
            znni.predict(self.network, VOLUME, mask, mask=mask, overwrite=True, progress=False)
        self.assertFalse((self.folder / "started").exists())


if __name__ == "__main__":
    unittest.main()

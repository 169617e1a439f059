"""Arrays of TensorStore."""

import os
import socket
import subprocess
import sys
import unittest
from unittest import mock

import numpy as np
import tensorstore
from znni.errors import AccessError, Error, InvalidError, NotFoundError, UnavailableError
from znni.stores.tensors import TensorArray, arranged, error_of, open_store, tensorstore_module

METADATA = {"dimensions": [5, 4, 3], "blockSize": [2, 2, 2], "dataType": "int16", "compression": {"type": "raw"}}
SILENT = """
from znni.errors import Error
from znni.stores import opening, remote
remote._RETRIES = {"max_retries": 1, "initial_delay": "1ms", "max_delay": "1ms"}
try:
    opening.open_source("precomputed://s3://data/p")
except Error as error:
    print(type(error).__name__, error)
"""


class TensorsTest(unittest.TestCase):
    def setUp(self):
        store = open_store({"driver": "n5", "kvstore": {"driver": "memory"}, "metadata": METADATA}, "v")
        self.array = TensorArray(arranged(store, (2, 1, 0)), (2, 2, 2), "v")

    def test_an_array_of_numpys_order(self):
        values = np.arange(-30, 30, dtype="i2").reshape(3, 4, 5)
        self.array[...] = values
        self.assertEqual((self.array.shape, self.array.dtype, self.array.chunks), ((3, 4, 5), np.int16, (2, 2, 2)))
        found = self.array[1:3, 2:4, 1:5]
        np.testing.assert_array_equal(found, values[1:3, 2:4, 1:5])
        self.assertTrue(found.flags.c_contiguous)
        self.array[2, 1:3, 0:2] = np.zeros((2, 2), "i2")
        values[2, 1:3, 0:2] = 0
        np.testing.assert_array_equal(self.array[:], values)
        self.assertEqual((self.array.first().shape, self.array.first().chunks), ((4, 5), (2, 2)))
        np.testing.assert_array_equal(self.array.first()[1:], values[0, 1:])

    def test_it_begins_at_0(self):
        store = tensorstore.open(
            {"driver": "n5", "kvstore": {"driver": "memory"}, "metadata": METADATA, "create": True}
        ).result()
        moved = TensorArray(store[tensorstore.d[:].translate_to[7]], (2, 2, 2), "v")
        moved[0:1] = np.full((1, 4, 3), 9, "i2")
        self.assertEqual((moved[:].sum(), store[0].read().result().sum()), (9 * 12, 9 * 12))

    def test_an_old_version(self):
        with mock.patch("importlib.metadata.version", return_value="0.1.85rc1"):
            with self.assertRaisesRegex(
                InvalidError, "^tensorstore 0.1.85rc1 found, expected 0.1.86 or newer: pip install"
            ):
                tensorstore_module()
        for version in ("0.1.86", "0.2", "1.0.0"):
            with mock.patch("importlib.metadata.version", return_value=version):
                self.assertIs(tensorstore_module(), tensorstore)

    def test_a_server_that_says_nothing(self):
        """TensorStore reads the limits once, so a process of its own has short ones."""
        with socket.create_server(("127.0.0.1", 0)) as silent:
            limits = {
                "TENSORSTORE_CURL_LOW_SPEED_TIME_SECONDS": "1",
                "AWS_ACCESS_KEY_ID": "a",
                "AWS_SECRET_ACCESS_KEY": "b",
                "AWS_ENDPOINT_URL": f"http://127.0.0.1:{silent.getsockname()[1]}",
                "no_proxy": "*",
            }
            found = subprocess.run(
                [sys.executable, "-c", SILENT], env={**os.environ, **limits}, capture_output=True, text=True
            )
        self.assertRegex(found.stdout, "^UnavailableError s3://data/p/info: All 1 retry attempts failed: .*too slow")

    def test_limits_of_the_environment_hold(self):
        name = "TENSORSTORE_CURL_LOW_SPEED_TIME_SECONDS"
        with mock.patch.dict(os.environ):
            for value, expected in (("", "60"), ("7", "7")):
                os.environ.pop(name, None)
                os.environ.update({name: value} if value else {})
                tensorstore_module()
                self.assertEqual(os.environ[name], expected)

    def test_errors_are_one_line_of_the_kind_that_they_are(self):
        for status, kind in (
            ("NOT_FOUND", NotFoundError),
            ("PERMISSION_DENIED", AccessError),
            ("ABORTED", UnavailableError),
            ("DATA_LOSS", InvalidError),
            ("INTERNAL", Error),
        ):
            found = error_of(ValueError(f"{status}: bad\n news [x-id='a']  [source locations='b\nc']"), "v")
            self.assertEqual((type(found), str(found)), (kind, "v: bad news"))
        self.assertIs(type(error_of(ValueError("x [y]"), "v")), InvalidError)
        self.assertEqual(str(error_of(RuntimeError("x [y]"), "v")), "v: x [y]")

    def test_what_is_wrong_is_said(self):
        with self.assertRaisesRegex(InvalidError, "^v: .*blockSize"):
            open_store(
                {"driver": "n5", "kvstore": {"driver": "memory"}, "metadata": {**METADATA, "blockSize": [0, 1, 1]}}, "v"
            )
        with self.assertRaisesRegex(InvalidError, "^v: "):
            self.array[0:99]
        with self.assertRaisesRegex(InvalidError, "^v: "):
            self.array[0:2] = np.zeros((3, 4, 5), "i2")


if __name__ == "__main__":
    unittest.main()

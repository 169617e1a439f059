"""Files that callers name, and those of modules, with a stand-in for PyTorch."""

import pathlib
import tempfile
import unittest
from unittest import mock

import numpy as np
from fake_torch import Module, use_fake_torch
from znni.errors import InvalidError
from znni.pytorch.network_file import network_file


class NetworkFileTest(unittest.TestCase):
    def refused(self, words, network, example=None):
        with self.assertRaisesRegex(InvalidError, words), network_file(network, example):
            pass

    def test_a_path_is_itself(self):
        for path in ("a/net.onnx", pathlib.Path("a/net.onnx")):
            with network_file(path) as file:
                self.assertEqual((file.path, file.name, file.argument), ("a/net.onnx", "a/net.onnx", "'a/net.onnx'"))
                self.assertEqual(file.named("a/net.onnx runs"), "a/net.onnx runs")
        self.refused("^example: found, but it is for a torch.nn.Module: net.onnx itself", "net.onnx", (1, 1, 8, 8, 8))

    def test_a_module_has_a_file_for_a_while(self):
        torch = use_fake_torch(self)
        folder = self.enterContext(tempfile.TemporaryDirectory())
        self.enterContext(mock.patch("tempfile.tempdir", folder))
        with network_file(Module(lambda given: given), (1, 2, 5, 6, 7)) as file:
            self.assertEqual(pathlib.Path(file.path).read_text(), "onnx")
            self.assertEqual((file.name, file.argument), ("Module", "module"))
            self.assertEqual(file.named(f"{file.path} runs, {file.path}"), "Module runs, Module")
        self.assertEqual(list(pathlib.Path(folder).iterdir()), [])
        torch.onnx.failure = RuntimeError("no such operator")
        self.refused("^module: Module cannot be exported to ONNX: no such operator$", Module(lambda given: given))
        self.assertEqual(list(pathlib.Path(folder).iterdir()), [])

    def test_anything_else_is_refused(self):
        for network, name in ((5, "int"), (None, "NoneType"), (np.zeros(3), "ndarray"), (Module(), "Module")):
            self.refused(f"^network: {name} found, expected the path of FILE.onnx, or a torch.nn.Module$", network)
        use_fake_torch(self)
        self.refused("^network: int found", 5)


if __name__ == "__main__":
    unittest.main()

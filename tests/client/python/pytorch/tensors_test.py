"""Tensors to arrays and back, of a stand-in for PyTorch and, where it is installed, of PyTorch."""

import sys
import unittest
from unittest import mock

import numpy as np
from fake_torch import Tensor, needs_torch, use_fake_torch
from znni.errors import InvalidError
from znni.pytorch.tensors import array_of, check_batch, is_tensor, like, torch_module

VOXELS = np.arange(24, dtype=np.float32).reshape(1, 1, 2, 3, 4)


class TorchTensorsTest(unittest.TestCase):
    def setUp(self):
        self.torch = use_fake_torch(self)

    def refused(self, words, tensor):
        with self.assertRaisesRegex(InvalidError, words):
            array_of(tensor, "x")

    def test_voxels_are_not_copied(self):
        self.assertIs(array_of(VOXELS, "x"), VOXELS)
        self.assertIs(array_of(Tensor(VOXELS), "x"), VOXELS)

    def test_the_same_kind_comes_back(self):
        self.assertIs(like(VOXELS, VOXELS), VOXELS)
        made = like(VOXELS, Tensor(VOXELS))
        self.assertTrue(is_tensor(made))
        self.assertIs(made.array, VOXELS)

    def test_what_is_refused(self):
        self.refused("^x: list found, expected a tensor of torch or an array of NumPy$", [1])
        self.refused(
            r"^x: a tensor on cuda:0 found, expected one on the CPU: pass x.cpu\(\)$", Tensor(VOXELS, "cuda:0")
        )
        self.refused("^x: a tensor of torch.bfloat16, strided found, expected a dense", Tensor(VOXELS, kind="bfloat16"))
        self.refused("^x: a tensor of torch.float32, sparse found", Tensor(VOXELS, layout="sparse"))
        for voxels in (VOXELS.astype(np.float64), Tensor(VOXELS.astype(np.float64))):
            self.refused("^x: voxels of type float64 found, expected uint8, uint16, float16 or float32", voxels)

    def test_gradients(self):
        given = Tensor(VOXELS, requires_grad=True)
        self.refused(
            r"^x: a tensor that requires a gradient found, but the output has none: pass x.detach\(\), or", given
        )
        with self.torch.no_grad():
            self.assertIs(array_of(given, "x"), VOXELS)

    def test_without_torch(self):
        with mock.patch.dict(sys.modules, {"torch": None}):
            with self.assertRaisesRegex(InvalidError, r"^znni.compile needs torch: pip install 'znni\[torch\]'$"):
                torch_module("znni.compile")
            self.assertFalse(is_tensor(Tensor(VOXELS)))
            self.assertIs(array_of(VOXELS, "x"), VOXELS)
        self.assertIs(torch_module("znni.compile"), self.torch)

    def test_shapes_of_batches(self):
        check_batch((0, 2, 3, 4, 5), 2, "x")
        for shape in ((2, 3, 4, 5), (1, 3, 3, 4, 5), (1, 1, 2, 3, 4, 5)):
            with self.assertRaisesRegex(InvalidError, r"^x: shape \(.*\) found, expected \[N, 2, Z, Y, X\]$"):
                check_batch(shape, 2, "x")


@needs_torch
class RealTensorsTest(unittest.TestCase):
    def setUp(self):
        import torch

        self.torch = torch

    def test_voxels_are_not_copied(self):
        tensor = self.torch.from_numpy(VOXELS.copy())
        for given in (tensor, tensor.transpose(2, 4), tensor[:, :, ::2]):
            found = array_of(given, "x")
            np.testing.assert_array_equal(found, np.array(given.tolist(), np.float32))
            found[..., 0] = 7
            self.assertEqual(given[0, 0, 0, 0, 0], 7)
            self.assertEqual(type(like(found, given)), self.torch.Tensor)

    def test_what_is_refused(self):
        zeros = self.torch.zeros(1, 1, 2, 2, 2)
        for words, tensor in (
            ("on meta found, expected one on the CPU", zeros.to("meta")),
            ("sparse", zeros.to_sparse()),
            ("torch.bfloat16", zeros.bfloat16()),
            ("float64", zeros.double()),
            ("requires a gradient", zeros.requires_grad_()),
        ):
            with self.assertRaisesRegex(InvalidError, words):
                array_of(tensor, "x")
        for context in (self.torch.no_grad, self.torch.inference_mode):
            with context():
                self.assertEqual(array_of(zeros, "x").shape, (1, 1, 2, 2, 2))


if __name__ == "__main__":
    unittest.main()

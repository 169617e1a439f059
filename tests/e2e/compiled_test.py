"""Modules of PyTorch that are called as before: what znnid returns is what PyTorch computes of them. Also in MONAI.

Runs only if torch is installed, and monai for its part: deploy/packages/python.txt has neither. Else it says that it is
skipped.
"""

import importlib.util
import os
import pathlib
import tempfile
import unittest
from unittest import mock

import numpy as np
import znni
from harness import ZNNID

BOUND = 1e-5  # of the largest output
HAS_TORCH = bool(importlib.util.find_spec("torch"))
HAS_MONAI = HAS_TORCH and bool(importlib.util.find_spec("monai"))

if HAS_TORCH:
    import torch
    from torch import nn
    from torch.nn import functional

    class UNet(nn.Module):
        """Two resolutions and a skip, with padding or valid."""

        def __init__(self, norm, padding):
            super().__init__()
            self.upper = nn.Sequential(nn.Conv3d(2, 6, 3, padding=padding), norm(6), nn.ELU(), nn.Dropout())
            self.lower = nn.Sequential(nn.Conv3d(6, 12, 3, padding=padding), norm(12), nn.ReLU())
            self.up = nn.ConvTranspose3d(12, 6, 2, 2)
            self.last = nn.Conv3d(12, 3, 3, padding=padding)

        def forward(self, given):
            """Computes it."""
            upper = self.upper(given)
            lower = self.up(self.lower(functional.max_pool3d(upper, 2)))
            for axis in (2, 3, 4):
                lost = upper.shape[axis] - lower.shape[axis]
                upper = upper.narrow(axis, lost // 2, lower.shape[axis])
            return self.last(torch.cat([upper, lower], 1))

    class Heads(nn.Module):
        """A trunk with outputs of two kinds, or of two resolutions, or the numbers of classes."""

        def __init__(self, returned):
            super().__init__()
            self.trunk = nn.Conv3d(1, 4, 3, padding=1)
            self.first, self.second = nn.Conv3d(4, 3, 3, padding=1), nn.Conv3d(4, 2, 1)
            self.returned = returned

        def forward(self, given):
            """Computes it."""
            trunk = torch.relu(self.trunk(given))
            return self.returned(self, trunk)


def padded():
    """Returns a net whose output is as large as its input."""
    return nn.Sequential(
        nn.Conv3d(1, 8, 3, padding=1),
        nn.ReLU(),
        nn.Conv3d(8, 4, (1, 3, 5), padding="same"),
        nn.Tanh(),
        nn.Conv3d(4, 2, 1),
        nn.Softmax(1),
    )


def pooling():
    """Returns a valid net whose output is coarse."""
    return nn.Sequential(nn.Conv3d(1, 4, 3), nn.ReLU(), nn.MaxPool3d(2), nn.Conv3d(4, 2, 3))


class CompiledCase(unittest.TestCase):
    """Compiles modules, with folders of its own."""

    def setUp(self):
        self.work = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.enterContext(
            mock.patch.dict(
                os.environ,
                {
                    "ZNNID": str(ZNNID),
                    "ZNNI_PLANNER": str(ZNNID.parent / "planner"),
                    "TMPDIR": str(self.work),
                    "XDG_STATE_HOME": str(self.work / "state"),
                },
            )
        )
        torch.manual_seed(5)

    def compile(self, module, example=None, **options):
        """Returns the module in eval mode, with random statistics, compiled."""
        for part in module.modules():
            if getattr(part, "running_var", None) is not None:
                part.running_mean.normal_()
                part.running_var.uniform_(0.5, 2)
        return self.enterContext(znni.compile(module.eval(), example, mem="512M", progress=False, **options))

    def assert_same(self, found, expected):
        """Expects the same shape and type, numbers within the bound, and equal whole numbers."""
        self.assertEqual((type(found), found.shape, found.dtype), (type(expected), expected.shape, expected.dtype))
        bound = BOUND * expected.abs().max() if expected.is_floating_point() else 0
        self.assertLessEqual((found - expected).abs().max(), bound)


@unittest.skipUnless(HAS_TORCH, "torch is not installed")
class CompiledTest(CompiledCase):
    """Modules of many kinds."""

    def assert_computes(self, module, *shapes, **options):
        """Expects that the compiled module returns what the module returns."""
        fast = self.compile(module, **options)
        for shape in shapes:
            x = torch.randn(shape)
            with torch.no_grad():
                found, expected = fast(x), module(x)
            if torch.is_tensor(expected):
                self.assert_same(found, expected)
            else:
                self.assertEqual((type(found), len(found)), (type(expected), len(expected)))
                for pair in zip(found, expected):
                    self.assert_same(*pair)

    def test_nets_that_pad(self):
        self.assert_computes(padded(), (1, 1, 9, 12, 20), (3, 1, 4, 5, 6))
        self.assert_computes(UNet(nn.BatchNorm3d, 1), (1, 2, 12, 16, 20), (2, 2, 8, 20, 10))

    def test_valid_nets(self):
        self.assert_computes(
            nn.Sequential(nn.Conv3d(1, 6, 3), nn.ReLU(), nn.Conv3d(6, 2, (1, 2, 4))), (2, 1, 9, 12, 20), (1, 1, 3, 4, 6)
        )
        self.assert_computes(UNet(nn.BatchNorm3d, 0), (1, 2, 20, 16, 24))

    def test_nets_that_normalise(self):
        shape = (1, 2, 12, 16, 20)
        self.assert_computes(UNet(nn.InstanceNorm3d, 1), shape, example=shape)
        self.assert_computes(UNet(lambda n: nn.GroupNorm(2, n), 1), shape, example=shape)

    def test_several_outputs(self):
        self.assert_computes(Heads(lambda net, x: (net.first(x), torch.sigmoid(net.second(x)))), (2, 1, 8, 9, 10))
        self.assert_computes(
            Heads(lambda net, x: [net.first(x), net.second(functional.avg_pool3d(x, 2))]), (1, 1, 8, 12, 10)
        )
        self.assert_computes(Heads(lambda net, x: (net.first(x).argmax(1),)), (2, 1, 8, 9, 10))

    def test_strides(self):
        self.assert_computes(
            nn.Sequential(nn.Conv3d(1, 4, 3, stride=2, padding=1), nn.ReLU(), nn.Conv3d(4, 2, 1)), (1, 1, 8, 12, 10)
        )
        with self.assertRaisesRegex(znni.InvalidError, "returns .* where its dense output is .*: pass dense"):
            self.compile(pooling())

    def test_dense_outputs(self):
        module = pooling()
        fast = self.compile(module, dense=True)
        x = torch.randn(1, 1, 13, 12, 15)
        found = fast(x)
        self.assertEqual(found.shape, (1, 2, 6, 5, 8))
        with torch.no_grad():
            for z, y, x0 in np.ndindex(2, 2, 2):
                self.assert_same(found[:, :, z::2, y::2, x0::2], module(x[:, :, z:, y:, x0:]))

    def test_patches(self):
        module = nn.Sequential(nn.Conv3d(1, 4, 3), nn.ReLU(), nn.MaxPool3d(2), nn.Flatten(), nn.Linear(4 * 3**3, 3))
        with self.assertRaisesRegex(znni.InvalidError, r"returns \[1, 3\] for .*: pass dense=True"):
            self.compile(module, (1, 1, 8, 8, 8))
        x = torch.randn(1, 1, 8, 9, 8)
        found = self.compile(module, (1, 1, 8, 8, 8), dense=True)(x)
        with torch.no_grad():
            self.assert_same(found[:, :, 0, 1, 0], module(x[:, :, :, 1:]))

    def test_weights_are_those_of_the_call(self):
        module = padded()
        fast = self.compile(module)
        x = torch.randn(1, 1, 6, 7, 8)
        with torch.no_grad():
            expected = module(x)
            module[0].weight.zero_()
        self.assert_same(fast(x), expected)

    def test_what_is_refused(self):
        bad = nn.Sequential(
            nn.Conv3d(1, 2, 3),
            nn.MaxPool3d(2, stride=3, ceil_mode=True),
            nn.ConstantPad3d(1, 2.0),
            nn.Conv3d(2, 2, 3),
        )
        with self.assertRaisesRegex(
            znni.InvalidError,
            r"^module: Sequential does not run here: 2 blockers of 2 kinds: "
            r"MaxPool \(1\): ceil_mode = 1 .*'/1/MaxPool' \| Pad by other",
        ):
            self.compile(bad)
        fast = self.compile(UNet(nn.BatchNorm3d, 1))
        with self.assertRaises(znni.InvalidError):
            fast(torch.zeros(1, 2, 13, 16, 20))


@unittest.skipUnless(HAS_MONAI, "monai is not installed")
class MonaiTest(CompiledCase):
    """The pipelines of MONAI, in place of whose inferer ours stands."""

    def test_metadata(self):
        import znni.monai
        from monai.data import MetaTensor
        from monai.inferers import Inferer, SlidingWindowInferer

        module = padded()
        inferer = znni.monai.Inferer(self.compile(module))
        self.assertIsInstance(inferer, Inferer)
        affine = torch.diag(torch.tensor([2.0, 3.0, 4.0, 1.0], dtype=torch.float64))
        for x in (torch.randn(2, 1, 6, 7, 8), MetaTensor(torch.randn(1, 1, 6, 7, 8), affine, {"filename": "a.nii"})):
            with torch.no_grad():
                expected = SlidingWindowInferer((6, 7, 8))(x, module)
            found = inferer(x, network=module)
            self.assert_same(found, expected)
            self.assertEqual(getattr(found, "meta", {}).get("filename"), getattr(x, "meta", {}).get("filename"))
        self.assertTrue(torch.equal(found.affine, affine))

    def test_where_smaller_outputs_lie(self):
        import znni.monai
        from monai.data import MetaTensor

        x = MetaTensor(torch.randn(1, 1, 9, 9, 9), torch.eye(4, dtype=torch.float64))
        found = znni.monai.Inferer(self.compile(nn.Conv3d(1, 2, (1, 3, 5))))(x)
        self.assertEqual(found.affine[:3, 3].tolist(), [0, 1, 2])
        self.assertEqual(x.affine[:3, 3].tolist(), [0, 0, 0])

    def test_windows_are_those_of_monai(self):
        import znni.monai
        from monai.inferers import SlidingWindowInferer

        module, window = UNet(nn.InstanceNorm3d, 1), (8, 12, 16)
        fast = self.compile(module, (1, 2, *window), config={"window_overlap": 0.25, "window_weight": "constant"})
        x = torch.randn(1, 2, 17, 21, 30)
        with torch.no_grad():
            expected = SlidingWindowInferer(window, overlap=0.25, mode="constant")(x, module)
        self.assert_same(znni.monai.Inferer(fast)(x, module), expected)

    def test_several_outputs(self):
        import znni.monai
        from monai.data import MetaTensor

        module = Heads(lambda net, x: (net.first(x), net.second(x)))
        x = MetaTensor(torch.randn(1, 1, 6, 7, 8), meta={"filename": "a.nii"})
        found = znni.monai.Inferer(self.compile(module))(x, module)
        with torch.no_grad():
            for got, expected in zip(found, module(x)):
                self.assert_same(got, expected)
                self.assertEqual(got.meta["filename"], "a.nii")

    def test_weights_that_change(self):
        import znni.monai

        module = padded()
        inferer = znni.monai.Inferer(self.compile(module))
        with torch.no_grad():
            next(module.parameters()).add_(1)
        with self.assertRaisesRegex(znni.InvalidError, "the weights of Sequential have changed"):
            inferer(torch.randn(1, 1, 6, 7, 8), module)


if __name__ == "__main__":
    unittest.main()

"""Modules to files: with a stand-in for PyTorch and, where it is installed, with PyTorch."""

import pathlib
import sys
import tempfile
import unittest
import warnings
from unittest import mock

import numpy as np
from fake_torch import Module, Tensor, TracerWarning, needs_torch, use_fake_torch
from znni.errors import InvalidError
from znni.pytorch.export import check_unchanged, evaluated, export, fingerprint, warn_of_training


class _DropoutNd(Module):
    """A part that training changes, by the name of its class."""


def zeros(*shape, kind=np.float32):
    """Returns a tensor."""
    return Tensor(np.zeros(shape, kind))


def valid(lost, channels=2):
    """Returns a module that loses voxels of [N, 1, Z, Y, X]."""

    def forward(given):
        extent = [n - lost for n in given.shape[2:]]
        if min(extent) < 1:
            raise RuntimeError("kernel size\ncan't be greater than the input")
        return zeros(1, channels, *extent)

    return Module(forward)


class ExportTest(unittest.TestCase):
    def setUp(self):
        self.torch = use_fake_torch(self)
        self.folder = self.enterContext(tempfile.TemporaryDirectory())

    def refused(self, words, module, example=None):
        with self.assertRaisesRegex(InvalidError, words) as caught:
            export(module, example, self.folder)
        self.assertNotIn("\n", str(caught.exception))

    def test_extents_are_open(self):
        found = export(valid(4), (2, 1, 9, 10, 11), self.folder)
        self.assertEqual((found.network, found.name), (pathlib.Path(self.folder) / "Module.onnx", "Module"))
        self.assertEqual(found.network.read_text(), "onnx")
        self.assertEqual((found.example, found.extent), ((1, 1, 9, 10, 11), (9, 10, 11)), "of a batch the first")
        self.assertEqual([(output.shape, output.dtype) for output in found.outputs], [((1, 2, 5, 6, 7), "float32")])
        self.assertIsNone(found.sequence)
        options = self.torch.onnx.options
        self.assertEqual((options["opset_version"], options["dynamo"]), (17, False))
        self.assertEqual((options["input_names"], options["output_names"]), (["input"], ["output"]))
        self.assertEqual(
            {name: sorted(axes) for name, axes in options["dynamic_axes"].items()},
            {"input": [2, 3, 4], "output": [2, 3, 4]},
        )

    def test_several_outputs(self):
        for kind in (tuple, list):
            module = Module(lambda _, kind=kind: kind([zeros(1, 2, 8, 8, 8), zeros(1, 8, 8, 8, kind=np.int64)]))
            found = export(module, (1, 1, 8, 8, 8), self.folder)
            self.assertEqual((found.sequence, found.outputs[1].dtype), (kind, "int64"))
            self.assertEqual(self.torch.onnx.options["output_names"], ["output0", "output1"])
            self.assertEqual(sorted(self.torch.onnx.options["dynamic_axes"]["output1"]), [1, 2, 3])

    def test_patches_are_not_open(self):
        export(Module(lambda _: zeros(1, 3)), (1, 1, 8, 8, 8), self.folder)
        self.assertIsNone(self.torch.onnx.options["dynamic_axes"])

    def test_examples(self):
        for example in (zeros(2, 1, 9, 9, 9), zeros(2, 1, 9, 9, 9).array, [1, 1, 9, 9, 9]):
            self.assertEqual(export(valid(4), example, self.folder).example, (1, 1, 9, 9, 9))
        self.refused("^example: 'x' found, expected a tensor or the shape", valid(4), "x")
        self.refused(r"^example: shape \[1, 9, 9, 9\] found, expected \[1, C, Z, Y, X\]$", valid(4), (1, 9, 9, 9))
        self.refused(
            "^example: a tensor on cuda:1 found, expected one on the CPU",
            valid(4),
            Tensor(np.zeros((1, 1, 9, 9, 9), np.float32), "cuda:1"),
        )
        self.refused(
            "^example: voxels of type uint8 found, expected float32$", valid(4), zeros(1, 1, 9, 9, 9, kind=np.uint8)
        )
        self.refused(r"^example: Module does not take \[1, 1, 3, 9, 9\]: kernel size$", valid(4), (1, 1, 3, 9, 9))

    def test_shapes(self):
        self.assertEqual(export(valid(4), tuple(np.array([1, 1, 9, 9, 9])), self.folder).example, (1, 1, 9, 9, 9))
        for example in ((), (1, 1, 0, 9, 9), (1, 1, 9.0, 9, 9), 9):
            self.refused("^example: .* found, expected a tensor or the shape", valid(4), example)
        for shape in ((), (9,), (0, 1, 9, 9, 9)):
            self.refused(r"^example: shape \[.*\] found, expected \[1, C, Z, Y, X\]$", valid(4), zeros(*shape))

    def test_examples_are_copied(self):
        given = np.random.default_rng(3).random((2, 1, 6, 7, 8), np.float32)
        for example in (given, given[:, :, ::-1], given.astype(">f4"), np.asfortranarray(given), Tensor(given)):
            values = example.array if isinstance(example, Tensor) else example
            values.flags.writeable = False
            before, seen = values[:1].copy(), []

            def forward(x):
                seen.append((x.array.copy(), x.array.dtype.isnative, x.array.flags.c_contiguous))
                x.array[...] = -1  # as an activation in place does
                return x

            export(Module(forward), example, self.folder)
            np.testing.assert_array_equal(seen[0][0], before)
            self.assertEqual(seen[0][1:], (True, True))
            np.testing.assert_array_equal(values[:1], before)

    def test_needs_onnx(self):
        with mock.patch.dict(sys.modules, {"onnx": None}):
            self.refused(r"^modules of PyTorch need onnx: pip install 'znni\[torch\]'$", valid(4))

    def test_cubes_are_tried(self):
        self.assertEqual(export(valid(4), None, self.folder).extent, (16, 16, 16))
        self.assertEqual(export(valid(15), None, self.folder).extent, (32, 32, 32), "of 16 only one voxel is left")
        module = valid(4)
        module.parts["first"] = Module()
        module.parts["first"].in_channels = 3
        self.assertEqual(export(module, None, self.folder).example, (1, 3, 16, 16, 16))
        self.refused(
            r"None found, but Module takes no cube \[1, 1, n, n, n\] of up to 128 voxels \(kernel size\): ", valid(200)
        )

    def test_modes_and_what_depends_on_them(self):
        module = valid(4)
        module.parts = {"drop": _DropoutNd(), "frozen": Module()}
        module.parts["frozen"].training = False
        export(module, None, self.folder)
        self.assertEqual(self.torch.onnx.modes, [False, False, False])
        self.assertEqual([part.training for part in module.modules()], [True, True, False])
        with self.assertRaises(ZeroDivisionError), evaluated(module):
            raise ZeroDivisionError
        self.assertEqual([part.training for part in module.modules()], [True, True, False])
        with self.assertWarnsRegex(UserWarning, r"^Module is in training mode: 'drop' \(_DropoutNd\) is computed as"):
            warn_of_training(module)
        normalises = Module(norm=Module())
        normalises.parts["norm"].running_mean = zeros(2)
        with self.assertWarnsRegex(UserWarning, "'norm'"):
            warn_of_training(normalises)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warn_of_training(valid(4))
            with evaluated(module):
                warn_of_training(module)

    def test_modules_that_are_refused(self):
        self.refused("^module: function found, expected a torch.nn.Module$", lambda given: given)
        self.refused(
            r"^module: 'w' on cuda:0 found, expected weights on the CPU: pass module.cpu\(\)$",
            Module(weights={"w": Tensor(np.zeros(2, np.float32), "cuda:0")}),
        )
        self.refused(
            r"^module: 'b' of torch.float64 found, expected torch.float32: pass module.float\(\)$",
            Module(buffers={"n": zeros(2, kind=np.int64), "b": zeros(2, kind=np.float64)}),
        )
        for words, returned in (
            ("Module returns dict, expected", {}),
            ("returns tuple with list", (zeros(1), [])),
            ("returns nothing", ()),
            ("torch.float64, expected torch.float32, or whole", zeros(1, 1, 2, 2, 2, kind=np.float64)),
        ):
            self.refused(words, Module(lambda _, returned=returned: returned), (1, 1, 2, 2, 2))
        self.torch.onnx.failure = RuntimeError("\nno such operator\nin line 3")
        self.refused("^module: Module cannot be exported to ONNX: no such operator$", valid(4))

    def test_warnings_of_the_exporter(self):
        def warn():
            warnings.warn("will be removed", DeprecationWarning, stacklevel=1)
            warnings.warn_explicit("of torch", TracerWarning, "norm.py", 1, module="torch.nn.functional")
            warnings.warn_explicit("a branch", TracerWarning, "net.py", 1, module="net")

        self.torch.onnx.warns = warn
        with warnings.catch_warnings(record=True) as shown:
            export(valid(4), None, self.folder)
        self.assertEqual([str(warning.message) for warning in shown], ["a branch"])

    def test_weights_that_change(self):
        weights = zeros(3)
        module = Module(weights={"w": weights}, buffers={"n": zeros(1, kind=np.int64)})
        before = fingerprint(module)
        check_unchanged(module, before, "compile it again")
        weights.array[1] = 1e-30
        with self.assertRaisesRegex(InvalidError, "^network: the weights of Module have changed since: compile it aga"):
            check_unchanged(module, before, "compile it again")


@needs_torch
class RealExportTest(unittest.TestCase):
    """ONNX Runtime computes what PyTorch writes, at extents other than the example's."""

    def setUp(self):
        import torch

        self.torch = torch
        self.folder = self.enterContext(tempfile.TemporaryDirectory())

    def assert_computes(self, module, extent):
        import onnxruntime

        found = export(module, None, self.folder)
        given = self.torch.rand(1, *found.example[1:2], *extent)
        with evaluated(module), self.torch.no_grad():
            expected = module(given).numpy()
        session = onnxruntime.InferenceSession(found.network, providers=["CPUExecutionProvider"])
        (computed,) = session.run(None, {"input": given.numpy()})
        np.testing.assert_allclose(computed, expected, rtol=0, atol=1e-5 * np.abs(expected).max())

    def test_networks(self):
        nn = self.torch.nn
        for module in (
            nn.Conv3d(2, 3, 3),
            nn.Sequential(
                nn.Conv3d(1, 4, 3, padding=1), nn.BatchNorm3d(4), nn.Dropout(), nn.ConvTranspose3d(4, 2, 2, 2)
            ),
        ):
            self.assert_computes(module, (9, 12, 20))
            self.assertTrue(all(part.training for part in module.modules()))

    def test_weights_that_change(self):
        module = self.torch.nn.BatchNorm3d(3)
        before = fingerprint(module)
        module(self.torch.rand(1, 3, 4, 4, 4))
        self.assertNotEqual(fingerprint(module), before)

    def test_what_cannot_be_exported(self):
        class Unknown(self.torch.nn.Module):
            """An operator without a form in ONNX."""

            def forward(self, given):
                """Computes it."""
                import torch

                return torch.special.bessel_j0(given)

        with self.assertRaisesRegex(InvalidError, "^module: Unknown cannot be exported to ONNX: .*bessel_j0"):
            export(Unknown(), (1, 1, 8, 8, 8), self.folder)


if __name__ == "__main__":
    unittest.main()

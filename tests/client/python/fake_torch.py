"""The part of PyTorch that the client uses, over NumPy, for tests where PyTorch is not installed."""

import contextlib
import importlib.util
import pathlib
import sys
import types
import unittest
from unittest import mock

import numpy as np

needs_torch = unittest.skipUnless(importlib.util.find_spec("torch"), "torch is not installed")


class Device(str):
    """The name of a device."""

    @property
    def type(self):
        """The kind of device."""
        return self.partition(":")[0]


class Tensor:
    """An array on a device. One of `kind` "bfloat16" or `layout` "sparse" is not an array of NumPy."""

    def __init__(self, array, device="cpu", requires_grad=False, kind=None, layout="strided"):
        self.array, self.requires_grad, self.layout = array, requires_grad, layout
        self.device = Device(device)
        self.dtype = f"torch.{kind or array.dtype}"
        self.shape, self.ndim = array.shape, array.ndim

    def __getitem__(self, index):
        return Tensor(self.array[index])

    def __len__(self):
        return len(self.array)

    def is_floating_point(self):
        """Returns True if its numbers are not whole."""
        return "float" in self.dtype

    def detach(self):
        """Returns itself."""
        return self

    def cpu(self):
        """Returns itself."""
        return self

    def double(self):
        """Returns it in float64."""
        return Tensor(self.array.astype(np.float64))

    def as_subclass(self, kind):
        """Returns it as a plain tensor."""
        return kind(self.array, kind=self.dtype.removeprefix("torch."), layout=self.layout)

    def numpy(self):
        """Returns the array."""
        if self.dtype == "torch.bfloat16" or self.layout == "sparse":
            raise TypeError("there is no such array")
        return self.array


class Module:
    """A module whose forward() is `function`, with weights and parts by name."""

    def __init__(self, function=None, weights=(), buffers=(), **parts):
        self.function, self.weights, self.stored, self.parts = function, dict(weights), dict(buffers), parts
        self.training = True

    def __call__(self, *given):
        return self.function(*given)

    def named_modules(self):
        """Returns itself and its parts, with their names."""
        return [("", self), *self.parts.items()]

    def modules(self):
        """Returns the same without names."""
        return [module for _, module in self.named_modules()]

    def named_parameters(self):
        """Returns the weights of all parts."""
        return [pair for module in self.modules() for pair in module.weights.items()]

    def named_buffers(self):
        """Returns what else is stored."""
        return [pair for module in self.modules() for pair in module.stored.items()]

    def parameters(self):
        """Returns the parameters without names."""
        return [weights for _, weights in self.named_parameters()]

    def buffers(self):
        """Returns the buffers without names."""
        return [stored for _, stored in self.named_buffers()]

    def eval(self):
        """Puts all parts into eval mode."""
        for module in self.modules():
            module.training = False


class TracerWarning(Warning):
    """The warning of the exporter."""


class Exporter:
    """Keeps what it was told, and the modes of the parts then; writes a file, or raises `failure`, after `warnings`."""

    def __init__(self):
        self.options, self.modes, self.failure, self.warns = {}, [], None, lambda: None

    def export(self, module, _, path, **options):
        """Plays torch.onnx.export."""
        self.options, self.modes = options, [part.training for part in module.modules()]
        self.warns()
        if self.failure:
            raise self.failure
        pathlib.Path(path).write_text("onnx")


def fake_torch():
    """Returns the module torch. `grad` in it says whether gradients are on."""
    torch = types.ModuleType("torch")

    @contextlib.contextmanager
    def no_grad():
        torch.grad, before = False, torch.grad
        try:
            yield
        finally:
            torch.grad = before

    torch.grad, torch.no_grad, torch.is_grad_enabled = True, no_grad, lambda: torch.grad
    torch.Tensor, torch.float32, torch.from_numpy = Tensor, "torch.float32", Tensor
    torch.zeros = lambda *shape: Tensor(np.zeros(shape, np.float32))
    torch.nn, torch.onnx = types.SimpleNamespace(Module=Module), Exporter()
    torch.jit = types.SimpleNamespace(TracerWarning=TracerWarning)
    return torch


def use_fake_torch(test):
    """Lets the client find it, and the package onnx, until the test ends. Returns it."""
    torch = fake_torch()
    test.enterContext(mock.patch.dict(sys.modules, {"torch": torch, "onnx": types.ModuleType("onnx")}))
    return torch

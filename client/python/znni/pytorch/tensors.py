"""Tensors of PyTorch on their way to NumPy and back. PyTorch itself is imported where it is needed."""

from __future__ import annotations

import importlib
import sys
from typing import Any

import numpy as np

from znni.errors import InvalidError
from znni.voxel_type import input_type


def torch_module(what: str) -> Any:
    """Returns torch. Raises InvalidError where it is not installed, for ``what`` needs it."""
    try:
        return importlib.import_module("torch")
    except ImportError:
        raise InvalidError(f"{what} needs torch: pip install 'znni[torch]'") from None


def is_tensor(value: Any) -> bool:
    """Returns whether this is a tensor of PyTorch, which then has been imported."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def array_of(tensor: Any, name: str) -> np.ndarray:
    """Returns the voxels of a tensor of PyTorch, without a copy, or an array of NumPy as it is. Raises InvalidError for
    anything else, for tensors on a GPU or with a gradient, and for voxels of a type that is not sent."""
    found = tensor if isinstance(tensor, np.ndarray) else _array(tensor, name)
    input_type(found.dtype, name)
    return found


def like(array: np.ndarray, given: Any) -> Any:
    """Returns an array as a tensor of PyTorch if ``given`` is one, else as it is."""
    return sys.modules["torch"].from_numpy(array) if is_tensor(given) else array


def check_batch(shape: tuple, channels: int, name: str) -> None:
    """Raises InvalidError unless this is the shape [N, C, Z, Y, X] of volumes with so many channels."""
    if len(shape) != 5 or shape[1] != channels:
        raise InvalidError(f"{name}: shape {tuple(shape)} found, expected [N, {channels}, Z, Y, X]")


def _array(tensor: Any, name: str) -> np.ndarray:
    if not is_tensor(tensor):
        raise InvalidError(f"{name}: {type(tensor).__name__} found, expected a tensor of torch or an array of NumPy")
    if tensor.device.type != "cpu":
        raise InvalidError(f"{name}: a tensor on {tensor.device} found, expected one on the CPU: pass {name}.cpu()")
    torch = sys.modules["torch"]
    if tensor.requires_grad and torch.is_grad_enabled():
        raise InvalidError(
            f"{name}: a tensor that requires a gradient found, but the output has none: pass "
            f"{name}.detach(), or call it under torch.no_grad()"
        )
    try:
        return tensor.detach().as_subclass(torch.Tensor).numpy()
    except (TypeError, RuntimeError):  # bfloat16, sparse, quantised
        raise InvalidError(
            f"{name}: a tensor of {tensor.dtype}, {tensor.layout} found, expected a dense one of "
            "torch.uint8, uint16, float16 or float32"
        ) from None

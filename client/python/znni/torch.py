"""Convolutions of PyTorch, with gradients, computed by ours: for training loops on the CPU.

``conv3d`` and ``Conv3d`` stand where those of ``torch.nn`` stood. Needs ``pip install 'znni[torch]'``, and the library
libznni_conv.so (docs/python.md). Nothing is handed to PyTorch's own convolution: what ours cannot do is refused.
"""

from __future__ import annotations

from typing import Any

try:
    import torch
    from torch import library
except ImportError:
    raise ImportError("znni.torch needs PyTorch: pip install 'znni[torch]'") from None

from znni.errors import InvalidError
from znni.pytorch.conv_library import ConvShape, Work
from znni.pytorch.conv_plans import of_process
from znni.sizes import bytes_of


def conv3d(
    x: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    *,
    threads: int | None = None,
    mem: int | str | None = None,
) -> torch.Tensor:
    """Returns what ``torch.nn.functional.conv3d`` returns, with gradients by ``x``, ``weight`` and ``bias``, also of
    higher order. Tensors are float32, on the CPU; others, and a stride, dilation or groups that are not 1, are an
    InvalidError.

    ``padding``
        Of zeros: a number, one for each axis, "valid" or "same". It is put around ``x`` by
        ``torch.nn.functional.pad``.
    ``threads``
        Those that compute; None: as many as PyTorch has when it runs (``torch.get_num_threads()``).
    ``mem``
        The most that the workspace of one work, forward or a gradient, may take: bytes, or "2G". None is 0.4 of the
        memory that is free when a shape is planned. The fastest way within it is taken. It is an OverBudgetError if
        there is none.
    """
    for name, found in (("stride", stride), ("dilation", dilation), ("groups", groups)):
        _check_one(name, found)
    if x.dim() == 4:
        return conv3d(x[None], weight, bias, 1, padding, threads=threads, mem=mem)[0]
    _check_tensors(x, weight, bias)
    around = _around(padding, weight.shape[2:])
    if any(around):
        x = torch.nn.functional.pad(x, around)
    _check_extents(x, weight)
    return _forward(x, weight, bias, _threads_of(threads), bytes_of(mem, "mem"))


class Conv3d(torch.nn.Conv3d):
    """Is a ``torch.nn.Conv3d`` whose convolution and gradients are ours: its parameters, names and initial values are
    those. ``threads`` and ``mem`` are those of ``conv3d``. A stride, dilation or groups that are not 1 are an
    InvalidError."""

    def __init__(self, *args: Any, threads: int | None = None, mem: int | str | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in ("stride", "dilation", "groups"):
            _check_one(name, getattr(self, name))
        self.threads = threads
        self.mem = mem

    def _conv_forward(self, input: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
        padding = self.padding
        if self.padding_mode != "zeros":
            around = self._reversed_padding_repeated_twice
            input, padding = torch.nn.functional.pad(input, around, mode=self.padding_mode), 0
        return conv3d(input, weight, bias, padding=padding, threads=self.threads, mem=self.mem)


def _check_one(name: str, found: Any) -> None:
    """Raises InvalidError unless it is 1 along all axes."""
    if any(each != 1 for each in (found if isinstance(found, (tuple, list)) else (found,))):
        raise InvalidError(f"{name}: {found} found, expected 1: znni.torch has no other; use torch.nn for this layer")


def _check_tensors(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None) -> None:
    _check_tensor("x", x, "NCDHW")
    _check_tensor("weight", weight, "OIDHW")
    if bias is not None:
        _check_tensor("bias", bias, "O")
    if weight.shape[1] != x.shape[1]:
        raise InvalidError(f"weight: {weight.shape[1]} input channels found, expected the {x.shape[1]} of x")
    if bias is not None and bias.shape[0] != weight.shape[0]:
        raise InvalidError(f"bias: {bias.shape[0]} elements found, expected the {weight.shape[0]} outputs of weight")


def _check_tensor(name: str, tensor: torch.Tensor, axes: str) -> None:
    if tensor.device.type != "cpu":
        raise InvalidError(f"{name}: a tensor on {tensor.device} found, expected one on the CPU")
    if tensor.dtype != torch.float32 or tensor.layout != torch.strided:
        raise InvalidError(f"{name}: {tensor.dtype}, {tensor.layout} found, expected a dense torch.float32")
    if tensor.dim() != len(axes):
        raise InvalidError(f"{name}: shape {tuple(tensor.shape)} found, expected {len(axes)} axes, {axes}")


def _check_extents(x: torch.Tensor, weight: torch.Tensor) -> None:
    extent, kernel = tuple(x.shape[2:]), tuple(weight.shape[2:])
    if min(x.shape) < 1 or min(weight.shape) < 1:
        raise InvalidError(f"x, weight: shapes {tuple(x.shape)}, {tuple(weight.shape)} found, expected no axis of 0")
    if any(taps > voxels for taps, voxels in zip(kernel, extent)):
        raise InvalidError(f"x: extent {extent} found, with padding, expected at least that of the kernel, {kernel}")


def _around(padding: Any, kernel: Any) -> list[int]:
    """Returns what torch.nn.functional.pad puts before and behind x, y and z."""
    if padding == "valid":
        return [0] * 6
    if padding == "same":  # as PyTorch: of an odd sum one more behind
        return [side for taps in reversed(kernel) for side in ((taps - 1) // 2, taps // 2)]
    each = list(padding) if isinstance(padding, (tuple, list)) else [padding] * 3
    if len(each) == 1:
        each *= 3
    if len(each) != 3 or any(not isinstance(one, int) or one < 0 for one in each):
        raise InvalidError(f"padding: {padding!r} found, expected numbers from 0 on, one or three, 'valid' or 'same'")
    return [side for one in reversed(each) for side in (one, one)]


def _threads_of(threads: int | None) -> int:
    """Returns the number of threads; 0: PyTorch's when it runs."""
    if threads is not None and threads < 1:
        raise InvalidError(f"threads: {threads} found, expected at least 1")
    return threads or 0


def _run(work: Work, extents: tuple, threads: int, mem: int, *tensors: torch.Tensor | None) -> None:
    """Runs a work on contiguous tensors. ``extents``: shapes of x and weight."""
    x, weight = extents
    shape = ConvShape(x[0], x[1], weight[0], tuple(x[2:]), tuple(weight[2:]))
    addresses = [0 if tensor is None else tensor.data_ptr() for tensor in tensors]
    of_process().run(work, shape, threads or torch.get_num_threads(), mem, *addresses)


def _contiguous(tensor: torch.Tensor | None) -> torch.Tensor | None:
    return None if tensor is None else tensor.contiguous()


def _operation(name: str, tensors: str, result: str):
    """Returns a decorator that makes a function the operation ``name`` of PyTorch, for tensors on the CPU."""
    schema = f"({tensors}, int threads, int mem) -> {result}"
    return library.custom_op(f"znni::{name}", mutates_args=(), device_types="cpu", schema=schema)


@_operation("conv3d", "Tensor x, Tensor weight, Tensor? bias", "Tensor")
def _forward(x, weight, bias, threads, mem):
    _check_tensors(x, weight, bias)
    _check_extents(x, weight)
    output = x.new_empty(_output_shape(x, weight))
    own = _contiguous(x), _contiguous(weight), _contiguous(bias)
    _run(Work.FORWARD, (x.shape, weight.shape), threads, mem, *own, output)
    return output


@_operation("conv3d_input_gradient", "Tensor gradient, Tensor weight", "Tensor")
def _input_gradient(gradient, weight, threads, mem):
    _check_tensor("gradient", gradient, "NCDHW")
    _check_tensor("weight", weight, "OIDHW")
    if gradient.shape[1] != weight.shape[0]:
        raise InvalidError(f"gradient: {gradient.shape[1]} channels found, expected the {weight.shape[0]} of weight")
    made = gradient.new_empty(_input_shape(gradient, weight))
    _check_extents(made, weight)
    own = _contiguous(gradient), _contiguous(weight)
    _run(Work.INPUT_GRADIENT, (made.shape, weight.shape), threads, mem, *own, made)
    return made


@_operation("conv3d_weight_gradient", "Tensor gradient, Tensor x", "(Tensor, Tensor)")
def _weight_gradient(gradient, x, threads, mem):
    _check_tensor("gradient", gradient, "NCDHW")
    _check_tensor("x", x, "NCDHW")
    if gradient.shape[0] != x.shape[0]:
        raise InvalidError(f"gradient: a batch of {gradient.shape[0]} found, expected the {x.shape[0]} of x")
    if min(gradient.shape) < 1 or any(voxels > most for voxels, most in zip(gradient.shape[2:], x.shape[2:])):
        raise InvalidError(f"gradient: shape {tuple(gradient.shape)} found, expected a part of x, {tuple(x.shape)}")
    made, of_bias = gradient.new_empty(_weight_shape(gradient, x)), gradient.new_empty(gradient.shape[1])
    own = _contiguous(gradient), _contiguous(x)
    _run(Work.WEIGHT_GRADIENT, (x.shape, made.shape), threads, mem, *own, made, of_bias)
    return made, of_bias


def _output_shape(x, weight):
    return [x.shape[0], weight.shape[0], *(n - k + 1 for n, k in zip(x.shape[2:], weight.shape[2:]))]


def _input_shape(gradient, weight):
    return [gradient.shape[0], weight.shape[1], *(n + k - 1 for n, k in zip(gradient.shape[2:], weight.shape[2:]))]


def _weight_shape(gradient, x):
    return [gradient.shape[1], x.shape[1], *(n - m + 1 for n, m in zip(x.shape[2:], gradient.shape[2:]))]


@_forward.register_fake
def _(x, weight, bias, threads, mem):
    return x.new_empty(_output_shape(x, weight))


@_input_gradient.register_fake
def _(gradient, weight, threads, mem):
    return gradient.new_empty(_input_shape(gradient, weight))


@_weight_gradient.register_fake
def _(gradient, x, threads, mem):
    return gradient.new_empty(_weight_shape(gradient, x)), gradient.new_empty(gradient.shape[1])


def _keep(*numbers):
    """Returns a function that keeps these inputs for the gradient, and the last two, threads and mem."""

    def keep(ctx, inputs, output):
        ctx.save_for_backward(*(inputs[number] for number in numbers))
        ctx.limits = inputs[-2:]

    return keep


def _of_forward(ctx, gradient):
    x, weight = ctx.saved_tensors
    needs_x, needs_weight, needs_bias = ctx.needs_input_grad[:3]
    of_x = _input_gradient(gradient, weight, *ctx.limits) if needs_x else None
    of_weight = of_bias = None
    if needs_weight:
        of_weight, of_bias = _weight_gradient(gradient, x, *ctx.limits)
    elif needs_bias:
        of_bias = gradient.sum((0, 2, 3, 4))
    return of_x, of_weight, of_bias if needs_bias else None, None, None


# Each is linear in both of its tensors, so its gradients are works of a convolution, too.
def _of_input_gradient(ctx, wanted):
    gradient, weight = ctx.saved_tensors
    of_gradient = _forward(wanted, weight, None, *ctx.limits) if ctx.needs_input_grad[0] else None
    of_weight = _weight_gradient(gradient, wanted, *ctx.limits)[0] if ctx.needs_input_grad[1] else None
    return of_gradient, of_weight, None, None


def _of_weight_gradient(ctx, wanted, of_bias):
    gradient, x = ctx.saved_tensors
    of_gradient = _forward(x, wanted, of_bias, *ctx.limits) if ctx.needs_input_grad[0] else None
    of_x = _input_gradient(gradient, wanted, *ctx.limits) if ctx.needs_input_grad[1] else None
    return of_gradient, of_x, None, None


_forward.register_autograd(_of_forward, setup_context=_keep(0, 1))
_input_gradient.register_autograd(_of_input_gradient, setup_context=_keep(0, 1))
_weight_gradient.register_autograd(_of_weight_gradient, setup_context=_keep(0, 1))

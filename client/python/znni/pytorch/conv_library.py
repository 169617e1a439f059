"""Convolutions with gradients by libznni_conv.so (server/conv/znni_conv.h has the contracts), through ctypes, which
releases Python's lock while they run. Knows addresses of tensors, not their kind."""

from __future__ import annotations

import ctypes
import enum
import functools
import os
import pathlib
import platform
import weakref
from typing import Any, NamedTuple

from znni.box import Triple
from znni.errors import Error, InvalidError, NotFoundError, OverBudgetError

_INTERFACE = 1
_MESSAGE_BYTES = 500
_VARIABLE = "ZNNI_CONV_LIBRARY"
_CPUINFO = "/proc/cpuinfo"
_EXTENSIONS = frozenset(("avx2", "bmi1", "bmi2", "fma"))  # of x86-64-v3, for which the library is compiled


class Work(enum.IntEnum):
    """Names the works of a convolution."""

    FORWARD = 0
    INPUT_GRADIENT = 1
    WEIGHT_GRADIENT = 2


class ConvShape(NamedTuple):
    """Describes a valid convolution of [batch, in_channels, *input] by [out_channels, in_channels, *kernel]."""

    batch: int
    in_channels: int
    out_channels: int
    input: Triple
    kernel: Triple


class _Shape(ctypes.Structure):
    _fields_ = [
        ("batch", ctypes.c_int64),
        ("in_channels", ctypes.c_int64),
        ("out_channels", ctypes.c_int64),
        ("input", ctypes.c_int64 * 3),
        ("kernel", ctypes.c_int64 * 3),
    ]


class _Message(ctypes.Structure):
    _fields_ = [("text", ctypes.c_void_p), ("bytes", ctypes.c_size_t)]


def find_library() -> str:
    """Returns the path of the library: that of the environment's ZNNI_CONV_LIBRARY, else that in this package. Raises
    NotFoundError if there is none."""
    named = os.environ.get(_VARIABLE)
    path = pathlib.Path(named) if named else pathlib.Path(__file__).parents[1] / "libznni_conv.so"
    if path.is_file():
        return str(path.resolve())
    raise NotFoundError(
        f"{_VARIABLE}: {named}: there is no such file"
        if named
        else f"{path}: is missing: build the target znni_conv and install again (docs/python.md), or name the library "
        f"in the environment's {_VARIABLE}"
    )


class Convolution:
    """Is a convolution of one shape, planned for ``threads`` threads with works that take ``mem`` bytes of workspace
    each, or 0.4 of the memory that is free now where that is 0. Raises InvalidError for a shape that is none, and
    OverBudgetError if no way to compute it takes as little memory.

    Tensors are given by the addresses of their first elements, float32, contiguous. So is the workspace of a work,
    ``workspace_bytes(work)`` bytes at a multiple of 64.
    """

    def __init__(self, shape: ConvShape, threads: int, mem: int = 0) -> None:
        _check_number("threads", threads, 1, 2**31 - 1)
        _check_number("mem", mem, 0, 2**63 - 1)
        self._library = _load(find_library())
        batch, in_channels, out_channels, extent, kernel = shape
        triple = ctypes.c_int64 * 3
        found = _Shape(batch, in_channels, out_channels, triple(*extent), triple(*kernel))
        made = ctypes.c_void_p()
        self._call(self._library.znni_conv_create, ctypes.byref(found), threads, mem, ctypes.byref(made))
        self._made = made
        # Not at the end of the process, where a daemon thread may still compute.
        weakref.finalize(self, self._library.znni_conv_destroy, made).atexit = False

    def workspace_bytes(self, work: Work) -> int:
        """Returns the bytes that the work needs beside its tensors."""
        return self._library.znni_conv_workspace_bytes(self._made, work)

    def describe(self, work: Work) -> str:
        """Returns how the work is computed: the names of primitives."""
        text = ctypes.create_string_buffer(_MESSAGE_BYTES)
        self._library.znni_conv_describe(self._made, work, _room(text))
        return text.value.decode()

    def forward(self, x: int, weight: int, bias: int, output: int, workspace: int) -> None:
        """Writes the output. A ``bias`` of 0 is none."""
        self._call(self._library.znni_conv_forward, self._made, x, weight, bias or None, output, workspace or None)

    def input_gradient(self, gradient: int, weight: int, x_gradient: int, workspace: int) -> None:
        """Writes the gradient by the input, given that by the output."""
        self._call(self._library.znni_conv_input_gradient, self._made, gradient, weight, x_gradient, workspace or None)

    def weight_gradient(self, gradient: int, x: int, weight_gradient: int, bias_gradient: int, workspace: int) -> None:
        """Writes the gradients by weight and bias, given that by the output."""
        call = self._library.znni_conv_weight_gradient
        self._call(call, self._made, gradient, x, weight_gradient, bias_gradient, workspace or None)

    @staticmethod
    def _call(function: Any, *arguments: Any) -> None:
        text = ctypes.create_string_buffer(_MESSAGE_BYTES)
        code = function(*arguments, _room(text))
        if code != 0:
            raise {1: InvalidError, 2: OverBudgetError}.get(code, Error)(text.value.decode(errors="replace"))


def _check_number(name: str, found: int, least: int, most: int) -> None:
    """Raises InvalidError for a number that the library would not get whole."""
    if not least <= found <= most:
        raise InvalidError(f"{name}: {found} found, expected {least} to {most}")


def _check_processor() -> None:
    """Raises InvalidError on an x86-64 processor that would end the process at an instruction that it does not have."""
    if platform.machine() != "x86_64" or not os.path.exists(_CPUINFO):
        return
    for line in pathlib.Path(_CPUINFO).read_text(errors="replace").splitlines():
        name, _, flags = line.partition(":")
        lacks = sorted(_EXTENSIONS.difference(flags.split()))
        if name.strip() == "flags" and lacks:
            raise InvalidError(f"{_CPUINFO}: no {', '.join(lacks)}: libznni_conv.so needs a processor of x86-64-v3")


def _room(text: ctypes.Array) -> _Message:
    return _Message(ctypes.addressof(text), len(text))


@functools.cache
def _load(path: str) -> ctypes.CDLL:
    """Returns the library. Raises InvalidError if the processor is too old for it, if it cannot be loaded, or if it has
    another interface than this package."""
    _check_processor()
    try:
        library = ctypes.CDLL(path)
        found = library.znni_conv_interface()
    except (OSError, AttributeError) as error:
        raise InvalidError(f"{path}: cannot be loaded: {error}") from None
    if found != _INTERFACE:
        raise InvalidError(f"{path}: has interface {found}, expected {_INTERFACE}: build it from the sources of znni")
    size, pointer = ctypes.c_int64, ctypes.c_void_p
    for name, result, *arguments in (
        ("create", ctypes.c_int, pointer, ctypes.c_int, size, pointer, _Message),
        ("destroy", None, pointer),
        ("workspace_bytes", size, pointer, ctypes.c_int),
        ("describe", ctypes.c_int, pointer, ctypes.c_int, _Message),
        ("forward", ctypes.c_int, *[pointer] * 6, _Message),
        ("input_gradient", ctypes.c_int, *[pointer] * 5, _Message),
        ("weight_gradient", ctypes.c_int, *[pointer] * 6, _Message),
    ):
        function = getattr(library, f"znni_conv_{name}")
        function.restype, function.argtypes = result, arguments
    return library

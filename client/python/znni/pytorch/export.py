"""Modules of PyTorch as files of ONNX, and what they return."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import operator
import pathlib
import warnings
import zlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from znni.box import Triple
from znni.errors import InvalidError
from znni.pytorch.tensors import array_of, is_tensor, torch_module

Example = Sequence[int] | Any | None

_OPSET = 17
_CUBES = (16, 32, 48, 64, 92, 128)  # extents that are tried where no example is given


@dataclasses.dataclass(frozen=True)
class Output:
    """Describes what a module returns: ``shape`` for the example, and the name of the type of its numbers."""

    shape: tuple
    dtype: str


@dataclasses.dataclass(frozen=True)
class Exported:
    """Describes a file of ONNX. ``example`` is the shape that the module was given, [1, C, Z, Y, X], and ``outputs``
    are what it returned: a tuple or list where ``sequence`` is that type, one tensor where it is None."""

    network: pathlib.Path
    example: tuple
    outputs: tuple[Output, ...]
    sequence: type | None

    @property
    def extent(self) -> Triple:
        """Returns the voxels of the example."""
        return self.example[2:]

    @property
    def name(self) -> str:
        """Returns the name of the module's class."""
        return self.network.stem


def export(module: Any, example: Example, folder: str) -> Exported:
    """Writes ``module``, as it is in eval mode, into ``folder``. Raises InvalidError for what cannot be exported.

    The extents of volumes are open, but where the module returns rows [N, C]: it then takes the example's alone.
    """
    torch = torch_module("znni.compile")
    _check_onnx()
    _check_module(module, torch)
    name = type(module).__name__
    with evaluated(module), torch.no_grad():
        given, found = _run(module, example, torch)
        sequence = type(found) if isinstance(found, (tuple, list)) else None
        outputs = _outputs(found, name)
        exported = Exported(pathlib.Path(folder) / f"{name}.onnx", tuple(given.shape), outputs, sequence)
        _write(module, given, exported, torch)
    return exported


@contextlib.contextmanager
def evaluated(module: Any) -> Iterator[None]:
    """Puts a module into eval mode for as long as the context lasts, and then each of its parts as it was."""
    flags = [(part, part.training) for part in module.modules()]
    module.eval()
    try:
        yield
    finally:
        for part, flag in flags:
            part.training = flag


def warn_of_training(module: Any) -> None:
    """Warns of a module whose output is another one in training."""
    for name, part in module.named_modules():
        drops = any(kind.__name__ == "_DropoutNd" for kind in type(part).__mro__)
        if part.training and (drops or getattr(part, "running_mean", None) is not None):
            warnings.warn(
                f"{type(module).__name__} is in training mode: '{name}' ({type(part).__name__}) is computed "
                "as in eval mode",
                stacklevel=3,
            )
            return


def fingerprint(module: Any) -> int:
    """Returns a number that changes with the weights and buffers of a module."""
    found = 0
    for tensor in (*module.parameters(), *module.buffers()):
        found = zlib.crc32(np.ascontiguousarray(tensor.detach().cpu().double().numpy()).data, found)
    return found


def check_unchanged(network: Any, before: int, advice: str) -> None:
    """Raises InvalidError if the fingerprint of a module is another one than ``before``."""
    if fingerprint(network) != before:
        raise InvalidError(f"network: the weights of {type(network).__name__} have changed since: {advice}")


def _check_onnx() -> None:
    """Raises InvalidError where onnx is not installed, which PyTorch imports to export."""
    try:
        importlib.import_module("onnx")
    except ImportError:
        raise InvalidError("modules of PyTorch need onnx: pip install 'znni[torch]'") from None


def _one_line(error: Exception) -> str:
    """Returns the first line of what was raised, or else its type."""
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)


def _check_module(module: Any, torch: Any) -> None:
    if not isinstance(module, torch.nn.Module):
        raise InvalidError(f"module: {type(module).__name__} found, expected a torch.nn.Module")
    for name, weights in (*module.named_parameters(), *module.named_buffers()):
        if weights.device.type != "cpu":
            raise InvalidError(
                f"module: '{name}' on {weights.device} found, expected weights on the CPU: pass module.cpu()"
            )
        if weights.is_floating_point() and weights.dtype != torch.float32:
            raise InvalidError(
                f"module: '{name}' of {weights.dtype} found, expected torch.float32: pass module.float()"
            )


def _run(module: Any, example: Example, torch: Any) -> tuple[Any, Any]:
    """Returns the example, [1, C, Z, Y, X], and what the module returns for it."""
    if example is not None:
        given = _example(example, torch)
        try:
            return given, module(given)
        except Exception as error:
            raise InvalidError(
                f"example: {type(module).__name__} does not take {list(given.shape)}: {_one_line(error)}"
            ) from error
    return _first_cube(module, torch)


def _first_cube(module: Any, torch: Any) -> tuple[Any, Any]:
    """Returns the smallest cube that the module takes and returns more than one voxel for, along each axis."""
    name = type(module).__name__
    counts = (getattr(part, "in_channels", None) for part in module.modules())
    channels = next((count for count in counts if isinstance(count, int)), 1)
    why = "the output has one voxel along an axis"
    for n in _CUBES:
        given = torch.zeros(1, channels, n, n, n)
        try:
            found = module(given)
        except Exception as error:
            why = _one_line(error)
            continue
        if all(len(output.shape) > 3 and min(output.shape[-3:]) > 1 for output in _outputs(found, name)):
            return given, found
    raise InvalidError(
        f"example: None found, but {name} takes no cube [1, {channels}, n, n, n] of up to {_CUBES[-1]} "
        f"voxels ({why}): pass the shape of a small one that it takes"
    )


def _example(example: Any, torch: Any) -> Any:
    """Returns a copy of the first volume of an example, or zeros of the shape that is given."""
    array = array_of(example, "example") if is_tensor(example) or isinstance(example, np.ndarray) else None
    shape = _shape(example) if array is None else array.shape
    if len(shape) != 5 or shape[0] < 1:
        raise InvalidError(f"example: shape {list(shape)} found, expected [1, C, Z, Y, X]")
    if array is None:
        return torch.zeros(1, *shape[1:])
    if array.dtype.newbyteorder("=") != np.float32:
        raise InvalidError(f"example: voxels of type {array.dtype} found, expected float32")
    return torch.from_numpy(np.array(array[:1], np.float32, order="C"))  # the module may change it in place


def _shape(example: Any) -> tuple[int, ...]:
    """Returns a shape of whole numbers, those of NumPy included. Raises InvalidError for anything else."""
    try:
        shape = tuple(operator.index(n) for n in example) if isinstance(example, (tuple, list)) else ()
    except TypeError:
        shape = ()
    if not shape or min(shape) < 1:
        raise InvalidError(f"example: {example!r} found, expected a tensor or the shape [1, C, Z, Y, X] of one")
    return shape


def _outputs(found: Any, name: str) -> tuple[Output, ...]:
    """Returns the outputs among what the module ``name`` returned. Raises InvalidError for what is not an output."""
    tensors = found if type(found) in (tuple, list) else (found,)
    for tensor in tensors:
        if not is_tensor(tensor):
            inner = "" if tensor is found else f" with {type(tensor).__name__}"
            raise InvalidError(
                f"module: {name} returns {type(found).__name__}{inner}, expected a tensor or a tuple of tensors"
            )
        if str(tensor.dtype) not in ("torch.float32", "torch.int64", "torch.int32", "torch.uint8"):
            raise InvalidError(
                f"module: {name} returns {tensor.dtype}, expected torch.float32, or whole numbers of ArgMax"
            )
    if not tensors:
        raise InvalidError(f"module: {name} returns nothing, expected a tensor or a tuple of tensors")
    return tuple(Output(tuple(tensor.shape), str(tensor.dtype).removeprefix("torch.")) for tensor in tensors)


def output_names(outputs: Sequence[Output]) -> list[str]:
    """Returns the names that outputs have in the file."""
    return ["output"] if len(outputs) == 1 else [f"output{i}" for i in range(len(outputs))]


def _open_axes(outputs: Sequence[Output]) -> dict[str, dict[int, str]]:
    """Returns which axes of input and outputs are open, with a name for each: all of space, which come last."""
    axes = {"input": {2: "z", 3: "y", 4: "x"}}
    for name, output in zip(output_names(outputs), outputs):
        first = len(output.shape) - 3
        axes[name] = {first + i: f"{name}_{axis}" for i, axis in enumerate("zyx")}
    return axes


def _write(module: Any, given: Any, exported: Exported, torch: Any) -> None:
    """Writes the file. What PyTorch warns of is shown if it is of the module's own code."""
    is_rows = any(len(output.shape) < 4 for output in exported.outputs)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.filterwarnings("default", category=torch.jit.TracerWarning, module=r"(?!torch\b)")
        try:
            torch.onnx.export(
                module,
                (given,),
                str(exported.network),
                dynamo=False,
                opset_version=_OPSET,
                input_names=["input"],
                output_names=output_names(exported.outputs),
                dynamic_axes=None if is_rows else _open_axes(exported.outputs),
            )
        except Exception as error:
            raise InvalidError(f"module: {exported.name} cannot be exported to ONNX: {_one_line(error)}") from error

"""The file of a network that a caller named: one of the caller's own, or that of a module of PyTorch."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import sys
from collections.abc import Iterator
from typing import Any

from znni.errors import InvalidError
from znni.local.own_folder import OwnFolder
from znni.pytorch.export import Example, export


@dataclasses.dataclass(frozen=True)
class NetworkFile:
    """Describes a file. ``name`` is what messages call it, ``argument`` how the caller's Python names it."""

    path: str
    name: str
    argument: str

    def named(self, text: str) -> str:
        """Returns a text about the file with its name."""
        return text.replace(self.path, self.name)


@contextlib.contextmanager
def network_file(network: Any, example: Example = None) -> Iterator[NetworkFile]:
    """Yields the file of ``network``: a path, or a torch.nn.Module, which is exported to a file for as long as the
    context lasts. ``example`` is that of ``znni.compile``. Raises InvalidError for anything else, for a module that
    cannot be exported, and for an example of a path."""
    if _is_module(network):
        with _exported(network, example) as file:
            yield file
        return
    if not isinstance(network, (str, os.PathLike)):
        raise InvalidError(
            f"network: {type(network).__name__} found, expected the path of FILE.onnx, or a torch.nn.Module"
        )
    path = os.fspath(network)
    if example is not None:
        raise InvalidError(f"example: found, but it is for a torch.nn.Module: {path} itself says what it takes")
    yield NetworkFile(path, path, repr(path))


def _is_module(network: Any) -> bool:
    """Returns whether this is a module of PyTorch, which then has been imported."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(network, torch.nn.Module)


@contextlib.contextmanager
def _exported(module: Any, example: Example) -> Iterator[NetworkFile]:
    folder = OwnFolder()
    try:
        exported = export(module, example, folder.name)
        yield NetworkFile(str(exported.network), exported.name, "module")
    finally:
        folder.cleanup()

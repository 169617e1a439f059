"""Finds the store that a caller's volume or output belongs to."""

from __future__ import annotations

import os
import re
from contextlib import ExitStack
from typing import Any, Callable

from znni.errors import InvalidError
from znni.stores.array import ArraySource, ArrayTarget, NewArrayTarget
from znni.stores.hdf5 import Hdf5Source, Hdf5Target, open_dataset
from znni.stores.joined import JoinedSource
from znni.stores.memmap import MemmapSource, MemmapTarget, shared_map_of
from znni.stores.npy import NpyTarget, load_npy, open_npy
from znni.stores.partial import Partial
from znni.stores.seam import OutputFacts, Source, Target
from znni.stores.zarr_store import ZarrSource, ZarrTarget, is_zarr_path, open_array, open_node

_HDF5 = re.compile(r"(.+\.(?:h5|hdf5|hdf))(?::(.*))?", re.DOTALL)
_EXPECTED = "expected FILE.npy, FILE.h5:/dataset or FOLDER.zarr"


def _split_hdf5(path: str) -> tuple[str, str] | None:
    match = _HDF5.fullmatch(path)
    return (match[1], match[2] or "") if match else None


def open_source(volume: Any) -> Source:
    """Returns the volume as a Source: an array, or what lies at a path, or a JoinedSource of a dictionary of them.
    Close it. Raises InvalidError or NotFoundError if it is none."""
    if isinstance(volume, dict):
        return _open_joined(volume)
    if isinstance(volume, (str, os.PathLike)):
        return _open_path(os.fspath(volume))
    if type(volume).__module__.partition(".")[0] == "zarr":
        return ZarrSource(volume, "volume")
    return MemmapSource(volume, "volume") if shared_map_of(volume) else ArraySource(volume, "volume")


def open_raw(path: str) -> Any:
    """Returns the array that lies at a path, of voxels of any type: masks are often of types that volumes are not."""
    return _open_kind(path, load_npy, open_dataset, open_array)


def _open_joined(volumes: dict[str, Any]) -> Source:
    with ExitStack() as opened:
        source = JoinedSource({name: opened.enter_context(open_source(part)) for name, part in volumes.items()})
        opened.pop_all()
        return source


def _open_path(path: str) -> Source:
    return _open_kind(path, open_npy, Hdf5Source, lambda zarr_path: ZarrSource(open_node(zarr_path), zarr_path))


def _open_kind(path: str, npy: Callable, hdf5: Callable, zarr: Callable) -> Any:
    """Returns what the function for files of this kind returns. Raises InvalidError for another kind."""
    if path.endswith(".npy"):
        return npy(path)
    parts = _split_hdf5(path)
    if parts:
        return hdf5(*parts)
    if is_zarr_path(path):
        return zarr(path)
    raise InvalidError(f"{path}: this kind of file is not read: {_EXPECTED}")


def check_output(output: Any, overwrite: bool) -> None:
    """Raises InvalidError for a path that is not written, or must not be."""
    if not isinstance(output, (str, os.PathLike)):
        return
    path = os.fspath(output)
    hdf5 = _split_hdf5(path)
    if hdf5 is None and not path.endswith(".npy") and not path.rstrip("/").endswith(".zarr"):
        raise InvalidError(f"{path}: this kind of file is not written: {_EXPECTED}")
    Partial(hdf5[0] if hdf5 else path.rstrip("/"), overwrite)


def open_target(output: Any, facts: OutputFacts, overwrite: bool) -> Target:
    """Returns where the output goes: a new array for None, an array of the caller's, or a path. Raises InvalidError if
    it cannot go there."""
    check_output(output, overwrite)
    if output is None:
        return NewArrayTarget(facts)
    if isinstance(output, (str, os.PathLike)):
        return _target_path(os.fspath(output), facts, overwrite)
    return MemmapTarget(output, facts) if shared_map_of(output) else ArrayTarget(output, facts)


def _target_path(path: str, facts: OutputFacts, overwrite: bool) -> Target:
    if path.endswith(".npy"):
        return NpyTarget(path, facts, overwrite)
    hdf5 = _split_hdf5(path)
    if hdf5:
        return Hdf5Target(*hdf5, facts, overwrite)
    return ZarrTarget(path.rstrip("/"), facts, overwrite)

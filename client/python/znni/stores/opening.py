"""Finds the store that a caller's volume or output belongs to."""

from __future__ import annotations

import dataclasses
import os
from contextlib import ExitStack
from typing import Any

from znni.errors import InvalidError
from znni.stores.address import Address, input_address, output_address
from znni.stores.array import ArraySource, ArrayTarget, NewArrayTarget
from znni.stores.file_source import FileSource
from znni.stores.formats import n5, precomputed, zarr_store
from znni.stores.formats.files import FORMATS, module_of
from znni.stores.formats.hdf5 import Hdf5Source, Hdf5Target, check_alone, open_dataset
from znni.stores.formats.n5 import N5Source, N5Target
from znni.stores.formats.nifti import NiftiTarget, open_nifti
from znni.stores.formats.npy import NpyTarget, load_npy, open_npy
from znni.stores.formats.nrrd import NrrdTarget, open_nrrd
from znni.stores.formats.precomputed import PrecomputedSource, PrecomputedTarget
from znni.stores.formats.sharded import Sharded
from znni.stores.formats.tiff import TiffTarget, open_tiff
from znni.stores.formats.zarr_store import ZarrSource, ZarrTarget, open_node
from znni.stores.joined import JoinedSource
from znni.stores.memmap import MemmapSource, MemmapTarget, shared_map_of
from znni.stores.partials import partial_of
from znni.stores.places import place_of
from znni.stores.seam import OutputFacts, Source, Target
from znni.stores.shared import SharedOutput

_SHARED = {"zarr": zarr_store.open_shared, "n5": n5.open_shared, "precomputed": precomputed.open_shared}
_TARGETS = {
    "npy": NpyTarget,
    "tiff": TiffTarget,
    "nifti": NiftiTarget,
    "nrrd": NrrdTarget,
    "zarr": ZarrTarget,
    "n5": N5Target,
    "precomputed": PrecomputedTarget,
}
_FILES = {"tiff": open_tiff, "nifti": open_nifti, "nrrd": open_nrrd}


def open_source(volume: Any) -> Source:
    """Returns the volume as a Source: an array, or what lies at a path, or a JoinedSource of a dictionary of them.
    Close it. Raises InvalidError or NotFoundError if it is none."""
    if isinstance(volume, dict):
        return _open_joined(volume)
    if isinstance(volume, (str, os.PathLike)):
        return _open_path(input_address(volume))
    if type(volume).__module__.partition(".")[0] == "zarr":
        return ZarrSource(volume, "volume")
    return MemmapSource(volume, "volume") if shared_map_of(volume) else ArraySource(volume, "volume")


def open_raw(path: str) -> Any:
    """Returns the array of a mask that lies at a path, of voxels of any type. Raises InvalidError for a file that says
    that its 0 is another number."""
    kind, path, dataset = input_address(path)
    if kind == "hdf5":
        return open_dataset(path, dataset)
    if kind in _FILES:
        return _zero_is_zero(_FILES[kind](path)).raw
    if kind in ("n5", "precomputed"):
        return {"n5": n5, "precomputed": precomputed}[kind].open_array(place_of(path))
    return load_npy(path) if kind == "npy" else zarr_store.open_array(path)


def _zero_is_zero(source: FileSource) -> FileSource:
    if source.inter != 0:
        source.close()
        raise InvalidError(
            f"{source.name}: a voxel of 0 stands for {source.inter:g} there, expected a mask whose 0 is 0: save it as "
            "uint8, without scaling"
        )
    return source


def _open_joined(volumes: dict[str, Any]) -> Source:
    with ExitStack() as opened:
        source = JoinedSource({name: opened.enter_context(open_source(part)) for name, part in volumes.items()})
        opened.pop_all()
        return source


def _open_path(address: Address) -> Source:
    kind, path, dataset = address
    if kind == "hdf5":
        return Hdf5Source(path, dataset)
    if kind == "zarr":
        return ZarrSource(open_node(path), path)
    if kind == "npy":
        return open_npy(path)
    if kind in _FILES:
        return _FILES[kind](path)
    return N5Source(place_of(path)) if kind == "n5" else PrecomputedSource(place_of(path))


def check_output(output: Any, overwrite: bool) -> None:
    """Raises InvalidError for a path that is not written, or must not be."""
    if not isinstance(output, (str, os.PathLike)):
        return
    kind, path, dataset = output_address(output)
    if kind in FORMATS:
        module_of(kind)
    if kind == "hdf5" and overwrite:
        check_alone(path, dataset)
    if isinstance(output, Sharded) and kind != "zarr":
        raise InvalidError(f"{path}: only outputs in zarr, FOLDER.zarr, have shards")
    partial_of(path, overwrite, n5.container_of(path) if kind == "n5" else "")


def open_target(output: Any, facts: OutputFacts, overwrite: bool) -> Target:
    """Returns where the output goes: a new array for None, an array of the caller's, or a path. Raises InvalidError if
    it cannot go there."""
    check_output(output, overwrite)
    if output is None:
        return NewArrayTarget(facts)
    if isinstance(output, (str, os.PathLike)):
        shard = output.shard if isinstance(output, Sharded) else None
        return _open_target(output_address(output), dataclasses.replace(facts, shard=shard), overwrite)
    return MemmapTarget(output, facts) if shared_map_of(output) else ArrayTarget(output, facts)


def _open_target(address: Address, facts: OutputFacts, overwrite: bool) -> Target:
    kind, path, dataset = address
    if kind == "hdf5":
        return Hdf5Target(path, dataset, facts, overwrite)
    return _TARGETS[kind](path, facts, overwrite)  # type: ignore[abstract]


def open_shared_target(output: str | Sharded, facts: OutputFacts, overwrite: bool) -> Any:
    """Returns an output that machines write together, as a target whose ``chunk`` is known. Raises InvalidError for
    one that they cannot write so."""
    kind, path, _ = check_shared(output)
    shard = output.shard if isinstance(output, Sharded) else None
    return _TARGETS[kind](path, dataclasses.replace(facts, is_shared=True, shard=shard), overwrite)  # type: ignore[abstract]


def check_shared(output: str | Sharded) -> Address:
    """Returns the address of an output that machines write together. Raises InvalidError if they cannot."""
    address = output_address(output)
    if address.kind not in _SHARED:
        raise InvalidError(
            f"{output}: machines write one output together as FOLDER.zarr, FOLDER.n5/dataset or "
            "precomputed://FOLDER only"
        )
    return address


def open_shared(output: str) -> SharedOutput:
    """Returns an output that machines write together, to read and write. Raises NotFoundError if it is not there."""
    kind, path, _ = check_shared(output)
    return _SHARED[kind](path)

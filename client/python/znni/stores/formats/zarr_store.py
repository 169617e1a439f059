"""Volumes and outputs in zarr, versions 2 and 3, with the geometry of OME-NGFF: FOLDER.zarr[/array]."""

from __future__ import annotations

import contextlib
import importlib
import os
import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from znni.box import Box, Triple
from znni.errors import AccessError, Error, InvalidError, NotFoundError
from znni.geometry import Geometry, geometry_of
from znni.pyramid.arrays import Layout, make_array
from znni.pyramid.making import FINEST, describe, is_pyramid, make_resolutions
from znni.stores.array import ArraySource, ArrayTarget
from znni.stores.formats.fields import NOTES, check_fields, notes_of
from znni.stores.formats.sharded import whole_chunks
from znni.stores.partials import partial_of
from znni.stores.place import Place
from znni.stores.places import place_of
from znni.stores.remote import remote_scheme
from znni.stores.seam import OutputFacts, Target
from znni.stores.shared import SharedOutput

DESCRIPTIONS = ("zarr.json", ".zarray", ".zgroup", ".zattrs", ".zmetadata")
HERE = ("LocalStore", "MemoryStore", "ZipStore")  # stores of zarr on this machine
_MISSING = (FileNotFoundError, KeyError, IndexError)  # the last of an array, which has nothing in it


def zarr_module() -> Any:
    """Returns zarr. Raises InvalidError where it is not installed, or older than version 3."""
    try:
        zarr = importlib.import_module("zarr")
    except ImportError:
        raise InvalidError("zarr volumes need zarr: pip install 'znni[zarr]'") from None
    if int(zarr.__version__.split(".")[0]) < 3:
        raise InvalidError(f"zarr {zarr.__version__} found, expected version 3 or newer, which reads zarr 2, too")
    return zarr


def store_of(path: str, **options: bool) -> Any:
    """Returns what zarr is told to open for a path: the path itself, or a RemoteStore with ``options``."""
    if not remote_scheme(path):
        return path
    return importlib.import_module("znni.stores.zarr_remote").RemoteStore(place_of(path), **options)


def open_node(path: str) -> Any:
    """Returns the array or group that ``path`` names: a container, and what lies behind its name in it."""
    zarr = zarr_module()
    match = re.fullmatch(r"(.*?\.zarr)(?:/+(.*))?", path, re.DOTALL)
    root, inner = (match[1], (match[2] or "").strip("/")) if match else (path, "")
    store = store_of(root, read_only=True)
    try:
        with _described(path):
            node = zarr.open(store, mode="r")
            return node[inner] if inner else node
    except _MISSING as error:
        if getattr(store, "refused", None):
            raise store.refused from None
        place_of(root).check()
        if is_zarr(place_of(path)):
            raise _damaged(path, error) from None
        raise NotFoundError(f"{path}: there is no zarr array or group") from None


@contextlib.contextmanager
def _described(name: str) -> Iterator[None]:
    """Is a context that uses what describes zarr at ``name``. Raises InvalidError, with the file, if it is damaged."""
    try:
        yield
    except (Error, OSError, MemoryError, *_MISSING):
        raise
    except Exception as error:  # zarr raises whatever Python does
        raise _damaged(name, error) from None


def _damaged(name: str, error: Exception) -> Error:
    """Returns the error for what describes zarr at ``name``: that of the file that is not JSON, if there is one."""
    folder = name
    while is_zarr_path(folder) or remote_scheme(folder) and folder.count("/") > 2:
        for file in DESCRIPTIONS:
            try:
                place_of(folder).read_json(file)
            except Error as cut:
                return cut
        folder = folder.rstrip("/").rpartition("/")[0]
    return InvalidError(f"{name}: what describes it is damaged: {type(error).__name__}: {error}")


def is_zarr_path(path: str) -> bool:
    """Returns whether a path names a zarr container or what lies in one."""
    return any(part.endswith(".zarr") for part in path.rstrip("/").split("/"))


def is_zarr(place: Place) -> bool:
    """Returns whether a folder is an array or a group of zarr."""
    refused = None
    for name in ("zarr.json", ".zarray", ".zgroup"):
        try:
            if place.read(name) is not None:
                return True
        except AccessError as error:
            refused = error
    if refused:
        raise refused
    return False


def open_array(path: str) -> Any:
    """Returns the array that ``path`` names, or the first, largest one of an OME-NGFF image, of any type of voxels."""
    node = open_node(path)
    return _first_array(node, path) if _is_group(node) else node


def _multiscales(attributes: Any) -> list:
    """Returns the multiscales of OME-NGFF 0.5 or of an older version."""
    ome = attributes.get("ome")
    return (ome or attributes).get("multiscales", []) if isinstance(ome, dict) or ome is None else []


def _is_group(node: Any) -> bool:
    return isinstance(node, zarr_module().Group)


def _arrays(group: Any) -> str:
    return ", ".join(key for key, _ in group.arrays()) or "none"


def _first_array(group: Any, name: str) -> Any:
    """Returns the first array of an OME-NGFF image. Raises InvalidError if the group is none."""
    multiscales = _multiscales(group.attrs)
    if not multiscales:
        arrays = f"; arrays in it: {_arrays(group)}" if not remote_scheme(str(group.store)) else ""  # a list is dear
        raise InvalidError(f"{name}: a group found, expected an array or an OME-NGFF image{arrays}")
    try:
        with _described(name):
            inner = multiscales[0]["datasets"][0]["path"]
        with _described(f"{name}/{inner}"):
            return group[inner]
    except _MISSING as error:
        raise InvalidError(
            f"{name}: the first array of its 'multiscales' is missing: {type(error).__name__}: {error}"
        ) from None


class ZarrSource(ArraySource):
    """Reads an array, or the first, largest array of a group that is an OME-NGFF image."""

    def __init__(self, node: Any, name: str) -> None:
        array, group = (_first_array(node, name), node) if _is_group(node) else (node, self._parent(node))
        super().__init__(array, name)
        self.zarr_format = int(array.metadata.zarr_format)
        self.notes = notes_of(group.attrs.get("znni")) if group is not None else None
        try:
            with _described(name):
                self.geometry = self._geometry(array, group, name)
        except _MISSING as error:
            raise InvalidError(
                f"{name}: 'multiscales': {type(error).__name__} {error} found, expected the form of OME-NGFF"
            ) from None

    @staticmethod
    def _geometry(array: Any, group: Any, name: str) -> Geometry | None:
        """Returns the geometry that the images of a group say of an array in it; None if they say none."""
        path = array.path[len(group.path) :].strip("/") if group is not None else ""
        said = (geometry_of(one, path, name) for one in (_multiscales(group.attrs) if group is not None else ()))
        return next((geometry for geometry in said if geometry), None)

    def read(self, box: Box) -> np.ndarray:
        try:
            return super().read(box)
        except (Error, OSError, MemoryError):
            raise
        except Exception as error:  # whatever codecs raise, and the caller's own stores
            at = ", ".join(f"{axis} {a} to {b}" for axis, a, b in zip("zyx", *box))
            is_ours = type(self.raw.store).__name__ in (*HERE, "RemoteStore")  # whose own errors are told apart
            kind, words = (
                (InvalidError, "a chunk cannot be decoded") if is_ours else (Error, "a chunk could not be read")
            )
            raise kind(f"{self.name}: {words}, of the voxels {at}: {type(error).__name__}: {error}") from error

    @staticmethod
    def _parent(array: Any) -> Any:
        """Returns the nearest group above an array that is an image; None if there is none."""
        zarr = zarr_module()
        path = array.path
        while path:
            path = path.rpartition("/")[0]
            try:
                group = zarr.open_group(array.store, path=path, mode="r", zarr_format=array.metadata.zarr_format)
            except (FileNotFoundError, KeyError):
                continue
            if _multiscales(group.attrs):
                return group
        return None


class ZarrTarget(Target):
    """Writes a folder: an OME-NGFF image of the format of the volume, or of version 2. FOLDER.ome.zarr gets its coarser
    resolutions at the end, unless machines write it together; others have one resolution.

    Chunks are cubes that begin where the output begins: 128 voxels wide of one byte, else 64. ``chunk`` is the extent
    of what is best written at once, along z, y and x: that of chunks or, where the facts name any, of shards.
    """

    def __init__(self, path: str | os.PathLike, facts: OutputFacts, overwrite: bool) -> None:
        self._zarr = zarr_module()
        self._facts = facts
        self._name = os.fspath(path)
        self._partial = partial_of(self._name, overwrite)
        self._store: Any = None
        self._group: Any = None
        self._target: ArrayTarget | None = None
        self._shard = whole_chunks(facts.shard, facts.chunk, facts.shape[1:]) if facts.shard else None
        self.chunk: Triple = self._shard or facts.chunk
        self.depth, self.rows = self.chunk[:2]
        self.folder = self._partial.folder

    def begin(self) -> None:
        facts = self._facts
        self._store = store_of(str(self._partial.begin()), holds_back=True)
        version = 3 if self._shard else facts.zarr_format or 2
        self._group = self._zarr.open_group(self._store, mode="a", zarr_format=version)  # "w" would remove a mark
        self._group.attrs["znni"] = facts.notes
        shape = facts.file_shape
        geometry = facts.geometry or Geometry().moved(facts.origin)
        describe(self._group, geometry, str(facts.notes["model"]), len(shape), [(0, 0, 0)])
        layout = Layout(facts.chunk, self._shard)
        self._target = ArrayTarget(make_array(self._group, FINEST, shape, facts.dtype, layout), facts)

    def write(self, start: Triple, block: np.ndarray) -> None:
        assert self._target is not None
        self._target.write(start, block)

    def finish(self) -> None:
        self._target = None
        if is_pyramid(self._name) and not self._facts.is_shared:
            make_resolutions(self._group, self._name)
        self._partial.check()
        if not isinstance(self._store, str):
            self._store.release()
        self._partial.finish()

    def discard(self) -> None:
        self._target = None
        self._partial.discard()


def shared(group: Any, path: str) -> SharedOutput:
    """Returns the output that is a group of zarr at ``path``."""
    array, place = group[FINEST], place_of(path)
    notes = group.attrs.asdict()
    check_fields(notes, [NOTES], path)
    return SharedOutput(
        array,
        array.shards or array.chunks,
        notes.get("znni", {}),
        place.inside(FINEST),
        array.metadata.encode_chunk_key,
        place.room,
    )


def open_image(path: str) -> Any:
    """Returns the group of an output at a path, to read and write. Raises NotFoundError if it is not there."""
    open_node(path)
    return zarr_module().open_group(store_of(path), mode="r+")


def open_shared(path: str) -> SharedOutput:
    """Returns the output at a path, to read and write."""
    return shared(open_image(path), path)

"""Volumes and outputs in N5, FOLDER.n5/dataset. N5 names the axes of an array from x on."""

from __future__ import annotations

import re
from typing import Any

from znni.errors import InvalidError, NotFoundError
from znni.geometry import Geometry
from znni.stores.array import ArraySource
from znni.stores.chunk_target import ChunkTarget, named
from znni.stores.formats.fields import NOTES, Field, all_of, check_fields, is_extent, is_object, is_text
from znni.stores.formats.n5_geometry import attributes_of, geometry_of
from znni.stores.place import Place
from znni.stores.places import place_of
from znni.stores.seam import OutputFacts
from znni.stores.shared import SharedOutput
from znni.stores.tensors import TensorArray, arranged, open_store

ATTRIBUTES = "attributes.json"
_TYPES = ("uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64", "float32", "float64")
_AXES = ("x", "y", "z", "c", "t")
_EXTENTS = "three whole numbers from 1 on, or four or five"
_FIELDS = (
    Field("dimensions", lambda value: all_of(value, is_extent, (3, 4, 5)), _EXTENTS),
    Field("blockSize", lambda value: all_of(value, is_extent, (3, 4, 5)), _EXTENTS),
    Field("dataType", is_text, "a text"),
    Field("compression", is_object, "an object", is_optional=True),
    Field("axes", lambda value: all_of(value, is_text), "a list of names of axes", is_optional=True),
    NOTES,
)
_LEVEL = "s0"  # the first, largest array of a pyramid
_MOST_DEPTH = 3  # of folders that are looked through for arrays to name


def container_of(path: str) -> str:
    """Returns the part of a path that ends with the name of a container; all of it if there is none."""
    match = re.fullmatch(r"(.*?\.n5)(?:/.*)?", path, re.DOTALL)
    return match[1] if match else path


def is_n5(place: Place) -> bool:
    """Returns whether a folder is an array or a group of N5 that says so."""
    return place.read(ATTRIBUTES) is not None


def _arrays(place: Place, depth: int = 0, within: str = "") -> list[str]:
    """Returns the names of the arrays in a folder."""
    found: list[str] = []
    for name in place.names() if depth < _MOST_DEPTH else ():
        inner = place.inside(name)
        is_array = "dimensions" in (inner.read_json(ATTRIBUTES) or {})
        found += [within + name] if is_array else _arrays(inner, depth + 1, f"{within}{name}/")
    return found


def _find(place: Place) -> tuple[Place, dict[str, Any]]:
    """Returns folder and attributes of an array: those of ``place``, or of the first of the pyramid that it is."""
    attributes = place.read_json(ATTRIBUTES)
    if attributes is not None and "dimensions" in attributes:
        return place, attributes
    level = place.inside(_LEVEL)
    first = level.read_json(ATTRIBUTES)
    if first is not None and "dimensions" in first:
        return level, {**(attributes or {}), **first}
    place.check()
    arrays = ", ".join(_arrays(place)) or "none"
    if attributes is None and arrays == "none":
        raise NotFoundError(f"{place.path}: there is no array of N5: no {ATTRIBUTES} in it: {place.found()}")
    raise NotFoundError(f"{place.path}: a group of N5 found, expected an array; arrays in it: {arrays}")


def _order(attributes: dict[str, Any], name: str) -> list[int]:
    """Returns which axis of N5 each axis of NumPy is: those of t, c, z, y and x."""
    count = len(attributes["dimensions"])
    axes = [str(axis).lower() for axis in attributes.get("axes", _AXES[:count])]
    if len(axes) != count or sorted(axes, key="xyzct".find) != list(_AXES[:count]) or count < 3:
        raise InvalidError(
            f"{name}/{ATTRIBUTES}: axes {', '.join(axes)} of {count} found, expected x, y, z, and c for channels"
        )
    return [axes.index(axis) for axis in reversed(_AXES[:count])]


def _compression(attributes: dict[str, Any]) -> Any:
    """Returns the compression, which N5 before version 2 has by its name alone."""
    return attributes.get("compression") or {"type": attributes.get("compressionType", "raw")}


def _open(place: Place, attributes: dict[str, Any], name: str) -> TensorArray:
    """Returns the array that these attributes describe. Raises InvalidError if they do not."""
    check_fields(attributes, _FIELDS, f"{name}/{ATTRIBUTES}")
    if len(attributes["blockSize"]) != len(attributes["dimensions"]):
        raise InvalidError(
            f"{name}/{ATTRIBUTES}: field 'blockSize': {attributes['blockSize']} found, expected as many "
            f"numbers as dimensions {attributes['dimensions']} have"
        )
    order = _order(attributes, name)
    metadata = {
        **{field: attributes[field] for field in ("dimensions", "blockSize", "dataType")},
        "compression": _compression(attributes),
    }
    store = open_store({"driver": "n5", "kvstore": place.kvstore, "metadata": metadata}, name)
    return TensorArray(arranged(store, order), [attributes["blockSize"][axis] for axis in order], name)


def open_array(place: Place) -> TensorArray:
    """Returns the array in a folder, of voxels of any type. Raises NotFoundError if there is none."""
    return _open(*_find(place), place.path)


class N5Source(ArraySource):
    """Reads an array, or the first, largest one of a pyramid."""

    def __init__(self, place: Place) -> None:
        found, attributes = _find(place)
        super().__init__(_open(found, attributes, place.path), place.path)
        self.geometry = geometry_of(attributes, place.path)
        self.notes = attributes.get("znni")


def _check_apart(path: str, overwrite: bool) -> None:
    """Raises InvalidError for an output that lies in an array, or would remove arrays that lie in it."""
    container, folder = container_of(path), path
    while len(folder) > len(container):
        folder = folder.rpartition("/")[0]
        if "dimensions" in (place_of(folder).read_json(ATTRIBUTES) or {}):
            raise InvalidError(f"{path}: lies in {folder}, which is an array: name one beside it")
    inner = [name for name in place_of(path).all_names("") if name.endswith("/" + ATTRIBUTES)] if overwrite else []
    if inner:
        raise InvalidError(
            f"{path}: a group with {inner[0]} found, of which nothing is replaced: name an array in it, "
            "or remove it first"
        )


class N5Target(ChunkTarget):
    """Writes an array, into a container that may be there. Its blocks are compressed by gzip."""

    def __init__(self, path: str, facts: OutputFacts, overwrite: bool) -> None:
        if facts.dtype.name not in _TYPES:
            raise InvalidError(f"{path}: {facts.dtype.name} found, which N5 does not hold: pass dtype float32 or uint8")
        super().__init__(named(path), facts, overwrite, container_of(named(path)))
        _check_apart(self._path, overwrite)

    def _open(self, place: Place) -> TensorArray:
        return _open(place, self._array(), self._path)

    def _array(self) -> dict[str, Any]:
        shape = self._facts.file_shape
        chunks = (1,) * (len(shape) - 3) + self.chunk
        return {
            "dimensions": list(reversed(shape)),
            "blockSize": list(reversed(chunks)),
            "dataType": self._facts.dtype.name,
            "compression": {"type": "gzip", "level": 1, "useZlib": False},
        }

    def _description(self) -> tuple[str, dict[str, Any]]:
        geometry = self._facts.geometry or Geometry().moved(self._facts.origin)
        version = {"n5": "2.5.1"} if container_of(self._path) == self._path else {}
        return ATTRIBUTES, {
            **version,
            **self._array(),
            **attributes_of(geometry, len(self._facts.file_shape)),
            "znni": self._facts.notes,
        }

    def finish(self) -> None:
        super().finish()
        container = place_of(container_of(self._path))
        if container.path != self._path and container.read(ATTRIBUTES) is None:
            container.write(ATTRIBUTES, b'{"n5": "2.5.1"}')


def open_shared(path: str) -> SharedOutput:
    """Returns the output at a path, to read and write."""
    place = place_of(named(path))
    found, attributes = _find(place)
    array = _open(found, attributes, place.path)
    return SharedOutput(
        array,
        array.chunks,
        attributes.get("znni", {}),
        found,
        lambda at: "/".join(str(n) for n in reversed(at)),
        place_of(container_of(place.path)).room,
    )

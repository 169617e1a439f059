"""Volumes and outputs in the precomputed format of Neuroglancer: a folder whose file info describes it."""

from __future__ import annotations

from typing import Any

from znni.errors import InvalidError, NotFoundError
from znni.geometry import Geometry
from znni.stores.array import ArraySource
from znni.stores.chunk_target import ChunkTarget, named
from znni.stores.formats.fields import (
    NOTES,
    Field,
    all_of,
    check_fields,
    is_extent,
    is_object,
    is_scale,
    is_text,
    is_whole,
)
from znni.stores.formats.units import NANOMETERS
from znni.stores.place import Place
from znni.stores.places import place_of
from znni.stores.seam import OutputFacts
from znni.stores.shared import SharedOutput
from znni.stores.tensors import TensorArray, arranged, open_store

INFO = "info"
_TYPES = ("uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "float32")
_MULTISCALE = "neuroglancer_multiscale_volume"
_FIELDS = (
    Field("@type", lambda value: value == _MULTISCALE, _MULTISCALE, is_optional=True),
    Field("scales", lambda value: all_of(value, is_object) and bool(value), "a list of one scale at least"),
    Field("data_type", is_text, "a text"),
    Field("num_channels", is_extent, "a whole number from 1 on"),
    NOTES,
)
_OF_A_SCALE = (
    Field("key", is_text, "a text"),
    Field("size", lambda value: all_of(value, is_extent, (3,)), "three whole numbers from 1 on"),
    Field(
        "voxel_offset",
        lambda value: value is None or all_of(value, is_whole, (3,)),
        "three whole numbers",
        is_optional=True,
    ),
    Field("resolution", lambda value: all_of(value, is_scale, (3,)), "three numbers above 0"),
    Field(
        "chunk_sizes",
        lambda value: bool(value) and all_of(value, lambda size: all_of(size, is_extent, (3,))),
        "a list of three whole numbers from 1 on, or of several such",
    ),
    Field("encoding", is_text, "a text"),
)
_ORDER = (3, 2, 1, 0)  # of x, y, z and channel


def is_precomputed(place: Place) -> bool:
    """Returns whether a folder has a file info."""
    return place.read(INFO) is not None


def _find(place: Place) -> tuple[dict[str, Any], int]:
    """Returns info and the number of the scale that a volume is read from: the first, largest one."""
    info = place.read_json(INFO)
    if info is None:
        place.check()
        raise NotFoundError(f"{place.path}: there is no precomputed volume: no file {INFO} in it: {place.found()}")
    file = f"{place.path}/{INFO}"
    check_fields(info, _FIELDS, file)
    check_fields(info["scales"][0], _OF_A_SCALE, f"{file}: first scale")
    return info, 0


def _open(place: Place, info: dict[str, Any], index: int, name: str) -> TensorArray:
    scale = dict(info["scales"][index])
    chunk = scale.pop("chunk_sizes")[0]
    known = {
        field: scale[field]
        for field in (
            "key",
            "size",
            "voxel_offset",
            "resolution",
            "encoding",
            "sharding",
            "jpeg_quality",
            "png_level",
            "compressed_segmentation_block_size",
        )
        if scale.get(field) is not None
    }
    whole = {field: info[field] for field in ("data_type", "num_channels", "type") if field in info}
    store = open_store(
        {
            "driver": "neuroglancer_precomputed",
            "kvstore": place.kvstore,
            "multiscale_metadata": whole,
            "scale_metadata": {**known, "chunk_size": chunk},
        },
        name,
    )
    return TensorArray(arranged(store, _ORDER), (info["num_channels"], *reversed(chunk)), name)


def open_array(place: Place) -> TensorArray:
    """Returns the largest array of a volume, ``[C, Z, Y, X]``, of voxels of any type."""
    return _open(place, *_find(place), place.path)


class PrecomputedSource(ArraySource):
    """Reads the first, largest scale of a volume. One of one channel is ``[Z, Y, X]``."""

    def __init__(self, place: Place) -> None:
        info, index = _find(place)
        array = _open(place, info, index, place.path)
        super().__init__(array.first() if array.shape[0] == 1 else array, place.path)
        scale = info["scales"][index]
        resolution = tuple(float(n) for n in reversed(scale["resolution"]))
        offset = tuple(int(n) for n in reversed(scale.get("voxel_offset") or (0, 0, 0)))
        self.geometry = Geometry(resolution, units=("nanometer",) * 3).moved(offset)  # type: ignore[arg-type]
        self.notes = info.get("znni")


def _in_nanometers(geometry: Geometry, name: str) -> tuple[list[float], list[int]]:
    """Returns resolution and voxel offset, from x on. Raises InvalidError for a geometry that info cannot say."""
    unknown = [unit for unit in geometry.units if unit not in NANOMETERS]
    if unknown:
        raise InvalidError(
            f"{name}: voxels in '{unknown[0]}' found, expected a unit of length: precomputed has nanometers"
        )
    offsets = [a / b for a, b in zip(geometry.translation, geometry.scale)]
    whole = [round(offset) for offset in offsets]
    if any(abs(a - b) > 1e-3 for a, b in zip(offsets, whole)):
        raise InvalidError(
            f"{name}: an offset of {', '.join(f'{n:g}' for n in offsets)} voxels found, expected whole "
            "ones, which is all that precomputed holds: name an output in zarr or N5"
        )
    resolution = [scale * NANOMETERS[unit] for scale, unit in zip(geometry.scale, geometry.units)]
    return resolution[::-1], whole[::-1]


class PrecomputedTarget(ChunkTarget):
    """Writes a volume of one scale, whose chunks are raw."""

    def __init__(self, path: str, facts: OutputFacts, overwrite: bool) -> None:
        if facts.dtype.name not in _TYPES:
            raise InvalidError(
                f"{path}: {facts.dtype.name} found, which precomputed does not hold: pass dtype float32 or uint8"
            )
        self._resolution, self._offset = _in_nanometers(facts.geometry or Geometry().moved(facts.origin), path)
        super().__init__(named(path), facts, overwrite)

    def _info(self) -> dict[str, Any]:
        channels, *extent = self._facts.shape
        scale = {
            "key": "_".join(f"{n:g}" for n in self._resolution),
            "size": extent[::-1],
            "voxel_offset": self._offset,
            "resolution": self._resolution,
            "chunk_sizes": [list(self.chunk[::-1])],
            "encoding": "raw",
        }
        return {
            "@type": _MULTISCALE,
            "type": "image",
            "data_type": self._facts.dtype.name,
            "num_channels": channels,
            "scales": [scale],
            "znni": self._facts.notes,
        }

    def _open(self, place: Place) -> TensorArray:
        return _open(place, self._info(), 0, self._path)

    def _description(self) -> tuple[str, dict[str, Any]]:
        return INFO, self._info()


def open_shared(path: str) -> SharedOutput:
    """Returns the output at a path, to read and write."""
    place = place_of(named(path))
    info, index = _find(place)
    array = _open(place, info, index, place.path)
    scale = info["scales"][index]

    def key(at: tuple) -> str:
        ranges = [
            (n * c, min((n + 1) * c, size))
            for n, c, size in zip(reversed(at[1:]), scale["chunk_sizes"][0], scale["size"])
        ]
        sides = [f"{a + b}-{a + c}" for a, (b, c) in zip(scale.get("voxel_offset") or (0, 0, 0), ranges)]
        return f"{scale['key']}/{'_'.join(sides)}"

    return SharedOutput(array, array.chunks, info.get("znni", {}), place, key, place.room)

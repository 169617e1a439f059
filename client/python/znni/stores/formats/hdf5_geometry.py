"""Voxel size, offset and axes in the attributes of a dataset of HDF5."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from znni.errors import InvalidError
from znni.geometry import SPACE, Geometry
from znni.stores.formats.fields import all_of, is_finite, is_scale
from znni.stores.formats.units import NANOMETERS, factor, name_of

NAMES = ("znni_axes", "znni_voxel_size", "znni_translation", "znni_units")  # of the attributes that are ours
_SIZE = "element_size_um"  # of voxels along z, y and x, as Fiji's plugin and PlantSeg have it
_TAGS = "axistags"  # of vigra and ilastik


def read_geometry(attributes: Mapping[str, Any], name: str) -> Geometry | None:
    """Returns the geometry of the dataset ``name``, of the first of these that is there: our own attributes, which
    write_geometry() writes; ``element_size_um``; ``resolution`` and ``offset`` in nm. None if none is. Raises
    InvalidError if one of the first two is of another form, or if the axes are not read in their order."""
    _check_axes(attributes, name)
    if "znni_voxel_size" in attributes:
        units = str(attributes.get("znni_units", ",,")).split(",")
        if len(units) != 3:
            raise InvalidError(
                f"{name}: attribute 'znni_units': {','.join(units):.80} found, expected three with commas"
            )
        scale = _numbers(attributes, "znni_voxel_size", name, positive=True)
        return Geometry(scale, _numbers(attributes, "znni_translation", name), tuple(units))  # type: ignore[arg-type]
    if _SIZE in attributes:
        return Geometry(_numbers(attributes, _SIZE, name, positive=True), units=("micrometer",) * 3)
    scale, offset = (_listed(attributes.get(key)) for key in ("resolution", "offset"))
    if not all_of(scale, is_scale, (3,)):
        return None
    offset = offset if all_of(offset, is_finite, (3,)) else [0.0] * 3
    return Geometry(tuple(scale), tuple(offset), ("nanometer",) * 3)


def write_geometry(attributes: Any, geometry: Geometry | None, ndim: int) -> None:
    """Writes the geometry of a dataset with ``ndim`` axes into its attributes; the voxel size as ``element_size_um``,
    too, where its units are lengths."""
    attributes["znni_axes"] = "czyx"[-ndim:]
    if geometry is None:
        return
    attributes["znni_voxel_size"] = geometry.scale
    attributes["znni_translation"] = geometry.translation
    attributes["znni_units"] = ",".join(geometry.units)
    if all(NANOMETERS.get(name_of(unit)) and unit for unit in geometry.units):
        sizes = (scale * factor(name_of(unit), "micrometer") for scale, unit in zip(geometry.scale, geometry.units))
        attributes[_SIZE] = tuple(sizes)


def _check_axes(attributes: Mapping[str, Any], name: str) -> None:
    """Raises InvalidError unless the last axes are z, y and x, if the attributes name any."""
    axes = _axes(attributes)
    if axes and tuple(axes[-3:]) != SPACE:
        raise InvalidError(f"{name}: axes {', '.join(axes)} found, expected z, y, x as the last")


def _axes(attributes: Mapping[str, Any]) -> list[str]:
    if "znni_axes" in attributes:
        return list(str(attributes["znni_axes"]))
    try:
        return [str(axis["key"]) for axis in json.loads(attributes[_TAGS])["axes"]]
    except (LookupError, TypeError, ValueError):  # none, or of another program
        return []


def _listed(value: Any) -> Any:
    return np.asarray(value, np.float64).tolist() if isinstance(value, np.ndarray) and value.dtype.kind in "iuf" else []


def _numbers(attributes: Mapping[str, Any], key: str, name: str, positive: bool = False) -> tuple[float, float, float]:
    found = _listed(attributes.get(key))
    if not all_of(found, is_scale if positive else is_finite, (3,)):
        kind = "three numbers above 0" if positive else "three numbers"
        raise InvalidError(f"{name}: attribute '{key}': {attributes.get(key)!r:.80} found, expected {kind}")
    return tuple(found)

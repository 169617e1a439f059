"""How large the voxels of a file of TIFF are, and where it lies, as ImageJ and OME say: TIFF itself has no axis z."""

from __future__ import annotations

import math
from typing import Any
from xml.etree import ElementTree

from znni.geometry import Geometry
from znni.stores.formats.fields import is_finite, is_scale
from znni.stores.formats.units import name_of

_OME_UNIT = "µm"  # where the file names none


def geometry_of_tiff(file: Any) -> Geometry | None:
    """Returns what an open file says of voxel size and offset, as OME or ImageJ has it; None if it says nothing."""
    if file.is_ome:
        return _of_ome(file.ome_metadata)
    return _of_imagej(file.imagej_metadata or {}, file.pages[0].tags) if file.is_imagej else None


def _number(text: Any) -> float:
    try:
        return float(text)
    except (TypeError, ValueError):
        return math.nan


def _of_ome(xml: str) -> Geometry | None:
    """Returns what the first image of an OME-XML says."""
    pixels = next((e for e in ElementTree.fromstring(xml).iter() if e.tag.endswith("}Pixels")), None)
    if pixels is None:
        return None
    scale = tuple(_number(pixels.get(f"PhysicalSize{axis}")) for axis in "ZYX")
    if not is_scale(scale[1]) or not is_scale(scale[2]):
        return None
    units = tuple(name_of(pixels.get(f"PhysicalSize{axis}Unit", _OME_UNIT)) for axis in "ZYX")
    plane: Any = next((e for e in pixels if e.tag.endswith("}Plane")), {})
    translation = tuple(_position(plane, axis, unit) for axis, unit in zip("ZYX", units))
    return Geometry((scale[0] if is_scale(scale[0]) else 1.0, *scale[1:]), translation, units)  # type: ignore[arg-type]


def _position(plane: Any, axis: str, unit: str) -> float:
    """Returns where a plane lies along an axis; 0 where it does not say that in ``unit``."""
    found = _number(plane.get(f"Position{axis}"))
    return found if is_finite(found) and name_of(plane.get(f"Position{axis}Unit", "")) == unit else 0.0


def _voxels_per_unit(tags: Any, name: str) -> float:
    tag = tags.get(name)
    found = tag.value if tag is not None else (1, 1)
    return found[0] / found[1] if isinstance(found, tuple) and found[1] and found[0] else 1.0


def _of_imagej(metadata: dict[str, Any], tags: Any) -> Geometry | None:
    """Returns what ImageJ's description says: its origin is the voxel that lies at 0."""
    unit = name_of(str(metadata.get("unit", "")).replace("\\u00B5", "µ"))
    spacing = _number(metadata.get("spacing", 1.0))
    scale = (abs(spacing) if is_scale(abs(spacing)) else 1.0,) + tuple(
        1.0 / _voxels_per_unit(tags, name) for name in ("YResolution", "XResolution")
    )
    origin = [_number(metadata.get(f"{axis}origin", 0.0)) for axis in "zyx"]
    if not unit and scale == (1.0, 1.0, 1.0) and not any(origin):
        return None
    translation = tuple(-n * size if is_finite(n) else 0.0 for n, size in zip(origin, scale))
    return Geometry(scale, translation, (unit,) * 3)  # type: ignore[arg-type]


def description_of(geometry: Geometry, unit: str, channels: int, planes: int, notes: str) -> str:
    """Returns the description that ImageJ reads, of a geometry in ``unit``."""
    origin = [-t / s for t, s in zip(geometry.translation, geometry.scale)]
    lines = [
        "ImageJ=1.54f",
        f"images={channels * planes}",
        *([f"channels={channels}"] if channels > 1 else []),
        f"slices={planes}",
        "hyperstack=true",
        "mode=grayscale",
        "loop=false",
        *([f"unit={unit}"] if unit else []),
        f"spacing={geometry.scale[0]!r}",
        *(f"{axis}origin={n!r}" for axis, n in zip("zyx", origin) if n),
        f"znni={notes}",
    ]
    return "\n".join(lines) + "\n"

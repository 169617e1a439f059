"""The header of an NRRD file: the type of its voxels, the axes of space, and the place of the volume."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np

from znni.errors import InvalidError
from znni.geometry import Geometry
from znni.stores.formats.affine import geometry_of_affine
from znni.stores.formats.units import name_of

_INTEGERS = {
    "i1": ("signed char", "int8", "int8_t"),
    "u1": ("uchar", "unsigned char", "uint8", "uint8_t"),
    "i2": ("short", "short int", "signed short", "signed short int", "int16", "int16_t"),
    "u2": ("ushort", "unsigned short", "unsigned short int", "uint16", "uint16_t"),
    "i4": ("int", "signed int", "int32", "int32_t"),
    "u4": ("uint", "unsigned int", "uint32", "uint32_t"),
    "i8": ("longlong", "long long", "long long int", "signed long long", "signed long long int", "int64", "int64_t"),
    "u8": ("ulonglong", "unsigned long long", "unsigned long long int", "uint64", "uint64_t"),
}
_TYPES = {name: code for code, names in _INTEGERS.items() for name in names} | {"float": "f4", "double": "f8"}
_ORDERS: dict[str, Literal["<", ">"]] = {"little": "<", "big": ">"}
# Signs that lead from the axes of a space to right, anterior and superior.
_SPACES = {
    "right-anterior-superior": (1, 1, 1),
    "ras": (1, 1, 1),
    "left-posterior-superior": (-1, -1, 1),
    "lps": (-1, -1, 1),
    "left-anterior-superior": (-1, 1, 1),
    "las": (-1, 1, 1),
}
_OF_SPACE = ("domain", "space")  # kinds of axes


class Layout(NamedTuple):
    """Describes the voxels of a file: ``shape`` is [Z, Y, X] or [C, Z, Y, X] once axes are moved to ``order``, from
    ``stored``, the extents in the order of C."""

    stored: tuple
    order: tuple
    dtype: np.dtype


def _wrong(name: str, field: str, found: Any, expected: str) -> InvalidError:
    text = " ".join(str(found).split())
    return InvalidError(f"{name}: field '{field}': {text:.200} found, expected {expected}")


def type_of(header: dict[str, Any], name: str) -> np.dtype:
    """Returns the type of voxels. Raises InvalidError for one that is none of numbers."""
    found = str(header.get("type")).lower()
    if found not in _TYPES:
        raise _wrong(name, "type", header.get("type"), "that of whole or real numbers")
    dtype = np.dtype(_TYPES[found])
    if dtype.itemsize == 1:
        return dtype
    order = str(header.get("endian")).lower()
    if order not in _ORDERS:
        raise _wrong(name, "endian", header.get("endian"), "little or big")
    return dtype.newbyteorder(_ORDERS[order])


def _directions(header: dict[str, Any]) -> list[np.ndarray | None]:
    """Returns the direction of each axis; None of those that are none of space."""
    rows = [None if row is None else np.asarray(row, np.float64) for row in header.get("space directions", ())]
    return [None if row is None or np.isnan(row).all() else row for row in rows]


def space_axes(header: dict[str, Any], sizes: list[int], name: str) -> list[int]:
    """Returns which axes are x, y and z: those with a direction, those that ``kinds`` says, or else the first three.
    Raises InvalidError unless there are three, and one other at most."""
    directions, kinds = _directions(header), [str(kind).lower() for kind in header.get("kinds", ())]
    if any(row is not None for row in directions):
        found = [axis for axis, row in enumerate(directions) if row is not None]
    elif any(kind in _OF_SPACE for kind in kinds):
        found = [axis for axis, kind in enumerate(kinds) if kind in _OF_SPACE]
    else:
        found = list(range(min(3, len(sizes))))
    if len(found) != 3 or not 3 <= len(sizes) <= 4 or max(found) >= len(sizes):
        raise _wrong(name, "sizes", f"{sizes}, {len(found)} axes of space,", "x, y, z and at most one of channels")
    return found


def layout_of(header: dict[str, Any], name: str) -> Layout:
    """Returns how the voxels of a file lie in it. Raises InvalidError if they are not a volume."""
    sizes = [int(n) for n in np.ravel(header.get("sizes", ()))]
    if not sizes or min(sizes) < 1:
        raise _wrong(name, "sizes", sizes, "numbers from 1 on")
    space = space_axes(header, sizes, name)
    rest = [axis for axis in range(len(sizes)) if axis not in space]
    last = len(sizes) - 1
    order = tuple(last - axis for axis in [*rest, *reversed(space)])
    return Layout(tuple(reversed(sizes)), order, type_of(header, name))


def _unit(header: dict[str, Any], axes: list[int]) -> str:
    units = header.get("space units") or [(header.get("units") or [""] * 9)[axis] for axis in axes]
    return name_of(str(units[0]).strip('"'))


def geometry_of_header(header: dict[str, Any], name: str) -> Geometry | None:
    """Returns where a volume lies: by directions and origin in its space, or by spacings alone; None if the file says
    neither."""
    sizes = [int(n) for n in np.ravel(header["sizes"])]
    axes = space_axes(header, sizes, name)
    directions = _directions(header)
    unit = _unit(header, axes)
    if any(row is not None for row in directions):
        columns = np.array([directions[axis] for axis in axes]).T
        origin = np.asarray(header.get("space origin", (0, 0, 0)), np.float64)
        if columns.shape != (3, 3) or origin.shape != (3,):
            raise _wrong(name, "space directions", header["space directions"], "three numbers for each of x, y and z")
        space = str(header.get("space", "")).lower()
        signs = np.array(_SPACES.get(space, (1, 1, 1)), np.float64)[:, None]
        affine = np.column_stack([columns, origin]) * signs
        return geometry_of_affine(affine, unit, space in _SPACES, f"{name}: field 'space directions'")
    spacings = np.asarray(header.get("spacings", ()), np.float64)
    if spacings.size != len(sizes):
        return None
    sides = np.column_stack([np.diag(spacings[axes]), _origin(header, axes)])
    return geometry_of_affine(sides, unit, False, f"{name}: field 'spacings'")


def _origin(header: dict[str, Any], axes: list[int]) -> list[float]:
    """Returns the position of the first voxel that 'axis mins' says, 0 where it says none."""
    found = np.asarray(header.get("axis mins", ()), np.float64)
    return [float(found[axis]) if axis < found.size and np.isfinite(found[axis]) else 0.0 for axis in axes]

"""The place of an array of N5 in the world: attributes of several programs, none of which N5 itself defines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from znni.errors import InvalidError
from znni.geometry import SPACE, Geometry
from znni.stores.formats.fields import all_of, is_finite, is_scale, is_text


def geometry_of(attributes: Mapping[str, Any], name: str) -> Geometry | None:
    """Returns what the first of these attributes says that is there; None if there is none:

    ``transform`` with its axes by name, ``pixelResolution`` with dimensions from x on and one unit, or just with these
    dimensions, ``resolution`` from x on, with ``units`` and ``offset``. Raises InvalidError for one of another form.
    """
    for fields, read in (
        (("transform",), _transform),
        (("pixelResolution",), _pixel_resolution),
        (("resolution", "units", "offset"), _resolution),
    ):
        if fields[0] in attributes:
            try:
                return _checked(read(attributes))
            except (LookupError, TypeError, ValueError, AttributeError, OverflowError):
                found = ", ".join(f"'{field}': {attributes[field]!r:.200}" for field in fields if field in attributes)
                raise InvalidError(
                    f"{name}: attribute {found} found, expected the form that docs/python.md names, with sizes above 0"
                ) from None
    return None


def attributes_of(geometry: Geometry, ndim: int) -> dict[str, Any]:
    """Returns the attributes that say the same, each in the form of those that read it."""
    scale, translation, units = (
        list(reversed(part)) for part in (geometry.scale, geometry.translation, geometry.units)
    )
    rest = ndim - len(SPACE)
    return {
        "axes": [*reversed(SPACE), "c"][:ndim],
        "resolution": scale + [1.0] * rest,
        "units": units + [""] * rest,
        "offset": translation + [0.0] * rest,
        "pixelResolution": {"dimensions": scale, "unit": units[0]},
        "transform": {
            "axes": list(SPACE),
            "scale": list(geometry.scale),
            "translate": list(geometry.translation),
            "units": list(geometry.units),
        },
    }


def _checked(geometry: Geometry) -> Geometry:
    """Returns the geometry. Raises ValueError for one that no volume can have."""
    if not all(map(is_scale, geometry.scale)) or not all(map(is_finite, geometry.translation)):
        raise ValueError
    return geometry


def _texts(values: Any) -> list[str]:
    """Returns a list of texts. Raises TypeError if it is none."""
    if not all_of(values, is_text):
        raise TypeError
    return values


def _numbers(values: Sequence[Any]) -> tuple:
    """Returns the numbers of z, y and x of values that begin with x."""
    x, y, z = (float(value) for value in values[:3])
    return z, y, x


def _transform(attributes: Mapping[str, Any]) -> Geometry:
    found = attributes["transform"]
    at = [[str(axis).lower() for axis in found["axes"]].index(axis) for axis in SPACE]
    scale, translation = (tuple(float(found[field][i]) for i in at) for field in ("scale", "translate"))
    units = _texts(found["units"])
    return Geometry(scale, translation, tuple(units[i] for i in at))  # type: ignore[arg-type]


def _pixel_resolution(attributes: Mapping[str, Any]) -> Geometry:
    found = attributes["pixelResolution"]
    if isinstance(found, list):
        return Geometry(_numbers(found))
    return Geometry(_numbers(found["dimensions"]), units=tuple(_texts([found.get("unit", "")]) * 3))  # type: ignore[arg-type]


def _resolution(attributes: Mapping[str, Any]) -> Geometry:
    z, y, x = reversed(_texts(attributes.get("units", [""] * 3))[:3])
    return Geometry(_numbers(attributes["resolution"]), _numbers(attributes.get("offset", (0, 0, 0))), (z, y, x))

"""Where an array of N5 lies in the world: attributes of several programs, none of which N5 itself defines."""

from __future__ import annotations

from typing import Any, Mapping, Sequence

from znni.errors import InvalidError
from znni.geometry import SPACE, Geometry


def geometry_of(attributes: Mapping[str, Any], name: str) -> Geometry | None:
    """Returns what the first of these attributes says that is there; None if there is none:

    ``transform`` with its axes by name, ``pixelResolution`` with dimensions from x on and one unit, or just with these
    dimensions, ``resolution`` from x on, with ``units`` and ``offset``. Raises InvalidError for one of another form.
    """
    for field, read in (("transform", _transform), ("pixelResolution", _pixel_resolution), ("resolution", _resolution)):
        if field in attributes:
            try:
                return read(attributes)
            except (KeyError, TypeError, ValueError, AttributeError):
                raise InvalidError(f"{name}: attribute '{field}': {attributes[field]!r} found, expected the form that "
                                   "docs/python.md names") from None
    return None


def attributes_of(geometry: Geometry, ndim: int) -> dict[str, Any]:
    """Returns the attributes that say the same, each in the form of those that read it."""
    scale, translation, units = (list(reversed(part)) for part in (geometry.scale, geometry.translation, geometry.units))
    rest = ndim - len(SPACE)
    return {"axes": [*reversed(SPACE), "c"][:ndim],
            "resolution": scale + [1.0] * rest, "units": units + [""] * rest, "offset": translation + [0.0] * rest,
            "pixelResolution": {"dimensions": scale, "unit": units[0]},
            "transform": {"axes": list(SPACE), "scale": list(geometry.scale), "translate": list(geometry.translation),
                          "units": list(geometry.units)}}


def _numbers(values: Sequence[Any]) -> tuple:
    """Returns the numbers of z, y and x of values that begin with x."""
    x, y, z = (float(value) for value in values[:3])
    return z, y, x


def _transform(attributes: Mapping[str, Any]) -> Geometry:
    found = attributes["transform"]
    at = [[str(axis).lower() for axis in found["axes"]].index(axis) for axis in SPACE]
    scale, translation = (tuple(float(found[field][i]) for i in at) for field in ("scale", "translate"))
    return Geometry(scale, translation, tuple(str(found["units"][i]) for i in at))  # type: ignore[arg-type]


def _pixel_resolution(attributes: Mapping[str, Any]) -> Geometry:
    found = attributes["pixelResolution"]
    if isinstance(found, list):
        return Geometry(_numbers(found))
    return Geometry(_numbers(found["dimensions"]), units=(str(found.get("unit", "")),) * 3)


def _resolution(attributes: Mapping[str, Any]) -> Geometry:
    z, y, x = (str(unit) for unit in reversed(attributes.get("units", ("",) * 3)[:3]))
    return Geometry(_numbers(attributes["resolution"]), _numbers(attributes.get("offset", (0, 0, 0))), (z, y, x))

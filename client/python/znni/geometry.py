"""The place of a volume in the world: the scale and translation of OME-NGFF."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from znni.box import Triple
from znni.errors import InvalidError

SPACE = ("z", "y", "x")


@dataclasses.dataclass(frozen=True)
class Frame:
    """Places voxel (x, y, z) in a space whose axes may be others: at ``matrix``, three rows of four numbers, times
    (x, y, z, 1). ``is_body`` says that they lead to a body's right, to its front and up."""

    matrix: tuple[tuple[float, ...], ...]
    is_body: bool = False

    def moved(self, origin: Triple) -> Frame:
        """Returns the frame of the voxels from ``origin`` on, which is one of z, y and x."""
        z, y, x = origin
        rows = tuple((a, b, c, a * x + b * y + c * z + d) for a, b, c, d in self.matrix)
        return Frame(rows, self.is_body)


@dataclasses.dataclass(frozen=True)
class Geometry:
    """Says where voxel ``i`` of a volume lies: at ``translation + scale * i``, in ``units``, along its own z, y and x.
    ``frame`` says the same in the axes of a space, in the same units; None where these are the volume's own."""

    scale: tuple[float, float, float] = (1.0, 1.0, 1.0)
    translation: tuple[float, float, float] = (0.0, 0.0, 0.0)
    units: tuple[str, str, str] = ("", "", "")
    frame: Frame | None = None

    def moved(self, origin: Triple) -> Geometry:
        """Returns the geometry of the voxels from ``origin`` on."""
        translation = tuple(t + s * n for t, s, n in zip(self.translation, self.scale, origin))
        frame = self.frame.moved(origin) if self.frame else None
        return Geometry(self.scale, translation, self.units, frame)  # type: ignore[arg-type]

    def halved(self, halvings: Triple) -> Geometry:
        """Returns the geometry of the volume once each axis was halved so often: a voxel lies in the middle of those
        that became it. ``frame`` is left out."""
        factors = [2**times for times in halvings]
        scale = tuple(s * n for s, n in zip(self.scale, factors))
        translation = tuple(t + s * (n - 1) / 2 for t, s, n in zip(self.translation, self.scale, factors))
        return Geometry(scale, translation, self.units)


def _names(multiscale: Mapping[str, Any]) -> list[str]:
    return [axis if isinstance(axis, str) else axis["name"] for axis in multiscale.get("axes", [])]


def _units(multiscale: Mapping[str, Any]) -> tuple:
    axes = multiscale.get("axes", [])[-3:]
    return tuple("" if isinstance(axis, str) else axis.get("unit", "") for axis in axes)


def geometry_of(multiscale: Mapping[str, Any], path: str, name: str) -> Geometry | None:
    """Returns the geometry of the array at ``path`` of an OME-NGFF multiscale; None if it is none of its arrays.

    Raises InvalidError, with the volume's ``name``, unless the last axes are z, y and x.
    """
    dataset = next((one for one in multiscale.get("datasets", []) if one.get("path") == path), None)
    if dataset is None:
        return None
    names = _names(multiscale)
    if names and tuple(names[-3:]) != SPACE:
        raise InvalidError(f"{name}: axes {', '.join(names)} found, expected z, y, x as the last")
    scale, translation = [1.0] * 3, [0.0] * 3
    transforms = [*dataset.get("coordinateTransformations", []), *multiscale.get("coordinateTransformations", [])]
    for transform in transforms:
        numbers = [float(n) for n in transform.get(transform["type"], [1.0] * 3)[-3:]]
        if transform["type"] == "scale":
            scale = [a * b for a, b in zip(scale, numbers)]
            translation = [a * b for a, b in zip(translation, numbers)]
        elif transform["type"] == "translation":
            translation = [a + b for a, b in zip(translation, numbers)]
    return Geometry(tuple(scale), tuple(translation), _units(multiscale) or ("", "", ""))  # type: ignore[arg-type]


def multiscale_of(
    geometry: Geometry, name: str, resolutions: Mapping[str, Triple], ndim: int, version: str
) -> dict[str, Any]:
    """Returns the OME-NGFF multiscale of the arrays ``resolutions``, the finest first: how often each axis was halved,
    by the array's path. They have ``ndim`` axes, the last of them z, y and x; a fourth is the channels."""
    axes: list[dict[str, str]] = [{"name": "c", "type": "channel"}] if ndim == 4 else []
    axes += [
        {"name": axis, "type": "space", **({"unit": unit} if unit else {})} for axis, unit in zip(SPACE, geometry.units)
    ]
    datasets = [
        {"path": path, "coordinateTransformations": _transforms(geometry.halved(halvings), ndim)}
        for path, halvings in resolutions.items()
    ]
    multiscale = {"name": name, "axes": axes, "datasets": datasets}
    return multiscale if version == "0.5" else {"version": version, **multiscale}


def _transforms(geometry: Geometry, ndim: int) -> list[dict[str, Any]]:
    return [
        {"type": "scale", "scale": _all_axes(1.0, geometry.scale, ndim)},
        {"type": "translation", "translation": _all_axes(0.0, geometry.translation, ndim)},
    ]


def _all_axes(first: float, space: Sequence[float], ndim: int) -> list[float]:
    return [first] * (ndim - 3) + list(space)

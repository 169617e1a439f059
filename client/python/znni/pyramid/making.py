"""Adds coarser resolutions to an image of OME-NGFF in zarr whose finest one is complete."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from znni.box import Triple
from znni.errors import InvalidError
from znni.geometry import Geometry, geometry_of, multiscale_of
from znni.pyramid.arrays import fill, layout_of, make_array
from znni.pyramid.halvings import halved, halvings_of

ENDING = ".ome.zarr"  # of the name of an image that has coarser resolutions
FINEST = "0"  # the name of its array; those that are coarser are 1, 2, ...


def is_pyramid(path: str) -> bool:
    """Returns whether the output at a path has coarser resolutions: FOLDER.ome.zarr."""
    return path.rstrip("/").endswith(ENDING)


def describe(group: Any, geometry: Geometry, name: str, ndim: int, halvings: list[Triple]) -> None:
    """Writes into the group's attributes that it is an image of so many resolutions, called ``name``."""
    is_new = group.metadata.zarr_format == 3
    version = "0.5" if is_new else "0.4"
    resolutions = {str(number): times for number, times in enumerate(halvings)}
    multiscale = multiscale_of(geometry, name, resolutions, ndim, version)
    if len(halvings) > 1:
        multiscale["type"] = "nearest" if _is_label(group) else "mean"
    multiscales = [multiscale]
    group.attrs.update(
        {"ome": {"version": version, "multiscales": multiscales}} if is_new else {"multiscales": multiscales}
    )


def is_complete(group: Any, name: str) -> bool:
    """Returns whether an image of ours, of this ``name``, has all its resolutions."""
    geometry, _ = _own(group, name)
    return len(_multiscale(group, name)["datasets"]) == len(halvings_of(group[FINEST].shape[-3:], geometry))


def forget(group: Any, name: str) -> None:
    """Takes the coarser resolutions of an image out of its description, because the finest one changes."""
    geometry, title = _own(group, name)
    describe(group, geometry, title, group[FINEST].ndim, [(0, 0, 0)])


def make_resolutions(group: Any, name: str, done: Callable[[str], None] = lambda path: None) -> None:
    """Computes the coarser resolutions of an image of ours, whose finest one is complete, and then describes them.
    Calls ``done`` for each with its path in the group, before it is described.

    An interrupted call leaves arrays that nothing names; the next call writes over them.
    """
    geometry, title = _own(group, name)
    array = group[FINEST]
    extent = array.shape[-3:]
    halvings = halvings_of(extent, geometry)
    for number, times in enumerate(halvings[1:], 1):
        coarse = _array(group, str(number), (*array.shape[:-3], *halved(extent, times)))
        fill(array, coarse, _is_label(group))
        done(str(number))
        array = coarse
    describe(group, geometry, title, array.ndim, halvings)


def _is_label(group: Any) -> bool:
    """Returns whether a mean of the voxels has no meaning, as the notes of the output say."""
    return bool(group.attrs.get("znni", {}).get("is_label"))


def _array(group: Any, path: str, shape: tuple) -> Any:
    """Returns an array of the group, made unless an interrupted call has made it: others may write it, too, the same
    voxels."""
    finest = group[FINEST]
    layout = layout_of(finest).within(shape[-3:])
    if path in group:
        found = group[path]
        if found.shape == shape and layout_of(found) == layout:
            return found
        del group[path]
    return make_array(group, path, shape, finest.dtype, layout)


def _multiscale(group: Any, name: str) -> dict[str, Any]:
    """Returns the description of an image of ours. Raises InvalidError if it is none."""
    attributes = group.attrs.asdict()
    found = (attributes.get("ome") if group.metadata.zarr_format == 3 else attributes) or {}
    try:
        multiscale = found["multiscales"][0]
        if multiscale["datasets"][0]["path"] == FINEST:
            return multiscale
    except (TypeError, LookupError):
        pass
    raise InvalidError(f"{name}: no image with an array '{FINEST}' found, expected an output of znni")


def _own(group: Any, name: str) -> tuple[Geometry, str]:
    """Returns geometry and title of an image of ours."""
    multiscale = _multiscale(group, name)
    geometry = geometry_of(multiscale, FINEST, name)
    assert geometry is not None
    return geometry, str(multiscale.get("name", ""))

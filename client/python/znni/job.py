"""A volume on its way through a model: what is read, what is sent, what comes back."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from znni import wire
from znni.box import Box, Roi, Triple, parse_roi
from znni.errors import InvalidError
from znni.mirrors import UNMIRRORED, Axes, Mirror, passes_of
from znni.model import Model
from znni.padding import check_pad, padded
from znni.stores.seam import Source
from znni.surroundings import read_for
from znni.voxel_type import output_type, wire_name


@dataclasses.dataclass(frozen=True)
class Job:
    """Describes one run. ``given`` is the box of the volume that the model is given, padded where it leaves the volume;
    ``streamed`` is the extent of its output, of which ``kept`` is the output, and ``channels`` those that it has, in
    their order; None is all. ``masked_by`` names the mask where the output is 0; "" for none.

    ``whole`` is what the model is given for the whole volume. ``mirror`` mirrors it, and ``given`` is measured there.
    ``averaged`` are the axes along which the volumes are mirrored of which the output is a mean.
    """

    model: Model
    source: Source
    pad: str
    roi: Box
    given: Box
    dtype: np.dtype
    streamed: Triple
    kept: Box
    whole: Box
    channels: tuple[int, ...] | None = None
    masked_by: str = ""
    averaged: Axes = ()
    mirror: Mirror = UNMIRRORED

    def passes(self) -> list[Job]:
        """Returns the jobs whose outputs the output is the mean of, in float32; this job alone, if it is of none."""
        return [self._mirrored(axes) for axes in passes_of(self.averaged)] if self.averaged else [self]

    def _mirrored(self, axes: Axes) -> Job:
        """Returns the job for the volume, with its padding, mirrored along ``axes``."""
        mirror = Mirror(axes, self.whole)
        read = mirror.place_of(padded(self.pad, self.roi, self.model.field_of_view))
        given, kept = _given_for(read, self.whole, self.model, self.source.name)
        streamed = self.model.shrunk(given.extent, self.source.name)
        dtype = output_type("float32")
        return dataclasses.replace(self, dtype=dtype, given=given, kept=kept, streamed=streamed, mirror=mirror)

    @property
    def output_channels(self) -> int:
        """Returns how many channels the output has."""
        return self.model.output_channels if self.channels is None else len(self.channels)

    @property
    def output(self) -> Triple:
        """Returns the extent of the output."""
        return self.kept.extent

    @property
    def origin(self) -> Triple:
        """Returns the position in the volume that the output's first voxel belongs to."""
        before = self.model.halo[0] if self.pad == "none" else (0, 0, 0)
        return tuple(a + b for a, b in zip(self.roi.start, before))  # type: ignore[return-value]

    def input_of(self, part: Box) -> Box:
        """Returns the box of the volume that a part of what is streamed is computed from."""
        start = tuple(a + b for a, b in zip(self.given.start, part.start))
        stop = tuple(a + b + n - 1 for a, b, n in zip(self.given.start, part.stop, self.model.field_of_view))
        return Box(start, stop)  # type: ignore[arg-type]

    def header(self, part: Box, first_plane: int = 0, resume_token: str = "") -> Any:
        """Returns the header of the stream of a part, which begins at output plane ``first_plane``."""
        z, y, x = self.input_of(part).extent
        return wire.VolumeHeader(
            model_name=self.model.name,
            model_version=self.model.version,
            datatype=wire_name(self.source.dtype),
            channels=self.source.shape[0],
            extent=wire.Extent(z=z, y=y, x=x),
            output_datatype=wire_name(self.dtype),
            normalised=self.source.scaling is not None,
            first_plane=first_plane,
            resume_token=resume_token,
        )


def _given_for(read: Box, whole: Box, model: Model, name: str) -> tuple[Box, Box]:
    """Returns the box that the model is given, in positions of the volume, so that its output for ``read`` equals that
    of ``whole``. Returns as well where the output for ``read`` lies within the output of that box."""
    start = tuple(a - b for a, b in zip(read.start, whole.start))
    stop = tuple(a + n for a, n in zip(start, model.region(read.extent, name)))
    region = Box(start, stop)  # type: ignore[arg-type]
    found = read_for(region, whole.extent, model)
    given = (tuple(a + b for a, b in zip(side, whole.start)) for side in found)
    kept = (tuple(a - b for a, b in zip(side, found.start)) for side in region)
    return Box(*given), Box(*kept)  # type: ignore[arg-type]


def _check_region(model: Model, source: Source, padded_extent: Triple) -> None:
    """Raises InvalidError if no region of the volume, of ``padded_extent`` with its padding, has an output."""
    if model.needs_whole and source.scaling is None:
        raise InvalidError(
            f"roi: model '{model.name}' takes mean and deviation of all of the volume, which a region "
            "by itself does not have: leave roi out, pass the region as a volume of its own, or pass scale"
        )
    for axis, n, grown, period, least in zip("zyx", source.shape[1:], padded_extent, model.period, model.min_extent):
        if model.window is None and grown >= least and (grown - least) % period:
            below = n - (grown - least) % period
            raise InvalidError(
                f"{source.name}: {n} voxels along {axis} found, expected {below} or {below + period}: the "
                f"strides of model '{model.name}' need steps of {period}"
            )


def roi_of(box: Box, model: Model, pad: str) -> Box:
    """Returns the region of a volume whose output is ``box`` of the output of the whole volume."""
    if pad != "none":
        return box
    stop = tuple(b + n - 1 for b, n in zip(box.stop, model.field_of_view))
    return Box(box.start, stop)  # type: ignore[arg-type]


def plan_job(model: Model, source: Source, roi: Roi, pad: str, dtype: Any) -> Job:
    """Returns the job. Raises InvalidError if the model does not take the volume so."""
    check_pad(pad)
    model.check_channels(source.shape[0], source.name)
    volume = source.shape[1:]
    region = parse_roi(roi, volume)
    whole = padded(pad, Box((0, 0, 0), volume), model.field_of_view)
    model.shrunk(whole.extent, source.name)  # what the volume is too small for is said of the volume
    if region.extent != volume:
        _check_region(model, source, whole.extent)
    given, kept = _given_for(padded(pad, region, model.field_of_view), whole, model, source.name)
    streamed = model.shrunk(given.extent, source.name)
    return Job(model, source, pad, region, given, output_type(dtype), streamed, kept, whole)

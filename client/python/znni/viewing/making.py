"""Makes a page of an output and its input: reads both in the same cells."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from znni.box import Triple
from znni.errors import InvalidError
from znni.geometry import Geometry
from znni.progress import Wanted, open_progress
from znni.stores.seam import Source
from znni.viewing.grid import Axis, axis_over, cells_of
from znni.viewing.levels import levels_of
from znni.viewing.page import Channel, Page, Shown, Space
from znni.viewing.parts import Part, cell_notes, place_notes, place_text
from znni.viewing.placement import Placement, place
from znni.viewing.run_result import run_facts
from znni.viewing.stack import StackReader

_MAX_CHANNELS = 4  # if none are named


@dataclasses.dataclass(frozen=True)
class View:
    """Says what a page shows: at most ``max_size`` cells along y and x and ``max_slices`` along z, of an output's
    ``channels`` (None: the first ones), at ``offset`` in the input if that is not None. ``percentiles`` of the voxels
    are black and white. Rows and columns of a cell are averaged if ``is_mean``."""

    max_size: int = 384
    max_slices: int = 128
    channels: tuple[int, ...] | None = None
    offset: Triple | None = None
    percentiles: tuple[float, float] = (0.5, 99.5)
    is_mean: bool = True


def make_page(
    output: Source, source: Source | None, view: View, result: dict[str, Any] | None = None, progress: Wanted = True
) -> Page:
    """Returns the page of an output, beside the ``source`` that it was computed from if there is one. ``result`` is
    what is known about the run. Raises InvalidError if they do not belong together."""
    channels = _chosen(output, view.channels)
    where = place(output, source, view.offset) if source else Placement()
    parts = [Part("input", source, Placement(), _first(source))] if source else []
    parts.append(Part("output", output, where, channels))
    axes = _axes(parts, view)
    run = run_facts({**(output.notes or {}), **(result or {})})
    notes = [*(place_notes(where) if source else []), *cell_notes(axes, view.is_mean)]
    shown = [_shown(part, axes, view, progress, notes) for part in parts]
    if source:
        shown[-1].facts["place"] = place_text(where)
    title = f"{output.name} beside {source.name}" if source else output.name
    return Page(title, _space(output, source, axes), shown, run, notes)


def _chosen(output: Source, channels: Sequence[int] | None) -> Sequence[int]:
    """Returns the channels that are shown. Raises InvalidError for one that the output has not."""
    if channels is None:
        return _first(output)
    wrong = [number for number in channels if number >= output.shape[0]]
    if wrong:
        raise InvalidError(
            f"{output.name}: {output.shape[0]} channels found, expected more than {wrong[0]}: "
            f"pass numbers from 0 to {output.shape[0] - 1} to --channels"
        )
    return channels


def _first(volume: Source) -> Sequence[int]:
    return range(min(_MAX_CHANNELS, volume.shape[0]))


def _axes(parts: Sequence[Part], view: View) -> list[Axis]:
    """Returns the cells of a page along z, y and x, which cover all volumes."""
    ends = [part.where.end(part.volume.shape[1:]) for part in parts]
    limits = (view.max_slices, view.max_size, view.max_size)
    return [
        axis_over([(part.where.begin[i], end[i]) for part, end in zip(parts, ends)], limit)
        for i, limit in enumerate(limits)
    ]


def _shown(part: Part, axes: Sequence[Axis], view: View, progress: Wanted, notes: list[str]) -> Shown:
    """Reads a volume and returns what a page has of it. Adds what is said about it to ``notes``."""
    where, volume = part.where, part.volume
    cells = [cells_of(*each) for each in zip(axes, where.begin, where.step, volume.shape[1:])]
    reader = StackReader(volume, cells, part.channels, view.is_mean)
    bar = open_progress(progress, part.role, float(reader.voxels))
    try:
        stack = reader.read(bar.show)
    finally:
        bar.close()
    channels = []
    for number, values, sample in zip(part.channels, stack.cells, stack.sample):
        levels = levels_of(sample, volume.dtype, view.percentiles)
        channels.append(Channel(number, levels, np.stack([*map(levels.grey, values)])))
    notes += part.notes(stack)
    return Shown(part.role, volume.name, [each.first for each in cells], channels, part.facts(stack))


def _space(output: Source, source: Source | None, axes: Sequence[Axis]) -> Space:
    """Returns where cells lie, by the geometry of the input, or of an output alone."""
    geometry = (source or output).geometry or Geometry()
    return Space(axes, geometry.scale, geometry.translation, geometry.units)

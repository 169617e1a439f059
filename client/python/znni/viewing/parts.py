"""The volumes of a page, and what is said of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from znni.box import text_of
from znni.stores.seam import Source
from znni.viewing.grid import Axis
from znni.viewing.placement import Placement
from znni.viewing.stack import Stack


@dataclasses.dataclass(frozen=True)
class Part:
    """Is a volume that a page shows: ``role`` is input or output, ``where`` its place in voxels of the input,
    ``channels`` those that are shown."""

    role: str
    volume: Source
    where: Placement
    channels: Sequence[int]

    def facts(self, stack: Stack) -> dict[str, str]:
        """Returns what is said of the volume, of which ``stack`` was read."""
        volume = self.volume
        count = f"{volume.shape[0]} channels of " if volume.shape[0] > 1 else ""
        found = {"file": volume.name, "voxels": f"{count}{text_of(volume.shape[1:])}", "type": volume.dtype.name}
        geometry = volume.geometry
        if geometry is not None:
            found["voxel size"] = _lengths(geometry.scale, geometry.units)
            found["first voxel at"] = _lengths(geometry.translation, geometry.units)
        each = [_range_text(least, most) for least, most in zip(stack.least, stack.most)]
        named = each if volume.shape[0] == 1 else [f"{text} ({number})" for number, text in zip(self.channels, each)]
        return {**found, "values read": "; ".join(named)}

    def notes(self, stack: Stack) -> list[str]:
        """Returns what everybody should know who looks at it."""
        found = []
        if len(self.channels) < self.volume.shape[0]:
            numbers = ", ".join(map(str, self.channels))
            mend = "; --channels names others" if self.role == "output" else ""
            found.append(f"{self.role}: channels {numbers} of {self.volume.shape[0]} are shown{mend}")
        if stack.nonfinite:
            found.append(
                f"{self.role}: {stack.nonfinite} of the voxels that were read are NaN or infinite: drawn as the least"
            )
        return found


def _range_text(least: float, most: float) -> str:
    return f"{least:.6g} to {most:.6g}" if least <= most else "none is finite"


def _lengths(numbers: Sequence[float], units: Sequence[str]) -> str:
    """Returns "4 x 5 x 5 nanometer", or each with its unit if they differ."""
    if len(set(units)) == 1:
        return f"{' x '.join(f'{n:g}' for n in numbers)} {units[0] or '(no unit)'}"
    return " x ".join(f"{n:g} {unit}" for n, unit in zip(numbers, units))


def cell_notes(axes: Sequence[Axis], is_mean: bool) -> list[str]:
    """Returns what is said of cells that are wider than a voxel; nothing if none is."""
    z, *plane = (axis.step for axis in axes)
    if z == 1 and plane == [1, 1]:
        return []
    told = []
    if z > 1:
        told.append(f"one of {z} planes")
    if plane != [1, 1]:
        told.append(f"the {'mean' if is_mean else 'middle one'} of {text_of(plane)} voxels")
    extent = text_of([axis.extent for axis in axes])
    return [f"not all of {extent} voxels are shown: {' and '.join(told)}; --max-slices and --max-size show more"]


def place_notes(where: Placement) -> list[str]:
    """Returns what is said of a place that no file says."""
    return [f"place of the output {where.reason}"] if where.is_assumed else []


def place_text(where: Placement) -> str:
    """Returns where an output lies, in voxels of its input."""
    begin = ", ".join(f"{n:g}" for n in where.begin)
    steps = "" if where.step == (1.0, 1.0, 1.0) else f", in steps of {' x '.join(f'{n:g}' for n in where.step)}"
    reason = "assumed" if where.is_assumed else f"by {where.reason}"
    return f"{begin} voxels from the input's first one{steps}, {reason}"

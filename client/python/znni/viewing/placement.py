"""Where an output lies in its input."""

from __future__ import annotations

import dataclasses

import numpy as np

from znni.box import Triple, text_of
from znni.errors import InvalidError
from znni.geometry import Geometry
from znni.stores.formats.fields import all_of, is_whole
from znni.stores.formats.units import NANOMETERS, factor
from znni.stores.seam import Source

_ASSUMED = "is assumed to be the middle, as of an unpadded output: no file says it; --offset says another"
Numbers = tuple[float, float, float]


@dataclasses.dataclass(frozen=True)
class Placement:
    """Says where an output lies: its voxel ``i`` covers ``begin + step * i`` to ``begin + step * (i + 1)`` along z, y
    and x, in voxels of the input, of which voxel ``k`` covers ``k`` to ``k + 1``. ``reason`` says how that is known."""

    begin: Numbers = (0.0, 0.0, 0.0)
    step: Numbers = (1.0, 1.0, 1.0)
    reason: str = ""

    @property
    def is_assumed(self) -> bool:
        """Returns whether neither a file nor the caller says it."""
        return self.reason == _ASSUMED

    def end(self, extent: Triple) -> Numbers:
        """Returns where an output of so many voxels ends."""
        return tuple(a + s * n for a, s, n in zip(self.begin, self.step, extent))  # type: ignore[return-value]


def place(output: Source, source: Source, offset: Triple | None) -> Placement:
    """Returns where ``output`` lies in ``source``: at ``offset`` if it is given, else where voxel sizes and
    translations or the notes of the output say, else in the middle. Raises InvalidError if it lies elsewhere."""
    found = _place(output, source, offset)
    extent = source.shape[1:]
    ends = found.end(output.shape[1:])
    if any(b <= 0 or a >= n for a, b, n in zip(found.begin, ends, extent)):
        ranges = ", ".join(f"{axis} {a:g} to {b:g}" for axis, a, b in zip("zyx", found.begin, ends))
        raise InvalidError(
            f"{output.name}: lies at {ranges} of {source.name} ({found.reason}), which has {text_of(extent)} voxels: "
            "name the input that it was computed from, or pass --offset Z,Y,X"
        )
    return found


def _place(output: Source, source: Source, offset: Triple | None) -> Placement:
    if offset is not None:
        return _at(offset, "--offset")
    own, its = output.geometry, source.geometry
    if own is not None and its is not None and _are_alike(own, its):
        return _by_geometry(own, its, output.name, source.name)
    noted = (output.notes or {}).get("offset")
    if all_of(noted, is_whole, (3,)):
        return _at(noted, "the offset in the output's attributes")  # type: ignore[arg-type]
    if own is not None and its is None:
        return _at([t / s for t, s in zip(own.translation, own.scale)], "the output's translation")
    return _in_the_middle(output, source)


def _at(offset: Triple | list[float], reason: str) -> Placement:
    return Placement(tuple(float(n) for n in offset), reason=reason)  # type: ignore[arg-type]


def _are_alike(own: Geometry, its: Geometry) -> bool:
    """Returns whether lengths of both can be compared: all axes have units of length, or none has any."""
    units = (*own.units, *its.units)
    return not any(units) or all(unit and unit in NANOMETERS for unit in units)


def _by_geometry(own: Geometry, its: Geometry, name: str, of: str) -> Placement:
    """Returns the placement by voxel sizes and translations, which are those of the centres of voxels."""
    _check_parallel(own, its, name, of)
    factors = [factor(a, b) for a, b in zip(own.units, its.units)]
    steps = [_near(a * f / b) for a, f, b in zip(own.scale, factors, its.scale)]
    centres = [(a * f - b) / s for a, f, b, s in zip(own.translation, factors, its.translation, its.scale)]
    begins = [_near(centre + 0.5 - step / 2) for centre, step in zip(centres, steps)]
    return Placement(tuple(begins), tuple(steps), "voxel sizes and translations of both")  # type: ignore[arg-type]


def _near(value: float) -> float:
    """Returns the number of thousandths that a value is but for rounding, as files with float32 have it."""
    return round(value * 1000) / 1000 if abs(value * 1000 - round(value * 1000)) < 0.2 else value


def _check_parallel(own: Geometry, its: Geometry, name: str, of: str) -> None:
    """Raises InvalidError if the axes of two volumes lead different ways."""
    if own.frame is None or its.frame is None:
        return
    matrices = [np.array(geometry.frame.matrix)[:, :3] for geometry in (own, its)]  # type: ignore[union-attr]
    first, second = (matrix / np.linalg.norm(matrix, axis=0) for matrix in matrices)
    if not np.allclose(first, second, atol=1e-3):
        raise InvalidError(
            f"{name}: axes that lead other ways than those of {of} found, expected the same: "
            "resample one of them, or pass --offset Z,Y,X"
        )


def _in_the_middle(output: Source, source: Source) -> Placement:
    missing = [a - b for a, b in zip(source.shape[1:], output.shape[1:])]
    if min(missing) < 0:
        raise InvalidError(
            f"{output.name}: {text_of(output.shape[1:])} voxels and no offset found, expected at most the "
            f"{text_of(source.shape[1:])} of {source.name}: pass --offset Z,Y,X"
        )
    reason = _ASSUMED if any(missing) else "its extent, that of the input"
    return _at([n // 2 for n in missing], reason)

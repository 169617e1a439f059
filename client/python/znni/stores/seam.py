"""The interface of a store from which the client reads a volume, or to which it writes an output."""

from __future__ import annotations

import abc
import dataclasses
from typing import Any

import numpy as np

from znni import axes
from znni.box import Box, Triple
from znni.geometry import Geometry
from znni.scaling import Scaling


class Source(abc.ABC):
    """Is a volume that is read box by box, by one thread at a time.

    ``name`` is for messages; ``shape`` is (C, Z, Y, X), ``ndim`` the number of axes of the caller's array, ``dtype``
    the type that is sent; ``depth`` planes, from a multiple of it on, are best read together. ``geometry`` is None
    where the store has none, ``zarr_format`` None where it is not zarr. ``notes`` say how an output was made, as
    those of OutputFacts do; None where nothing does. ``scaling`` is what rescale() was told, else None;
    ``standardised`` whether each slice has mean 0 and deviation 1.
    """

    name: str
    shape: tuple
    ndim: int
    dtype: np.dtype
    depth: int = 1
    geometry: Geometry | None = None
    zarr_format: int | None = None
    notes: dict[str, Any] | None = None
    scaling: Scaling | None = None
    standardised: bool = False

    @abc.abstractmethod
    def read(self, box: Box) -> np.ndarray:
        """Returns the voxels ``[C, Z, Y, X]`` of a box that lies in the volume."""

    @abc.abstractmethod
    def rescale(self, scaling: Scaling) -> None:
        """Makes voxels that are read from now on what ``scaling`` makes of them, in float32. Is called once at most."""

    def close(self) -> None:
        """Closes what the source itself opened."""

    def __enter__(self) -> Source:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Target(abc.ABC):
    """Is an output that is written slab by slab. ``depth`` planes, from a multiple of it on, are best written at once,
    and of them ``rows``, likewise. ``folder`` is where there is disk space for the output; None where it is not known.

    ``array`` is what it is written to, where that is an array in memory; None before begin().
    """

    depth: int = 1
    rows: int = 1
    folder: str | None = None
    array: Any = None

    @abc.abstractmethod
    def begin(self) -> None:
        """Makes room. Is called once, after the daemon has accepted the volume."""

    @abc.abstractmethod
    def write(self, start: Triple, block: np.ndarray) -> None:
        """Writes a block ``[C, Z, Y, X]`` whose first voxel is ``start`` of the output."""

    def finish(self) -> None:
        """Makes the output complete under its own name."""

    def discard(self) -> None:
        """Removes what begin() made and finish() did not complete."""


@dataclasses.dataclass(frozen=True)
class OutputFacts:
    """Describes an output: ``shape`` is (C, Z, Y, X); the array has axes for a volume with ``ndim`` of them.

    ``origin`` is the position in the volume of its first voxel, ``geometry`` is its own, ``notes`` say how it was made.
    ``is_shared`` says that machines write it together, after it was made. ``shard`` is the extent of shards of zarr;
    None for none.
    """

    shape: tuple
    dtype: np.dtype
    ndim: int
    zarr_format: int | None
    geometry: Geometry | None
    origin: Triple
    notes: dict[str, Any]
    is_shared: bool = False
    shard: Triple | None = None

    @property
    def array_shape(self) -> tuple:
        """Returns the shape of the output array."""
        return axes.output_shape(self.shape, self.ndim)

    @property
    def chunk(self) -> Triple:
        """Returns the extent of chunks in a folder: 128 voxels wide of one byte, else 64, or as wide as the output."""
        edge = 128 if self.dtype.itemsize == 1 else 64
        return tuple(min(edge, n) for n in self.shape[1:])

    @property
    def file_shape(self) -> tuple:
        """Returns the shape of the array in a file, which has four axes at most."""
        return axes.output_shape(self.shape, min(self.ndim, 4))

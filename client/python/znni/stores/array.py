"""Volumes and outputs in arrays: of NumPy, h5py, zarr, dask, or anything that has a shape and slices."""

from __future__ import annotations

from typing import Any

import numpy as np

from znni import axes
from znni.box import Box, Triple
from znni.errors import InvalidError
from znni.scaling import Scaling
from znni.stores.seam import OutputFacts, Source, Target
from znni.stores.sent_array import SentArray


class ArraySource(Source):
    """Reads an array, voxels of all types of numbers: ``slope`` times each plus ``inter``. ``raw`` is the array itself.

    Raises InvalidError if it is not a volume, with its ``name``.
    """

    def __init__(self, array: Any, name: str, slope: float = 1.0, inter: float = 0.0) -> None:
        if not hasattr(array, "shape") or not hasattr(array, "dtype") or not hasattr(array, "__getitem__"):
            raise InvalidError(
                f"{name}: {type(array).__name__} found, expected an array with shape, dtype and slicing, or a path"
            )
        self.name = name
        self.shape = axes.czyx(array.shape, name)
        self.ndim = len(array.shape)
        self.depth, _ = axes.chunk_of(array, self.ndim)
        self.raw = array
        self._array = SentArray(array, name, slope, inter)
        self.dtype = self._array.dtype

    def rescale(self, scaling: Scaling) -> None:
        self._array.rescale(*scaling)
        self.dtype = self._array.dtype
        self.scaling = scaling

    def read(self, box: Box) -> np.ndarray:
        ranges = [slice(a, b) for a, b in zip(box.start, box.stop)]
        found = self._array[axes.index_of(self.ndim, ranges)]
        return found.reshape(self.shape[0], *box.extent)


class ArrayTarget(Target):
    """Writes into an array of the caller's. Raises InvalidError if its shape or type is not that of the output."""

    def __init__(self, array: Any, facts: OutputFacts) -> None:
        shape = tuple(int(n) for n in getattr(array, "shape", ()))
        legal = {axes.output_shape(facts.shape, ndim) for ndim in (3, 4, 5)}
        if shape not in legal:
            raise InvalidError(f"output: shape {shape} found, expected {facts.array_shape}")
        if np.dtype(array.dtype).name != facts.dtype.name:
            raise InvalidError(f"output: {array.dtype} found, expected {facts.dtype.name}: dtype= names another")
        self.depth, self.rows = axes.chunk_of(array, len(shape))
        self.folder = getattr(array, "folder", None)
        self.array = array

    def begin(self) -> None:
        pass

    def write(self, start: Triple, block: np.ndarray) -> None:
        ndim = len(self.array.shape)
        ranges = [slice(a, a + n) for a, n in zip(start, block.shape[1:])]
        self.array[axes.index_of(ndim, ranges)] = block[0] if ndim == 3 else block


class NewArrayTarget(Target):
    """Makes a NumPy array and writes into it."""

    def __init__(self, facts: OutputFacts) -> None:
        self._facts = facts
        self._target: ArrayTarget | None = None

    def begin(self) -> None:
        self.array = np.empty(self._facts.array_shape, self._facts.dtype)
        self._target = ArrayTarget(self.array, self._facts)

    def write(self, start: Triple, block: np.ndarray) -> None:
        assert self._target is not None
        self._target.write(start, block)

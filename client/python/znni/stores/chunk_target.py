"""Outputs in folders of chunks that TensorStore writes."""

from __future__ import annotations

import abc
import json
import os
from typing import Any

import numpy as np

from znni.box import Triple
from znni.stores.array import ArrayTarget
from znni.stores.partials import partial_of
from znni.stores.place import Place
from znni.stores.places import place_of
from znni.stores.seam import OutputFacts, Target
from znni.stores.tensors import TensorArray, tensorstore_module


class ChunkTarget(Target):
    """Writes a folder, which lies in the folder ``container`` if that is not "".

    Chunks are cubes that begin where the output begins: 128 voxels wide of one byte, else 64. ``chunk`` is their extent
    along z, y and x. What describes the array is written last.
    """

    def __init__(self, path: str, facts: OutputFacts, overwrite: bool, container: str = "") -> None:
        tensorstore_module()
        self._path = path
        self._facts = facts
        self._partial = partial_of(path, overwrite, container)
        self._target: ArrayTarget | None = None
        self._place: Place
        self.chunk: Triple = facts.chunk
        self.depth, self.rows = self.chunk[:2]
        self.folder = self._partial.folder

    @abc.abstractmethod
    def _open(self, place: Place) -> TensorArray:
        """Returns the array of the output in ``place``, of which nothing is written."""

    @abc.abstractmethod
    def _description(self) -> tuple[str, dict[str, Any]]:
        """Returns name and content of the file that describes the array."""

    def begin(self) -> None:
        self._place = place_of(self._partial.begin())
        self._target = ArrayTarget(self._open(self._place), self._facts)

    def write(self, start: Triple, block: np.ndarray) -> None:
        assert self._target is not None
        self._target.write(start, block)

    def finish(self) -> None:
        self._target = None
        self._partial.check()
        name, content = self._description()
        self._place.write(name, json.dumps(content, indent=2).encode())
        self._partial.finish()

    def discard(self) -> None:
        self._target = None
        self._partial.discard()


def named(path: str | os.PathLike) -> str:
    """Returns a path without what means nothing at its end."""
    return os.fspath(path).rstrip("/")

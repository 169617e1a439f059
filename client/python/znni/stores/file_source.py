"""Volumes in files that are opened at once and read part by part."""

from __future__ import annotations

from typing import Any

from znni.geometry import Geometry
from znni.stores.memmap import MemmapSource


class FileSource(MemmapSource):
    """Reads an array of a file, and holds one slab of it: ``slope`` times each voxel plus ``inter``. Closes the file
    that it has."""

    def __init__(
        self, array: Any, name: str, geometry: Geometry | None, slope: float = 1.0, inter: float = 0.0
    ) -> None:
        super().__init__(array, name, slope, inter)
        self.geometry = geometry
        self.inter = inter

    def close(self) -> None:
        file = getattr(self.raw, "file", None)
        if file is not None:
            file.close()

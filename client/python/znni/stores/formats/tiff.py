"""Volumes and outputs in TIFF: FILE.tif of many pages, and folders of files of one page each."""

from __future__ import annotations

import json
import logging
import math
import os
import pathlib
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from typing import Any

import numpy as np

from znni.errors import Error, InvalidError
from znni.geometry import Geometry
from znni.stores.file_at import array_in, check_length, open_file
from znni.stores.file_source import FileSource
from znni.stores.formats.fields import notes_of
from znni.stores.formats.files import check_format, kind_of_file, module_of, unreadable
from znni.stores.formats.tiff_geometry import description_of, geometry_of_tiff
from znni.stores.formats.tiff_pages import PageArray, PageFolder, read_page
from znni.stores.formats.units import common_unit, factor
from znni.stores.mapped_target import MappedTarget
from znni.stores.range_array import in_order
from znni.stores.remote import remote_scheme
from znni.stores.seam import OutputFacts

_MAX_CLASSIC = 4_000_000_000  # bytes of voxels in a file whose offsets have 32 bits
_CODES = {"millimeter": "mm", "micrometer": "micron", "": ""}
_AXES = "z, y, x and, if there are any, channels"


class _Complaints(logging.Handler):
    """Keeps what tifffile says, in this thread, of a file that it reads as far as it can."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.texts: list[str] = []
        self._thread = threading.get_ident()

    def emit(self, record: logging.LogRecord) -> None:
        if record.thread == self._thread:
            self.texts.append(record.getMessage())


@contextmanager
def _strictly(path: str) -> Iterator[None]:
    """Is a context in which tifffile reads what describes a file. Raises InvalidError for what is damaged in it."""
    complaints, logger = _Complaints(), logging.getLogger("tifffile")
    logger.addHandler(complaints)
    try:
        yield
    except Error:
        raise
    except Exception as error:  # of many classes
        raise unreadable(path, "TIFF", error) from None
    finally:
        logger.removeHandler(complaints)
    if complaints.texts:
        raise unreadable(path, "TIFF", ValueError(complaints.texts[0] + ": it may be cut short, copy it again"))


def pages_in(folder: str) -> list[str]:
    """Returns the names of the files of TIFF in a folder."""
    return [name for name in os.listdir(folder) if kind_of_file(name) == "tiff" and not name.startswith(".")]


def open_tiff(path: str) -> FileSource:
    """Returns the volume in a file, or in a folder of files of one page each. Raises NotFoundError if there is none,
    InvalidError if it holds no volume."""
    tifffile = module_of("tiff")
    if not os.path.isdir(path):
        check_format(path, "TIFF")
    with ExitStack() as opened:
        with _strictly(path):
            if os.path.isdir(path):
                folder = opened.enter_context(closing(PageFolder(path, pages_in(path))))
                found = FileSource(folder.array, path, None)
            else:
                file = opened.enter_context(tifffile.TiffFile(open_file(path) if remote_scheme(path) else path))
                found = FileSource(_array(file, path), path, geometry_of_tiff(file))
                found.notes = notes_of((file.imagej_metadata or {}).get("znni"))
        if isinstance(found.raw, PageArray):
            opened.pop_all()
    return found


def _series(file: Any, path: str) -> Any:
    """Returns the only series of images, at its full resolution."""
    _ = len(file.pages)  # all pages are looked for
    series = file.series
    if len(series) != 1:
        shapes = ", ".join(f"{one.axes} {one.shape}" for one in series[:4])
        raise InvalidError(
            f"{path}: {len(series)} images found ({shapes}), expected one: save one as a file of its own"
        )
    return series[0]


def _places(series: Any, path: str) -> list[int]:
    """Returns which axis of a series each of c, z, y and x is; -1 of those that it has not."""
    axes, shape = series.axes, tuple(series.shape)
    kept = [i for i, axis in enumerate(axes) if shape[i] > 1 or axis in "YX"]
    found = {"c": [], "z": [], "y": [], "x": []}  # type: dict[str, list[int]]
    names = {"Z": "z", "Y": "y", "X": "x", "C": "c", "S": "c"}
    for i in kept:
        if axes[i] in "IQ":  # pages that no description names
            names[axes[i]] = "c" if any(axes[j] == "Z" for j in kept) else "z"
        if axes[i] in names:
            found[names[axes[i]]].append(i)
    if sum(map(len, found.values())) < len(kept) or any(len(at) > 1 for at in found.values()) or not found["y"]:
        raise InvalidError(
            f"{path}: axes {axes} of {shape} found, expected {_AXES}: pass one volume of it as an array, such as "
            f"tifffile.memmap('{os.path.basename(path)}')[0]"
        )
    return [at[0] if at else -1 for at in found.values()]


def _array(file: Any, path: str) -> Any:
    """Returns the voxels, [Z, Y, X] or [C, Z, Y, X]: mapped if they lie in one piece, else page by page."""
    series = _series(file, path)
    places = _places(series, path)
    shape = tuple(series.shape[i] if i >= 0 else 1 for i in places)
    if series.dataoffset is not None and series.keyframe.is_memmappable:
        dtype = np.dtype(series.dtype).newbyteorder(file.byteorder)
        what = f"{'x'.join(map(str, series.shape))} voxels of {dtype.name}"
        check_length(path, series.dataoffset + math.prod(series.shape) * dtype.itemsize, what)
        if remote_scheme(path):
            return _in_ranges(path, series, places, dtype)
        mapped = np.memmap(path, dtype, "r", series.dataoffset, tuple(series.shape))
        moved = _arranged(mapped, places)
        return moved if shape[0] > 1 else moved[0]
    return _paged(file, series, places, shape, path)


def _in_ranges(path: str, series: Any, places: list[int], dtype: np.dtype) -> Any:
    """Returns the array of a file at an address whose voxels lie in one piece. Axes that it lacks have one voxel and
    come first."""
    wanted = places if places[0] >= 0 else places[1:]
    lacking = wanted.count(-1)
    kept = sorted(i for i in wanted if i >= 0)
    stored = (*[1] * lacking, *(int(series.shape[i]) for i in kept))
    order = [kept.index(i) + lacking if i >= 0 else wanted[:at].count(-1) for at, i in enumerate(wanted)]
    return in_order(array_in(path, stored, dtype, series.dataoffset), order)


def _arranged(array: np.ndarray, places: list[int]) -> np.ndarray:
    """Returns [C, Z, Y, X] of an array whose axes lie at ``places``; all others have one voxel."""
    kept = [i for i in range(array.ndim) if i in places]
    others = tuple(i for i in range(array.ndim) if i not in places)
    moved = array.squeeze(others).transpose([kept.index(i) for i in places if i >= 0])
    return np.expand_dims(moved, tuple(at for at, i in enumerate(places) if i < 0))


def _paged(file: Any, series: Any, places: list[int], shape: tuple, path: str) -> PageArray:
    by_sample = places[0] >= 0 and series.axes[places[0]] == "S"
    sides = [i for i, axis in enumerate(series.axes) if axis not in "YXS"]  # along which pages follow each other
    extents = [series.shape[i] for i in sides]
    pages = series.pages
    if math.prod(extents) != len(pages):
        raise InvalidError(f"{path}: {len(pages)} pages found, expected {math.prod(extents)} of axes {series.axes}")
    last = pages[len(pages) - 1]
    if last is not None and len(last.dataoffsets):
        check_length(path, max(a + b for a, b in zip(last.dataoffsets, last.databytecounts)), f"{len(pages)} pages")

    def read(c: int, z: int, rows: range, columns: range) -> np.ndarray:
        at = [{places[0]: c, places[1]: z}.get(i, 0) for i in sides]
        number = int(np.ravel_multi_index(at, extents)) if sides else 0
        page = pages[number]
        if page is None:
            raise InvalidError(f"{path}: page {number} is missing, expected {len(pages)} pages")
        return read_page(page, rows, columns, path)

    return PageArray(shape, np.dtype(series.dtype), read, by_sample, file)


class TiffTarget(MappedTarget):
    """Writes a file of pages, z and in it channel by channel, which are not compressed. It is a BigTIFF if it is larger
    than 4 GB."""

    def __init__(self, path: str | os.PathLike, facts: OutputFacts, overwrite: bool) -> None:
        super().__init__(path, facts, overwrite)
        self._tifffile = module_of("tiff")
        self._geometry = facts.geometry or Geometry().moved(facts.origin)
        self._unit = common_unit(self._geometry.units, os.fspath(path))

    def _make(self, path: pathlib.Path) -> np.ndarray:
        channels, planes, height, width = self._facts.shape
        factors = [factor(unit, self._unit) for unit in self._geometry.units]
        scale, translation = (
            tuple(n * f for n, f in zip(part, factors)) for part in (self._geometry.scale, self._geometry.translation)
        )
        geometry = Geometry(scale, translation)  # type: ignore[arg-type]
        size = channels * planes * height * width * self._facts.dtype.itemsize
        with path.open("wb") as file:
            offset, _ = self._tifffile.imwrite(
                file,
                shape=(planes, channels, height, width),
                dtype=self._facts.dtype,
                byteorder="<",
                bigtiff=size > _MAX_CLASSIC,
                photometric="minisblack",
                metadata=None,
                software="znni",
                description=description_of(
                    geometry, _CODES[self._unit], channels, planes, json.dumps(self._facts.notes)
                ),
                resolution=(1.0 / scale[2], 1.0 / scale[1]),
                resolutionunit="NONE",
                returnoffset=True,
            )
        mapped = np.memmap(path, self._facts.dtype, "r+", offset, (planes, channels, height, width))
        moved = mapped.transpose(1, 0, 2, 3)
        return moved if len(self._facts.file_shape) == 4 else moved[0]

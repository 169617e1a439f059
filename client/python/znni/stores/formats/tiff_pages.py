"""Voxels of TIFF that lie page by page, in one file or in a folder of files: what is read is the strips and tiles that
a part needs."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from znni.errors import InvalidError
from znni.stores.formats.files import check_format, module_of, unreadable

_JPEG = (6, 7, 33007, 34892)  # codes of compressions that have tables of their own
_NEEDS_CODECS = "imagecodecs"


def _touches(first: int, count: int, wanted: range) -> bool:
    return first < wanted.stop and first + count > wanted.start


def _segments(page: Any, rows: range, columns: range) -> Iterator[tuple[int, tuple, tuple]]:
    """Yields number, position and shape of the strips or tiles that rows and columns need."""
    for number in range(len(page.dataoffsets)):
        _, at, shape = page.keyframe.decode(None, number)
        if _touches(at[2], shape[1], rows) and _touches(at[3], shape[2], columns):
            yield number, at, shape


def _decoded(page: Any, number: int, name: str) -> np.ndarray | None:
    """Returns the voxels of a strip or tile, [1, Y, X, sample]; None of one that the file leaves out."""
    file, count = page.parent.filehandle, page.databytecounts[number]
    if count == 0:
        return None
    file.seek(page.dataoffsets[number])
    data = file.read(count)
    if len(data) < count:
        raise InvalidError(
            f"{name}: page {page.index}: {len(data)} bytes found, expected {count}: it is cut short, copy it again"
        )
    keyframe = page.keyframe
    tables = {"jpegtables": page.jpegtables, "jpegheader": keyframe.jpegheader} if keyframe.compression in _JPEG else {}
    try:
        return keyframe.decode(data, number, **tables)[0]
    except Exception as error:  # of many classes
        if _NEEDS_CODECS in str(error):
            raise InvalidError(
                f"{name}: compression {keyframe.compression.name} found, which needs imagecodecs: "
                "pip install 'znni[files]'"
            ) from None
        raise unreadable(name, "TIFF", error) from None


def read_page(page: Any, rows: range, columns: range, name: str) -> np.ndarray:
    """Returns voxels of a page, [sample, Y, X]. Raises InvalidError, with the ``name`` of its file, if they are not all
    there."""
    keyframe = page.keyframe
    separate, depth, _, _, together = keyframe.shaped
    if depth != 1:
        raise InvalidError(
            f"{name}: page {page.index}: {depth} planes found, expected one: save it without 'ImageDepth'"
        )
    out = np.full((separate, len(rows), len(columns), together), keyframe.nodata, keyframe.dtype)
    for number, (sample, _, top, left, _), _ in _segments(page, rows, columns):
        found = _decoded(page, number, name)
        if found is None:
            continue
        y, x = max(top, rows.start), max(left, columns.start)
        part = found[0, y - top : rows.stop - top, x - left : columns.stop - left]
        y, x = y - rows.start, x - columns.start
        out[sample, y : y + part.shape[0], x : x + part.shape[1]] = part
    return out.transpose(0, 3, 1, 2).reshape(-1, len(rows), len(columns))


class PageArray:
    """Is an array of pages, [C, Z, Y, X], or [Z, Y, X] of one channel: ``read`` returns rows and columns of the page of
    a channel and a plane, [sample, Y, X]. ``by_sample`` says that channels are the samples of a page. ``file`` closes
    the file; None where there is none."""

    def __init__(
        self,
        shape: tuple,
        dtype: np.dtype,
        read: Callable[[int, int, range, range], np.ndarray],
        by_sample: bool,
        file: Any = None,
    ) -> None:
        self._whole, self.dtype, self._read, self._by_sample = shape, dtype, read, by_sample
        self.shape = shape if shape[0] > 1 else shape[1:]
        self.file = file

    def __getitem__(self, index: Any) -> np.ndarray:
        parts = (*([0] * (4 - len(index))), *index)
        ranges = [range(n)[slice(i, i + 1) if isinstance(i, int) else i] for i, n in zip(parts, self._whole)]
        found = self._box(*ranges)
        return found[tuple(0 if isinstance(i, int) else slice(None) for i in parts)]

    def _box(self, channels: range, planes: range, rows: range, columns: range) -> np.ndarray:
        out = np.empty(tuple(map(len, (channels, planes, rows, columns))), self.dtype)
        for k, z in enumerate(planes):
            if self._by_sample:
                out[:, k] = self._read(0, z, rows, columns)[channels.start : channels.stop]
                continue
            for i, c in enumerate(channels):
                out[i, k] = self._read(c, z, rows, columns)[0]
        return out


def _numbers(name: str) -> list[str]:
    return re.findall(r"[0-9]+", name)


def natural_order(names: list[str]) -> list[str]:
    """Returns names in the order of the numbers in them: page 9 is before page 10."""
    return sorted(names, key=_sorting_key)


def _sorting_key(name: str) -> list[tuple[int, str]]:
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"([0-9]+)", name)]


def check_complete(folder: str, names: list[str]) -> None:
    """Raises InvalidError if the names, in their order, differ by one number alone, and that leaves some out."""
    found = [_numbers(name) for name in names]
    if len(names) < 3 or len({re.sub(r"[0-9]+", "#", name) for name in names}) > 1:
        return
    differing = [i for i, column in enumerate(zip(*found)) if len(set(column)) > 1]
    if len(differing) != 1:
        return
    values = [int(numbers[differing[0]]) for numbers in found]
    steps = [b - a for a, b in zip(values, values[1:])]
    for at, step in enumerate(steps):
        if step != min(steps):
            raise InvalidError(
                f"{folder}: pages {names[at]} and {names[at + 1]} found, expected steps of {min(steps)}: add the pages "
                "between them, or number the files without a gap"
            )


class PageFolder:
    """Reads the pages of a folder, each a file of its own, all of the extents and the type of the first."""

    def __init__(self, folder: str, names: list[str]) -> None:
        if not names:
            raise InvalidError(f"{folder}: a folder without files of TIFF found, expected one of pages, or a file")
        self._folder, self._names = folder, natural_order(names)
        check_complete(folder, self._names)
        self._open: tuple[int, Any] | None = None
        first = self._page(0)
        self._shaped, self.dtype = first.shaped, first.dtype
        self.samples = self._shaped[0] * self._shaped[4]
        self.shape = (self.samples, len(names), *self._shaped[2:4])
        self.array = PageArray(self.shape, self.dtype, self._read, True, self)

    def close(self) -> None:
        """Closes the file that was read last."""
        if self._open is not None:
            self._open[1].close()
        self._open = None

    def _page(self, number: int) -> Any:
        """Returns the only page of a file."""
        path = os.path.join(self._folder, self._names[number])
        if self._open is None or self._open[0] != number:
            self.close()
            check_format(path, "TIFF")
            try:
                self._open = (number, module_of("tiff").TiffFile(path))
            except Exception as error:  # of many classes
                raise unreadable(path, "TIFF", error) from None
        pages = self._open[1].pages
        if len(pages) != 1:
            raise InvalidError(f"{path}: {len(pages)} pages found, expected one in each file of a folder")
        return pages[0]

    def _read(self, _: int, z: int, rows: range, columns: range) -> np.ndarray:
        page, path = self._page(z), os.path.join(self._folder, self._names[z])
        if page.shaped != self._shaped or page.dtype != self.dtype:
            raise InvalidError(
                f"{path}: {_text(page.shaped)} voxels of {page.dtype} found, expected {_text(self._shaped)} of "
                f"{self.dtype} as {self._names[0]} has"
            )
        return read_page(page, rows, columns, path)


def _text(shaped: tuple) -> str:
    return f"{shaped[2]}x{shaped[3]}" + (f"x{shaped[0] * shaped[4]}" if shaped[0] * shaped[4] > 1 else "")

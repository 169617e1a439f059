"""Volumes and outputs in files of NRRD: FILE.nrrd, and FILE.nhdr, whose voxels lie in a file beside it."""

from __future__ import annotations

import json
import math
import os
import pathlib
from typing import Any

import numpy as np

from znni.errors import Error, InvalidError, NotFoundError
from znni.geometry import Geometry
from znni.stores.file_at import array_in, check_length, length_of, open_file
from znni.stores.file_source import FileSource
from znni.stores.formats.affine import affine_of
from znni.stores.formats.decompressed import Decompressed
from znni.stores.formats.fields import notes_of
from znni.stores.formats.files import check_format, module_of, unreadable
from znni.stores.formats.nrrd_header import geometry_of_header, layout_of
from znni.stores.formats.units import common_unit
from znni.stores.mapped_target import MappedTarget, map_behind
from znni.stores.range_array import in_order
from znni.stores.remote import remote_scheme
from znni.stores.seam import OutputFacts

_ENCODINGS = {"raw": "raw", "gzip": "gzip", "gz": "gzip", "bzip2": "bzip2", "bz2": "bzip2"}
_TYPES = {"uint8": "uint8", "float32": "float"}
_CODES = {"millimeter": "mm", "micrometer": "um"}


def open_nrrd(path: str) -> FileSource:
    """Returns the volume in a file. One that is compressed is decompressed as far as it is read. Raises NotFoundError
    if there is none, InvalidError if it holds no volume."""
    nrrd = module_of("nrrd")
    check_format(path, "NRRD")
    try:
        with open_file(path) as file:
            header = nrrd.read_header(file)
            start = file.tell()
        layout = layout_of(header, path)
        geometry = geometry_of_header(header, path)
    except Error:
        raise
    except Exception as error:  # of many classes
        raise unreadable(path, "NRRD", error) from None
    data, start = _data_file(header, path, start)
    found = FileSource(_array(header, data, start, layout, path), path, geometry)
    found.notes = notes_of(header.get("znni"))
    return found


def _data_file(header: dict[str, Any], path: str, start: int) -> tuple[str, int]:
    """Returns the file that has the voxels, and where they begin in it."""
    named = header.get("data file", header.get("datafile"))
    if named is None:
        data = path
    elif isinstance(named, str) and "%" not in named and named.split()[:1] not in ([], ["LIST"]):
        data, start = _beside(path, named), 0
    else:
        raise InvalidError(f"{path}: field 'data file': {named} found, expected one file: join the files into one")
    if not remote_scheme(data) and not os.path.isfile(data):
        raise NotFoundError(f"{path}: field 'data file': {named} found, but there is no such file beside it")
    with open_file(data) as file:
        file.seek(start)
        for _ in range(int(header.get("line skip", header.get("lineskip", 0)))):
            file.readline()
        return data, file.tell()


def _beside(path: str, named: str) -> str:
    """Returns the file that a header names, which is no address. One at an address names no files of this machine."""
    if "://" in named or (remote_scheme(path) and named.startswith("/")):
        raise InvalidError(f"{path}: field 'data file': {named} found, expected the name of a file beside it")
    return os.path.join(os.path.dirname(path), named)


def _array(header: dict[str, Any], data: str, start: int, layout: Any, path: str) -> Any:
    encoding = _ENCODINGS.get(str(header.get("encoding")).lower())
    if encoding is None:
        raise InvalidError(
            f"{path}: field 'encoding': {header.get('encoding')} found, expected raw, gzip or bzip2: save it as raw"
        )
    skipped = int(header.get("byte skip", header.get("byteskip", 0)))
    size = math.prod(layout.stored) * layout.dtype.itemsize
    if encoding != "raw":
        if skipped < 0:
            raise InvalidError(f"{path}: field 'byte skip': {skipped} found, expected 0 or more in a compressed file")
        return in_order(Decompressed(data, encoding, layout.stored, layout.dtype, start, skipped), layout.order)
    start = length_of(data) - size if skipped == -1 else start + skipped
    check_length(data, max(start, 0) + size, f"{'x'.join(map(str, layout.stored))} voxels of {layout.dtype.name}")
    voxels = array_in(data, layout.stored, layout.dtype, start)
    return voxels.transpose(layout.order) if isinstance(voxels, np.ndarray) else in_order(voxels, layout.order)


class NrrdTarget(MappedTarget):
    """Writes a file, whose voxels are raw."""

    def __init__(self, path: str | os.PathLike, facts: OutputFacts, overwrite: bool) -> None:
        super().__init__(path, facts, overwrite)
        module_of("nrrd")
        if facts.dtype.name not in _TYPES:
            raise InvalidError(
                f"{path}: {facts.dtype.name} found, which NRRD does not hold: pass dtype float32 or uint8"
            )
        self._geometry = facts.geometry or Geometry().moved(facts.origin)
        self._unit = common_unit(self._geometry.units, os.fspath(path))

    def _make(self, path: pathlib.Path) -> np.ndarray:
        return map_behind(path, self._header(), self._facts.file_shape, self._facts.dtype)

    def _header(self) -> bytes:
        """Returns what stands in front of the voxels."""
        shape = self._facts.file_shape
        affine = affine_of(self._geometry, self._unit)
        rest = len(shape) - 3
        frame = self._geometry.frame
        is_body = frame is not None and frame.is_body
        fields = {
            "type": _TYPES[self._facts.dtype.name],
            "dimension": len(shape),
            **({"space": "right-anterior-superior"} if is_body else {"space dimension": 3}),
            "sizes": " ".join(map(str, reversed(shape))),
            "space directions": " ".join([*map(_vector, affine[:3, :3].T), *["none"] * rest]),
            "kinds": " ".join(["domain"] * 3 + ["list"] * rest),
            **({"endian": "little"} if self._facts.dtype.itemsize > 1 else {}),
            "encoding": "raw",
            **({"space units": " ".join([f'"{_CODES[self._unit]}"'] * 3)} if self._unit else {}),
            "space origin": _vector(affine[:3, 3]),
        }
        lines = ["NRRD0005", *(f"{field}: {value}" for field, value in fields.items())]
        lines.append(f"znni:={json.dumps(self._facts.notes)}")
        return ("\n".join(lines) + "\n\n").encode()


def _vector(numbers: np.ndarray) -> str:
    return f"({','.join(repr(float(n)) for n in numbers)})"

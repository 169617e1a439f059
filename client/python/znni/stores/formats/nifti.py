"""Volumes and outputs in files of NIfTI, FILE.nii and FILE.nii.gz, whose axes are x, y, z and then channels."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import math
import os
import pathlib
from typing import Any

import numpy as np

from znni.errors import Error, InvalidError
from znni.geometry import Geometry
from znni.spool import make_spool
from znni.stores.file_at import array_in, check_length, open_file
from znni.stores.file_source import FileSource
from znni.stores.formats.affine import affine_of, geometry_of_affine
from znni.stores.formats.decompressed import Decompressed
from znni.stores.formats.fields import notes_of
from znni.stores.formats.files import check_format, module_of, unreadable
from znni.stores.formats.units import common_unit
from znni.stores.mapped_target import MappedTarget, map_behind
from znni.stores.memmap import give_back
from znni.stores.remote import remote_scheme
from znni.stores.seam import OutputFacts

_UNITS = {"unknown": "", "meter": "meter", "mm": "millimeter", "micron": "micrometer"}
_CODES = {"": "unknown", "millimeter": "mm", "micrometer": "micron"}
_MAX_EXTENT = 32767  # of an axis in version 1
_TYPES = ("float32", "uint8")
_COMMENT = 6  # code of an extension that is a text
_BODY, _OTHER = 1, 2  # codes of spaces: that of a scanner, another one
_AT_ONCE = 8 << 20  # bytes
_MAGIC = 8  # bytes in front that tell version 2, whose last four are among _SECOND
_SECOND = (b"n+2\0", b"ni2\0")


def is_compressed(path: str) -> bool:
    """Returns whether a file's name says that it is compressed."""
    return path.lower().endswith(".gz")


def _shape(image: Any, path: str) -> tuple:
    """Returns the shape of a volume, [Z, Y, X] or [C, Z, Y, X]."""
    found = tuple(int(n) for n in image.dataobj.shape)
    shape = found
    if len(shape) == 5 and shape[3] == 1:  # vectors have an axis of time in front
        shape = (*shape[:3], shape[4])
    while len(shape) > 4 and shape[-1] == 1:
        shape = shape[:-1]
    if not 3 <= len(shape) <= 4 or min(shape) < 1:
        raise InvalidError(f"{path}: field 'dim': {found} found, expected x, y, z and, if there are any, channels")
    return shape[::-1] if len(shape) == 3 or shape[3] > 1 else shape[2::-1]


def _geometry(image: Any, path: str) -> Geometry:
    header = image.header
    code = header.get_xyzt_units()[0]
    if code not in _UNITS:
        raise InvalidError(f"{path}: field 'xyzt_units': {code} found, expected meters, mm or microns")
    if int(header["sform_code"]) > 0 or int(header["qform_code"]) > 0:
        return geometry_of_affine(_shortest(image.affine), _UNITS[code], True, f"{path}: affine")
    sizes = np.diag([*header.get_zooms()[:3], 1.0])
    return geometry_of_affine(_shortest(sizes), _UNITS[code], False, f"{path}: field 'pixdim'")


def _shortest(numbers: np.ndarray) -> np.ndarray:
    """Returns numbers of which a file has the nearest float32, with as few digits as name it: 0.04, not
    0.03999999910593033."""
    return np.array([float(str(n)) for n in np.float32(numbers).ravel()]).reshape(numbers.shape)


def open_nifti(path: str) -> FileSource:
    """Returns the volume in a file. One that is compressed is decompressed as far as it is read. Raises NotFoundError
    if there is none, InvalidError if it holds no volume."""
    nibabel = module_of("nifti")
    check_format(path, "gzip" if is_compressed(path) else "NIfTI")
    try:
        image = _image(nibabel, path)
        voxels = image.dataobj
        shape, offset, slope, inter = _shape(image, path), int(voxels.offset), float(voxels.slope), float(voxels.inter)
    except Error:
        raise
    except Exception as error:  # of many classes
        raise unreadable(path, "NIfTI", error) from None
    found = FileSource(_array(path, shape, voxels.dtype, offset), path, _geometry(image, path), slope, inter)
    found.notes = _notes(image)
    return found


def _image(nibabel: Any, path: str) -> Any:
    """Returns what a file says of its voxels, which are not read."""
    if not remote_scheme(path):
        return nibabel.load(path)
    with contextlib.ExitStack() as opened:
        file: Any = opened.enter_context(open_file(path))
        if is_compressed(path):
            file = opened.enter_context(gzip.open(file))
        kind = nibabel.Nifti2Image if file.read(_MAGIC)[4:] in _SECOND else nibabel.Nifti1Image
        file.seek(0)
        return kind.from_stream(file)


def _notes(image: Any) -> dict[str, Any] | None:
    """Returns what NiftiTarget wrote into an extension."""
    texts = (one.get_content() for one in image.header.extensions if one.get_code() == _COMMENT)
    found = (notes_of(text.decode(errors="replace") if isinstance(text, bytes) else text) for text in texts)
    return next((notes_of(one["znni"]) for one in found if one and "znni" in one), None)


def _array(path: str, shape: tuple, dtype: np.dtype, offset: int) -> Any:
    if is_compressed(path):
        return Decompressed(path, "gzip", shape, dtype, skipped=offset)
    what = f"{'x'.join(map(str, shape))} voxels of {dtype.name}"
    check_length(path, offset + math.prod(shape) * dtype.itemsize, what)
    return array_in(path, shape, dtype, offset)


class NiftiTarget(MappedTarget):
    """Writes a file. Voxels that become compressed lie in a file without a name beside it until all are there."""

    def __init__(self, path: str | os.PathLike, facts: OutputFacts, overwrite: bool) -> None:
        super().__init__(path, facts, overwrite)
        self._nibabel = module_of("nifti")
        if facts.dtype.name not in _TYPES:
            raise InvalidError(
                f"{path}: {facts.dtype.name} found, which NIfTI does not hold: pass dtype float32 or uint8"
            )
        self._geometry = facts.geometry or Geometry().moved(facts.origin)
        self._unit = common_unit(self._geometry.units, os.fspath(path))
        self._is_compressed = is_compressed(os.fspath(path))
        self._spool: np.ndarray | None = None

    def _header(self) -> bytes:
        """Returns what stands in front of the voxels."""
        shape = self._facts.file_shape[::-1]
        one = max(shape) <= _MAX_EXTENT
        header = (self._nibabel.Nifti1Header if one else self._nibabel.Nifti2Header)()
        header.set_data_shape(shape)
        header.set_data_dtype(self._facts.dtype)
        affine = affine_of(self._geometry, self._unit)
        frame = self._geometry.frame
        code = _BODY if frame is not None and frame.is_body else _OTHER
        header.set_sform(affine, code)
        header.set_qform(affine, code, strip_shears=True)
        header.set_xyzt_units(_CODES[self._unit])
        notes = json.dumps({"znni": self._facts.notes}).encode()
        header.extensions.append(self._nibabel.nifti1.Nifti1Extension(_COMMENT, notes))
        header.set_data_offset(header.single_vox_offset + header.extensions.get_sizeondisk())
        written = io.BytesIO()
        header.write_to(written)
        return written.getvalue().ljust(header.get_data_offset(), b"\0")

    def _make(self, path: pathlib.Path) -> np.ndarray:
        if not self._is_compressed:
            return map_behind(path, self._header(), self._facts.file_shape, self._facts.dtype)
        path.write_bytes(self._header())
        self._spool = make_spool(self._facts.file_shape, self._facts.dtype, self.folder)
        return self._spool

    def finish(self) -> None:
        if self._spool is not None:
            with gzip.open(self._partial.partial, "wb", compresslevel=1) as file:
                file.write(self._header())
                voxels = self._spool.reshape(-1).view("u1")
                for at in range(0, len(voxels), _AT_ONCE):
                    file.write(voxels[at : at + _AT_ONCE].data)
                    give_back(self._spool)
        self._spool = None
        super().finish()

    def discard(self) -> None:
        self._spool = None
        super().discard()

"""Says of what kind the file or folder is that a path names."""

from __future__ import annotations

import os
import re
from typing import NamedTuple

from znni.errors import AccessError, InvalidError, NotFoundError
from znni.stores.formats.files import kind_of_file
from znni.stores.formats.n5 import container_of, is_n5
from znni.stores.formats.precomputed import is_precomputed
from znni.stores.formats.tiff import pages_in
from znni.stores.formats.zarr_store import is_zarr, is_zarr_path
from znni.stores.places import place_of
from znni.stores.remote import check_public, remote_scheme

_HDF5 = re.compile(r"(.+\.(?:h5|hdf5|hdf))(?::(.*))?", re.DOTALL)
_LOCAL = "file://"
_SCHEMES = ("n5", "precomputed", "zarr")  # as Neuroglancer has them: in front of the address of a folder
_EXPECTED = (
    "expected FILE.npy, FILE.h5:/dataset, FILE.tif, FILE.nii.gz, FILE.nrrd, FOLDER.zarr, FOLDER.n5/dataset or "
    "precomputed://FOLDER"
)
_FILES = ("npy", "hdf5", "tiff", "nifti", "nrrd")


class Address(NamedTuple):
    """Names a volume or an output: ``kind`` is npy, hdf5, tiff, nifti, nrrd, zarr, n5 or precomputed, ``dataset``
    that of HDF5."""

    kind: str
    path: str
    dataset: str = ""


def _by_name(path: str) -> Address | None:
    """Returns the address that a path's name makes clear."""
    front, rest = _without_scheme(path)
    if front and not rest.strip("/"):
        raise InvalidError(f"{path}: nothing found behind {front}, expected a folder or an address")
    if front:
        return Address(front[:-3], rest)
    if path.endswith(".npy"):
        return Address("npy", path)
    hdf5 = _hdf5(path)
    if hdf5:
        return Address("hdf5", hdf5[1], hdf5[2] or "")
    if is_zarr_path(path):
        return Address("zarr", path)
    if container_of(path).endswith(".n5"):
        return Address("n5", path)
    kind = kind_of_file(path)
    return Address(kind, path) if kind else None


def _hdf5(path: str) -> re.Match | None:
    """Returns a file of HDF5 and the dataset behind it; None for other paths. A server may be called as such a file
    is."""
    found = _HDF5.fullmatch(path)
    is_server = found is not None and remote_scheme(path) and found[1].count("/") < 3
    return None if is_server else found


def _by_content(path: str) -> Address | None:
    """Returns the address of a folder by what lies in it."""
    place, refused = place_of(path), None
    for kind, is_kind in (("precomputed", is_precomputed), ("n5", is_n5), ("zarr", is_zarr)):
        try:
            if is_kind(place):
                return Address(kind, path)
        except AccessError as error:  # also of what is missing, where objects cannot be listed
            refused = error
    if refused:
        raise refused
    return Address("tiff", path) if not remote_scheme(path) and pages_in(path) else None


def input_address(path: str | os.PathLike) -> Address:
    """Returns the address of a volume. Raises InvalidError if it is of no kind that is read."""
    path = os.fspath(path).removeprefix(_LOCAL)
    check_public(path)
    known = _by_name(path) or (_by_content(path) if remote_scheme(path) or os.path.isdir(path) else None)
    _check_scheme(known.path if known else path)
    if known:
        return known
    if os.path.isdir(path):
        raise InvalidError(f"{path}: {place_of(path).found()}, which is no volume: {_EXPECTED}")
    if remote_scheme(path):
        place_of(path).check()
        raise NotFoundError(f"{path}: no volume found: neither zarr, nor N5, nor precomputed")
    raise InvalidError(f"{path}: this kind of file is not read: {_EXPECTED}")


def output_address(path: str | os.PathLike) -> Address:
    """Returns the address of an output. Raises InvalidError if it is of no kind that is written."""
    path = os.fspath(path).removeprefix(_LOCAL)
    check_public(path)
    known = _by_name(path)
    inner = known is not None and known.kind == "zarr" and not path.startswith("zarr://")
    if known is None or (inner and not path.rstrip("/").endswith(".zarr")) or path.lower().endswith(".nhdr"):
        raise InvalidError(f"{path}: this kind of file is not written: {_EXPECTED}")
    _check_scheme(known.path)
    if known.kind in _FILES and remote_scheme(known.path):
        raise InvalidError(
            f"{known.path}: found, but files of NumPy, HDF5, TIFF, NIfTI and NRRD are written on this machine alone; "
            "at an address are FOLDER.zarr, FOLDER.n5/dataset or precomputed://..."
        )
    return known if known.kind == "hdf5" else Address(known.kind, known.path.rstrip("/"))


def _check_scheme(path: str) -> None:
    scheme, separator, _ = path.partition("://")
    if separator and not remote_scheme(path):
        raise InvalidError(
            f"{path}: {scheme}:// found, expected s3://, http:// or https://; an array that zarr opened is taken, too"
        )


def _without_scheme(path: str) -> tuple[str, str]:
    """Returns what says the kind of a folder in front of its path or address, and the latter."""
    scheme, separator, rest = path.partition("://")
    front, rest = (scheme + separator, rest) if separator and scheme in _SCHEMES else ("", path)
    return front, rest.removeprefix(_LOCAL)


def absolute(path: str | os.PathLike) -> str:
    """Returns a path from the root on, with what stands in front of it and the dataset behind it. Addresses stay."""
    front, rest = _without_scheme(os.fspath(path))
    if remote_scheme(rest):
        return front + rest
    file = _file_in(front, rest)
    return front + os.path.abspath(file) + rest[len(file) :]


def file_of(path: str | os.PathLike) -> str:
    """Returns the file or folder of a path itself, or its address."""
    front, rest = _without_scheme(os.fspath(path))
    return _file_in(front, rest).rstrip("/")


def _file_in(front: str, path: str) -> str:
    """Returns a path, behind ``front``, without the dataset of HDF5 that is named behind it. Other names may have a
    colon."""
    hdf5 = None if front else _hdf5(path)
    return hdf5[1] if hdf5 else path

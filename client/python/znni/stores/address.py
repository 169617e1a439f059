"""Says of what kind the file or folder is that a path names."""

from __future__ import annotations

import os
import re
from typing import NamedTuple

from znni.errors import InvalidError
from znni.stores.n5 import container_of, is_n5
from znni.stores.place import place_of
from znni.stores.precomputed import is_precomputed
from znni.stores.zarr_store import is_zarr, is_zarr_path

_HDF5 = re.compile(r"(.+\.(?:h5|hdf5|hdf))(?::(.*))?", re.DOTALL)
_SCHEMES = ("n5", "precomputed", "zarr")  # as Neuroglancer has them: in front of the address of a folder
_EXPECTED = "expected FILE.npy, FILE.h5:/dataset, FOLDER.zarr, FOLDER.n5/dataset or precomputed://FOLDER"
_MOST_NAMES = 5  # of what lies in a folder, in an error


class Address(NamedTuple):
    """Names a volume or an output: ``kind`` is npy, hdf5, zarr, n5 or precomputed, ``dataset`` that of HDF5."""

    kind: str
    path: str
    dataset: str = ""


def _by_name(path: str) -> Address | None:
    """Returns the address that a path's name makes clear."""
    scheme, separator, rest = path.partition("://")
    if separator and scheme in _SCHEMES:
        return Address(scheme, rest)
    if path.endswith(".npy"):
        return Address("npy", path)
    hdf5 = _HDF5.fullmatch(path)
    if hdf5:
        return Address("hdf5", hdf5[1], hdf5[2] or "")
    if is_zarr_path(path):
        return Address("zarr", path)
    is_n5_path = container_of(path).endswith(".n5")
    return Address("n5", path) if is_n5_path else None


def _by_content(path: str) -> Address | None:
    """Returns the address of a folder by what lies in it."""
    place = place_of(path)
    kinds = {"precomputed": is_precomputed, "n5": is_n5, "zarr": is_zarr}
    return next((Address(kind, path) for kind, is_kind in kinds.items() if is_kind(place)), None)


def _found(path: str) -> str:
    """Returns what a folder has, for an error."""
    names = place_of(path).names()
    more = ", ..." if len(names) > _MOST_NAMES else ""
    return f"a folder with {', '.join(names[:_MOST_NAMES])}{more}" if names else "an empty folder"


def input_address(path: str | os.PathLike) -> Address:
    """Returns the address of a volume. Raises InvalidError if it is of no kind that is read."""
    path = os.fspath(path)
    known = _by_name(path) or _by_content(path)
    if known:
        return known
    if os.path.isdir(path):
        raise InvalidError(f"{path}: {_found(path)} found, which is no volume: {_EXPECTED}")
    raise InvalidError(f"{path}: this kind of file is not read: {_EXPECTED}")


def output_address(path: str | os.PathLike) -> Address:
    """Returns the address of an output. Raises InvalidError if it is of no kind that is written."""
    path = os.fspath(path)
    known = _by_name(path)
    if known is None or (known.kind == "zarr" and "://" not in path and not path.rstrip("/").endswith(".zarr")):
        raise InvalidError(f"{path}: this kind of file is not written: {_EXPECTED}")
    return known if known.kind == "hdf5" else Address(known.kind, known.path.rstrip("/"))


def absolute(path: str | os.PathLike) -> str:
    """Returns a path from the root on, with what stands in front of it and the dataset behind it."""
    scheme, separator, rest = os.fspath(path).partition("://")
    if separator:
        return scheme + separator + absolute(rest)
    file, colon, dataset = scheme.partition(":")
    return os.path.abspath(file) + colon + dataset


def file_of(path: str | os.PathLike) -> str:
    """Returns the file or folder of a path itself."""
    scheme, separator, rest = os.fspath(path).partition("://")
    file = rest if separator and scheme in _SCHEMES else os.fspath(path)
    return file.partition(":")[0].rstrip("/")

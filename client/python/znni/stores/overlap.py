"""Says whether an output would remove what it is computed from."""

from __future__ import annotations

import os
import urllib.parse
from typing import Any

import numpy as np

from znni.errors import InvalidError
from znni.stores.address import file_of
from znni.stores.formats.zarr_store import HERE
from znni.stores.remote import Remote, remote_scheme

_MEND = "name another output, or remove the old one first"


def _parts(file: str) -> list[str]:
    """Returns the store that a path or an address names, and the folders in it."""
    if not remote_scheme(file):
        return ["", *_folders(os.path.realpath(file))]
    kvstore = Remote(file).kvstore
    return [kvstore["bucket"] if kvstore["driver"] == "s3" else kvstore["base_url"], *_folders(kvstore["path"])]


def _folders(path: str) -> list[str]:
    return [part for part in path.split("/") if part]


def overlap(one: str, other: str) -> bool:
    """Returns whether one of two paths lies in the other, or is it."""
    first, second = file_of(one), file_of(other)
    if remote_scheme(first) != remote_scheme(second):
        return False
    return all(a == b for a, b in zip(_parts(first), _parts(second)))


def _may_be_served(address: str, output: str) -> bool:
    """Returns whether a web server may serve the output, or what it lies in, at ``address``: by the names alone."""
    if not remote_scheme(address).startswith("http"):
        return False
    served, written = ([urllib.parse.unquote(part) for part in _parts(path)[1:]] for path in (address, file_of(output)))
    return not served or served[-1] in written or written[-1] in served


def _address_of(store: Any) -> str:
    """Returns the address of a store of zarr; "" where it is not known."""
    if "s3" in getattr(getattr(store, "fs", None), "protocol", ()):  # of fsspec
        return "s3://" + str(store.path).removeprefix("s3://")
    return str(store) if remote_scheme(str(store)) else ""


def _check_array(volume: Any, output: str, overwrite: bool, name: str) -> None:
    """Raises InvalidError for an array of a store that the output may lie in."""
    store = getattr(volume, "store", None)
    address = _address_of(store)
    if address:
        check_apart(address, output, overwrite)
        return
    is_here = isinstance(volume, np.ndarray) or type(volume).__module__.startswith("h5py")
    if overwrite and not is_here and type(store).__name__ not in HERE:
        raise InvalidError(
            f"{name}: {type(volume).__name__} found, which may be read from the output {output} that is "
            f"to be replaced: {_MEND}"
        )


def check_apart(volume: Any, output: str, overwrite: bool, name: str = "volume") -> None:
    """Raises InvalidError if the output would remove what a volume or file is read from; ``name`` is that of an array.

    Where an old output is replaced, what may be read from it is refused, too: a folder of its name on a web server, and
    an array of which it is not known where it is stored.
    """
    if not isinstance(volume, (str, os.PathLike)):
        _check_array(volume, output, overwrite, name)
        return
    path = os.fspath(volume)
    if overlap(path, output):
        raise InvalidError(f"{path}: lies in the output {output}, or the output in it: name another output")
    if overwrite and _may_be_served(file_of(path), output):
        raise InvalidError(
            f"{path}: may lie in the output {output} that is to be replaced, or the output in it, by "
            f"their names: {_MEND}"
        )


def check_output_apart(output: Any, volume: Any, overwrite: bool, name: str = "volume") -> None:
    """Raises InvalidError if an output that is a path would remove what ``volume``, or one of a dictionary, is read
    from; None is nothing. What is written on this machine is renamed when it is complete, so that arrays may be read
    until then."""
    if volume is None or not isinstance(output, (str, os.PathLike)):
        return
    path = os.fspath(output)
    for each in volume.values() if isinstance(volume, dict) else (volume,):
        if remote_scheme(file_of(path)) or isinstance(each, (str, os.PathLike)):
            check_apart(each, path, overwrite, name)

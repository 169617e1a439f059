"""Files that are named by a path or by an address."""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from typing import Any, BinaryIO, cast

import numpy as np

from znni.errors import AccessError, InvalidError, NotFoundError
from znni.stores.range_array import RangeArray
from znni.stores.remote import remote_scheme
from znni.stores.remote_file import RemoteFile


def open_file(path: str | os.PathLike) -> BinaryIO:
    """Returns the bytes of a file, to read and to seek in. Raises NotFoundError if there is none, AccessError if it
    must not be read, InvalidError for a folder."""
    path = os.fspath(path)
    if remote_scheme(path):
        file = RemoteFile(path)
        _ = file.length  # what is wrong is said now
        return cast(BinaryIO, io.BufferedReader(file))
    try:
        return open(path, "rb")
    except FileNotFoundError:
        raise NotFoundError(f"{path}: there is no such file") from None
    except IsADirectoryError:
        raise InvalidError(f"{path}: a folder found, expected a file") from None
    except PermissionError as error:
        raise AccessError(f"{path}: {error.strerror}") from None


def head_of(path: str | os.PathLike, count: int) -> bytes:
    """Returns the first bytes of a file. Raises as open_file() does."""
    path = os.fspath(path)
    if remote_scheme(path):
        return RemoteFile(path).head(count)
    with open_file(path) as file:
        return file.read(count)


def array_in(path: str | os.PathLike, shape: Sequence[int], dtype: np.dtype, offset: int) -> Any:
    """Returns the array, in the order of C, from byte ``offset`` on of a file. It is mapped; at an address its parts
    are read as they are needed. Call check_length() before."""
    path = os.fspath(path)
    if remote_scheme(path):
        return RangeArray(RemoteFile(path), shape, dtype, offset)
    return np.memmap(path, dtype, "r", offset, tuple(shape))


def check_length(path: str | os.PathLike, end: int, what: str) -> None:
    """Raises InvalidError for a file that ends before byte ``end``, where ``what`` in it does."""
    if _ends_before(os.fspath(path), end):
        raise InvalidError(
            f"{path}: {length_of(path)} bytes found, expected {end} for {what}: it is cut short, copy it again"
        )


def _ends_before(path: str, end: int) -> bool:
    return RemoteFile(path).ends_before(end) if remote_scheme(path) else os.path.getsize(path) < end


def length_of(path: str | os.PathLike) -> int:
    """Returns the bytes of a file."""
    path = os.fspath(path)
    return RemoteFile(path).length if remote_scheme(path) else os.path.getsize(path)

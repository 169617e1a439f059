"""Arrays that TensorStore reads and writes, in the order of axes that NumPy has."""

from __future__ import annotations

import importlib
import importlib.metadata
import os
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from znni.errors import AccessError, Error, InvalidError, NotFoundError, UnavailableError

_KINDS = {
    "NOT_FOUND": NotFoundError,
    "PERMISSION_DENIED": AccessError,
    "UNAUTHENTICATED": AccessError,
    "UNAVAILABLE": UnavailableError,
    "DEADLINE_EXCEEDED": UnavailableError,
    "ABORTED": UnavailableError,
    "INVALID_ARGUMENT": InvalidError,
    "FAILED_PRECONDITION": InvalidError,
    "DATA_LOSS": InvalidError,
    "OUT_OF_RANGE": InvalidError,
    "UNIMPLEMENTED": InvalidError,
}
# A server that says nothing for so long has failed: TensorStore itself waits for ever.
_PATIENCE = {
    "TENSORSTORE_CURL_LOW_SPEED_TIME_SECONDS": "60",
    "TENSORSTORE_CURL_LOW_SPEED_LIMIT_BYTES": "1",
    "TENSORSTORE_CURL_CONNECT_TIMEOUT_SECONDS": "30",
}
_LEAST = (0, 1, 86)  # the first that says of a bucket that it is not there
_KEYS = (
    "; the keys are those of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment, or of AWS_PROFILE; "
    "AWS_NO_SIGN_REQUEST=YES is for public buckets"
)


def tensorstore_module(what: str = "volumes in N5 and precomputed") -> Any:
    """Returns tensorstore. Raises InvalidError where it is not installed or too old, for ``what`` needs it."""
    for name, value in _PATIENCE.items():
        os.environ.setdefault(name, value)
    try:
        module = importlib.import_module("tensorstore")
    except ImportError:
        raise InvalidError(f"{what} need tensorstore: pip install 'znni[tensorstore]' (Python 3.11 or newer)") from None
    version = importlib.metadata.version("tensorstore")
    if tuple(int(part) for part in re.findall(r"\d+", version)[:3]) < _LEAST:
        raise InvalidError(
            f"tensorstore {version} found, expected {'.'.join(map(str, _LEAST))} or newer: "
            "pip install 'znni[tensorstore]'"
        )
    return module


def error_of(error: Exception, name: str) -> Error:
    """Returns the Error for what TensorStore raised about the volume ``name``, in one line: its details of the
    program's sources are left out."""
    text = " ".join(re.sub(r" \[[\w -]+='.*", "", str(error), flags=re.DOTALL).split())
    status = re.match(r"([A-Z_]+): ", text)
    unnamed = InvalidError if isinstance(error, ValueError) else Error
    kind = _KINDS.get(status[1], Error) if status else unnamed
    hint = _KEYS if kind is AccessError and "s3://" in name else ""
    found = kind(f"{name}: {text[status.end() :] if status else text}{hint}")
    found.is_of_store = True
    return found


def open_store(spec: dict[str, Any], name: str) -> Any:
    """Returns the TensorStore of a spec that says all of its metadata. Raises Error if there is none."""
    tensorstore = tensorstore_module()
    whole = {
        "context": {"file_io_sync": False},
        "assume_metadata": True,
        "store_data_equal_to_fill_value": True,
        **spec,
    }
    try:
        return tensorstore.open(whole).result()
    except Exception as error:  # of many classes
        raise error_of(error, name) from None


def arranged(store: Any, order: Sequence[int]) -> Any:
    """Returns a TensorStore whose axes are those of ``store`` in another order."""
    return store[tensorstore_module().d[tuple(order)].transpose[:]]


class TensorArray:
    """Is a TensorStore as an array: it begins at 0 along each axis, and a part of it is an array of NumPy. ``chunks``
    says how many voxels are stored together."""

    def __init__(self, store: Any, chunks: Sequence[int], name: str) -> None:
        self._store = store[tensorstore_module().d[:].translate_to[0]]
        self._name = name
        self.shape = tuple(int(n) for n in self._store.shape)
        self.dtype = np.dtype(store.dtype.numpy_dtype)
        self.chunks = tuple(int(n) for n in chunks)

    def first(self) -> TensorArray:
        """Returns what is at 0 along the first axis."""
        return TensorArray(self._store[0], self.chunks[1:], self._name)

    def __getitem__(self, index: Any) -> np.ndarray:
        try:
            return self._store[index].read(order="C").result()
        except Exception as error:  # of many classes
            raise error_of(error, self._name) from None

    def __setitem__(self, index: Any, values: np.ndarray) -> None:
        try:
            self._store[index].write(values).result()
        except Exception as error:  # of many classes
            raise error_of(error, self._name) from None

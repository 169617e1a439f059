"""Arrays in compressed files, which are read from the beginning on: in a file without a name as far as they were."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import math
import tempfile
import warnings
import zlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from znni.errors import InvalidError
from znni.spool import make_spool
from znni.stores.file_at import open_file
from znni.stores.memmap import give_back

OPENERS: dict[str, Callable[..., Any]] = {"gzip": gzip.open, "bzip2": bz2.open}
_AT_ONCE = 8 << 20  # bytes
_MUCH = 1 << 30  # bytes of disk that are told


class Decompressed:
    """Is the array of ``shape``, in the order of C, that begins ``skipped`` bytes behind byte ``start`` of the file
    ``path``, where what is compressed as ``encoding`` begins.

    What was read of it lies in the folder of temporary files, which needs room for all of it. ``file`` closes the file.
    """

    def __init__(
        self, path: str, encoding: str, shape: Sequence[int], dtype: np.dtype, start: int = 0, skipped: int = 0
    ) -> None:
        self.shape = tuple(shape)
        self.dtype = dtype
        self._path = path
        self._opener = OPENERS[encoding]
        self._start, self._skipped = start, skipped
        self._bytes = math.prod(self.shape) * dtype.itemsize
        self._spool: np.ndarray | None = None
        self._filled = 0  # bytes of the spool
        self._stream: Any = None
        self.file = contextlib.ExitStack()

    def __getitem__(self, index: Any) -> np.ndarray:
        self._fill(self._end_of(index))
        assert self._spool is not None
        found = self._spool.reshape(-1).view(self.dtype).reshape(self.shape)[index].copy()
        give_back(self._spool)
        return found

    def _end_of(self, index: Any) -> int:
        """Returns behind which byte all voxels of a part lie: that of its last plane, of all where channels follow each
        other."""
        if len(self.shape) > 3 or not isinstance(index, tuple) or not isinstance(index[0], slice):
            return self._bytes
        planes = range(self.shape[0])[index[0]]
        return (planes[-1] + 1) * (self._bytes // self.shape[0]) if planes else 0

    def _fill(self, end: int) -> None:
        try:
            if self._spool is None:
                self._begin()
            assert self._spool is not None
            while self._filled < end:
                part = memoryview(self._spool)[self._filled : min(self._filled + _AT_ONCE, end)]  # type: ignore[arg-type]
                count = self._stream.readinto(part)
                if not count:
                    raise EOFError
                self._filled += count
                give_back(self._spool)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise InvalidError(
                f"{self._path}: {self._filled} bytes of voxels found, expected {self._bytes} of "
                f"{'x'.join(map(str, self.shape))} voxels of {self.dtype.name}: it is cut short or damaged, copy it "
                "again" + (f" ({error})" if str(error) else "")
            ) from None

    def _begin(self) -> None:
        """Makes room, opens the file and passes what lies before the voxels."""
        if self._bytes > _MUCH:
            warnings.warn(
                f"{self._path}: is compressed, and takes {self._bytes / 1e9:.1f} GB of {tempfile.gettempdir()} while "
                "it is read",
                stacklevel=2,
            )
        raw = self.file.enter_context(open_file(self._path))
        raw.seek(self._start)
        self._stream = self.file.enter_context(self._opener(raw, "rb"))
        self._stream.read(self._skipped)
        self._spool = make_spool((max(self._bytes, 1),), np.dtype("u1"), None)

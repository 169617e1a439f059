"""Arrays that are too large for memory for a while, in files without a name."""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Sequence

import numpy as np


def make_spool(shape: Sequence[int], dtype: np.dtype, folder: str | None) -> np.memmap:
    """Returns a mapped array whose file lies in ``folder``, or where the system keeps such files, and goes with it.

    Raises OSError if the disk has no room for all of it: a map that finds the disk full later would end the process.
    """
    size = math.prod(shape) * dtype.itemsize
    with tempfile.TemporaryFile(dir=folder) as file:
        try:
            os.posix_fallocate(file.fileno(), 0, size)
        except OSError as error:
            where = folder or tempfile.gettempdir()
            text = f"{error.strerror}: {size} bytes are needed for a while"
            raise OSError(error.errno, text, where) from None
        return np.memmap(file, dtype, "r+", shape=tuple(shape))

"""Grey pictures as PNG."""

from __future__ import annotations

import struct
import zlib

import numpy as np

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_LEVEL = 6  # of zlib
_NO_FILTER, _UP = 0, 2


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _rows(pixels: np.ndarray, kind: int) -> bytes:
    """Returns the rows, each behind the number of its filter."""
    return np.insert(pixels, 0, kind, axis=1).tobytes()


def encode(pixels: np.ndarray) -> bytes:
    """Returns the file of a picture, uint8 [rows, columns], with that filter of two that makes it smaller."""
    height, width = pixels.shape
    above = np.vstack([np.zeros((1, width), np.uint8), pixels[:-1]])
    ways = ((pixels, _NO_FILTER), (pixels - above, _UP))
    data = min((zlib.compress(_rows(filtered, kind), _LEVEL) for filtered, kind in ways), key=len)
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return _SIGNATURE + _chunk(b"IHDR", header) + _chunk(b"IDAT", data) + _chunk(b"IEND", b"")

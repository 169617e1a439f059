"""An output of zarr in shards: FOLDER.zarr with the extent of those."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from znni.box import Triple, text_of
from znni.errors import InvalidError


class Sharded(os.PathLike):
    """Is the path of an output FOLDER.zarr, of zarr version 3, whose chunks are stored in shards: files or objects with
    ``shard`` voxels each along z, y and x, one number for all. They are whole chunks.

    A large output then has fewer files: ``client.predict("net", volume, znni.Sharded("out.ome.zarr", 512))``.
    """

    def __init__(self, path: str | os.PathLike, shard: int | Sequence[int]) -> None:
        self.path = os.fspath(path)
        self.shard = _triple(shard)

    def __fspath__(self) -> str:
        return self.path

    def __repr__(self) -> str:
        return f"Sharded({self.path!r}, {self.shard})"


def _triple(shard: Any) -> Triple:
    found = (shard,) * 3 if isinstance(shard, int) else tuple(shard) if isinstance(shard, (tuple, list)) else ()
    if len(found) != 3 or not all(isinstance(n, int) and not isinstance(n, bool) and n >= 1 for n in found):
        raise InvalidError(
            f"shard: {shard!r} found, expected voxels along z, y and x, for example 512 or (64, 512, 512)"
        )
    return found


def whole_chunks(shard: Triple, chunk: Triple, extent: Triple) -> Triple:
    """Returns the extent of shards of an output of this extent and these chunks: no wider than it needs. Raises
    InvalidError unless they are whole chunks."""
    if any(n < m and n % c for n, c, m in zip(shard, chunk, extent)):
        raise InvalidError(
            f"shard: {text_of(shard)} voxels found, expected multiples of the output's chunks, {text_of(chunk)}"
        )
    return tuple(-(-min(n, m) // c) * c for n, c, m in zip(shard, chunk, extent))  # type: ignore[return-value]

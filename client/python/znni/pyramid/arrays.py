"""Makes the arrays of an image in zarr, and fills those of coarser resolutions."""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from znni.box import Triple
from znni.calls.stop import check
from znni.pyramid.halving import halve


class Layout(NamedTuple):
    """Is how the voxels of an array are stored: in chunks of this extent along z, y and x, in shards of these if there
    are any, which are whole chunks."""

    chunk: Triple
    shard: Triple | None = None

    def within(self, extent: Triple) -> Layout:
        """Returns the layout of an array of this extent: neither chunks nor shards are wider than it needs."""
        chunk = tuple(min(c, n) for c, n in zip(self.chunk, extent))
        shard = self.shard and tuple(min(s, -(-n // c) * c) for s, c, n in zip(self.shard, chunk, extent))
        return Layout(chunk, shard)  # type: ignore[arg-type]


def layout_of(array: Any) -> Layout:
    """Returns how an array is stored."""
    return Layout(array.chunks[-3:], array.shards[-3:] if array.shards else None)


def make_array(group: Any, name: str, shape: tuple, dtype: np.dtype, layout: Layout) -> Any:
    """Returns a new array in a group, of the group's version of zarr, a channel to a chunk. It is 0 where nothing is
    written."""
    version = group.metadata.zarr_format
    names = {"dimension_names": ("c", "z", "y", "x")[-len(shape) :]} if version == 3 else {}
    leading = (1,) * (len(shape) - 3)
    return group.create_array(
        name,
        shape=shape,
        chunks=leading + layout.chunk,
        shards=leading + layout.shard if layout.shard else None,
        dtype=dtype,
        fill_value=0,
        compressors=_compressor(version, dtype.itemsize),
        chunk_key_encoding={"name": "default" if version == 3 else "v2", "separator": "/"},
        **names,
    )


def _compressor(version: int, voxel_bytes: int) -> Any:
    """Returns Zstandard in Blosc, which stores the bytes of equal weight side by side."""
    if version == 3:
        codecs = importlib.import_module("zarr").codecs
        return codecs.BloscCodec(cname="zstd", clevel=3, shuffle="shuffle", typesize=voxel_bytes)
    return importlib.import_module("numcodecs").Blosc(cname="zstd", clevel=3, shuffle=1)


def fill(fine: Any, coarse: Any, is_label: bool) -> None:
    """Writes into ``coarse`` the array ``fine``, halved along the axes of which it has fewer voxels. Holds one chunk or
    shard of it at a time, and what becomes one chunk; each is read and written once."""
    steps = [1 if n == m else 2 for n, m in zip(fine.shape, coarse.shape)]
    axes = [axis for axis, step in enumerate(steps) if step == 2]
    for box in boxes(coarse.shape, coarse.shards or coarse.chunks):
        found = np.empty([one.stop - one.start for one in box], coarse.dtype)
        for part in boxes(found.shape, coarse.chunks):
            check()
            voxels = fine[tuple(map(_finer, box, part, steps))]
            found[part] = halve(np.asarray(voxels), axes, is_label)
        coarse[box] = found


def _finer(whole: slice, part: slice, step: int) -> slice:
    """Returns where the voxels lie in the finer array that become a part of ``whole`` in the coarser one."""
    return slice((whole.start + part.start) * step, (whole.start + part.stop) * step)


def boxes(shape: Sequence[int], chunks: Sequence[int]) -> Iterator[tuple[slice, ...]]:
    """Yields where the chunks of an array lie."""
    sides = ([slice(a, min(a + c, n)) for a in range(0, n, c)] for n, c in zip(shape, chunks))
    return itertools.product(*sides)

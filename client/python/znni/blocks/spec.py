"""The description of a job of blocks: one file of JSON that every machine of the job reads."""

from __future__ import annotations

import dataclasses
import json
import os
import pathlib
from typing import Any

from znni.blocks.grid import Grid
from znni.box import Triple
from znni.errors import InvalidError, NotFoundError

FORMAT = 1


@dataclasses.dataclass(frozen=True)
class JobSpec:
    """Describes a job. Extents are in voxels, along z, y and x; paths are absolute.

    ``network`` is a file of ONNX, of which ``network_sha256`` is the digest, that each machine serves itself within
    ``mem``; or else it is "", and ``servers`` are daemons that serve ``model``. ``output_extent`` is that of the output,
    ``origin`` the position in the volume of its first voxel, ``block`` a multiple of its chunks. ``identity`` stands in
    the output, too, so that neither is used with another. ``predicted`` is for people.
    """

    identity: str
    network: str
    network_sha256: str
    mem: str | None
    threads: int | None
    config: dict[str, Any] | str | None
    model: str
    servers: list[str]
    input: str
    output: str
    pad: str
    dtype: str
    mask: str | None
    skip_empty: bool
    output_extent: Triple
    origin: Triple
    block: Triple
    nodes: int
    predicted: dict[str, Any]

    @property
    def grid(self) -> Grid:
        """Returns the blocks of the output."""
        return Grid(self.output_extent, self.block)

    @property
    def folder(self) -> pathlib.Path:
        """Returns the folder beside the output in which the job keeps what is done."""
        return pathlib.Path(self.output + ".job")


def to_json(spec: JobSpec) -> str:
    """Returns the text of the file."""
    return json.dumps({"znni_job": FORMAT, **dataclasses.asdict(spec)}, indent=2) + "\n"


def read_spec(path: str | os.PathLike) -> JobSpec:
    """Returns the job in a file. Raises NotFoundError if there is none, InvalidError if it does not hold one."""
    try:
        found = json.loads(pathlib.Path(path).read_bytes())
    except OSError as error:
        raise NotFoundError(f"{path}: {error.strerror}") from None
    except ValueError as error:
        raise InvalidError(f"{path}: no JSON, or cut short ({error}): make it again with 'znni-job plan'") from None
    if not isinstance(found, dict) or found.pop("znni_job", None) != FORMAT:
        raise InvalidError(f"{path}: no job of format {FORMAT}: make it with 'znni-job plan'")
    return _checked(found, path)


def _checked(found: dict[str, Any], path: str | os.PathLike) -> JobSpec:
    names = {field.name for field in dataclasses.fields(JobSpec)}
    for name in sorted(names ^ found.keys()):
        state = "is missing" if name in names else "is unknown"
        raise InvalidError(f"{path}: field '{name}' {state}: make it again with 'znni-job plan'")
    for name in ("output_extent", "origin", "block"):
        least = 0 if name == "origin" else 1
        if not _is_triple(found[name], least):
            raise InvalidError(f"{path}: field '{name}': {found[name]!r} found, expected three whole numbers of at least "
                               f"{least}")
        found[name] = tuple(found[name])
    for name in ("identity", "network", "model", "input", "output", "pad", "dtype"):
        if not isinstance(found[name], str):
            raise InvalidError(f"{path}: field '{name}': {found[name]!r} found, expected a text")
    return JobSpec(**found)


def _is_triple(value: Any, least: int) -> bool:
    return (isinstance(value, list) and len(value) == 3 and
            all(isinstance(n, int) and not isinstance(n, bool) and n >= least for n in value))

"""The description of a job of blocks: one file of JSON that every machine of the job reads."""

from __future__ import annotations

import dataclasses
import json
import os
import pathlib
from typing import Any

from znni.blocks.grid import Grid
from znni.blocks.marks import Marks
from znni.box import Triple
from znni.errors import InvalidError, NotFoundError
from znni.stores.address import file_of
from znni.stores.place import Place
from znni.stores.places import place_of
from znni.stores.remote import remote_scheme

FORMAT = 1
COPY = "job.json"


@dataclasses.dataclass(frozen=True)
class JobSpec:
    """Describes a job. Extents are in voxels, along z, y and x; paths are absolute.

    ``network`` is a file of ONNX or Caffe that each machine serves itself within ``mem``, with ``config``; or else it
    is "", and ``servers`` are daemons that serve ``model``. ``digests`` are those of the files, ``form`` is that of the
    model. ``output_extent`` is that of the output, ``origin`` the position in the volume of its first voxel, ``block``
    a multiple of its chunks. ``identity`` stands in the output, too, so that neither is used with another.
    ``predicted`` is for people. ``planned`` is the extent of volumes that the machines' own daemons plan for, so that
    all have the same plan; None is no extent, as in jobs of older versions.
    """

    identity: str
    network: str
    digests: dict[str, str]
    mem: str | None
    threads: int | None
    config: str | None
    model: str
    form: dict[str, Any]
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
    planned: Triple | None = None

    @property
    def grid(self) -> Grid:
        """Returns the blocks of the output."""
        return Grid(self.output_extent, self.block)

    @property
    def place(self) -> Place:
        """Returns the folder beside the output in which the job keeps what is done, and a copy of this file."""
        return place_of(folder_of(self.output))

    @property
    def marks(self) -> Marks:
        """Returns the marks of this job, of those in the folder beside the output."""
        return Marks(self.place.inside(self.identity))


def folder_of(output: str) -> str:
    """Returns the folder beside an output in which its job keeps what is done."""
    return file_of(output) + ".job"


def to_json(spec: JobSpec) -> str:
    """Returns the text of the file."""
    return json.dumps({"znni_job": FORMAT, **dataclasses.asdict(spec)}, indent=2) + "\n"


def read_spec(path: str | os.PathLike) -> JobSpec:
    """Returns the job in a file, or that of an output, of which a copy lies beside it. Raises
    NotFoundError if there is none, InvalidError if it does not hold one."""
    path = os.fspath(path)
    if (remote_scheme(file_of(path)) and not path.endswith(".json")) or os.path.isdir(file_of(path)):
        path = f"{folder_of(path)}/{COPY}"
    try:
        found = json.loads(_read(path))
    except OSError as error:
        raise NotFoundError(f"{path}: {error.strerror}") from None
    except ValueError as error:
        raise InvalidError(
            f"{path}: no JSON, or cut short ({error}): name the job's output, which has a copy beside it"
        ) from None
    if not isinstance(found, dict) or found.pop("znni_job", None) != FORMAT:
        raise InvalidError(f"{path}: no job of format {FORMAT}: make it with 'znni-job plan'")
    return _checked(found, path)


def _read(path: str) -> bytes:
    if not remote_scheme(path):
        return pathlib.Path(path).read_bytes()
    folder, _, name = path.rpartition("/")
    data = place_of(folder).read(name)
    if data is None:
        place_of(folder).check()
        raise NotFoundError(f"{path}: there is no such file")
    return data


def _checked(found: dict[str, Any], path: str | os.PathLike) -> JobSpec:
    names = {field.name for field in dataclasses.fields(JobSpec)}
    found = {"planned": None, **found}  # older versions have no such field
    for name in sorted(names ^ found.keys()):
        state = "is missing" if name in names else "is unknown"
        raise InvalidError(f"{path}: field '{name}' {state}: make it again with 'znni-job plan'")
    for name in ("output_extent", "origin", "block", *(["planned"] if found["planned"] is not None else [])):
        least = 0 if name == "origin" else 1
        if not _is_triple(found[name], least):
            raise InvalidError(
                f"{path}: field '{name}': {found[name]!r} found, expected three whole numbers of at least {least}"
            )
        found[name] = tuple(found[name])
    for name in ("identity", "network", "model", "input", "output", "pad", "dtype"):
        if not isinstance(found[name], str):
            raise InvalidError(f"{path}: field '{name}': {found[name]!r} found, expected a text")
    return JobSpec(**found)


def _is_triple(value: Any, least: int) -> bool:
    return (
        isinstance(value, list)
        and len(value) == 3
        and all(isinstance(n, int) and not isinstance(n, bool) and n >= least for n in value)
    )

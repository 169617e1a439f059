"""Volumes and outputs in datasets of HDF5, FILE.h5:/dataset."""

from __future__ import annotations

import contextlib
import importlib
import os
from typing import Any

import numpy as np

from znni.box import Triple
from znni.errors import InvalidError, NotFoundError
from znni.stores.array import ArraySource, ArrayTarget
from znni.stores.file_at import open_file
from znni.stores.formats.hdf5_geometry import NAMES, read_geometry, write_geometry
from znni.stores.partial import Partial
from znni.stores.remote import remote_scheme
from znni.stores.seam import OutputFacts, Target

_CHUNK = 64  # voxels along each axis
_NOTE = "znni_"  # what the names of attributes begin with


def h5py_module() -> Any:
    """Returns h5py. Raises InvalidError where it is not installed."""
    try:
        return importlib.import_module("h5py")
    except ImportError:
        raise InvalidError("files of HDF5 need h5py: pip install 'znni[hdf5]'") from None


def _volumes(file: Any) -> list[str]:
    """Returns the names of all datasets that may be volumes."""
    found: list[str] = []
    file.visititems(lambda name, node: found.append("/" + name) if len(getattr(node, "shape", ())) in (3, 4) else None)
    return found


def _chosen(file: Any, path: str, dataset: str) -> str:
    """Returns the name of ``dataset``, or of the only volume if it is ""."""
    there = _volumes(file)
    if dataset and "/" + dataset.strip("/") in there:
        return dataset
    if not dataset and len(there) == 1:
        return there[0]
    what = f"no 3D or 4D dataset {dataset} found" if dataset else f"{len(there)} volumes found, expected a dataset"
    raise NotFoundError(f"{path}: {what}; volumes in the file: {', '.join(there) or 'none'}")


def open_dataset(path: str, dataset: str) -> Any:
    """Returns a dataset of any type; the only volume of the file if ``dataset`` is "". Close its ``file``. Raises
    NotFoundError if there is none."""
    is_here = not remote_scheme(path)
    if is_here and not os.path.exists(path):
        raise NotFoundError(f"{path}: there is no such file")
    try:
        file = h5py_module().File(path if is_here else open_file(path), "r")
    except OSError as error:
        raise InvalidError(f"{path}: not a file of HDF5, or cut short: {error}") from None
    try:
        return file[_chosen(file, path, dataset)]
    except BaseException:
        file.close()
        raise


def check_alone(path: str, dataset: str) -> None:
    """Raises InvalidError if a file that would be replaced holds datasets other than ``dataset``."""
    if not os.path.exists(path):
        return
    others: list[str] = []
    with contextlib.suppress(OSError), h5py_module().File(path, "r") as file:
        file.visititems(lambda name, node: others.append(f"/{name}") if hasattr(node, "shape") else None)
    lost = sorted(set(others) - {"/" + dataset.strip("/")})
    if lost:
        raise InvalidError(f"{path}: holds {', '.join(lost)}, which would be lost: name another file")


def _notes(array: Any) -> dict[str, Any] | None:
    """Returns what Hdf5Target wrote into the attributes of a dataset."""
    own = {key: value for key, value in array.attrs.items() if key.startswith(_NOTE) and key not in NAMES}
    named = {key.removeprefix(_NOTE): value for key, value in own.items()}
    return {key: value.tolist() if hasattr(value, "tolist") else value for key, value in named.items()} or None


class Hdf5Source(ArraySource):
    """Reads a dataset; the only volume of the file if ``dataset`` is ""."""

    def __init__(self, path: str, dataset: str) -> None:
        array = open_dataset(path, dataset)
        self._file = array.file
        try:
            super().__init__(array, f"{path}:{dataset}" if dataset else path)
            self.notes = _notes(array)
            self.geometry = read_geometry(array.attrs, self.name)
        except BaseException:
            self._file.close()
            raise

    def close(self) -> None:
        self._file.close()


class Hdf5Target(Target):
    """Writes a dataset of a new file, in compressed chunks."""

    def __init__(self, path: str, dataset: str, facts: OutputFacts, overwrite: bool) -> None:
        if not dataset.strip("/"):
            raise InvalidError(f"{path}: no dataset found, expected {path}:/dataset")
        self._h5py = h5py_module()
        self._dataset = dataset
        self._facts = facts
        self._partial = Partial(path, overwrite)
        self._file: Any = None
        self._target: ArrayTarget | None = None
        self.depth, self.rows = (min(_CHUNK, n) for n in facts.shape[1:3])
        self.folder = self._partial.folder

    def begin(self) -> None:
        self._file = self._h5py.File(self._partial.begin(), "w")
        shape = self._facts.file_shape
        chunks = (1,) * (len(shape) - 3) + tuple(min(_CHUNK, n) for n in shape[-3:])
        array = self._file.create_dataset(
            self._dataset, shape, self._facts.dtype, chunks=chunks, compression="gzip", compression_opts=1, shuffle=True
        )
        array.attrs.update({f"{_NOTE}{key}": value for key, value in self._facts.notes.items()})
        write_geometry(array.attrs, self._facts.geometry, len(shape))
        self._target = ArrayTarget(array, self._facts)

    def write(self, start: Triple, block: np.ndarray) -> None:
        assert self._target is not None
        self._target.write(start, block)

    def finish(self) -> None:
        self._file.close()
        self._file = None
        self._partial.finish()

    def discard(self) -> None:
        if self._file is not None:
            self._file.close()
        self._partial.discard()

"""Files of formats that other programs write: what they are by their first bytes, and the packages that read them."""

from __future__ import annotations

import importlib
import importlib.metadata
import os
import re
from typing import Any, NamedTuple

from znni.errors import InvalidError
from znni.stores.file_at import head_of


class Format(NamedTuple):
    """Is a format of files: its ``name``, the ``module`` that knows it, of which ``package``, of which version at
    least, and what the names of its files end with."""

    name: str
    module: str
    package: str
    least: tuple[int, ...]
    endings: tuple[str, ...]


FORMATS = {
    "tiff": Format("TIFF", "tifffile", "tifffile", (2024, 8, 30), (".tif", ".tiff")),
    "nifti": Format("NIfTI", "nibabel", "nibabel", (5, 0), (".nii", ".nii.gz")),
    "nrrd": Format("NRRD", "nrrd", "pynrrd", (1, 0), (".nrrd", ".nhdr")),
}
_STARTS = (
    (b"II*\0", "TIFF"),
    (b"MM\0*", "TIFF"),
    (b"II+\0", "TIFF"),
    (b"MM\0+", "TIFF"),
    (b"NRRD", "NRRD"),
    (b"\x1f\x8b", "gzip"),
    (b"\x93NUMPY", "NumPy"),
    (b"\x89HDF", "HDF5"),
    (b"\x89PNG", "PNG"),
    (b"\xff\xd8\xff", "JPEG"),
)
_MENDS = {"NumPy": ".npy", "HDF5": ".h5", "TIFF": ".tif", "NRRD": ".nrrd", "NIfTI": ".nii", "gzip": ".nii.gz"}
_HEAD = 352  # bytes


def kind_of_file(path: str) -> str:
    """Returns the key of the format that a file's name stands for; "" if it is none of these."""
    name = path.lower()
    return next((kind for kind, known in FORMATS.items() if name.endswith(known.endings)), "")


def module_of(kind: str) -> Any:
    """Returns the module that reads and writes files of a format. Raises InvalidError where it is not installed, or
    too old."""
    known = FORMATS[kind]
    try:
        module = importlib.import_module(known.module)
    except ImportError:
        raise InvalidError(f"files of {known.name} need {known.package}: pip install 'znni[files]'") from None
    version = importlib.metadata.version(known.package)
    if tuple(int(part) for part in re.findall("[0-9]+", version)[:3]) < known.least:
        raise InvalidError(
            f"{known.package} {version} found, expected {'.'.join(map(str, known.least))} or newer for files of "
            f"{known.name}: pip install 'znni[files]'"
        )
    return module


def format_found(head: bytes) -> str:
    """Returns the format of a file that begins with these bytes; "" if it is none that is known."""
    if head[344:348] in (b"n+1\0", b"ni1\0") or head[4:8] in (b"n+2\0", b"ni2\0"):
        return "NIfTI"
    return next((name for start, name in _STARTS if head.startswith(start)), "")


def check_format(path: str, expected: str) -> None:
    """Raises NotFoundError if there is no file at a path or an address, InvalidError if it is not of the format
    ``expected``."""
    if os.path.isdir(path):
        raise InvalidError(f"{path}: a folder found, expected a file of {expected}")
    head = head_of(path, _HEAD)
    found = format_found(head)
    if found == expected:
        return
    if not found:
        raise InvalidError(
            f"{path}: {f'first bytes {head[:8]!r}' if head else 'an empty file'} found, expected a file of {expected}"
        )
    mend = f": name it FILE{_MENDS[found]}" if found in _MENDS else ""
    raise InvalidError(f"{path}: a file of {found} found, expected one of {expected}{mend}")


def unreadable(path: str, format_name: str, error: Exception) -> InvalidError:
    """Returns the error for what a package raised about a file, in one line."""
    text = " ".join(str(error).split()) or type(error).__name__
    return InvalidError(f"{path}: no file of {format_name}, or damaged: {text:.300}")

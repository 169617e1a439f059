"""Finds the folder that a path or an address names."""

from __future__ import annotations

import os

from znni.stores.place import Folder, Place
from znni.stores.remote import Remote, remote_scheme


def place_of(path: str | os.PathLike) -> Place:
    """Returns the folder at a path. Raises InvalidError for an address that names none."""
    path = os.fspath(path)
    return Remote(path) if remote_scheme(path) else Folder(path)

"""The folder that holds the files of a store, on this machine or elsewhere."""

from __future__ import annotations

import abc
import contextlib
import glob
import json
import os
import pathlib
import re
import shutil
import threading
from collections.abc import Iterable
from typing import Any

from znni.errors import AccessError, InvalidError

_MOST_NAMES = 5  # of what lies in a folder, in an error
_UNFINISHED_SECONDS = 60.0  # in which any is finished, if it is


def sync(path: str | os.PathLike) -> None:
    """Returns once the file or folder is on disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def is_unfinished(name: str, of: str) -> bool:
    """Returns whether a file is called as what Folder.write() leaves of the file ``of`` if it is killed."""
    return re.fullmatch(rf"\.{re.escape(of)}\..+\.\d+\.\d+", name) is not None


def _remove_abandoned(path: pathlib.Path, new: pathlib.Path) -> None:
    """Removes what others that were killed left of a file that ``new`` becomes."""
    for old in path.parent.glob(f".{glob.escape(path.name)}.*"):
        with contextlib.suppress(OSError):  # another process was faster, or it is of another user
            if old != new and is_unfinished(old.name, path.name) and _is_abandoned(old, new):
                old.unlink()


def _is_abandoned(old: pathlib.Path, new: pathlib.Path) -> bool:
    """Returns whether a file was being written by a process of this machine that has ended, or a minute before
    ``new``."""
    name_and_host, pid, _ = old.name.rsplit(".", 2)
    if name_and_host == new.name.rsplit(".", 2)[0]:
        try:
            os.kill(int(pid), 0)
        except ProcessLookupError:
            return True
        except PermissionError:  # another user's, which may have the number of one that has ended
            pass
    return new.stat().st_mtime - old.stat().st_mtime > _UNFINISHED_SECONDS


class Place(abc.ABC):
    """Is a folder of files that are read and written as a whole. ``path`` is for messages, ``kvstore`` names the folder
    to TensorStore, ``room`` is the folder of this machine that has its disk space; None if there is none."""

    path: str
    kvstore: dict[str, Any]
    room: str | None

    @abc.abstractmethod
    def inside(self, name: str) -> Place:
        """Returns the folder ``name`` in this one."""

    @abc.abstractmethod
    def read(self, name: str) -> bytes | None:
        """Returns what a file holds; None if there is none. Raises AccessError if it must not be read."""

    @abc.abstractmethod
    def write(self, name: str, data: bytes) -> None:
        """Returns once the file lies there for good. It is there as a whole or not at all, whenever this stops."""

    def read_all(self, names: Iterable[str]) -> list[bytes | None]:
        """Returns what read() does, of several files."""
        return [self.read(name) for name in names]

    @abc.abstractmethod
    def remove(self, name: str) -> None:
        """Removes a file, if it is there."""

    @abc.abstractmethod
    def names(self) -> list[str]:
        """Returns the names of what lies in it, in order; none if there is no such folder, or listing it is dear."""

    @abc.abstractmethod
    def all_names(self, folder: str) -> list[str]:
        """Returns the names of all files in the folder ``folder`` of this one and in those within, in order."""

    @abc.abstractmethod
    def clear(self) -> None:
        """Removes all that lies in it."""

    def check(self) -> None:
        """Raises NotFoundError if there is no bucket."""

    def found(self) -> str:
        """Returns what was found in it, for an error."""
        names = self.names()
        more = ", ..." if len(names) > _MOST_NAMES else ""
        return f"a folder with {', '.join(names[:_MOST_NAMES])}{more} found" if names else "nothing found"

    @abc.abstractmethod
    def sync(self, names: list[str]) -> None:
        """Returns once those of the files that are there lie there for good."""

    def read_json(self, name: str) -> dict[str, Any] | None:
        """Returns the object in a file of JSON; None if there is no file. Raises InvalidError if it holds none."""
        data = self.read(name)
        if data is None:
            return None
        try:
            found = json.loads(data)
        except ValueError as error:
            raise InvalidError(f"{self.path}/{name}: no JSON, or cut short: {error}") from None
        if not isinstance(found, dict):
            raise InvalidError(f"{self.path}/{name}: {type(found).__name__} found, expected an object of JSON")
        return found


class Folder(Place):
    """Is a folder of this machine."""

    def __init__(self, path: str | os.PathLike) -> None:
        self.path = os.fspath(path).rstrip("/") or "/"
        self._folder = pathlib.Path(os.path.abspath(path))
        self.kvstore = {"driver": "file", "path": f"{self._folder}/"}
        self.room = str(self._folder.parent)

    def inside(self, name: str) -> Place:
        return Folder(os.path.join(self.path, name))

    def read(self, name: str) -> bytes | None:
        try:
            return (self._folder / name).read_bytes()
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            return None
        except PermissionError as error:
            raise AccessError(f"{self.path}/{name}: {error.strerror}") from None

    def write(self, name: str, data: bytes) -> None:
        path = self._folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        new = path.with_name(f".{path.name}.{os.uname().nodename}.{os.getpid()}.{threading.get_ident()}")
        try:
            new.write_bytes(data)
            sync(new)
            _remove_abandoned(path, new)
            os.replace(new, path)
        except BaseException:  # the disk is full
            new.unlink(missing_ok=True)
            raise
        sync(path.parent)

    def found(self) -> str:
        return "a file found, expected a folder" if self._folder.is_file() else super().found()

    def remove(self, name: str) -> None:
        (self._folder / name).unlink(missing_ok=True)

    def all_names(self, folder: str) -> list[str]:
        files = (path for path in (self._folder / folder).rglob("*") if path.is_file())
        return sorted(str(path.relative_to(self._folder)) for path in files)

    def clear(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)

    def names(self) -> list[str]:
        return sorted(os.listdir(self._folder)) if self._folder.is_dir() else []

    def sync(self, names: list[str]) -> None:
        files = [path for path in (self._folder / name for name in names) if path.is_file()]
        for path in [*files, *{file.parent for file in files}]:
            sync(path)

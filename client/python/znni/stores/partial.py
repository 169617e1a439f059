"""Names of files and folders that are written: PATH.partial until they are complete."""

from __future__ import annotations

import contextlib
import os
import pathlib
import shutil
import tempfile

from znni.errors import InvalidError


def _remove(path: pathlib.Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


class Partial:
    """Is the output at ``path``; what it lies in is made, from the folder ``container`` on, if that is not "". Raises
    InvalidError if it is there already and is not to be replaced, or if it has no folder to lie in."""

    def __init__(self, path: str | os.PathLike, overwrite: bool, container: str = "") -> None:
        self.path = pathlib.Path(path)
        if self.path.exists() and not overwrite:
            raise InvalidError(
                f"{path}: is there already: pass overwrite=True (programs: --overwrite), or name another"
            )
        self.folder = str(pathlib.Path(container or self.path).absolute().parent)
        if not os.path.isdir(self.folder):
            raise InvalidError(f"{path}: there is no folder {self.folder}")
        file = next((parent for parent in self.path.parents if parent.is_file()), None)
        if file is not None:
            raise InvalidError(f"{path}: {file} is a file, expected a folder")
        self.partial = self.path.with_name(self.path.name + ".partial")
        self._has_begun = False
        self._made: list[pathlib.Path] = []

    def begin(self) -> pathlib.Path:
        """Returns the name to write to, of which nothing is there."""
        self._made = [folder for folder in self.partial.parents if not folder.exists()]
        self.partial.parent.mkdir(parents=True, exist_ok=True)
        _remove(self.partial)
        self._has_begun = True
        return self.partial

    def check(self) -> None:
        """Does nothing: what is written has a name of its own."""

    def finish(self) -> None:
        """Gives the output its name, in place of what had it."""
        old = self._move_away() if self.path.is_dir() else None
        os.replace(self.partial, self.path)
        self._has_begun = False
        if old is not None:
            _remove(old)

    def _move_away(self) -> pathlib.Path:
        """Renames the folder that has the output's name, so that what is still written to it by name does not keep it
        from being removed. Returns its new name."""
        old = pathlib.Path(tempfile.mkdtemp(prefix=f".{self.path.name}.", dir=self.path.absolute().parent))
        os.rename(self.path, old / self.path.name)
        return old

    def discard(self) -> None:
        """Removes what was written since begin(), unless it is complete, and the folders that were made for it."""
        if not self._has_begun:
            return
        _remove(self.partial)
        with contextlib.suppress(OSError):  # others write into it
            for folder in self._made:
                folder.rmdir()

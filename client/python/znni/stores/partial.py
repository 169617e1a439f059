"""Names of files and folders that are written: PATH.partial until they are complete."""

from __future__ import annotations

import os
import pathlib
import shutil

from znni.errors import InvalidError


def _remove(path: pathlib.Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


class Partial:
    """Is the output at ``path``. Raises InvalidError if it is there already and is not to be replaced, or if it has no
    folder to lie in."""

    def __init__(self, path: str | os.PathLike, overwrite: bool) -> None:
        self.path = pathlib.Path(path)
        if self.path.exists() and not overwrite:
            raise InvalidError(f"{path}: is there already: pass overwrite=True, or name another")
        self.folder = str(self.path.absolute().parent)
        if not os.path.isdir(self.folder):
            raise InvalidError(f"{path}: there is no folder {self.folder}")
        self.partial = self.path.with_name(self.path.name + ".partial")
        self._has_begun = False

    def begin(self) -> pathlib.Path:
        """Returns the name to write to, of which nothing is there."""
        _remove(self.partial)
        self._has_begun = True
        return self.partial

    def finish(self) -> None:
        """Gives the output its name, in place of what had it, which whoever writes to it by name does no longer."""
        replaced = self.path.with_name(self.path.name + ".replaced")
        if self.path.is_dir():
            _remove(replaced)
            os.rename(self.path, replaced)
        os.replace(self.partial, self.path)
        self._has_begun = False
        _remove(replaced)

    def discard(self) -> None:
        """Removes what was written since begin(), unless it is complete."""
        if self._has_begun:
            _remove(self.partial)

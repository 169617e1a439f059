"""Folders for temporary files of this process."""

from __future__ import annotations

import contextlib
import os
import pathlib
import platform
import shutil
import tempfile

_PREFIX = f"znni-own-{platform.node()}-"  # where hosts share a file system, locks may hold on one of them only


class OwnFolder:
    """Is a new folder ``name``, which cleanup() removes. A process that was killed leaves its folder behind: the next
    OwnFolder of any process of this machine removes it. While the process lives, the kernel keeps a lock on the
    folder."""

    def __init__(self) -> None:
        _remove_abandoned()
        self.name = tempfile.mkdtemp(prefix=_PREFIX)
        self._handle = os.open(self.name, os.O_RDONLY)
        _lock(self._handle, waits=True)

    def cleanup(self) -> None:
        """Removes the folder with all that lies in it."""
        shutil.rmtree(self.name, ignore_errors=True)
        os.close(self._handle)


def _lock(handle: int, waits: bool) -> bool:
    """Locks a folder until the handle is closed. Returns whether it is locked: another process may have done so."""
    import fcntl  # not on Windows, where clients of other machines' daemons run, too

    try:
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if waits else fcntl.LOCK_NB))
    except OSError:  # or the file system has no locks
        return False
    return True


def _remove_abandoned() -> None:
    """Removes folders whose process has ended. Leaves empty ones: theirs may not have locked it yet."""
    for folder in pathlib.Path(tempfile.gettempdir()).glob("znni-own-*"):
        if folder.name.rpartition("-")[0] + "-" != _PREFIX:
            continue
        with contextlib.suppress(OSError):  # of another user, no folder, or removed meanwhile
            handle = os.open(folder, os.O_RDONLY | os.O_NOFOLLOW | os.O_DIRECTORY)
            try:
                if os.fstat(handle).st_uid == os.geteuid() and os.listdir(handle) and _lock(handle, waits=False):
                    shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(handle)

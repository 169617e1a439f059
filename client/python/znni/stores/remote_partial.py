"""Outputs that are written to a bucket. An object cannot be renamed, so they have their name from the first on."""

from __future__ import annotations

import logging

from znni.errors import Error, InvalidError
from znni.stores.remote import Remote

_LOG = logging.getLogger("znni")
_MARK = ".znni-partial"  # there while an output is not complete
_DESCRIPTIONS = ("zarr.json", ".zgroup", ".zarray", "attributes.json", "info")


class RemotePartial:
    """Is the output at an address. Raises InvalidError if it is there already and is not to be replaced, or cannot be
    written.

    What describes the output is to be written last: until then, it is no volume for those who read. Objects that a
    writer left behind that was killed are removed.
    """

    folder = None

    def __init__(self, path: str, overwrite: bool) -> None:
        self._place = Remote(path)
        if not self._place.is_writable:
            raise InvalidError(f"{path}: is read only: name an output in a folder or at s3://BUCKET/PATH")
        if not self._place.kvstore["path"]:
            raise InvalidError(f"{path}: a whole bucket found, expected s3://BUCKET/PATH")
        self._place.check()
        if not overwrite and self._is_taken():
            raise InvalidError(f"{path}: is there already: pass overwrite=True, or name another")
        self._has_begun = False

    def _is_taken(self) -> bool:
        """Returns whether there is more than what a writer left behind that was killed."""
        found = self._place.read_all([_MARK, *_DESCRIPTIONS])
        if any(data is not None for data in found[1:]):
            return True
        return found[0] is None and bool(self._place.all_names(""))

    def begin(self) -> str:
        """Returns the address to write to, of which nothing is there."""
        self._place.clear()
        self._place.write(_MARK, b"")
        self._has_begun = True
        return self._place.path

    def finish(self) -> None:
        """Says that the output is complete."""
        self._place.remove(_MARK)
        self._has_begun = False

    def discard(self) -> None:
        """Removes what was written since begin(), unless it is complete."""
        if not self._has_begun:
            return
        try:
            self._place.clear()
        except Error as error:  # what made the run fail is raised, not this
            _LOG.warning("%s: what was written is still there: %s", self._place.path, error)

"""Outputs that are written to a bucket. An object cannot be renamed, so they have their name from the first on."""

from __future__ import annotations

import logging
import uuid

from znni.errors import Error, InvalidError, ReplacedError
from znni.stores.remote import Remote

_LOG = logging.getLogger("znni")
_MARK = ".znni-partial"  # there while an output is not complete: it says which call writes it
_OF_OUTPUTS = ("zarr.json", ".zgroup", ".zarray", "attributes.json", "info")  # what describes them


class RemotePartial:
    """Is the output at an address. Raises InvalidError if something is there already and is not to be replaced, or if
    it cannot be written.

    What describes the output is to be written last, after check(): until then, it is no volume for those who read. What
    a writer left behind that was killed is only removed with ``overwrite``: it cannot be told from one that still
    writes.
    """

    folder = None

    def __init__(self, path: str, overwrite: bool) -> None:
        self._place = Remote(path)
        if not self._place.is_writable:
            raise InvalidError(f"{path}: is read only: name an output in a folder or at s3://BUCKET/PATH")
        if not self._place.kvstore["path"]:
            raise InvalidError(f"{path}: a whole bucket found, expected s3://BUCKET/PATH")
        self._place.check()
        self._overwrite = overwrite
        self._identity = uuid.uuid4().hex.encode()
        self._has_begun = False
        if not overwrite:
            self._check_free()

    def _check_free(self) -> None:
        """Raises InvalidError if anything is there."""
        mark, *described = self._place.read_all([_MARK, *_OF_OUTPUTS])
        if mark is not None:
            raise InvalidError(
                f"{self._place.path}: another call writes it, or was killed while it did: pass "
                "overwrite=True if none does, or name another"
            )
        if any(data is not None for data in described) or self._place.all_names(""):
            raise InvalidError(
                f"{self._place.path}: is there already: pass overwrite=True (programs: --overwrite), or name another"
            )

    def begin(self) -> str:
        """Returns the address to write to, of which nothing is there but a mark."""
        if self._overwrite:
            self._place.clear()
        else:
            self._check_free()
        self._place.write(_MARK, self._identity)
        self._has_begun = True
        return self._place.path

    def check(self) -> None:
        """Raises ReplacedError if another call began to write the output after begin()."""
        if self._place.read(_MARK) != self._identity:
            raise ReplacedError(f"{self._place.path}: another call has replaced this output while it was written")

    def finish(self) -> None:
        """Says that the output is complete. Raises ReplacedError as check() does."""
        self.check()
        self._place.remove(_MARK)
        self._has_begun = False

    def discard(self) -> None:
        """Removes what was written since begin(), unless it is complete or another call's."""
        if not self._has_begun:
            return
        try:
            self.check()
            self._place.clear()
        except ReplacedError:
            return
        except Error as error:  # what made the run fail is raised, not this
            _LOG.warning("%s: what was written is still there: %s", self._place.path, error)

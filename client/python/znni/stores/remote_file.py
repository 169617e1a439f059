"""Files at addresses, which are read part by part."""

from __future__ import annotations

import collections
import http.client
import io
import os
import re
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Sequence
from typing import Any

from znni.calls.patience import Patience, persist
from znni.errors import AccessError, Error, InvalidError, NotFoundError, UnavailableError
from znni.stores.remote import Remote, check_address

_BLOCK = 1 << 20  # bytes
_KEPT = 64  # blocks
_TOGETHER = 32  # blocks, likewise those that are read ahead
_AHEAD = 8
_LARGEST_BITS = 47  # of the length of an object
_PARTS = 32  # into which a range is cut that has the end of an object
_PATIENCE_SECONDS = 30.0
_TIMEOUT_SECONDS = 60.0


def first_missing(are_there: Callable[[Sequence[int]], Sequence[bool]]) -> int:
    """Returns the first number that is not there, of some that begin at 0; ``are_there`` is asked for several at
    once."""
    low, high = 0, 1 << _LARGEST_BITS
    asked: Sequence[int] = [(1 << bit) - 1 for bit in range(_LARGEST_BITS)]
    while low < high:
        count = sum(are_there(asked))
        low = asked[count - 1] + 1 if count else low
        high = asked[count] if count < len(asked) else high
        asked = range(low, high, max(1, (high - low) // _PARTS))
    return low


def _length_on_server(address: str) -> int:
    """Returns the length of a file on a web server. Raises InvalidError for a server that sends files as a whole."""
    parts = urllib.parse.urlsplit(address)
    path = urllib.parse.quote(urllib.parse.unquote(parts.path))
    request = urllib.request.Request(f"{parts.scheme}://{parts.netloc}{path}", headers={"Range": "bytes=0-0"})
    try:
        with urllib.request.urlopen(request, timeout=_TIMEOUT_SECONDS) as answer:
            found = re.fullmatch(r"bytes 0-0/(\d+)", answer.headers.get("Content-Range", ""))
    except urllib.error.HTTPError as error:
        if error.code == 416:  # of a file without bytes
            return 0
        raise _of_store(_kind_of(error.code)(f"{address}: {error.code} {error.reason}")) from None
    except http.client.InvalidURL as error:
        raise InvalidError(f"{address}: {error}") from None
    except (OSError, http.client.HTTPException) as error:  # the first also of urllib
        raise _of_store(UnavailableError(f"{address}: {getattr(error, 'reason', error) or repr(error)}")) from None
    if found is None:
        raise InvalidError(
            f"{address}: the whole file found, expected the bytes that were asked for: its server knows no ranges, "
            "copy the file to this machine"
        )
    return int(found[1])


def _of_store(error: Error) -> Error:
    error.is_of_store = True
    return error


def _kind_of(status: int) -> type[Error]:
    if status in (401, 403):
        return AccessError
    return NotFoundError if status in (404, 410) else UnavailableError if status in (429,) or status > 499 else Error


class RemoteFile(io.RawIOBase):
    """Is a file at an address. It is read in blocks, of which the last are kept, and some ahead. Raises NotFoundError
    if there is none, InvalidError if its server knows no ranges of bytes."""

    def __init__(self, path: str) -> None:
        super().__init__()
        check_address(path)
        self.name = path
        folder, _, self._file = path.rpartition("/")
        self._place = Remote(folder)
        self._length: int | None = None
        if not self._place.is_writable:
            self._file = urllib.parse.unquote(self._file)
            self._length = persist(lambda: _length_on_server(path), Patience(_PATIENCE_SECONDS))
        self._kept: collections.OrderedDict[int, bytes] = collections.OrderedDict()
        self._at = 0

    @property
    def length(self) -> int:
        """Returns the bytes that it has. Buckets do not tell, so that some of its bytes are asked for."""
        if self._length is None:
            self._length = first_missing(
                lambda asked: [part is not None for part in self.read_ranges([(at, at + 1) for at in asked])]
            )
        return self._length

    def read_ranges(self, ranges: Sequence[tuple[int, int]]) -> list[bytes | None]:
        """Returns the bytes from each begin to before each end; None where it ends before."""
        return self._place.read_ranges(self._file, ranges)

    def head(self, count: int) -> bytes:
        """Returns its first bytes."""
        found = None if self._length is not None else self.read_ranges([(0, count)])[0]
        if found is None:
            self.seek(0)
            found = self.read(count)
        return found or b""

    def ends_before(self, end: int) -> bool:
        """Returns whether it is shorter than so many bytes."""
        if self._length is not None:
            return self._length < end
        return end > 0 and self.read_ranges([(end - 1, end)])[0] is None

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        begin = {os.SEEK_SET: lambda: 0, os.SEEK_CUR: lambda: self._at, os.SEEK_END: lambda: self.length}[whence]()
        self._at = max(0, begin + offset)
        return self._at

    def readinto(self, buffer: Any) -> int:
        out = memoryview(buffer).cast("B")
        begin, end = self._at, min(self._at + len(out), self.length)
        while self._at < end:
            first = self._at // _BLOCK
            numbers = range(first, min(first + _TOGETHER, -(-end // _BLOCK)))
            for number, block in zip(numbers, self._blocks(numbers)):
                part = block[self._at - number * _BLOCK : end - number * _BLOCK]
                out[self._at - begin : self._at - begin + len(part)] = part
                self._at += len(part)
        return self._at - begin if end > begin else 0

    def _blocks(self, numbers: range) -> list[bytes]:
        """Returns blocks. Reads some more behind them if the one before them was read."""
        last = -(-self.length // _BLOCK)
        stop = min(numbers.stop + _AHEAD, last) if numbers.start - 1 in self._kept else numbers.stop
        if any(number not in self._kept for number in numbers):
            missing = [number for number in range(numbers.start, stop) if number not in self._kept]
            ranges = [(number * _BLOCK, min((number + 1) * _BLOCK, self.length)) for number in missing]
            for number, found in zip(missing, self.read_ranges(ranges)):
                if found is None:
                    raise InvalidError(f"{self.name}: became shorter while it was read: copy it to this machine")
                self._kept[number] = found
        for number in numbers:
            self._kept.move_to_end(number)
        found_blocks = [self._kept[number] for number in numbers]
        while len(self._kept) > _KEPT:
            self._kept.popitem(last=False)
        return found_blocks

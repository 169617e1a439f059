"""Sizes of memory and of files as people write them."""

from __future__ import annotations

import decimal
import re

from znni.errors import InvalidError

_SIZE = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([KMGTP]?)(?:I?B)?\s*", re.IGNORECASE)
_MOST = 2**63 - 1


def bytes_of(size: int | str | None, name: str) -> int:
    """Returns the bytes of 1048576, "512M", "1.5 GiB", in binary units; 0 for None. Raises InvalidError for anything
    else, and for less than one byte."""
    if size is None:
        return 0
    found = _SIZE.fullmatch(size) if isinstance(size, str) else None
    count = size
    if found:
        number = min(decimal.Decimal(found[1]), _MOST + 1)  # what is beyond stays beyond
        count = int(number * 1024 ** " KMGTP".index(found[2].upper() or " "))
    if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= _MOST:
        raise InvalidError(f"{name}: {size!r} found, expected bytes, such as 1048576 or '512M'")
    return count


def in_words(count: float, binary: bool = False) -> str:
    """Returns "1.11 TB" of bytes, or with ``binary``, as memory is named, "1.01 TiB"."""
    step, names = (1024, "B KiB MiB GiB TiB PiB") if binary else (1000, "B kB MB GB TB PB")
    *smaller, largest = names.split()
    for name in smaller:
        if round(count) < 1000:  # three digits
            return f"{count:.3g} {name}"
        count /= step
    return f"{count:.3g} {largest}"

"""Sizes of memory as people write them."""

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

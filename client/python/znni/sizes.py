"""Sizes of memory as people write them."""

from __future__ import annotations

import re

from znni.errors import InvalidError

_SIZE = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([KMGTP]?)(?:I?B)?\s*", re.IGNORECASE)


def bytes_of(size: int | str | None, name: str) -> int:
    """Returns the bytes of 1048576, "512M", "1.5 GiB", in binary units; 0 for None. Raises InvalidError for anything
    else, and for less than one byte."""
    if size is None:
        return 0
    found = _SIZE.fullmatch(size) if isinstance(size, str) else None
    if found:
        size = int(float(found[1]) * 1024 ** " KMGTP".index(found[2].upper() or " "))
    if not isinstance(size, int) or not 1 <= size < 2**63:
        raise InvalidError(f"{name}: {size!r} found, expected bytes, such as 1048576 or '512M'")
    return size

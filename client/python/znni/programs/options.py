"""Options that several programs have."""

from __future__ import annotations

import argparse

from znni.box import Triple

SHARD_HELP = (
    "voxels of a shard of an output in zarr, whole chunks, for example 512,512,512; such an output is of version 3 "
    "(default: no shards, a file for each chunk)"
)


def shard_of(text: str) -> Triple:
    """Returns the extent that an option names: "Z,Y,X", or one number for all. For argparse."""
    numbers = text.split(",")
    numbers = numbers * 3 if len(numbers) == 1 else numbers
    if len(numbers) != 3 or not all(number.isdecimal() and int(number) >= 1 for number in numbers):
        raise argparse.ArgumentTypeError(f"'{text}' found, expected Z,Y,X, for example 512,512,512")
    return tuple(map(int, numbers))  # type: ignore[return-value]

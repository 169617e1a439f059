"""Parts of an output, each of which goes through a stream of its own."""

from __future__ import annotations

from znni.box import Box, Triple


def cut(output: Triple, part: Triple) -> list[Box]:
    """Returns the parts of an output, row by row: all planes of so many rows and columns as ``part`` has, the last
    along y and x with the remainder."""
    _, height, width = output
    rows, columns = min(part[1], height), min(part[2], width)
    return [
        Box((0, y, x), (output[0], min(y + rows, height), min(x + columns, width)))
        for y in range(0, height, rows)
        for x in range(0, width, columns)
    ]

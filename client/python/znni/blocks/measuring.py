"""Computes blocks of a job as soon as it is planned, to know what the others take."""

from __future__ import annotations

import dataclasses
import math
import os
import pathlib
import re
import time
from collections.abc import Callable

from znni.blocks.grid import Grid
from znni.blocks.serving import Serving
from znni.blocks.spec import JobSpec
from znni.blocks.work import Worker

_SURE_SECONDS = 20.0  # a block that takes as long is not measured again
_STEADY = 0.8  # of what the block before took; a daemon's first blocks take longer
_MAX_BLOCKS = 4
_MAX_TRIED = 8  # of blocks between borders, and of all


@dataclasses.dataclass(frozen=True)
class Measured:
    """Describes what block ``number`` took, from its input to its mark; it is done now. ``before`` is the same of
    the daemon's first blocks, which take longer. ``peaks`` are the most bytes of memory that daemon and client held:
    None where that is not known."""

    number: int
    seconds: float
    before: tuple[tuple[int, float], ...]
    peaks: tuple[int | None, int | None]


def measure(spec: JobSpec, serving: Serving, say: Callable[[str], None]) -> Measured | None:
    """Computes one block, of full size and between borders if there is one, or some more that take little, until one
    takes about as long as the one before. Returns None, and says why, if one fails or nothing in them is of
    interest."""
    found: list[tuple[int, float]] = []
    worker = Worker(spec, serving, 0, say)
    try:
        for number in _likely(spec.grid):
            say(f"block {number} is computed, to measure it")
            began = time.monotonic()
            if worker.compute(number) is not None:
                break
            seconds = time.monotonic() - began
            if not (spec.marks.facts(number) or {}).get("skipped"):
                found.append((number, seconds))
            if _is_steady([seconds for _, seconds in found]):
                break
    finally:
        worker.close()
    if not found:
        say("no block was measured: the job takes what the daemon predicts, and what reading and writing take")
        return None
    return Measured(*found[-1], tuple(found[:-1]), _peaks(serving))


def _is_steady(times: list[float]) -> bool:
    """Returns whether the last block that was measured speaks for the others."""
    if not times:
        return False
    is_known = len(times) > 1 and times[-1] > _STEADY * times[-2]
    return is_known or len(times) == _MAX_BLOCKS or times[-1] > _SURE_SECONDS


def _likely(grid: Grid) -> list[int]:
    """Returns the numbers of blocks to measure: the one in the middle, some like it, and some of all, the largest
    first."""
    inner = [range(1, count - 1) if count > 2 else range(1) for count in grid.counts]
    alike = [grid.number(_at(inner, index)) for index in _some(math.prod(map(len, inner)))]
    others = sorted(_some(len(grid)), key=lambda number: -math.prod(grid.box(number).extent))
    return list(dict.fromkeys([grid.middle, *alike, *others]))


def _some(count: int) -> list[int]:
    """Returns some of the numbers below ``count``, as far from each other as from the ends."""
    picked = min(count, _MAX_TRIED)
    return [count * (2 * part + 1) // (2 * picked) for part in range(picked)]


def _at(inner: list[range], index: int) -> tuple[int, int, int]:
    """Returns the place of the ``index``-th of the blocks that lie in these ranges."""
    planes, rows, columns = inner
    return (
        planes[index // (len(rows) * len(columns))],
        rows[index // len(columns) % len(rows)],
        columns[index % len(columns)],
    )


def _peaks(serving: Serving) -> tuple[int | None, int | None]:
    """Returns the most memory that the daemon of this machine and this process held."""
    pid = serving.daemon_pid
    return _peak_of(pid) if pid else None, _peak_of(os.getpid())


def _peak_of(pid: int) -> int | None:
    """Returns the most bytes of memory that a process held; None where the system does not say."""
    try:
        status = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace")
    except OSError:
        return None
    match = re.search(r"^VmHWM:\s*(\d+) kB$", status, re.MULTILINE)
    return int(match[1]) * 1024 if match else None

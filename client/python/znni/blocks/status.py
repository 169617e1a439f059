"""Says how far a job of blocks is, and whether what lies on disk is what was computed."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from znni.blocks.coarser import forget_coarser, lacks_coarser
from znni.blocks.region import Region
from znni.blocks.spec import JobSpec
from znni.blocks.work import open_output


@dataclasses.dataclass(frozen=True)
class Status:
    """Counts the blocks of a job. ``failed`` has the reasons of those that failed last, by number; ``seconds`` is what
    the computed ones took, one after the other. ``lacks_coarser`` is set if the output is to have coarser resolutions,
    and has not."""

    blocks: int
    done: int
    skipped: int
    failed: dict[int, str]
    seconds: float
    lacks_coarser: bool = False

    @property
    def missing(self) -> int:
        """Returns how many are not done, failed ones included."""
        return self.blocks - self.done

    @property
    def seconds_left(self) -> float | None:
        """Returns what the missing blocks take on one machine; None if none was computed yet."""
        computed = self.done - self.skipped
        return self.missing * self.seconds / computed if computed else None


def status_of(spec: JobSpec) -> Status:
    """Returns how far the job is. Raises InvalidError if its output is not there."""
    open_output(spec)
    done, skipped, seconds, failed = 0, 0, 0.0, spec.marks.failed()
    for number, facts in spec.marks.done():
        done += 1
        failed.pop(number, None)
        skipped += bool(facts["skipped"])
        seconds += 0 if facts["skipped"] else facts["seconds"]
    return Status(len(spec.grid), done, skipped, failed, seconds, lacks_coarser(spec))


def verify(spec: JobSpec, repair: bool, say: Callable[[str], None]) -> tuple[list[int], list[int]]:
    """Reads all blocks that are done. Returns the numbers of those that are missing, and of those whose voxels differ
    from what was computed; with ``repair`` the latter are missing from now on, and so are the coarser resolutions."""
    marks, output, grid = spec.marks, open_output(spec), spec.grid
    missing, damaged = [], []
    for number in range(len(grid)):
        facts = marks.facts(number)
        if facts is None:
            missing.append(number)
        elif _stored(Region(output, grid.box(number))) != facts["digest"]:
            damaged.append(number)
            say(f"block {number}: its voxels are not those that were computed")
            if repair and len(damaged) == 1:
                forget_coarser(spec)  # before a mark goes: what is killed in between leaves none of damaged blocks
            if repair:
                marks.forget(number)
    return missing, damaged


def _stored(region: Region) -> str:
    """Returns the digest of a block, or why it cannot be read: a chunk that was cut short is not decompressed."""
    try:
        return region.digest()
    except Exception as error:  # whatever zarr and its codecs raise
        return f"unreadable: {error}"

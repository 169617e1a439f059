"""Says what workers take that share a machine, or the daemons of one."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np


@dataclasses.dataclass(frozen=True)
class Sharing:
    """Says that ``at_once`` blocks, which are several, took ``factor`` times as long at once as one alone."""

    at_once: int
    factor: float

    def of(self, workers: int) -> float:
        """Returns how many times as long a block takes while so many compute: each adds as much as another."""
        return 1.0 + (self.factor - 1.0) * (workers - 1) / (self.at_once - 1)

    def seconds(self, shares: np.ndarray) -> float:
        """Returns the seconds until the last of some workers is done, who share a machine and would each take that of
        ``shares`` alone. Those that go on are faster once one has ended."""
        steps = np.diff(np.sort(shares), prepend=0.0)
        return float(sum(step * self.of(len(steps) - done) for done, step in enumerate(steps)))


def groups_of(nodes: int, workers: int, servers: Sequence[str]) -> list[list[int]]:
    """Returns which of the ``nodes`` shards of a job share a machine: so many workers, or those whose servers, which
    are taken in turns, have the same host."""
    if not servers:
        return [list(range(first, min(first + workers, nodes))) for first in range(0, nodes, workers)]
    found: dict[str, list[int]] = {}
    for shard in range(nodes):
        found.setdefault(_host_of(servers[shard % len(servers)]), []).append(shard)
    return list(found.values())


def _host_of(server: str) -> str:
    return server.rpartition(":")[0]

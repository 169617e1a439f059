"""A run of a small job, computed by a fake daemon."""

import concurrent.futures
from unittest import mock

from job_case import JobCase
from znni.blocks import worker_pool
from znni.blocks.worker_pool import Run


class PoolCase(JobCase):
    """Has no pauses where a daemon does not start."""

    def setUp(self):
        super().setUp()
        self.enterContext(mock.patch.object(worker_pool, "_PAUSE_SECONDS", 0))

    def run_of(self, spec, **options):
        return Run(**{"identity": "1", "spec": spec, "servers": (self.address,), "model": "", "retries": 0, **options})

    def compute_all(self, compute):
        """Computes all blocks in three threads."""
        with concurrent.futures.ThreadPoolExecutor(3) as threads:
            return list(threads.map(compute, range(6)))

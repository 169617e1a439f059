"""Runs in one process, computed by many threads with fake daemons."""

import asyncio
import threading
from unittest import mock

from pool_case import PoolCase
from znni.blocks import serving, tasks, worker_pool
from znni.blocks.serving import Serving
from znni.blocks.tasks import Pools
from znni.blocks.worker_pool import Outcome
from znni.client import Client


class TasksTest(PoolCase):
    def with_own_daemons(self):
        """Lets daemons of this process be the fake one, and keeps all of them in `daemons`."""
        self.daemons = daemons = []
        address = self.address

        class Own(Serving):
            def __init__(self, **options):
                super().__init__(**{**options, "network": "net.onnx", "model": "same"})
                daemons.append(self)

            def _connect(self):
                return Client(address)

        self.enterContext(mock.patch.object(serving, "Serving", Own))

    def test_one_block_at_a_time_by_the_daemon_of_the_process(self):
        self.with_own_daemons()
        under_way, most = [], []

        def finish(_, number):
            under_way.append(number)
            threading.Event().wait(0.01)  # in which the others would begin
            most.append(len(under_way))
            under_way.remove(number)

        pools, run = Pools(), self.run_of(self.plan(), servers=())
        self.addCleanup(pools.end, "1")
        with mock.patch.object(worker_pool.Worker, "_finish", finish):
            self.compute_all(lambda number: pools.compute(run, number, ""))
        self.assertEqual((most, len(self.daemons)), ([1] * 6, 1))

    def test_another_run_has_the_daemon_of_the_process(self):
        self.with_own_daemons()
        pools, spec = Pools(), self.plan()
        for number in range(3):
            pools.compute(self.run_of(spec, servers=(), identity=str(number)), number, "")
        running = [daemon for daemon in self.daemons if daemon._client is not None]
        self.assertEqual((len(self.daemons), running), (3, self.daemons[2:]))
        for number in range(3):
            pools.end(str(number))
        self.assertIsNone(self.daemons[2]._client)

    def test_a_run_that_has_ended_computes_no_block(self):
        pools, run = Pools(), self.run_of(self.plan())
        self.assertIsNone(pools.compute(run, 0, self.address).reason)
        pools.end(run.identity)
        self.assertEqual(pools.compute(run, 1, self.address).reason, "the run has ended")
        self.assertEqual((pools._pools, len(self.daemon.headers)), ({}, 1))

    def test_all_runs_end_with_the_process(self):
        pools, spec = Pools(), self.plan()
        for number in range(2):
            pools.compute(self.run_of(spec, identity=str(number)), number, self.address)
        self.assertEqual(len(pools._pools), 2)
        pools.end_all()
        self.assertEqual(pools._pools, {})

    def test_the_process_has_its_pools(self):
        run = self.run_of(self.plan(), identity="of this test")
        self.assertEqual(tasks.compute(run, 0, self.address), Outcome(None, self.address))
        asyncio.run(tasks.end(run.identity))
        self.assertEqual(tasks.compute(run, 1, self.address).reason, "the run has ended")


if __name__ == "__main__":
    import unittest

    unittest.main()

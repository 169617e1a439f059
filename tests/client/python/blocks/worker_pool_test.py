"""Single blocks, computed by the workers of a pool with a fake daemon."""

import pickle
import threading
from unittest import mock

import grpc
import numpy as np
from fake_daemon import FakeDaemon, Refused
from job_case import EXTENT
from pool_case import PoolCase
from znni.blocks import worker_pool
from znni.blocks.serving import Serving
from znni.blocks.worker_pool import Outcome, WorkerPool
from znni.errors import InvalidError, NotFoundError, UnavailableError

TURNS_SECONDS = 60  # only a bound for a hang


class WorkerPoolTest(PoolCase):
    def pool(self, **options):
        """Returns a pool that is closed at the end."""
        found = WorkerPool(self.run_of(self.plan(overwrite=True), **options))
        self.addCleanup(found.close)
        return found

    def test_threads_compute_blocks_at_the_same_time(self):
        meet = threading.Barrier(3, timeout=TURNS_SECONDS)
        found = self.pool()
        with mock.patch.object(worker_pool.Worker, "_finish", lambda worker, number: meet.wait()):
            outcomes = self.compute_all(lambda number: found.compute(number, self.address))
        self.assertEqual(outcomes, [Outcome(None, self.address)] * 6)

    def test_makes_the_output(self):
        found = self.pool()
        self.compute_all(lambda number: found.compute(number, self.address))
        np.testing.assert_array_equal(self.found(), self.volume)

    def test_says_why_a_block_failed(self):
        self.daemon.streams = [Refused(grpc.StatusCode.INVALID_ARGUMENT, "a NaN")]
        found = self.pool()
        self.assertEqual([found.compute(number, self.address).reason for number in (2, 3)], ["a NaN", None])

    def test_an_error_of_all_blocks_can_be_pickled(self):
        found = pickle.loads(pickle.dumps(self.pool(model="other").compute(0, self.address)))
        self.assertEqual((type(found.error), str(found.error)), (NotFoundError, "unknown model: 'other'"))
        self.assertTrue(found.is_lasting)

    def test_a_block_is_not_tried_if_its_daemon_does_not_start(self):
        for error, text in (UnavailableError("no memory"), "no memory"), (OSError("disk full"), "OSError: disk full"):
            with mock.patch.object(worker_pool, "serving_of", side_effect=error):
                found = self.pool().compute(0, self.address)
            self.assertEqual((found.reason, str(found.error), found.is_lasting), (text, text, False))
            self.assertRegex(found.process, r"^\S+:\d+$")

    def test_the_next_block_asks_its_own_server_again(self):
        other = FakeDaemon(part=EXTENT[1:])
        with other.served() as address:
            found = self.pool(servers=(self.address, address), retries=1)
            self.daemon.streams = [Refused(grpc.StatusCode.RESOURCE_EXHAUSTED)]
            outcomes = [found.compute(number, self.address) for number in range(3)]
        self.assertEqual([outcome.server for outcome in outcomes], [address, self.address, self.address])
        self.assertEqual(len(other.headers), 1)

    def test_a_connection_ends_when_its_block_is_done(self):
        ended = []
        found = self.pool()

        def close(_, __):
            found.close()
            ended.append("closed")

        stop = Serving.stop

        def stop_and_note(serving):
            ended.append("stopped")
            stop(serving)

        with mock.patch.object(worker_pool.Worker, "_finish", close), mock.patch.object(Serving, "stop", stop_and_note):
            self.assertIsNone(found.compute(0, self.address).reason)
        self.assertEqual(ended, ["closed", "stopped"])

    def test_unused_connections_end_after_a_while(self):
        ended = threading.Event()
        end = worker_pool._end

        def end_and_note(*pair):
            end(*pair)
            ended.set()

        with (
            mock.patch.object(worker_pool, "_IDLE_SECONDS", 0.01),
            mock.patch.object(worker_pool, "_end", end_and_note),
        ):
            self.pool().compute(0, self.address)
            self.assertTrue(ended.wait(TURNS_SECONDS))

    def test_a_closed_pool_tries_no_block_again(self):
        found = self.pool(retries=5)

        def fail(*_):
            found.close()
            raise UnavailableError("gone")

        with mock.patch.object(worker_pool.Worker, "_predict", side_effect=fail) as tried:
            self.assertEqual(found.compute(0, self.address).reason, "gone")
        self.assertEqual(tried.call_count, 1)

    def test_a_pool_that_is_closed_while_a_daemon_starts_computes_nothing(self):
        found = self.pool()
        with mock.patch.object(worker_pool, "Worker", side_effect=lambda *_: found.close() or mock.Mock()):
            self.assertEqual(found.compute(0, self.address).reason, "the run has ended")

    def test_a_closed_pool_computes_no_block(self):
        found = self.pool()
        found.close()
        self.assertEqual(found.compute(1, self.address).reason, "the run has ended")
        self.assertEqual(self.daemon.headers, [])

    def test_the_output_of_another_job_is_a_lasting_error(self):
        found = self.pool()
        self.plan(overwrite=True)
        self.assertIsInstance(found.compute(0, self.address).error, InvalidError)


if __name__ == "__main__":
    import unittest

    unittest.main()

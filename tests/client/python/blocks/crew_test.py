"""Single blocks, computed by many threads of a process with a fake daemon."""

import asyncio
import concurrent.futures
import pickle
import threading
from unittest import mock

import grpc
import numpy as np
from znni.blocks import crew
from znni.blocks.crew import Crew, Crews, Outcome, Run
from znni.blocks.serving import Serving
from znni.client import Client
from znni.errors import InvalidError, NotFoundError, UnavailableError

from fake_daemon import FakeDaemon, Refused
from job_case import EXTENT, JobCase

TURNS_SECONDS = 60  # only a bound for a hang


class CrewTest(JobCase):
    def run_of(self, spec, **options):
        return Run(**{"identity": "1", "spec": spec, "servers": (self.address,), "model": "", "retries": 0, **options})

    def crew(self, **options):
        """Returns a crew that is dismissed at the end."""
        found = Crew(self.run_of(self.plan(overwrite=True), **options))
        self.addCleanup(found.dismiss)
        return found

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

        self.enterContext(mock.patch.object(crew, "Serving", Own))

    def setUp(self):
        super().setUp()
        self.enterContext(mock.patch.object(crew, "_PAUSE_SECONDS", 0))

    def compute_all(self, compute):
        """Computes all blocks in three threads."""
        with concurrent.futures.ThreadPoolExecutor(3) as threads:
            return list(threads.map(compute, range(6)))

    def test_threads_compute_blocks_at_the_same_time(self):
        meet = threading.Barrier(3, timeout=TURNS_SECONDS)
        found = self.crew()
        with mock.patch.object(crew.Worker, "_finish", lambda worker, number: meet.wait()):
            outcomes = self.compute_all(lambda number: found.compute(number, self.address))
        self.assertEqual(outcomes, [Outcome(None, self.address)] * 6)

    def test_makes_the_output(self):
        found = self.crew()
        self.compute_all(lambda number: found.compute(number, self.address))
        np.testing.assert_array_equal(self.found(), self.volume)

    def test_says_why_a_block_failed(self):
        self.daemon.streams = [Refused(grpc.StatusCode.INVALID_ARGUMENT, "a NaN")]
        found = self.crew()
        self.assertEqual([found.compute(number, self.address).reason for number in (2, 3)], ["a NaN", None])

    def test_an_error_of_all_blocks_is_told_to_who_deals_them_out(self):
        found = pickle.loads(pickle.dumps(self.crew(model="other").compute(0, self.address)))
        self.assertEqual((type(found.error), str(found.error)), (NotFoundError, "unknown model: 'other'"))
        self.assertTrue(found.is_lasting)

    def test_a_daemon_that_does_not_start_leaves_the_block_to_others(self):
        for error, text in (UnavailableError("no memory"), "no memory"), (OSError("disk full"), "OSError: disk full"):
            with mock.patch.object(crew, "Serving", side_effect=error):
                found = self.crew().compute(0, self.address)
            self.assertEqual((found.reason, str(found.error), found.is_lasting), (text, text, False))
            self.assertRegex(found.process, r"^\S+:\d+$")

    def test_the_next_block_asks_its_own_server_again(self):
        other = FakeDaemon(part=EXTENT[1:])
        with other.served() as address:
            found = self.crew(servers=(self.address, address), retries=1)
            self.daemon.streams = [Refused(grpc.StatusCode.RESOURCE_EXHAUSTED)]
            outcomes = [found.compute(number, self.address) for number in range(3)]
        self.assertEqual([outcome.server for outcome in outcomes], [address, self.address, self.address])
        self.assertEqual(len(other.headers), 1)

    def test_one_block_at_a_time_by_the_daemon_of_the_process(self):
        self.with_own_daemons()
        under_way, most = [], []

        def finish(_, number):
            under_way.append(number)
            threading.Event().wait(0.01)  # in which the others would begin
            most.append(len(under_way))
            under_way.remove(number)

        crews, run = Crews(), self.run_of(self.plan(), servers=())
        self.addCleanup(crews.dismiss, "1")
        with mock.patch.object(crew.Worker, "_finish", finish):
            self.compute_all(lambda number: crews.compute(run, number, ""))
        self.assertEqual((most, len(self.daemons)), ([1] * 6, 1))

    def test_another_run_has_the_daemon_of_the_process(self):
        self.with_own_daemons()
        crews, spec = Crews(), self.plan()
        for number in range(3):
            crews.compute(self.run_of(spec, servers=(), identity=str(number)), number, "")
        running = [daemon for daemon in self.daemons if daemon._client is not None]
        self.assertEqual((len(self.daemons), running), (3, self.daemons[2:]))
        for number in range(3):
            crews.dismiss(str(number))
        self.assertIsNone(self.daemons[2]._client)

    def test_a_connection_ends_when_its_block_is_done(self):
        ended = []
        found = self.crew()

        def dismiss(_, __):
            found.dismiss()
            ended.append("dismissed")

        stop = Serving.stop

        def stop_and_note(serving):
            ended.append("stopped")
            stop(serving)

        with mock.patch.object(crew.Worker, "_finish", dismiss), mock.patch.object(Serving, "stop", stop_and_note):
            self.assertIsNone(found.compute(0, self.address).reason)
        self.assertEqual(ended, ["dismissed", "stopped"])

    def test_a_run_that_has_ended_computes_no_more(self):
        crews, run = Crews(), self.run_of(self.plan())
        self.assertIsNone(crews.compute(run, 0, self.address).reason)
        crews.dismiss(run.identity)
        self.assertEqual(crews.compute(run, 1, self.address).reason, "the run has ended")
        found = self.crew()
        found.dismiss()
        self.assertEqual(found.compute(1, self.address).reason, "the run has ended")
        self.assertEqual(len(self.daemon.headers), 1)

    def test_what_nobody_dismisses_ends_by_itself(self):
        ended = threading.Event()
        end = crew._end

        def end_and_note(*pair):
            end(*pair)
            ended.set()

        with mock.patch.object(crew, "_IDLE_SECONDS", 0.01), mock.patch.object(crew, "_end", end_and_note):
            self.crew().compute(0, self.address)
            self.assertTrue(ended.wait(TURNS_SECONDS))

    def test_the_process_has_its_crews(self):
        run = self.run_of(self.plan(), identity="of this test")
        self.assertEqual(crew.compute(run, 0, self.address), Outcome(None, self.address))
        asyncio.run(crew.dismiss(run.identity))
        self.assertEqual(crew.compute(run, 1, self.address).reason, "the run has ended")

    def test_a_run_that_has_ended_tries_no_block_again(self):
        found = self.crew(retries=5)
        with mock.patch.object(crew.Worker, "_predict", side_effect=lambda *_: found.dismiss() or self.fail_once()) as tried:
            self.assertEqual(found.compute(0, self.address).reason, "gone")
        self.assertEqual(tried.call_count, 1)

    def fail_once(self):
        raise UnavailableError("gone")

    def test_a_run_that_ends_while_a_daemon_starts_computes_nothing(self):
        found = self.crew()
        with mock.patch.object(crew, "Worker", side_effect=lambda *_: found.dismiss() or mock.Mock()):
            self.assertEqual(found.compute(0, self.address).reason, "the run has ended")

    def test_a_worker_that_cannot_be_made_is_lasting_where_its_output_is_another(self):
        found = self.crew()
        self.plan(overwrite=True)
        self.assertIsInstance(found.compute(0, self.address).error, InvalidError)


if __name__ == "__main__":
    import unittest
    unittest.main()

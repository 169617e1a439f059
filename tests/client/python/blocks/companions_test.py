"""The other workers of a machine, beside one whose blocks are measured."""

import dataclasses
import threading
from unittest import mock

import numpy as np
from fake_daemon import FakeDaemon, Held
from job_case import JobCase
from script import use_script
from znni.blocks.companions import Companions
from znni.errors import NotServedError


class CompanionsTest(JobCase):
    def setUp(self):
        super().setUp()
        self.spec = self.plan()

    def companions(self, count, blocks=range(6)):
        return Companions(self.spec, iter(blocks), count, self.said.append)

    def done(self):
        return sorted(number for number, _ in self.spec.marks.done())

    def test_they_compute_until_there_is_no_block_left(self):
        with self.companions(2, [1, 2, 4]) as others:
            for thread in others._threads:
                thread.join()
            self.assertGreater(others.ready_seconds, 0)
        self.assertEqual((self.done(), self.spec.marks.failed()), ([1, 2, 4], {}))
        self.assertEqual(len(self.daemon.headers), 3)  # each once
        np.testing.assert_array_equal(self.found()[:64, 64:], self.volume[:64, 64:])

    def test_the_block_under_way_is_computed_to_its_end(self):
        begun, ended = threading.Event(), threading.Event()

        def blocks():
            begun.set()
            ended.wait()
            yield from (3, 5)

        with self.companions(1, blocks()) as others:
            begun.wait()
            others._ended = mock.Mock(is_set=ended.is_set, set=ended.set)
        self.assertEqual(self.done(), [3])

    def test_a_machine_of_one_worker_has_no_others(self):
        with self.companions(0) as others:
            self.assertEqual(others.ready_seconds, 0.0)
        self.assertEqual((self.done(), self.said), ([], []))

    def test_servers_are_taken_in_turns(self):
        other = FakeDaemon(part=self.daemon.part)
        self.spec.servers.append(self.enterContext(other.served()))
        with self.companions(1) as others:  # beside the one that has the first
            others._threads[0].join()
        self.assertEqual((len(self.daemon.headers), len(other.headers)), (0, 6))

    def test_what_is_under_way_is_given_up_after_an_error(self):
        self.daemon.streams = [Held(100), Held(100)]
        companions = self.companions(2)
        with self.assertRaises(KeyboardInterrupt), companions:
            self.daemon.held.wait()
            raise KeyboardInterrupt
        self.assertFalse(any(thread.is_alive() for thread in companions._threads))
        self.assertEqual((self.done(), self.spec.marks.failed()), ([], {}))

    def test_a_worker_that_has_no_daemon_is_told(self):
        use_script(self, "znnid", "ZNNID", 'echo "1 error --mem: too little" >&2', "exit 3")
        (self.folder / "same.onnx").touch()
        self.spec = dataclasses.replace(self.spec, network=str(self.folder / "same.onnx"), servers=[])
        expected = "^a worker beside this one: znnid ended with exit code 3: --mem: too little$"
        companions = self.companions(2)
        with self.assertRaisesRegex(NotServedError, expected), companions:
            self.fail("it began")
        self.assertFalse(any(thread.is_alive() for thread in companions._threads))


if __name__ == "__main__":
    import unittest

    unittest.main()

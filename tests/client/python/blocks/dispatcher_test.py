"""Blocks that are submitted again, with a fake cluster. dask_test.py has those of a real one."""

from unittest import mock

from pool_case import PoolCase
from znni.blocks.dispatcher import Dispatcher
from znni.blocks.worker_pool import Outcome
from znni.errors import NotFoundError, UnavailableError


class DispatcherTest(PoolCase):
    def test_processes_that_have_daemons_keep_a_run_alive(self):
        """One of two processes is unable, the other takes its time."""
        client = mock.Mock(nthreads=lambda: {"a": 1, "b": 1})
        dispatcher = Dispatcher(client, self.run_of(self.plan(), servers=(), retries=2))
        unable = [
            Outcome("no", "", kind("no"), process) for kind in (UnavailableError, NotFoundError) for process in "ab"
        ]
        for number in range(40):
            dispatcher._under_way["future"] = (number % 6, "")
            dispatcher._balance.take()
            with mock.patch.object(dispatcher, "_outcome", return_value=unable[number % 4 // 2 * 2]):
                dispatcher._record("future")
        dispatcher._under_way["future"] = (0, "")
        with mock.patch.object(dispatcher, "_outcome", return_value=unable[3]), self.assertRaises(NotFoundError):
            dispatcher._record("future")


if __name__ == "__main__":
    import unittest

    unittest.main()

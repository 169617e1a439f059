"""Jobs of blocks on a Dask cluster within this process, with fake daemons. tests/e2e has those of several processes."""

import pathlib
import sys
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).parent / "blocks"))

import distributed
import grpc
import numpy as np
import znni.dask
from fake_daemon import FakeDaemon, Refused
from job_case import EXTENT, JobCase
from s3_server import S3Server
from znni.blocks import serving, tasks, worker_pool
from znni.box import Box
from znni.errors import Error, InvalidError, NotFoundError, UnavailableError
from znni.pyramid import halvings
from znni.pyramid.halving import halve
from znni.stores.opening import open_source


class DaskTest(JobCase):
    """Has a cluster of one process with two threads, whose client is not the default. It ends before the daemon does,
    and waits for blocks that are under way."""

    def setUp(self):
        super().setUp()
        self.enterContext(mock.patch.object(worker_pool, "_PAUSE_SECONDS", 0))
        self.enterContext(mock.patch.object(tasks, "_pools", tasks.Pools()))
        self.local = self.enterContext(self.cluster())
        self.client = self.enterContext(distributed.Client(self.local, set_as_default=False))

    def cluster(self, workers=1):
        return distributed.LocalCluster(
            n_workers=workers,
            threads_per_worker=2,
            processes=False,
            dashboard_address=":0",
            local_directory=self.folder / "dask",
        )

    def predict(self, **options):
        """Computes the output in six blocks."""
        return znni.dask.predict(
            self.client,
            "same",
            self.input,
            self.output,
            **{"servers": [self.address], "block": (64, 64, 20), "retries": 0, "progress": False, **options},
        )

    def test_coarser_resolutions(self):
        self.output = str(self.folder / "out.ome.zarr")
        with mock.patch.object(halvings, "MOST", 64):
            self.assertFalse(self.predict().lacks_coarser)
        with open_source(f"{self.output}/1") as source:
            expected = halve(self.volume, (0, 1, 2), False)
            np.testing.assert_array_equal(source.read(Box((0, 0, 0), expected.shape))[0], expected)

    def test_a_volume_in_blocks(self):
        seen = []
        status = self.predict(progress=lambda done, total: seen.append((done, total)))
        self.assertEqual((status.blocks, status.done, status.failed), (6, 6, {}))
        self.assertEqual(tasks._pools._pools, {}, "the run has ended")
        np.testing.assert_array_equal(self.found(), self.volume)
        self.assertEqual((seen[0], seen[-1], len(seen)), ((0, self.volume.size), (self.volume.size,) * 2, 7))

    def test_a_bucket(self):
        server = S3Server()
        with server.served():
            self.output = "s3://data/out.zarr"
            self.daemon.streams = [Refused(grpc.StatusCode.RESOURCE_EXHAUSTED, "no turn for it")]
            with self.assertRaisesRegex(Error, r"s3://data/out.zarr: block \d failed: no turn for it"):
                self.predict()
            status = znni.dask.run(self.client, self.output, progress=False)
            self.assertEqual((status.done, status.missing, status.failed), (6, 0, {}))
            with open_source(self.output) as source:
                np.testing.assert_array_equal(source.read(Box((0, 0, 0), EXTENT))[0], self.volume)

    def test_padding_and_options_are_those_of_the_plan(self):
        self.volume[:, :64] = 0
        np.save(self.folder / "in.npy", self.volume)
        status = znni.dask.predict(
            self.client,
            "same",
            self.folder / "in.npy",
            self.output,
            servers=[self.address],
            block=(64, 64, 20),
            pad="reflect",
            skip_empty=True,
            progress=False,
        )
        self.assertEqual((status.done, status.skipped), (6, 2))
        np.testing.assert_array_equal(self.found(), self.volume)

    def test_failed_blocks_are_named_and_the_next_run_computes_them(self):
        self.daemon.streams = [Refused(grpc.StatusCode.RESOURCE_EXHAUSTED, "no turn for it")] * 2
        with self.assertRaisesRegex(Error, r"out.zarr: 2 blocks \(\d, \d\) failed: no turn for it"):
            self.predict()
        self.assertEqual(tasks._pools._pools, {}, "the run has ended")
        self.daemon.headers.clear()
        seen = []
        status = znni.dask.run(self.client, self.output, progress=lambda done, total: seen.append(done))
        self.assertEqual((status.missing, len(self.daemon.headers)), (0, 2))
        self.assertGreater(seen[0], 0)
        np.testing.assert_array_equal(self.found(), self.volume)

    def test_a_server_that_is_gone_leaves_its_blocks_to_the_others(self):
        with FakeDaemon(part=EXTENT[1:]).served() as gone:
            pass
        with mock.patch.object(serving, "_OTHERS_SECONDS", 0.1):
            self.predict(servers=[self.address, gone])
        np.testing.assert_array_equal(self.found(), self.volume)

    def test_all_servers_have_blocks(self):
        other = FakeDaemon(part=EXTENT[1:], voxel_seconds=1e-6)
        with other.served() as address:
            self.predict(servers=[self.address, address])
        self.assertEqual(len(self.daemon.headers) + len(other.headers), 6)
        self.assertTrue(self.daemon.headers and other.headers)

    def test_a_block_is_dealt_out_again_where_no_daemon_starts(self):
        made = mock.Mock(side_effect=[UnavailableError("no memory"), *[mock.DEFAULT] * 20], wraps=serving.Serving)
        with mock.patch.object(serving, "Serving", made):
            self.assertEqual(self.predict(retries=1).done, 6)
        made = mock.Mock(side_effect=UnavailableError("no memory"))
        with mock.patch.object(serving, "Serving", made), self.assertRaisesRegex(UnavailableError, "^no memory$"):
            self.predict(retries=2, overwrite=True)
        self.assertGreaterEqual(made.call_count, 4)

    def test_what_no_block_can_do_without_ends_the_run(self):
        self.plan()
        with self.assertRaisesRegex(NotFoundError, "^unknown model: 'other'$"):
            znni.dask.run(self.client, self.output, model="other", progress=False)
        self.assertEqual(tasks._pools._pools, {}, "the run has ended")
        self.assertEqual(self.daemon.headers, [])

    def test_an_interrupted_run_goes_on(self):
        def interrupt(done, _):
            if done:
                raise KeyboardInterrupt

        with self.assertRaises(KeyboardInterrupt):
            self.predict(progress=interrupt)
        self.assertEqual(tasks._pools._pools, {}, "the run has ended")
        self.assertEqual(znni.dask.run(self.client, self.output, progress=False).done, 6)
        np.testing.assert_array_equal(self.found(), self.volume)

    def test_workers_may_come_later(self):
        with self.cluster(workers=0) as local, distributed.Client(local, set_as_default=False) as client:
            self.plan()
            self.assertEqual(znni.dask.run(client, self.output, progress=lambda *_: local.scale(1)).done, 6)

    def test_a_cluster_that_ends_is_told(self):
        with self.cluster() as local, distributed.Client(local, set_as_default=False) as client:

            def cancel():
                client.cancel([distributed.Future(key, client) for key in client.futures])

            for end in (cancel, client.close):
                self.plan(overwrite=True)
                with self.assertRaisesRegex(UnavailableError, "the cluster of Dask has ended"):
                    znni.dask.run(client, self.output, progress=lambda done, _: done and end())

    def test_wrong_use_is_said_before_a_block_is_computed(self):
        for words, call in (
            ("pad", lambda: self.predict(pad="mirror")),
            ("multiples of the output's chunks", lambda: self.predict(block=(60, 64, 20))),
            ("servers: 'a:1' found, expected a list", lambda: self.predict(servers="a:1")),
            ("retries: -1 found", lambda: self.predict(retries=-1)),
            ("LocalCluster found, expected a distributed.Client", lambda: znni.dask.run(self.local, self.output)),
            ("No such file", lambda: znni.dask.run(self.client, self.folder / "no.json")),
        ):
            with self.assertRaisesRegex(Error, words):
                call()

    def test_workers_need_the_same_package(self):
        missing = ImportError("No module named 'znni'")
        for there, error, words in (
            ({"run.return_value": {"tcp://w:1": "0.0.9"}}, InvalidError, "tcp://w:1 of Dask: znni 0.0.9 found"),
            ({"run_on_scheduler.return_value": "0.0.8"}, InvalidError, "scheduler of Dask: znni 0.0.8 found"),
            ({"run.side_effect": missing}, UnavailableError, "No module named 'znni': install"),
            ({"run_on_scheduler.side_effect": missing}, UnavailableError, "No module named 'znni': install"),
        ):
            usual = {"run.return_value": {}, "run_on_scheduler.return_value": znni.__version__}
            with self.assertRaisesRegex(error, words):
                znni.dask._check_workers(mock.Mock(**{**usual, **there}))


if __name__ == "__main__":
    unittest.main()

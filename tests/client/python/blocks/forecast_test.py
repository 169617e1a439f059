"""What is said of a job."""

import contextlib
import dataclasses
import math

import numpy as np
from job_case import EXTENT, JobCase
from znni.blocks.dealing import shares
from znni.blocks.estimate import Sample
from znni.blocks.forecast import Fleet, Forecast, Ready, summary
from znni.blocks.kept import Kept
from znni.blocks.measuring import Measured
from znni.blocks.pricing import Pricing
from znni.blocks.sharing import Sharing, groups_of
from znni.client import Client
from znni.job import plan_job
from znni.stores.opening import open_source

BLOCK = 64 * 64 * 20 * 1e-6  # predicted seconds


class ForecastTest(JobCase):
    @contextlib.contextmanager
    def forecast(self, workers=1, kept=None, **changes):
        """Yields the forecast of a job of six blocks on two machines, or of two workers on one, the job and prices.
        Each machine has a server, unless others are named."""
        servers = {"servers": [self.address, "other:1"]}
        spec = dataclasses.replace(self.plan(overwrite=True), **{**servers, **changes})
        with open_source(self.input) as source, Client(self.address) as client:
            model = client.model("same")
            pricing = Pricing(client, plan_job(model, source, None, "none", "float32"))
            yield Forecast(spec, pricing, model, Fleet(3.0, workers), kept=kept), spec, pricing

    def test_a_measured_block_scales_all(self):
        measured = Measured((Sample(1, 3 * BLOCK),), (Sample(0, 3 * BLOCK + 0.5),), (None, None))
        with self.forecast(network="net.onnx") as (forecast, spec, pricing):
            told = forecast.told(Ready(2.0), measured)
            longest = pricing.longest(Kept(spec.grid), 2)
        self.assertAlmostEqual(told["hours"] * 3600, 2.5 + 3 * longest)
        self.assertAlmostEqual(told["price"], 3.0 * 2 * told["hours"])
        self.assertAlmostEqual(told["start_seconds"], 2.5)
        self.assertAlmostEqual(told["seconds_of_a_block"], 3 * BLOCK)
        self.assertEqual((told["measured"]["block"], told["measured"]["others"]), (1, []))
        text = summary(dataclasses.replace(spec, predicted=told))
        self.assertRegex(
            text, "^6 blocks of 64x64x20 voxels on 2 machines: predicted .* s, 0.25 s a block, 0.00 in all"
        )
        self.assertIn("\n2.5 s of this is for a daemon to start and end; block 1, which is done, took 0.25 s", text)
        self.assertRegex(text, ": 3.00 times what the daemon predicts\n")

    def test_each_extent_that_was_measured_scales_those_like_it(self):
        thin, thinner = 64 * 2 * 20 * 1e-6, 6 * 2 * 20 * 1e-6
        with self.forecast() as (forecast, spec, _):
            self.assertEqual([spec.grid.box(number).extent[:2] for number in (2, 5)], [(64, 2), (6, 2)])
            told = forecast.told(Ready(0.0), Measured((Sample(0, 2 * BLOCK), Sample(2, 6 * thin)), (), (None, None)))
        seconds = {one["block"]: one["seconds"] for one in told["classes"]}
        self.assertAlmostEqual(seconds[2], 6 * thin)
        self.assertAlmostEqual(seconds[5], 6 * thinner)
        self.assertAlmostEqual(told["hours"] * 3600, 2 * BLOCK + 6 * thin + 2 * 6 / 64 * BLOCK)  # blocks 0, 2, 4
        (other,) = told["measured"]["others"]
        self.assertEqual((other["block"], other["seconds"]), (2, 6 * thin))
        self.assertAlmostEqual(other["factor"], 6)
        text = summary(dataclasses.replace(spec, predicted=told))
        self.assertIn("2.00 times what the daemon predicts; that of another extent took 6.00 times that\n", text)

    def test_a_machine_plans_that_has_no_plan(self):
        with self.forecast(network="net.onnx") as (forecast, spec, pricing):
            longest = pricing.longest(Kept(spec.grid), 2)
            told = forecast.told(Ready(2.0, 5.0))
        self.assertAlmostEqual(told["hours"] * 3600, 7.0 + longest)
        self.assertEqual((told["start_seconds"], told["planning_seconds"]), (2.0, 5.0))
        text = summary(dataclasses.replace(spec, predicted=told))
        self.assertIn("\n7 s of this is for a daemon to plan (5 s), start and end; blocks take what", text)
        with self.forecast(network="net.onnx", nodes=1) as (forecast, spec, pricing):
            told = forecast.told(Ready(2.0, 5.0))  # this machine has its plan
            self.assertAlmostEqual(told["hours"] * 3600, 2.0 + pricing.longest(Kept(spec.grid), 1))

    def test_workers_that_share_a_machine(self):
        measured = Measured((Sample(1, 3 * BLOCK),), (), (None, None))
        with self.forecast(workers=2, network="net.onnx") as (forecast, spec, pricing):
            told = forecast.told(Ready(2.0, 5.0), measured)
            longest = pricing.longest(Kept(spec.grid), 2)
        self.assertAlmostEqual(told["hours"] * 3600, 2.0 + 3 * longest)
        self.assertAlmostEqual(told["price"], 3.0 * told["hours"])
        self.assertEqual((told["workers_per_machine"], told["planning_seconds"]), (2, 0.0))
        text = summary(dataclasses.replace(spec, predicted=told))
        self.assertIn(" on 1 machine of 2 workers: predicted ", text)
        self.assertRegex(text, r"\neach of the 2 workers of a machine needs .* MiB for znni-job\n")
        self.assertRegex(
            text, r"\nthis is predicted as if each worker .*: what 2 workers take .* was not measured, .*$"
        )

    def test_what_several_blocks_at_once_take_counts(self):
        measured = Measured((Sample(1, 3 * BLOCK),), (Sample(0, 3 * BLOCK + 0.5),), (None, None), Sharing(2, 1.5))
        with self.forecast(workers=2, network="net.onnx") as (forecast, spec, _):
            told = forecast.told(Ready(2.0), measured)
        alone = shares(Kept(spec.grid), {n: 3 * s for n, s in forecast.predicted.items()}, 2)
        first, second = sorted(alone)
        self.assertAlmostEqual(told["hours"] * 3600, 2.0 + 1.5 * 0.5 + 1.5 * first + (second - first))
        self.assertAlmostEqual(told["seconds_of_a_block"], 1.5 * 3 * BLOCK)
        self.assertAlmostEqual(told["classes"][0]["seconds"], 1.5 * 3 * BLOCK)
        self.assertAlmostEqual(told["price"], 3.0 * told["hours"])
        self.assertEqual(told["measured"]["sharing"], {"at_once": 2, "factor": 1.5})
        text = summary(dataclasses.replace(spec, predicted=told))
        self.assertRegex(
            text, r"\n2 workers share a machine: 2 blocks at once took 1.50 times as long as one alone, .*$"
        )

    def test_more_nodes_than_servers_share_them(self):
        measured = Measured((Sample(1, 3 * BLOCK),), (), (None, None), Sharing(2, 2.0))
        for servers, sharers in ((["a:1"], 4), (["a:1", "b:1"], 2), (["a:1", "a:2"], 4), (["a:1", "b:1", "a:2"], 3)):
            with self.forecast(servers=servers, nodes=4) as (forecast, spec, _):
                told = forecast.told(Ready(2.0), measured)
                alone = shares(Kept(spec.grid), {n: 3 * s for n, s in forecast.predicted.items()}, 4)
            self.assertEqual(told["workers_sharing"], sharers)
            groups = groups_of(4, 1, servers)
            self.assertEqual(told["machines"], len(groups))
            self.assertAlmostEqual(told["price"], 3.0 * len(groups) * told["hours"])
            self.assertAlmostEqual(told["hours"] * 3600, max(sum(alone[group]) for group in groups))  # 2.0: no gain
            self.assertIn(
                f"\n{sharers} workers share a machine: 2 blocks", summary(dataclasses.replace(spec, predicted=told))
            )

    def test_blocks_that_a_mask_leaves_out_are_not_counted(self):
        found = np.array([[[True], [False], [True]], [[False], [False], [True]]])
        with self.forecast() as (forecast, spec, _):
            all_of_them = forecast.told(Ready(0.0))
            kept = Kept(spec.grid, found)
        self.assertEqual((all_of_them["blocks_left_out"], all_of_them["voxels_computed"]), (0, math.prod(EXTENT)))
        with self.forecast(kept=kept) as (forecast, spec, _):
            told = forecast.told(Ready(0.0))
        voxels = 20 * (64 * 64 + 64 * 2 + 6 * 2)
        self.assertEqual((told["blocks"], told["blocks_left_out"], told["voxels_computed"]), (6, 3, voxels))
        self.assertEqual((told["bytes_read"], told["bytes_written"]), (4 * voxels, 4 * voxels))
        self.assertAlmostEqual(told["hours"] * 3600, 20 * (64 * 64 + 64 * 2) * 1e-6)  # blocks 0 and 2, of 0, 2 and 4
        self.assertAlmostEqual(told["price"], 3.0 * 2 * told["hours"])
        text = summary(dataclasses.replace(spec, predicted=told))
        self.assertRegex(text, "^6 blocks of 64x64x20 voxels, of which the mask leaves out 3, on 2 machines: predicted")

    def test_without_a_measure_it_is_the_prediction(self):
        with self.forecast() as (forecast, spec, pricing):
            told = forecast.told(Ready(2.0))
            self.assertAlmostEqual(told["hours"] * 3600, pricing.longest(Kept(spec.grid), 2))  # servers need no start
        self.assertEqual((told["measured"], told["start_seconds"]), (None, 0.0))
        text = summary(dataclasses.replace(spec, predicted=told))
        self.assertIn("\nblocks take what the daemon predicts, without what reading and writing add", text)

    def test_a_daemon_that_predicts_nothing(self):
        self.daemon.voxel_seconds = 0.0
        with self.forecast() as (forecast, spec, _):
            told = forecast.told(Ready(0.0), Measured((Sample(2, 3.0),), (Sample(0, 99.0),), (None, None)))
        self.assertAlmostEqual(told["seconds_of_a_block"], 3.0 * 64 / 2)  # by voxels
        summary(dataclasses.replace(spec, predicted=told))

    def test_memory_is_that_of_plan_and_client(self):
        self.daemon.properties = {"plan_memory_bytes": str(1 << 30)}
        with self.forecast(network="net.onnx") as (forecast, spec, _):
            told = forecast.told(Ready(0.0))["memory_bytes"]
            more = forecast.told(Ready(0.0), Measured((Sample(2, 1.0),), (), (5 << 30, 6 << 30)))["memory_bytes"]
        self.assertEqual(told["daemon"], math.ceil(((1 << 30) + (64 << 20)) * 32 / 25))
        self.assertGreater(told["client"], 64 * 64 * 20 * 4 * 2)
        self.assertEqual(more, {"daemon": 5 << 30, "client": 6 << 30})
        text = summary(dataclasses.replace(spec, predicted=forecast.told(Ready(0.0))))
        self.assertRegex(text, r"\na machine needs 1.36 GiB for its daemon and \d+ MiB for znni-job$")

    def test_a_machine_without_a_daemon_needs_no_memory_for_one(self):
        self.daemon.properties = {"plan_memory_bytes": str(1 << 30)}
        with self.forecast() as (forecast, _, _):
            self.assertEqual(forecast.told(Ready(0.0))["memory_bytes"]["daemon"], 0)


if __name__ == "__main__":
    import unittest

    unittest.main()

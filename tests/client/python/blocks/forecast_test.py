"""What is said of a job."""

import contextlib
import dataclasses
import math

from job_case import JobCase
from znni.blocks.forecast import Forecast, summary
from znni.blocks.measuring import Measured
from znni.blocks.pricing import Pricing
from znni.client import Client
from znni.job import plan_job
from znni.stores.opening import open_source

BLOCK = 64 * 64 * 20 * 1e-6  # predicted seconds


class ForecastTest(JobCase):
    @contextlib.contextmanager
    def forecast(self, **changes):
        """Yields the forecast of a job of six blocks on two machines, and the job."""
        spec = dataclasses.replace(self.plan(), **changes)
        with open_source(self.input) as source, Client(self.address) as client:
            model = client.model("same")
            pricing = Pricing(client, plan_job(model, source, None, "none", "float32"))
            yield Forecast(spec, pricing, model, 3.0), spec, pricing

    def test_a_measured_block_scales_all(self):
        measured = Measured(1, 3 * BLOCK, ((0, 3 * BLOCK + 0.5),), (None, None))
        with self.forecast(network="net.onnx") as (forecast, spec, pricing):
            told = forecast.told(2.0, measured)
            longest = pricing.longest(spec.grid, 2)
        self.assertAlmostEqual(told["hours"] * 3600, 2.5 + 3 * longest)
        self.assertAlmostEqual(told["price"], 3.0 * 2 * told["hours"])
        self.assertAlmostEqual(told["start_seconds"], 2.5)
        self.assertAlmostEqual(told["seconds_of_a_block"], 3 * BLOCK)
        self.assertEqual(told["measured"]["block"], 1)
        text = summary(dataclasses.replace(spec, predicted=told))
        self.assertRegex(
            text, "^6 blocks of 64x64x20 voxels on 2 machines: predicted .* s, 0.25 s a block, 0.00 in all"
        )
        self.assertIn(
            "\n2.5 s of this is for a daemon to plan, start and end; block 1, which is done, took 0.25 s", text
        )
        self.assertIn(": 3.00 times what the daemon predicts", text)

    def test_a_measured_block_may_be_a_thin_one(self):
        thin = 64 * 2 * 20 * 1e-6
        with self.forecast() as (forecast, spec, _):
            self.assertEqual(spec.grid.box(2).extent, (64, 2, 20))
            told = forecast.told(0.0, Measured(2, 5 * thin, (), (None, None)))
        self.assertAlmostEqual(told["seconds_of_a_block"], 5 * BLOCK)

    def test_without_a_measure_it_is_the_prediction(self):
        with self.forecast() as (forecast, spec, pricing):
            told = forecast.told(2.0)
            self.assertAlmostEqual(told["hours"] * 3600, pricing.longest(spec.grid, 2))  # servers need no start
        self.assertEqual((told["measured"], told["start_seconds"]), (None, 0.0))
        text = summary(dataclasses.replace(spec, predicted=told))
        self.assertIn("\nblocks take what the daemon predicts, without what reading and writing add", text)

    def test_a_daemon_that_predicts_nothing(self):
        self.daemon.voxel_seconds = 0.0
        with self.forecast() as (forecast, spec, _):
            told = forecast.told(0.0, Measured(2, 3.0, ((0, 4.0),), (None, None)))
        self.assertEqual(told["seconds_of_a_block"], 0.0)
        summary(dataclasses.replace(spec, predicted=told))

    def test_memory_is_that_of_plan_and_client(self):
        self.daemon.properties = {"plan_memory_bytes": str(1 << 30)}
        with self.forecast(network="net.onnx") as (forecast, spec, _):
            told = forecast.told(0.0)["memory_bytes"]
            more = forecast.told(0.0, Measured(2, 1.0, (), (5 << 30, 6 << 30)))["memory_bytes"]
        self.assertEqual(told["daemon"], math.ceil(((1 << 30) + (64 << 20)) * 32 / 25))
        self.assertGreater(told["client"], 64 * 64 * 20 * 4 * 2)
        self.assertEqual(more, {"daemon": 5 << 30, "client": 6 << 30})
        text = summary(dataclasses.replace(spec, predicted=forecast.told(0.0)))
        self.assertRegex(text, r"\na machine needs 1.36 GiB for its daemon and \d+ MiB for znni-job$")

    def test_a_machine_without_a_daemon_needs_no_memory_for_one(self):
        self.daemon.properties = {"plan_memory_bytes": str(1 << 30)}
        with self.forecast() as (forecast, _, _):
            self.assertEqual(forecast.told(0.0)["memory_bytes"]["daemon"], 0)


if __name__ == "__main__":
    import unittest

    unittest.main()

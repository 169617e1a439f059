"""Prices of blocks."""

import contextlib
import math
import random

import numpy as np
from job_case import EXTENT, JobCase
from znni.blocks.dealing import total
from znni.blocks.grid import Grid, Shard
from znni.blocks.kept import Kept
from znni.blocks.pricing import Pricing
from znni.client import Client
from znni.job import plan_job
from znni.stores.opening import open_source


class PricingTest(JobCase):
    @contextlib.contextmanager
    def pricing(self, pad="none", **properties):
        """Yields prices of blocks of all of the volume's output."""
        self.daemon.properties = properties
        with open_source(self.input) as source, Client(self.address) as client:
            job = plan_job(client.model("same"), source, None, pad, "float32")
            yield Pricing(client, job), job.output

    @staticmethod
    def read_by(box, before, after):
        """Returns the extent of what a block reads of the volume: surroundings end at its border."""
        sides = zip(*box, before, after, EXTENT)
        return [min(stop + b, n) - max(start - a, 0) for start, stop, a, b, n in sides]

    def test_a_block_of_a_network_that_pads_is_charged_what_it_reads_where_it_lies(self):
        before, after = (3, 1, 2), (5, 1, 2)
        with self.pricing(padding_before="3,1,2", padding_after="5,1,2") as (pricing, output):
            for block in ((8, 16, 4), (16, 64, 20), (70, 33, 6)):
                grid = Grid(output, block)
                read = [self.read_by(grid.box(number), before, after) for number in range(len(grid))]
                self.assertEqual(pricing.voxels_read(Kept(grid)), sum(map(math.prod, read)))
                self.assertAlmostEqual(total(Kept(grid), pricing.table(grid)), 1e-6 * sum(map(math.prod, read)))
                self.assertEqual(pricing.widest(grid), tuple(map(max, zip(*read))))

    def test_padding_is_computed_but_not_read(self):
        with self.pricing("reflect", field_of_view="5,1,3") as (pricing, output):
            grid = Grid(output, (32, 130, 20))
            self.assertEqual(output, EXTENT)
            self.assertEqual(pricing.voxels_read(Kept(grid)), (34 + 36 + 8) * 130 * 20)
            self.assertAlmostEqual(total(Kept(grid), pricing.table(grid)), 1e-6 * (36 + 36 + 10) * 130 * 22)
            self.assertEqual(pricing.widest(grid), (36, 130, 22))

    def test_blocks_that_are_left_out_read_nothing(self):
        before, after = (3, 1, 2), (5, 1, 2)
        draw = np.random.default_rng(5)
        with self.pricing(padding_before="3,1,2", padding_after="5,1,2") as (pricing, output):
            for block in ((8, 16, 4), (16, 64, 20), (70, 33, 6)):
                grid = Grid(output, block)
                kept = Kept(grid, draw.random(grid.counts) < 0.5)
                read = [self.read_by(grid.box(number), before, after) for number in range(len(grid)) if number in kept]
                self.assertEqual(pricing.voxels_read(kept), sum(map(math.prod, read)))

    def test_the_longest_shard_is_that_of_the_machine_with_the_most_work(self):
        draw = random.Random(3)
        with self.pricing(padding_before="3,1,2", padding_after="5,1,2") as (pricing, output):
            for _ in range(10):
                grid = Grid(output, tuple(draw.randint(9, n) for n in EXTENT))
                nodes = draw.randint(1, 2 * len(grid))
                shards = [Shard(index, nodes).numbers(grid) for index in range(nodes)]
                seconds = [sum(pricing.seconds(grid.box(number)) for number in numbers) for numbers in shards]
                self.assertAlmostEqual(pricing.longest(Kept(grid), nodes), max(seconds))

    def test_each_extent_is_asked_for_once(self):
        asked = []
        with self.pricing(field_of_view="3,3,3") as (pricing, output):
            outlook = pricing._client.outlook
            pricing._client.outlook = lambda header: asked.append(header) or outlook(header)
            grid = Grid(output, (16, 16, 9))
            pricing.table(grid)
            extents = {tuple(grid.box(number).extent) for number in range(len(grid))}
        self.assertEqual(len(asked), len(extents))
        self.assertEqual(np.prod(grid.counts), len(grid))


if __name__ == "__main__":
    import unittest

    unittest.main()

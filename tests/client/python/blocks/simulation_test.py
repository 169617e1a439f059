"""Simulated jobs, against what is known without a simulation."""

import dataclasses
import math
import statistics
import unittest

from znni.blocks.grid import Grid
from znni.blocks.scenario import DASK, SHARDS, Machines, Work
from znni.blocks.simulation import Simulation

HOUR = 3600.0


def row(count, seconds=(10.0,), read=0.0, written=0.0, length=None):
    """Returns work of so many blocks, the last of which ends at ``length``."""
    return Work(Grid((length or 8 * count, 4, 4), (8, 4, 4)), tuple(seconds), read, written)


def run(work, machines, dealing=SHARDS, seed="1"):
    return Simulation(work, machines, dealing, seed).run()


class SimulationTest(unittest.TestCase):
    def test_blocks_over_machines(self):
        for blocks, count, rounds in ((12, 4, 3), (13, 4, 4), (3, 8, 1), (1, 1, 1)):
            for dealing in (SHARDS, DASK):
                found = run(row(blocks), Machines(count, start_seconds=7), dealing)
                self.assertAlmostEqual(found.seconds, 7 + 10 * rounds)
                self.assertAlmostEqual(found.machine_seconds, 10 * blocks + 7 * count)
                self.assertEqual((found.repeated, found.bytes_moved), (0, 0))

    def test_blocks_at_the_border_are_smaller(self):
        found = run(row(3, read=100.0, written=20.0, length=8 + 8 + 2), Machines(1))
        self.assertAlmostEqual(found.seconds, 10 + 10 + 2.5)
        self.assertAlmostEqual(found.bytes_moved, 120 * 2.25)

    def test_thin_blocks_take_their_own_time(self):
        work = dataclasses.replace(row(3, read=100.0, length=18), times={0: 1.0, 1: 1.0, 2: 0.7})
        found = run(work, Machines(1))
        self.assertAlmostEqual(found.seconds, 10 + 10 + 7)
        self.assertAlmostEqual(found.bytes_moved, 100 * 2.25)

    def test_shards_keep_their_blocks_and_dask_deals_them_out(self):
        seconds = tuple(range(1, 20))
        work = row(400, seconds)
        shards, dask = (run(work, Machines(20), dealing) for dealing in (SHARDS, DASK))
        mean = 400 * statistics.fmean(seconds) / 20
        self.assertLess(dask.seconds, mean + max(seconds) + 20)
        self.assertGreater(shards.seconds, dask.seconds)
        for found in (shards, dask):
            self.assertAlmostEqual(found.machine_seconds / 20 / mean, 1, delta=0.1)

    def test_bytes_over_bandwidth(self):
        work = row(40, seconds=(1e-9,), read=300.0, written=100.0)
        for dealing in (SHARDS, DASK):
            found = run(work, Machines(8, bandwidth=50.0), dealing)
            self.assertAlmostEqual(found.seconds, 40 * 400 / 50, places=5)
            self.assertAlmostEqual(found.bytes_moved, 40 * 400)
        self.assertAlmostEqual(
            run(work, Machines(1, bandwidth=50.0, machine_bandwidth=5.0)).seconds, 40 * 400 / 5, places=5
        )

    def test_a_store_that_is_not_the_limit(self):
        found = run(row(40, read=300.0, written=100.0), Machines(1, bandwidth=50.0))
        self.assertAlmostEqual(found.seconds, 40 * (10 + 400 / 50))

    def test_many_machines_fill_the_store_and_few_do_not(self):
        work = row(4000, seconds=(50.0, 100.0, 150.0), read=900.0, written=100.0)
        for count, least in ((4, 4000 * (100 + 1000 / 100) / 4), (400, 4000 * 1000 / 100.0)):
            found = run(work, Machines(count, bandwidth=100.0), DASK).seconds
            self.assertAlmostEqual(found / least, 1, delta=0.03)

    def test_slow_machines(self):
        self.assertAlmostEqual(run(row(12), Machines(4, slow_share=1.0, slow_factor=3.0)).seconds, 90)
        one_slow = next(
            found
            for seed in range(100)
            if (found := run(row(40), Machines(4, slow_share=0.25, slow_factor=3.0), SHARDS, str(seed))).machine_seconds
            == 600
        )
        self.assertAlmostEqual(one_slow.seconds, 300)  # the shard of the slow one
        slow = [
            run(row(400), Machines(100, slow_share=0.1, slow_factor=2.0), SHARDS, str(seed)).machine_seconds
            for seed in range(40)
        ]
        self.assertAlmostEqual(statistics.fmean(slow) / 4000, 1.1, delta=0.02)

    def test_lost_machines(self):
        """A block of c seconds takes (e^(rate c) - 1) / rate on machines that are lost at that rate, and e^(rate c)
        tries."""
        rate, seconds, blocks = 18.0, 100.0, 4000
        tries = math.exp(rate / HOUR * seconds)
        deviation = math.sqrt(blocks * (1 - 1 / tries)) * tries
        for read, bandwidth in ((0.0, math.inf), (500.0, 10.0)):
            computed = seconds - read / bandwidth
            machines = Machines(1, bandwidth=bandwidth, lost_per_hour=rate)
            found = run(row(blocks, (computed,), read), machines, DASK)
            self.assertAlmostEqual(found.repeated, blocks * (tries - 1), delta=4 * deviation)
            self.assertAlmostEqual(found.seconds / (blocks * (tries - 1) / (rate / HOUR)), 1, delta=0.05)
            self.assertAlmostEqual(found.machine_seconds, found.seconds)
            slower = run(row(blocks, (computed,), read), dataclasses.replace(machines, replaced_seconds=60.0), DASK)
            self.assertAlmostEqual(slower.seconds, slower.machine_seconds + 60 * slower.repeated)

    def test_all_blocks_are_done_whatever_is_lost(self):
        for dealing in (SHARDS, DASK):
            machines = Machines(30, 20.0, 100.0, 20.0, 0.1, 2.0, 10.0, 90.0)
            found = run(row(300, (50.0, 80.0), 10.0, 10.0), machines, dealing)
            self.assertGreater(found.repeated, 0)
            self.assertGreaterEqual(found.bytes_moved, 300 * 20)
            self.assertLessEqual(found.bytes_moved, (300 + found.repeated) * 20)

    def test_a_seed_gives_the_same_run_and_another_seed_another(self):
        machines = Machines(7, lost_per_hour=5.0, slow_share=0.2, slow_factor=2.0)
        work = row(100, (10.0, 20.0, 30.0))
        self.assertEqual(run(work, machines), run(work, machines))
        self.assertNotEqual(run(work, machines), run(work, machines, seed="2"))


if __name__ == "__main__":
    unittest.main()

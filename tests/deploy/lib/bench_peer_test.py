"""The parts that the peers of deploy/bench share. Usage: bench_peer_test.py FOLDER-OF-BENCH_PEER."""

import itertools
import pathlib
import resource
import sys
import tempfile
import types
import unittest
from unittest import mock

FOLDER = pathlib.Path(sys.argv.pop(1))
sys.path.insert(0, str(FOLDER))
import bench_peer as peer  # found where the argument says
import bench_work as work

NETWORKS = FOLDER.resolve().parents[1] / "planner" / "networks"


class PeerTest(unittest.TestCase):
    def setUp(self):
        limit = mock.patch.object(resource, "setrlimit")
        self.setrlimit = limit.start()
        self.addCleanup(limit.stop)
        # Every look at the clock comes a millisecond after the one before.
        clock = mock.patch.object(peer.time, "perf_counter", side_effect=itertools.count(0, 0.001))
        clock.start()
        self.addCleanup(clock.stop)
        self.network = work.read_network(NETWORKS / "n537.pbtxt")
        self.arguments = types.SimpleNamespace(limit=0.05, flops=1e14, mem=8 << 30, runs=3, threads=1)
        self.calls = []

    def maker(self, part, output, form):
        if form == "broken":
            raise RuntimeError("does not\nfit")
        return lambda: self.calls.append((part.name, tuple(output), form))

    def test_the_patch_takes_about_the_limit(self):
        for limit, poolings in ((1000, 0), (8, 2)):
            part, left_out, output, small = peer.choose(self.network, limit, 2e11, 64 << 30)
            self.assertEqual(left_out, poolings)
            layers = work.layers_of(part)
            allowed = peer.ASSUMED * 2e11 * limit
            self.assertLessEqual(work.direct_flops(layers, output), allowed)
            larger = [o + unit for o, unit in zip(output, work.pool_product(layers))]
            self.assertGreater(work.direct_flops(layers, larger), allowed)
            self.assertLessEqual(small, output)

    def test_the_patch_fits_the_memory_or_there_is_none(self):
        part, left_out, output, _ = peer.choose(self.network, 1e9, 1e12, 8 << 30)
        self.assertEqual(left_out, 0)
        self.assertLessEqual(work.peak_bytes(work.layers_of(part), output), 4 << 30)
        self.assertIsNone(peer.choose(self.network, 1, 2e11, 1000))
        refused = peer.measure(self.network, types.SimpleNamespace(limit=1, flops=2e11, mem=1000), ["a"], self.maker)
        self.assertIn("no patch of at most 1 s", refused["refusal"])
        self.setrlimit.assert_not_called()

    def test_the_best_form_is_timed_and_its_rate_carried(self):
        found = peer.measure(self.network, self.arguments, ["broken", "a"], self.maker)
        self.assertEqual((found["form"], found["tried"]["seconds"]["broken"]), ("a", "does not"))
        self.assertEqual(len(found["runs"]), 3)
        self.assertEqual(len(self.calls), 2 + 4)
        self.assertAlmostEqual(found["flops_per_second"] * found["seconds"] / found["direct_flops"], 1)
        self.assertEqual(
            found["carried"], work.carried(work.layers_of(self.network), 8 << 30, found["flops_per_second"])
        )
        self.setrlimit.assert_called_once()

    def test_a_patch_that_does_not_fit_gives_way_to_the_small_one(self):
        small = peer.choose(self.network, 0.05, 1e14, 8 << 30)[3]

        def maker(part, output, form):
            if output != small:
                raise MemoryError("large")
            return self.maker(part, output, form)

        self.assertEqual(peer.measure(self.network, self.arguments, ["a"], maker)["output"], small)

    def test_no_form_is_a_refusal(self):
        self.assertEqual(
            peer.measure(self.network, self.arguments, ["broken"], self.maker)["refusal"], "broken: does not"
        )

    def test_long_runs_are_repeated_once(self):
        with mock.patch.object(peer.time, "perf_counter", side_effect=range(0, 1000, 10)):
            self.assertEqual(len(peer.timed(lambda: None, 3, 1)["runs"]), 1)
        self.assertEqual(len(peer.timed(lambda: None, 3, 1)["runs"]), 3)

    def test_joules_of_packages_alone(self):
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(peer, "POWERCAP", pathlib.Path(folder)):
            self.assertIsNone(peer.joules())
            for name, energy in (("intel-rapl:0", 2_000_000), ("intel-rapl:1", 1_500_000), ("intel-rapl:0:0", 7)):
                (pathlib.Path(folder) / name).mkdir()
                (pathlib.Path(folder) / name / "energy_uj").write_text(f"{energy}\n")
            self.assertEqual(peer.joules(), 3.5)


if __name__ == "__main__":
    unittest.main()

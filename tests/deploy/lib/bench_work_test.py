"""The arithmetic of deploy/bench. Usage: bench_work_test.py FOLDER-OF-BENCH_WORK."""

import argparse
import math
import pathlib
import sys
import tempfile
import unittest

FOLDER = pathlib.Path(sys.argv.pop(1))
sys.path.insert(0, str(FOLDER))
import bench_work as work  # found where the argument says

NETWORKS = FOLDER.resolve().parents[1] / "planner" / "networks"
SMALL = """
name: "small"
f_in: 2
node { conv { f_out: 3 k: 2 activation: relu } }
node { max_pool { window: [1, 2, 2] } }
node { conv { f_out: 4 k: [1, 3, 3] dilation: [1, 2, 1] } }
"""


class WorkTest(unittest.TestCase):
    def setUp(self):
        kept = tempfile.TemporaryDirectory()
        self.addCleanup(kept.cleanup)
        self.folder = pathlib.Path(kept.name)

    def network(self, text):
        path = self.folder / "net.pbtxt"
        path.write_text(text)
        return work.read_network(path)

    def test_the_papers_nets_have_their_fields_of_view(self):
        for path in sorted(NETWORKS.glob("*.pbtxt")):
            view = work.field_of_view(work.layers_of(work.read_network(path)))
            self.assertIn(f"field of view {view[0]}.", path.read_text().split("\n", maxsplit=1)[0])

    def test_a_small_net_counted_by_hand(self):
        layers = work.layers_of(self.network(SMALL))
        self.assertEqual(work.pool_product(layers), [1, 2, 2])
        # The last convolution reaches 4 and 2 voxels of fragments, twice as many of the input; the others one each.
        self.assertEqual(work.field_of_view(layers), [2, 1 + 1 + 1 + 8, 1 + 1 + 1 + 4])
        output = [3, 4, 6]
        found = [(S, n, S_out, n_out) for _, S, n, S_out, n_out in work.sizes(layers, output)]
        self.assertEqual(
            found, [(1, [4, 14, 12], 1, [3, 13, 11]), (1, [3, 13, 11], 4, [3, 6, 5]), (4, [3, 6, 5], 4, [3, 2, 3])]
        )
        first, last = 2 * 2 * 3 * 8 * (3 * 13 * 11), 2 * 4 * 3 * 4 * 9 * (3 * 2 * 3)
        self.assertEqual(work.direct_flops(layers, output), first + last)
        volumes = [2 * 4 * 14 * 12, 3 * 3 * 13 * 11, 4 * 3 * 3 * 6 * 5, 4 * 4 * 3 * 2 * 3]
        self.assertEqual(work.peak_bytes(layers, output), 4 * (volumes[0] + volumes[1]))
        weights = 2 * 3 * 8 + 3 * 4 * 9
        self.assertEqual(work.traffic_bytes(layers, output), 4 * (weights + sum(volumes) + sum(volumes[1:3])))

    def test_every_output_voxel_is_computed_once(self):
        for path in sorted(NETWORKS.glob("n*.pbtxt")):
            layers = work.layers_of(work.read_network(path))
            output = [3 * unit for unit in work.pool_product(layers)]
            *_, (_, _, _, S, n) = work.sizes(layers, output)
            self.assertEqual(S * math.prod(n), math.prod(output))

    def test_known_work_of_the_papers_nets(self):
        for name, edge, millions in (("n337", 64, 10.5), ("n537", 32, 670), ("n726", 16, 2686), ("n926", 8, 76962)):
            layers = work.layers_of(work.read_network(NETWORKS / f"{name}.pbtxt"))
            self.assertAlmostEqual(work.direct_flops(layers, [edge] * 3) / edge**3 / 1e6 / millions, 1, places=2)

    def test_the_best_output_fits_and_the_next_does_not(self):
        layers = work.layers_of(work.read_network(NETWORKS / "n337.pbtxt"))
        memory = 2 << 30
        best = work.best_output(layers, memory)
        self.assertLessEqual(work.peak_bytes(layers, best), memory)
        self.assertGreater(work.peak_bytes(layers, [extent + 8 for extent in best]), memory)
        self.assertIsNone(work.best_output(layers, 1000))
        found = work.carried(layers, memory, 1e12)
        self.assertEqual(found["output"], best)
        self.assertAlmostEqual(found["voxels_per_second"] * found["flops_per_voxel"], 1e12)
        self.assertIsNone(work.carried(layers, 1000, 1e12))

    def test_a_tail_is_what_follows_a_pooling(self):
        network = self.network(SMALL)
        self.assertIs(work.tail(network, 0), network)
        self.assertEqual(work.poolings_of(network), 1)
        tail = work.tail(network, 1)
        self.assertEqual((tail.name, tail.f_in, len(tail.node)), ("small_after_1", 3, 1))
        self.assertEqual(work.field_of_view(work.layers_of(tail)), [1, 5, 3])
        self.assertEqual(len(network.node), 3)

    def test_sizes_of_memory(self):
        self.assertEqual(work.parse_bytes("16G"), 16 << 30)
        self.assertEqual(work.parse_bytes("0.5m"), 1 << 19)
        self.assertEqual(work.parse_bytes("123"), 123)
        for wrong in ("much", "", "1X"):
            with self.assertRaises(argparse.ArgumentTypeError):
                work.parse_bytes(wrong)

    def test_other_networks_are_refused(self):
        for change, part in (
            (("relu", "elu"), "elu"),
            (('name: "small"', "spatial_rank: 2"), "spatial_rank 2"),
            (("max_pool", "average_pool"), "average_pool"),
        ):
            with self.assertRaisesRegex(SystemExit, part):
                work.layers_of(self.network(SMALL.replace(*change)))


if __name__ == "__main__":
    unittest.main()

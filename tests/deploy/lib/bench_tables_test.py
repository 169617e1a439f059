"""The tables of deploy/bench. Usage: bench_tables_test.py FOLDER-OF-BENCH_TABLES."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(sys.argv.pop(1))))
import bench_samples as samples  # beside this file
import bench_tables as tables  # found where the argument says


class TablesTest(unittest.TestCase):
    def setUp(self):
        self.lines = samples.some()
        self.machine = tables.Machine(self.lines)
        self.found = tables.figures(self.lines)

    def row(self, rows, *cells):
        """Returns the row that begins with these cells, by its columns' names."""
        (found,) = [row for row in rows[1:] if row[: len(cells)] == list(cells)]
        return dict(zip(rows[0], found))

    def test_a_layer_has_its_shares_of_the_machine(self):
        row = self.row(tables.layer_rows([samples.layer()], self.machine), "10 → 20, k 3, n 100, S 1", "tiled")
        flops, voxels = 2 * 10 * 20 * 27 * 98**3, 98**3
        traffic = 4 * (10 * 100**3 + 20 * voxels + 10 * 20 * 27)
        self.assertEqual(row["direct GFLOP/s"], f"{flops / 0.1 / 1e9:.0f}")
        self.assertEqual(row["of multiply-adds"], f"{flops / 0.1 / 2e11:.2f}")
        self.assertEqual(row["of memory"], f"{traffic / 0.1 / 3e10:.2f}")
        self.assertEqual(row["J / 10^6 voxels"], f"{2.0 / voxels * 1e6:.1f}")
        self.assertEqual((row["ms"], row["speed over oneDNN's best"], row["runs"]), ("100.0", "2.50", "1"))
        row = self.row(tables.layer_rows([samples.layer()], self.machine), "10 → 20, k 3, n 100, S 1", "onednn")
        self.assertEqual(row["J / 10^6 voxels"], "not readable")

    def test_a_moment_in_which_the_machine_was_busy_is_no_limit(self):
        slow = [dict(self.lines[0], step=f"layer {i}", result=samples.layer(flops_per_second=1e11)) for i in range(3)]
        self.assertEqual(tables.Machine(self.lines + slow).most("flops_per_second"), 2e11)

    def test_the_better_layout_of_onednn_counts(self):
        layer = samples.layer()
        layer["primitives"].append(samples.primitive("other_onednn", 0.2, 1.0))
        self.assertEqual(tables.over_onednn(layer), 2.0)
        layer["primitives"][2] = {"primitive": "other_onednn", "refusal": "none"}
        self.assertEqual(tables.over_onednn(layer), 2.5)
        layer["primitives"][0] = {"primitive": "tiled", "refusal": "none"}
        self.assertIsNone(tables.over_onednn(layer))

    def test_rounds_are_one_figure(self):
        one = self.found["n337", "16G", 2]["all"]
        self.assertEqual((one.seconds, one.median, one.here), ([4.0, 6.0, 5.0], 5.0, 200.0))
        self.assertEqual((one.rate(), one.how()), (200.0, "measured"))

    def test_rates_are_carried_and_both_are_shown(self):
        rows = tables.net_rows(tables.compared(self.found), self.machine)
        self.assertEqual(len(rows), 4)
        row = self.row(rows, "n337 16G", "oneDNN's convolutions, all else ours")
        # 600 voxels/s predicted of the planned patch; this one took twice the time predicted.
        self.assertEqual((row["voxels/s of it"], row["voxels/s in all the memory"]), ("50", "300"))
        self.assertIn("600 predicted x 0.50", row["which is"])
        self.assertEqual(row["speed of all primitives over it"], f"{200 / 300:.2f}")
        row = self.row(rows, "n337 16G", "PyTorch 9.1, fragments")
        # Operations of 1e8 in 0.25 s, at 4e6 a voxel.
        self.assertEqual((row["voxels/s of it"], row["voxels/s in all the memory"]), ("4,000", "100"))
        self.assertEqual(
            (row["runs"], row["J / 10^6 voxels"], row["speed of all primitives over it"]), ("3", "5000.0", "2.00")
        )
        self.assertIn("0.4 GFLOP/s / 4.00 MFLOP a voxel of 200 outputs", row["which is"])

    def test_where_nothing_whole_fits_there_is_no_rate(self):
        one = tables.Figure([samples.peer([1.0], carried=None)])
        self.assertIsNone(one.rate())
        self.assertIn("no patch of the whole net fits", one.how())

    def test_a_part_of_a_net_is_never_the_measured_rate(self):
        one = tables.Figure([samples.net([5.0], poolings=1)])
        self.assertFalse(one.whole)
        self.assertEqual(one.rate(), 1200.0)

    def test_the_latest_of_unlike_rounds_counts(self):
        one = tables.Figure([samples.peer([9.0]), samples.peer([2.0], form="dilated"), {"refusal": "none"}])
        self.assertEqual((one.seconds, one.refusal), ([2.0], ""))

    def test_what_did_not_run_says_why(self):
        found = tables.figures(
            samples.lines(
                **{"net n337 all 1G t2 r1": samples.net([1.0]), "torch n337 1G t2 r1": {"refusal": "no memory"}}
            )
        )
        row = self.row(tables.net_rows(found, self.machine), "n337 1G", "PyTorch")
        self.assertEqual(row["which is"], "not run: no memory")
        refused = samples.layer()
        refused["primitives"][1] = {"primitive": "onednn", "refusal": "needs 9 GiB"}
        rows = tables.layer_rows([refused], self.machine)
        self.assertEqual(rows[2][-1], "not run: needs 9 GiB")

    def test_memory_and_threads(self):
        curves = tables.by_memory(self.found)
        self.assertEqual([(mem, one.rate()) for mem, one in curves["n337"]], [(1.0, 50.0), (2.0, 100.0), (16.0, 200.0)])
        self.assertEqual(tables.memory_rows(curves)[1], ["n337", "1", "100", "50", "1"])
        self.assertEqual(
            tables.scaling_rows(self.found)[1:],
            [["n337 2G", "1", "62", "1.00", "1.00"], ["n337 2G", "2", "100", "1.60", "0.80"]],
        )
        self.assertEqual(tables.gigabytes("512M"), 0.5)

    def test_a_step_of_training_stands_beside_its_peer(self):
        alone = samples.train()
        del alone["peer"], alone["ratio"]
        failed = samples.train(peer={"version": "2.1", "form": None, "tried": {}})
        del failed["ratio"]
        net = samples.train(net="n726", channels=16, patch=[132] * 3)
        del net["layer"]
        rows = tables.train_rows([samples.train(), alone, failed, net])
        self.assertEqual(
            rows[1],
            ["80 → 80, k 3, n 48, S 1", "2.1, channels last", "500", "125", "62", "4.0", "1500", "250", "0.5 to 1.2"],
        )
        self.assertEqual(rows[2][1:6], ["", "", "125", "62", ""])
        self.assertEqual(rows[3][1:6], ["did not run", "", "125", "62", ""])
        self.assertEqual(rows[4][0], "n726, 16 channels, patch 132")

    def test_rows_of_a_table_are_equally_long(self):
        refused = tables.figures(
            samples.lines(**{"net n1 all 1G t2 r1": {"refusal": "a"}, "net n1 all 2G t2 r1": {"refusal": "a"}})
        )
        for rows in (
            tables.layer_rows([samples.layer()], self.machine),
            tables.net_rows(self.found, self.machine),
            tables.net_rows(refused, self.machine),
            tables.memory_rows(tables.by_memory(refused)),
            tables.memory_rows(tables.by_memory(self.found)),
            tables.scaling_rows(self.found),
            tables.train_rows([samples.train()]),
        ):
            self.assertEqual({len(row) for row in rows}, {len(rows[0])})

    def test_a_machine_that_was_not_measured(self):
        machine = tables.Machine([])
        self.assertIn("not measured", machine.text())
        self.assertEqual(machine.parts(1, 1, 1), ["", ""])
        self.assertIn("a machine; measured", self.machine.text())
        self.assertIn("200 GFLOP/s", self.machine.text())

    def test_spans_and_extents(self):
        self.assertEqual(tables.span([2e9, 3e9, 1e9], 1e-9), "1 to 3")
        self.assertEqual(tables.span([1.0, 1.04], 1, 1), "1.0")
        self.assertIn("k 1x3x3", tables.layer_name(samples.layer(k=[1, 3, 3])))


if __name__ == "__main__":
    unittest.main()

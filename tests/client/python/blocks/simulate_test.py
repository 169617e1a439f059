"""The command 'znni-job simulate'."""

import contextlib
import io
import json
from unittest import mock

from job_case import JobCase
from znni.blocks.grid import Grid, Shard
from znni.blocks.scenario import Machines, Work
from znni.blocks.simulate import summary
from znni.blocks.simulation import Outcome
from znni.blocks.spec import COPY, to_json
from znni.programs import job as program

FULL = 64 * 64 * 20  # voxels of a block


class SimulateTest(JobCase):
    def setUp(self):
        super().setUp()
        self.enterContext(mock.patch("signal.signal"))
        self.spec = self.plan()

    def call(self, *arguments):
        """Returns (exit code, standard output, standard error)."""
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                code = program.main(["simulate", self.output, *arguments])
            except SystemExit as end:
                code = end.code
        return code, out.getvalue(), err.getvalue()

    def rows(self, *arguments):
        code, out, err = self.call("--json", *arguments)
        self.assertEqual(code, 0, err)
        return json.loads(out)

    def test_a_job_as_it_was_planned(self):
        (row,) = self.rows()
        self.assertEqual((row["nodes"], row["blocks"], row["repeated"], row["price"]), (2, 6, 0, None))
        full = FULL * 1e-6  # shard 0 has blocks 0, 2 and 4, shard 1 the others
        self.assertAlmostEqual(row["hours"] * 3600, full * (1 + 2 / 64 + 6 / 64))
        self.assertAlmostEqual(row["machine_hours"] * 3600, 70 * 130 * 20 * 1e-6)
        self.assertAlmostEqual(row["useful"], 1)

    def test_rows_of_machines_at_a_price(self):
        rows = self.rows(
            "--nodes", "1,4", "--extent", "256,256,80", "--seconds", "90", "--start", "10", "--price-per-hour", "3.6"
        )
        self.assertEqual([row["blocks"] for row in rows], [64, 64])
        for row, count in zip(rows, (1, 4)):
            self.assertAlmostEqual(row["hours"] * 3600, 10 + 64 * 90 / count)
            self.assertAlmostEqual(row["price"], 64 * 90e-3 + count * 10e-3)
            self.assertAlmostEqual(row["useful"], 64 * 90 / (64 * 90 + count * 10))

    def test_workers_that_share_a_machine_are_paid_once(self):
        usual = ("--extent", "256,256,80", "--seconds", "90", "--start", "10", "--price-per-hour", "3.6")
        (alone,) = self.rows(*usual, "--nodes", "8", "--node-bandwidth", "1M")
        self.spec = self.plan(nodes=2, workers=4, overwrite=True)
        (shared,) = self.rows(*usual, "--node-bandwidth", "4M")  # on the job's two machines
        self.assertEqual((alone["nodes"], shared["nodes"]), (8, 2))
        for name in ("machine_hours", "price"):
            self.assertAlmostEqual(shared[name], alone[name] / 4)
        for name in ("hours", "useful", "bytes_moved"):
            self.assertAlmostEqual(shared[name], alone[name])
        code, out, err = self.call(*usual)
        self.assertEqual((code, out.splitlines()[1].split()[0]), (0, "2"))
        self.assertRegex(err, "20 simulated runs of 4 workers on each machine\n$")
        del self.spec.predicted["workers_per_machine"]  # as in jobs of older versions
        self.spec.place.write(COPY, to_json(self.spec).encode())
        self.assertEqual(self.rows(*usual)[0]["nodes"], 8)

    def test_a_store_with_a_bandwidth(self):
        usual = ("--extent", "256,256,80", "--seconds", "1e-6", "--nodes", "8")
        size = 64 * 2 * 4 * FULL
        (row,) = self.rows(*usual, "--bandwidth", "1M")
        self.assertAlmostEqual(row["hours"] * 3600, size / 1e6, places=3)
        self.assertAlmostEqual(row["store_busy"], 1, places=3)
        (row,) = self.rows(*usual, "--bandwidth", "1M", "--compression", "2")
        self.assertAlmostEqual(row["hours"] * 3600, size / 2e6, places=3)
        (row,) = self.rows(*usual, "--node-bandwidth", "1.5k")
        self.assertAlmostEqual(row["hours"] * 3600, size / 12e3, places=3)

    def test_slow_and_lost_machines(self):
        usual = ("--extent", "256,256,160", "--seconds", "60", "--nodes", "8")
        (calm,) = self.rows(*usual)
        (slow,) = self.rows(*usual, "--stragglers", "1:3")
        self.assertAlmostEqual(slow["hours"], 3 * calm["hours"])
        lost, again = (self.rows(*usual, "--lost", "6", "--replaced", "30", "--dealing", "dask")[0] for _ in range(2))
        self.assertGreater(lost["repeated"], 0)
        self.assertGreater(lost["hours_95"], lost["hours"])
        self.assertEqual(lost, again)
        self.assertNotEqual(lost, self.rows(*usual, "--lost", "6", "--seed", "2", "--dealing", "dask")[0])

    def test_machines_that_are_lost_before_a_block_is_done(self):
        usual = ("--extent", "64,64,20", "--nodes", "1", "--runs", "1")
        slow_store = ("--seconds", "1", "--node-bandwidth", "1k")  # 655.36 s for 2 * 4 bytes a voxel
        for arguments, least in (
            (("--seconds", "505"), 18000 / 505),
            (slow_store, 18000 / 656.36),
            (("--seconds", "100", "--stragglers", "0.5:3"), 60),
        ):
            code, out, err = self.call(*usual, *arguments, "--lost", str(1.01 * least))
            self.assertEqual((code, out, err.count("\n")), (2, "", 1))
            self.assertIn(f"expected at most {least:.3g}: a block takes up to", err)
            self.assertIn("name a lower rate, or plan smaller blocks", err)
        self.assertEqual(self.call(*usual, "--seconds", "100", "--stragglers", "0:3", "--lost", "130")[0], 0)

    def test_measured_seconds(self):
        self.run_shard(self.spec, Shard(0, 3))
        self.spec.marks.finish(0, {"digest": "", "seconds": 5.0, "skipped": None})
        self.spec.marks.finish(3, {"digest": "", "seconds": 5.0 * 6 / 64, "skipped": None})
        (row,) = self.rows("--seconds", "measured", "--nodes", "1")
        self.assertAlmostEqual(row["hours"] * 3600, 5.0 * 70 * 130 / 64 / 64)

    def test_a_table_for_people(self):
        code, out, err = self.call("--nodes", "1,100", "--seconds", "60", "--extent", "1024,1024,320")
        self.assertEqual(code, 0)
        self.assertEqual(
            err,
            "4096 blocks of 64x64x20 voxels, 60 s a block, dealt out by shards; median and 95 % of 20 simulated runs\n",
        )
        lines = out.splitlines()
        self.assertEqual(len({len(line) for line in lines}), 1)
        self.assertEqual([line.split()[0] for line in lines], ["machines", "1", "100"])
        self.assertRegex(lines[2], "^ *100 +41 min +41 min +68.3 +100% +0 +2.68 GB$")

    def test_what_runs_have_in_common(self):
        runs = [Outcome(3600.0 * hours, 7200.0, hours % 2, 5e9) for hours in range(1, 21)]
        found = summary(Work(Grid((8, 8, 8), (8, 8, 8)), (3600.0,), 0, 0), Machines(2, bandwidth=1e6), runs, 2.0)
        self.assertEqual((found["hours"], found["hours_95"], found["repeated"]), (10.5, 19.0, 0.5))
        self.assertEqual((found["useful"], found["price"]), (0.5, 4.0))
        self.assertAlmostEqual(found["store_busy"], 5e9 / 1e6 / (10.5 * 3600))

    def test_wrong_options(self):
        for arguments, words in (
            (("--stragglers", "2:2"), "'2:2' found, expected SHARE:FACTOR"),
            (("--stragglers", "0.5:0.5"), "a factor of at least 1"),
            (("--bandwidth", "10 GB"), "'10 GB' found, expected bytes per second"),
            (("--bandwidth", "0"), "'0' found, expected bytes per second"),
            (("--nodes", "1,0"), "'0' found, expected a whole number of at least 1"),
            (("--extent", "5,5"), "'5,5' found, expected Z,Y,X"),
            (("--seconds", "0"), "'0' found, expected a number of at least 1e-09"),
            (("--lost", "-1"), "'-1' found"),
            (("--start", "inf"), "'inf' found"),
        ):
            code, _, err = self.call(*arguments)
            self.assertEqual(code, 2)
            self.assertIn(words, err)
        code, _, err = self.call("--seconds", "measured")
        self.assertEqual((code, err.count("\n")), (2, 1))
        self.assertIn("no block was computed yet", err)


if __name__ == "__main__":
    import unittest

    unittest.main()

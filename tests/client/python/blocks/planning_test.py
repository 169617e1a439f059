"""Plans of jobs."""

import pathlib
import shutil
from unittest import mock

import numpy as np
import zarr
from job_case import EXTENT, JobCase
from s3_server import S3Server
from script import use_script
from znni.blocks import planning
from znni.blocks.grid import Grid
from znni.blocks.kept import Coverage, Kept
from znni.blocks.measuring import measure
from znni.blocks.planning import check_block, choose_block
from znni.blocks.pricing import Pricing
from znni.blocks.spec import read_spec
from znni.box import Box
from znni.errors import Error, InvalidError, UnsupportedError

BLOCK = 64 * 64 * 20 * 1e-6  # predicted seconds


class FixedPricing(Pricing):
    """Has a halo of 20 voxels, and counts an input voxel as a microsecond times `price`."""

    def __init__(self, price=1):
        self.price = price

    def seconds(self, box):
        return self.price * 1e-6 * np.prod([n + 20 for n in box.extent], dtype=float)


class PlanningTest(JobCase):
    def test_large_blocks_for_one_machine_small_ones_for_many(self):
        output, chunk = (1000, 1000, 1000), (64, 64, 64)
        coverage = Coverage(Grid(output, chunk))
        blocks = [choose_block(FixedPricing(), coverage, chunk, nodes, 4) for nodes in (1, 8, 64, 4000)]
        self.assertEqual(sorted(blocks, reverse=True), blocks)
        self.assertIn(blocks[0], [(512, 512, 512), (768, 768, 768)])  # of equally many blocks
        self.assertEqual(blocks[-1], (64, 64, 64))
        for nodes, block in zip((1, 8, 64, 4000), blocks):  # no other cube is better
            longest = FixedPricing().longest(Kept(Grid(output, block)), nodes)
            for multiple in (1, 2, 4, 8):
                other = Grid(output, (64 * multiple,) * 3)
                self.assertLessEqual(longest, FixedPricing().longest(Kept(other), nodes))

    def test_no_block_takes_longer_than_a_quarter_of_an_hour(self):
        coverage = Coverage(Grid((1000, 1000, 1000), (64, 64, 64)))
        slow = choose_block(FixedPricing(price=100), coverage, (64, 64, 64), 1, 4)
        self.assertLessEqual(FixedPricing(price=100).seconds(Box((0, 0, 0), slow)), 900)
        self.assertEqual(choose_block(FixedPricing(price=1e9), coverage, (64, 64, 64), 1, 4), (64, 64, 64))

    def test_blocks_are_small_where_a_mask_keeps_little(self):
        output, chunk = (1000, 1000, 1000), (64, 64, 64)
        found = np.zeros(Grid(output, chunk).counts, bool)
        found[:4, :4, :4] = True
        blocks = [
            choose_block(FixedPricing(), Coverage(Grid(output, chunk), one), chunk, 8, 4) for one in (None, found)
        ]
        self.assertLess(blocks[1], blocks[0])

    def test_blocks_are_whole_chunks(self):
        output = (300, 300, 20)
        for block in ((128, 64, 20), (64, 64, 30), (999, 999, 999)):
            check_block(block, (64, 64, 20), output)
        for block in ((100, 64, 20), (64, 64, 10), (64, 0, 20)):
            expected = "--block: .* expected multiples of the output's chunks or shards, 64x64x20"
            with self.assertRaisesRegex(InvalidError, expected):
                check_block(block, (64, 64, 20), output)

    def test_a_job_says_what_it_takes(self):
        spec = self.plan(price_per_hour=3.0)
        self.assertEqual((spec.output_extent, spec.origin, len(spec.grid)), (EXTENT, (0, 0, 0), 6))
        voxels = np.prod(EXTENT)
        told = spec.predicted
        self.assertEqual((told["blocks"], told["bytes_read"], told["bytes_written"]), (6, 4 * voxels, 4 * voxels))
        shard = 20 * (64 * 64 + 64 * 2 + 6 * 64)  # every second block: the first, the third and the fifth
        self.assertAlmostEqual(told["hours"] * 3600, shard * 1e-6)
        self.assertAlmostEqual(told["price"], 3.0 * told["hours"])  # both nodes have the same daemon

    def network(self):
        """Makes znnid a script that stands for the fake daemon, and returns the wishes for a network of its own."""
        (self.folder / "same.onnx").touch()
        use_script(self, "znnid", "ZNNID", f'echo "info listening on {self.address}" >&2', "exec sleep 600")
        return {"network": str(self.folder / "same.onnx"), "servers": [], "model": ""}

    def started(self):
        """Returns the extents for which daemons planned, one after the other; "" for none."""
        lines = (self.folder / "arguments").read_text().splitlines()
        return [line.partition("--volume ")[2].partition(" ")[0] for line in lines]

    def test_machines_plan_for_the_extent_that_blocks_are_computed_from(self):
        self.daemon.properties = {"padding_before": "3,0,2", "padding_after": "5,1,2"}
        spec = self.plan(**self.network())
        self.assertEqual(self.started(), ["", "69,65,20"])
        self.assertEqual((spec.planned, read_spec(self.output)), ((69, 65, 20), spec))

    def test_windows_are_those_of_the_whole_volume(self):
        self.daemon.properties = {"window": "16,16,16"}
        spec = self.plan(**self.network())
        self.assertEqual((self.started(), spec.planned), ([""], None))

    def test_measured_blocks_are_told_and_done(self):
        spec = self.plan(**self.network(), measure=True)
        told = spec.predicted
        done = {number for number, _ in spec.marks.done()}
        measured = [told["measured"], *told["measured"]["others"]]
        self.assertEqual([one["block"] for one in measured], [0, 4, 2])  # 64x64, 6x64, 64x2
        self.assertTrue({one["block"] for one in measured} <= done)
        self.assertAlmostEqual(told["seconds_of_a_block"], told["measured"]["factor"] * BLOCK)
        self.assertGreater(told["start_seconds"], 0)
        self.assertGreater(told["hours"] * 3600, told["start_seconds"] + told["seconds_of_a_block"])
        self.assertEqual(read_spec(self.output), spec)

    def test_a_daemon_is_asked_again_once_it_has_its_memory(self):
        """It adds the time that the system takes to give it, until it has it."""
        self.daemon.voxel_seconds = 1.0

        def measured(*arguments):
            self.daemon.voxel_seconds = 1e-6
            return measure(*arguments)

        with mock.patch.object(planning, "measure", measured):
            told = self.plan(measure=True).predicted["measured"]
        self.assertAlmostEqual(told["seconds"] / told["factor"], BLOCK)

    def test_blocks_that_a_mask_leaves_out_are_not_counted(self):
        values = np.zeros((35, 65, 1), np.uint8)  # a voxel stands for 2 x 2 x 20
        values[32, 33] = 7
        mask = str(self.folder / "mask.npy")
        np.save(mask, values)
        told = self.plan(mask=mask, price_per_hour=3.0).predicted
        self.assertEqual((told["blocks"], told["blocks_left_out"]), (6, 5))
        voxels = 6 * 64 * 20  # of block 4, which begins at 64, 64, 0
        self.assertEqual((told["bytes_read"], told["bytes_written"]), (4 * voxels, 4 * voxels))
        self.assertAlmostEqual(told["hours"] * 3600, voxels * 1e-6)
        spec = self.plan(mask=mask, overwrite=True, measure=True, block=(64, 130, 20))
        self.assertEqual(spec.predicted["measured"]["block"], 1)
        self.assertEqual([number for number, _ in spec.marks.done()], [1])

    def test_a_region_has_the_mask_of_its_place(self):
        self.daemon.properties = {"field_of_view": "5,3,1"}
        values = np.zeros(EXTENT, bool)
        values[65:, 65] = True  # rows from 64 on of the output, in planes from 63 on
        np.save(self.folder / "mask.npy", values)
        told = self.plan(mask=str(self.folder / "mask.npy")).predicted
        self.assertEqual((told["blocks"], told["blocks_left_out"]), (4, 2))

    def test_more_nodes_than_servers_share_them(self):
        self.volume = np.random.default_rng(1).random((1280, 64, 8), np.float32)
        zarr.save_array(self.input, self.volume, overwrite=True)
        for wishes, sharers in (({"nodes": 1}, 1), ({"nodes": 3}, 3), ({"nodes": 2, "workers": 2}, 4)):
            told = self.plan(block=(64, 64, 8), measure=True, overwrite=True, **wishes).predicted
            self.assertEqual(told["workers_sharing"], sharers)
            self.assertEqual((told["measured"]["sharing"] or {"at_once": 1})["at_once"], sharers)
        away = "127.0.0.1:9"  # nothing listens there
        told = self.plan(block=(64, 64, 8), overwrite=True, nodes=2, servers=[self.address, away]).predicted
        self.assertEqual(told["workers_sharing"], 2)  # of one host

    def test_workers_that_share_a_machine(self):
        spec = self.plan(**self.network(), measure=True, nodes=2, workers=3, mem="1G")
        self.assertEqual((spec.nodes, spec.predicted["workers_per_machine"]), (6, 3))

    def test_daemons_that_share_a_machine_need_a_memory_each(self):
        with self.assertRaisesRegex(InvalidError, "^--workers-per-machine: 3 daemons share .*: pass --mem of each$"):
            self.plan(**self.network(), workers=3)
        self.assertFalse(pathlib.Path(self.output).exists())
        self.assertEqual(self.plan(workers=3).predicted["workers_per_machine"], 3)  # by daemons that run already

    def test_the_output_is_made_and_empty(self):
        spec = self.plan(dtype="uint8", block=None)
        array = zarr.open_array(self.output + "/0", mode="r")
        self.assertEqual((array.shape, array.dtype, array[:].max()), (EXTENT, np.uint8, 0))
        self.assertEqual(zarr.open_group(self.output, mode="r").attrs["znni"]["job"], spec.identity)
        self.assertTrue(all(b % c == 0 for b, c in zip(spec.block, array.chunks)))

    def test_a_model_that_needs_the_whole_volume_is_refused(self):
        self.daemon.properties = {"input_zscore": "volume"}
        with self.assertRaisesRegex(UnsupportedError, "model 'same' takes mean and deviation of all of the volume"):
            self.plan()
        self.assertFalse(pathlib.Path(self.output).exists())

    def test_what_is_read_is_not_replaced(self):
        (self.folder / "mask.npy").touch()
        for wishes in (
            {"output": self.input},
            {"input": self.input + "/", "output": self.input},
            {"output": str(self.folder) + "/in.zarr/dense.zarr"},
            {"mask": self.input + "/0"},
        ):
            with self.assertRaisesRegex(InvalidError, "in.zarr.*: lies in the output .*: name another"):
                self.plan(**{"overwrite": True, "output": self.input, **wishes})
        self.assertEqual(zarr.open_array(self.input, mode="r").shape, EXTENT)

    def test_what_lies_where_a_job_keeps_what_is_done(self):
        server = S3Server()
        self.enterContext(server.served())
        (self.folder / "out.zarr.job").mkdir()
        (self.folder / "out.zarr.job/thesis.pdf").touch()
        server.buckets["data"]["out.zarr.job/thesis.pdf"] = b"x"
        for output in (self.output, "s3://data/out.zarr"):
            with self.assertRaisesRegex(InvalidError, "out.zarr.job: thesis.pdf found, which no job made, .*: move it"):
                self.plan(output=output)
        self.assertTrue((self.folder / "out.zarr.job/thesis.pdf").exists())
        self.assertEqual(list(server.buckets["data"]), ["out.zarr.job/thesis.pdf"])
        self.plan(overwrite=True)
        shutil.rmtree(self.output)
        self.plan()  # what a job left behind is not in the way

    def test_files_called_like_unfinished_ones_are_kept(self):
        kept = self.folder / "out.zarr.job/.backup.2026.11"
        kept.parent.mkdir()
        kept.touch()
        with self.assertRaisesRegex(InvalidError, r"out.zarr.job: .backup.2026.11 found, which no job made"):
            self.plan()
        self.assertTrue(kept.exists())

    def test_a_plan_that_was_killed_is_made_again(self):
        (self.folder / "out.zarr.job").mkdir()
        (self.folder / "out.zarr.job/.job.json.host-1.123.456").touch()
        (self.folder / "out.zarr.partial").mkdir()
        spec = self.plan()
        self.assertEqual(read_spec(self.output), spec)

    def test_outputs_whose_names_have_a_colon(self):
        specs = {}
        for name in ("run-12:30.zarr", "run-12:45.zarr"):
            output = str(self.folder / name)
            specs[output] = self.plan(output=output)
        for output, spec in specs.items():
            self.assertEqual((spec.output, read_spec(output)), (output, spec))

    def test_an_output_that_is_there_is_kept(self):
        self.plan()
        asked = len(self.daemon.metadata)
        with self.assertRaisesRegex(InvalidError, "out.zarr: is there already"):
            self.plan()
        self.assertEqual(len(self.daemon.metadata), asked)

    def test_what_cannot_be_cut_is_refused(self):
        for wishes, words in (
            ({"output": str(self.folder / "out.npy")}, "write one output together as FOLDER.zarr, FOLDER.n5"),
            ({"mask": self.input + "/none"}, "no zarr array"),
            ({"pad": "x"}, "pad: 'x'"),
        ):
            with self.assertRaisesRegex(Error, words):
                self.plan(**wishes)
        self.assertFalse(pathlib.Path(self.output).exists())


if __name__ == "__main__":
    import unittest

    unittest.main()

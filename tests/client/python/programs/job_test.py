"""The program znni-job."""

import contextlib
import io
import json
import os
import pathlib
from unittest import mock

import grpc
import numpy as np
import zarr
from fake_daemon import Refused
from job_case import EXTENT, JobCase
from s3_server import S3Server
from znni.blocks import planning
from znni.blocks.serving import digests_of
from znni.box import Box
from znni.programs import job as program
from znni.pyramid import halvings
from znni.pyramid.halving import halve
from znni.stores.opening import open_source, open_target
from znni.stores.seam import OutputFacts


class ProgramTest(JobCase):
    def setUp(self):
        super().setUp()
        self.job = str(self.folder / "job.json")
        self.enterContext(mock.patch("signal.signal"))

    def call(self, *arguments):
        """Returns (exit code, standard output, standard error)."""
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                code = program.main(arguments)
            except SystemExit as end:
                code = end.code
        return code, out.getvalue(), err.getvalue()

    def plan(self, *more):
        code, out, err = self.call(
            "plan",
            "--server",
            self.address,
            "--model",
            "same",
            "-i",
            self.input,
            "-o",
            self.output,
            "--block",
            "64,64,20",
            "--nodes",
            "3",
            "--no-measure",
            *more,
        )
        self.assertEqual(code, 0, err)
        with open(self.job, "w", encoding="utf-8") as file:
            file.write(out)
        return err

    def test_a_job_from_plan_to_verify(self):
        self.assertRegex(
            self.plan("--price-per-hour", "2"),
            "6 blocks of 64x64x20 voxels on 1 machine of 3 workers: predicted .* s, .* a block, ",
        )
        self.assertEqual(self.call("verify", self.job)[:2], (1, "6 blocks missing, 0 damaged\n"))
        self.assertEqual(self.call("run", self.job, "--shard", "1/3")[0], 0)
        with mock.patch.dict(os.environ, {"JOB_COMPLETION_INDEX": "2"}):
            self.assertEqual(self.call("run", self.job)[0], 0)
        self.assertRegex(self.call("status", self.job)[1], "^4 of 6 blocks done, 0 of them skipped; 2 missing")
        self.assertEqual(json.loads(self.call("status", self.job, "--json")[1])["missing"], 2)
        self.assertEqual(self.call("run", self.job)[0], 0)
        self.assertEqual(self.call("verify", self.job)[:2], (0, "0 blocks missing, 0 damaged\n"))
        next(path for path in pathlib.Path(self.output, "0").rglob("*") if path.stat().st_size > 5000).write_bytes(b"")
        self.assertRegex(self.call("verify", self.job)[1], "^0 blocks missing, 1 damaged; --repair lets")
        self.assertEqual(self.call("verify", self.job, "--repair")[1], "0 blocks missing, 1 damaged\n")
        self.assertEqual(self.call("run", self.job)[0], 0)
        self.assertEqual(self.call("verify", self.job)[0], 0)
        np.testing.assert_array_equal(self.found(), self.volume)

    def test_a_job_of_several_workers_on_each_machine(self):
        self.assertRegex(
            self.plan("--workers-per-machine", "2", "--price-per-hour", "2"),
            "^6 blocks of 64x64x20 voxels on 1 machine of 6 workers: predicted .*\nblocks take what the daemon "
            "predicts, without what reading and writing add: none was measured\n"
            "each of the 2 workers of a .*\nthis is predicted as if each worker had a machine alone: ",
        )
        with mock.patch.dict(os.environ, {"JOB_COMPLETION_INDEX": "5"}):
            self.assertEqual(self.call("run", self.job)[0], 0)
        self.assertEqual(json.loads(self.call("status", self.job, "--json")[1])["done"], 1)

    def test_a_job_of_an_image_of_several_resolutions(self):
        self.enterContext(mock.patch.object(halvings, "MOST", 64))
        self.output = str(self.folder / "out.ome.zarr")
        self.plan()
        self.assertIn("\nits coarser resolutions are missing: 'znni-job pyramid'", self.call("status", self.job)[1])
        code, _, err = self.call("pyramid", self.job)
        self.assertEqual((code, err.count("\n")), (1, 1))
        self.assertIn("6 blocks are missing", err)
        self.assertEqual(self.call("run", self.job)[0], 0)
        self.assertEqual(self.call("pyramid", self.output), (0, "", ""))
        self.assertEqual(self.call("status", self.job)[1], "6 of 6 blocks done, 0 of them skipped; 0 missing\n")
        self.assertFalse(json.loads(self.call("status", self.job, "--json")[1])["lacks_coarser"])
        with open_source(f"{self.output}/1") as source:
            expected = halve(self.volume, (0, 1, 2), False)
            np.testing.assert_array_equal(source.read(Box((0, 0, 0), expected.shape))[0], expected)
        self.output = str(self.folder / "out.zarr")
        self.plan()
        code, _, err = self.call("pyramid", self.job)
        self.assertEqual((code, err.count("\n")), (2, 1))

    def test_a_job_of_an_output_in_shards(self):
        code, _, err = self.call(
            "plan",
            "--server",
            self.address,
            "--model",
            "same",
            "-i",
            self.input,
            "-o",
            self.output,
            "--shard",
            "128",
            "--block",
            "64,64,20",
        )
        self.assertEqual((code, err.count("\n")), (2, 1))
        self.assertIn("expected multiples of the output's chunks or shards, 128x128x20", err)
        self.plan("--shard", "64,128,512", "--block", "64,128,20")
        self.assertEqual(self.call("run", self.job)[0], 0)
        self.assertEqual(self.call("verify", self.job)[:2], (0, "0 blocks missing, 0 damaged\n"))
        np.testing.assert_array_equal(self.found(), self.volume)
        self.assertEqual(zarr.open_array(f"{self.output}/0").shards, (64, 128, 20))
        self.output = str(self.folder / "out.n5/x")
        code, _, err = self.call(
            "plan", "--server", self.address, "--model", "same", "-i", self.input, "-o", self.output, "--shard", "64"
        )
        self.assertEqual((code, err.count("\n")), (2, 1))
        self.assertIn("only outputs in zarr, FOLDER.zarr, have shards", err)

    def test_a_plan_computes_a_block_unless_it_is_told_not_to(self):
        arguments = ("plan", "--server", self.address, "--model", "same", "-i", self.input, "-o", self.output)
        code, out, err = self.call(*arguments, "--block", "64,64,20")
        self.assertEqual(code, 0, err)
        self.assertRegex(err, "^block 1 of 64x64x20 voxels is computed, to measure it\n")
        self.assertRegex(err, "\nblock \\d, which is done, took .* times what the daemon predicts")
        self.assertGreater(json.loads(out)["predicted"]["measured"]["factor"], 0)
        self.assertRegex(err, "; those of 2 other extents took .* to .* times that\n")
        self.assertRegex(self.call("status", self.output)[1], "^5 of 6 blocks done")  # all but that of 6 x 2 voxels
        self.daemon.streams = [Refused(grpc.StatusCode.INVALID_ARGUMENT, "a NaN")]
        code, out, err = self.call(*arguments, "--block", "64,64,20", "--overwrite")
        self.assertEqual((code, json.loads(out)["predicted"]["measured"]), (0, None))
        self.assertIn("block 1 failed: a NaN\nno block was measured", err)
        self.assertIn("block 1 failed: a NaN", self.call("status", self.output)[1])

    def test_a_job_in_other_formats(self):
        volume = OutputFacts((1, *EXTENT), np.dtype("<f4"), 3, None, None, (0, 0, 0), {})
        for kind in (f"{self.folder}/a.n5/{{}}", f"precomputed://{self.folder}/{{}}"):
            self.input, self.output = kind.format("in"), kind.format("out")
            target = open_target(self.input, volume, False)
            target.begin()
            target.write((0, 0, 0), self.volume[None])
            target.finish()
            self.plan()
            self.assertEqual(self.call("run", self.job, "--shard", "0/2")[0], 0)
            self.assertRegex(self.call("status", self.output)[1], "^3 of 6 blocks done, 0 of them skipped; 3 missing")
            self.assertEqual(self.call("run", self.output)[0], 0)
            folder = pathlib.Path(self.output.rpartition("://")[2])
            chunk = next(path for path in sorted(folder.rglob("*")) if path.is_file() and path.stat().st_size > 50000)
            chunk.write_bytes(chunk.read_bytes()[:-9])
            self.assertRegex(self.call("verify", self.job, "--repair")[1], "^0 blocks missing, 1 damaged")
            self.assertEqual((self.call("run", self.job)[0], self.call("verify", self.job)[0]), (0, 0))
            with open_source(self.output) as source:
                np.testing.assert_array_equal(source.read(Box((0, 0, 0), EXTENT))[0], self.volume)
            code, _, err = self.call(
                "plan", "--server", self.address, "--model", "same", "-i", self.input, "-o", self.input, "--overwrite"
            )
            self.assertEqual((code, err.count("\n")), (2, 1))
            self.assertIn("lies in the output", err)

    def test_a_job_in_a_bucket(self):
        server = S3Server()
        objects = server.buckets["data"]
        self.enterContext(server.served())
        objects.update(
            {
                f"in.zarr/{path.relative_to(self.input)}": path.read_bytes()
                for path in pathlib.Path(self.input).rglob("*")
                if path.is_file()
            }
        )
        self.input = "s3://data/in.zarr"
        self.enterContext(mock.patch.object(halvings, "MOST", 64))
        for self.output, where in (
            ("s3://data/o.ome.zarr", "o.ome.zarr"),
            ("s3://data/o.n5/p", "o.n5/p"),
            ("precomputed://s3://data/p", "p"),
        ):
            self.plan()
            self.assertEqual(self.call("run", self.job, "--shard", "1/2")[0], 0)
            self.assertEqual(sum(name.startswith(f"{where}.job/") for name in objects), 4)
            self.assertRegex(self.call("status", self.output)[1], "^3 of 6 blocks done, 0 of them skipped; 3 missing")
            self.daemon.streams = [Refused(grpc.StatusCode.RESOURCE_EXHAUSTED, "not this block")]
            self.assertEqual(self.call("run", self.output, "--retries", "0")[0], 1)
            self.assertIn("block 0 failed: not this block", self.call("status", self.output)[1])
            self.assertEqual(self.call("run", f"s3://data/{where}.job/job.json")[0], 0)
            chunk = next(
                name for name in sorted(objects) if name.startswith(f"{where}/") and len(objects[name]) > 50000
            )
            objects[chunk] = objects[chunk][:-9]
            self.assertRegex(self.call("verify", self.job, "--repair")[1], "^0 blocks missing, 1 damaged")
            self.assertEqual((self.call("run", self.job)[0], self.call("verify", self.job)[0]), (0, 0))
            with open_source(self.output) as source:
                np.testing.assert_array_equal(source.read(Box((0, 0, 0), EXTENT))[0], self.volume)
            if where == "o.ome.zarr":
                self.assertEqual(self.call("pyramid", self.output), (0, "", ""))
                with open_source("s3://data/o.ome.zarr/1") as source:
                    expected = halve(self.volume, (0, 1, 2), False)
                    np.testing.assert_array_equal(source.read(Box((0, 0, 0), expected.shape))[0], expected)
            self.plan("--overwrite")
            self.assertRegex(self.call("status", self.output)[1], "^0 of 6 blocks done")
        for arguments, words in (
            (("run", "s3://data/x.zarr"), "s3://data/x.zarr.job/job.json: there is no such file"),
            (("status", "s3://none/x.zarr"), "s3://none/x.zarr.job: NoSuchBucket"),
            (
                (
                    "plan",
                    "--server",
                    self.address,
                    "--model",
                    "same",
                    "-i",
                    self.input,
                    "-o",
                    "http://127.0.0.1:1/o.zarr",
                ),
                "http://127.0.0.1:1/o.zarr: is read only",
            ),
        ):
            code, _, err = self.call(*arguments)
            self.assertEqual((code, err.count("\n")), (2, 1), err)
            self.assertIn(words, err)

    def test_a_bucket_that_takes_no_more(self):
        server = S3Server()
        self.enterContext(server.served())
        self.output = "s3://data/o.zarr"
        self.plan()
        server.frozen.add("data")
        code, _, err = self.call("run", self.job, "--retries", "0")
        self.assertEqual(code, 2)
        self.assertRegex(err, "block 0 failed: s3://data/o.zarr/0/.*: AccessDenied")
        self.assertRegex(err, "block 0: this is not recorded: s3://data/o.zarr.job/.*: AccessDenied")
        server.frozen.clear()
        self.assertEqual((self.call("run", self.job)[0], self.call("verify", self.job)[0]), (0, 0))

    def test_exit_codes_say_whether_running_again_helps(self):
        self.plan()
        for status, code in ((grpc.StatusCode.RESOURCE_EXHAUSTED, 1), (grpc.StatusCode.INVALID_ARGUMENT, 2)):
            self.daemon.streams = [Refused(status, "not this block")]
            found, _, err = self.call("run", self.job, "--retries", "0", "--shard", "0/6")
            self.assertEqual(found, code)
            self.assertIn("block 0 failed: not this block", err)
            self.assertIn("block 0 failed: not this block", self.call("status", self.job)[1])

    def test_an_interrupted_run_says_so(self):
        self.plan()
        with mock.patch.object(program.Worker, "run", side_effect=KeyboardInterrupt):
            self.assertEqual(self.call("run", self.job)[0], 130)

    def test_an_interrupted_plan_leaves_a_job_that_can_be_run(self):
        usual = ("plan", "--server", self.address, "--model", "same", "-i", self.input, "-o", self.output)
        expected = (
            "interrupted; plan again; if the output was made, --overwrite replaces it, or 'run' goes on with it\n"
        )
        with mock.patch.object(planning, "open_source", side_effect=KeyboardInterrupt):
            code, out, err = self.call(*usual)
        self.assertEqual((code, out, err), (130, "", f"znni-job: {expected}"))
        with mock.patch.object(planning, "measure", side_effect=KeyboardInterrupt):  # no output was made before
            code, out, err = self.call(*usual)
        self.assertEqual((code, out, err), (130, "", f"znni-job: {expected}"))
        self.assertEqual(self.call("run", self.output)[0], 0)
        np.testing.assert_array_equal(self.found(), self.volume)

    def test_wrong_use_is_one_line(self):
        self.plan()
        for words, arguments in (
            (
                "is there already",
                ("plan", "--server", self.address, "--model", "same", "-i", self.input, "-o", self.output),
            ),
            (
                "no zarr array",
                ("plan", "--server", self.address, "--model", "same", "-i", self.input + "x.zarr", "-o", self.output),
            ),
            ("one of them is needed", ("plan", "-i", self.input, "-o", self.output)),
            ("expected I/N", ("run", self.job, "--shard", "3/3")),
            ("none.json: No such file", ("run", "none.json")),
            ("none.json: No such file", ("status", "none.json")),
        ):
            code, out, err = self.call(*arguments)
            self.assertEqual((code, out, err.count("\n")), (2, "", 1), err)
            self.assertIn(words, err)
        for arguments in (
            ("plan", "-i", "a", "-o", "b", "--block", "1,2"),
            ("plan", "-i", "a", "-o", "b", "--nodes", "0"),
            ("plan", "-i", "a", "-o", "b", "--workers-per-machine", "0"),
            ("plan", "-i", "a", "-o", "b", "--workers-per-machine", "1.5"),
            ("plan", "-i", "a", "-o", "b", "--price-per-hour", "nan"),
            ("run", self.job, "--retries", "-1"),
            ("start",),
            (),
        ):
            code, out, err = self.call(*arguments)
            self.assertEqual((code, out, err.count("\n")), (2, "", 1), err)
            self.assertRegex(err, "^znni-job.*; see znni-job .*--help\n$")

    def test_a_network_that_was_changed_is_refused(self):
        self.plan()
        network = self.folder / "net.onnx"
        network.write_bytes(b"old")
        with open(self.job, encoding="utf-8") as file:
            fields = json.load(file)
        fields.update(network=str(network), digests=digests_of(str(network), None), servers=[])
        network.write_bytes(b"new")
        with open(self.job, "w", encoding="utf-8") as file:
            json.dump(fields, file)
        code, _, err = self.call("run", self.job)
        self.assertEqual(code, 2)
        self.assertIn("net.onnx: was changed after the job was made", err)

    def test_whatever_is_raised_is_one_line(self):
        self.plan()
        with mock.patch.object(program, "status_of", side_effect=RuntimeError("two\nlines")):
            self.assertEqual(self.call("status", self.job), (1, "", "znni-job: RuntimeError: two lines\n"))

    def test_a_run_takes_the_output_for_the_job_and_another_name_of_the_model(self):
        self.plan()
        found = self.call("run", self.output, "--server", self.address, "--model", "other")
        self.assertEqual(found[0], 2)
        self.assertIn("unknown model: 'other'", found[2])
        self.assertEqual(self.call("run", self.output, "--server", self.address)[0], 0)


if __name__ == "__main__":
    import unittest

    unittest.main()

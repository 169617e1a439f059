"""Jobs of blocks with real daemons, of which some are killed: the output is that of one machine, bit for bit."""

import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from unittest import mock

import distributed
import nets
import numpy as np
import onnx
import psutil
import zarr
import znni.dask
from harness import LONGEST_START, ZNNID, Daemon
from padded_test import unet
from znni.blocks.spec import read_spec
from znni.blocks.status import status_of
from znni.box import Box
from znni.stores.opening import open_source

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "client/python"))
from s3_server import S3Server, without_others

MEM = "256M"
EXTENT = (132, 72, 68)  # 12 blocks of 64x64x64 voxels, or of what is left, for the net that pads


class BlocksTest(unittest.TestCase):
    """A net without padding and one with padding and strides, and a volume in zarr."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.work = pathlib.Path(cls.folder.name)
        nets.save(nets.small_net(7, f_out=3), cls.work / "models", "net")
        onnx.save(unet(), cls.work / "unet.onnx")
        cls.volume = np.random.default_rng(3).random(EXTENT, np.float32)
        zarr.create_array(str(cls.work / "in.zarr"), data=cls.volume, chunks=(32, 32, 32))
        # Plans are kept there for the next daemon.
        cls.environment = dict(without_others(os.environ), ZNNID=str(ZNNID), XDG_STATE_HOME=f"{cls.folder.name}/state")

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def start(self, *arguments, **options):
        """Starts znni-job."""
        command = [sys.executable, "-m", "znni.programs.job", *map(str, arguments)]
        return subprocess.Popen(command, env=self.environment, text=True, **options)

    def call(self, *arguments):
        """Returns what znni-job prints."""
        with self.start(*arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            out, err = process.communicate()
        self.assertEqual(process.returncode, 0, err)
        return out

    def plan(self, output, *more):
        """Makes a job and returns its file."""
        path = self.work / f"{output}.json"
        path.write_text(
            self.call(
                "plan", "-i", self.work / "in.zarr", "-o", self.work / f"{output}.zarr", "--block", "64,64,64", *more
            )
        )
        return path

    def voxels(self, output):
        """Returns all voxels of an output."""
        return zarr.open_array(str(self.work / f"{output}.zarr/0"), mode="r")[:]

    def wait_for_blocks(self, job, count, process):
        """Waits until so many blocks are done."""
        deadline = time.monotonic() + LONGEST_START
        while status_of(read_spec(job)).done < count:
            self.assertIsNone(process.poll(), "it ended too early")
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.05)

    def wait_until_no_daemon_is_left(self):
        """Waits until no daemon runs whose repository lies in the folder of this test."""
        deadline = time.monotonic() + LONGEST_START
        while any(
            f"{self.work}/znni-" in word
            for process in psutil.process_iter(["cmdline"])
            for word in process.info["cmdline"] or []
        ):
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.05)

    def check(self, job, output, reference):
        """Checks that the job is complete and equal to another."""
        self.assertEqual(self.call("verify", job), "0 blocks missing, 0 damaged\n")
        np.testing.assert_array_equal(self.voxels(output), self.voxels(reference))

    def test_shards_of_which_one_is_killed(self):
        network = self.work / "unet.onnx"
        options = ("-m", network, "--mem", MEM, "--threads", "1")
        self.call("run", self.plan("one", *options))
        job = self.plan("many", *options, "--nodes", "3", "--no-measure")
        with self.start("run", job, "--shard", "0/3", stderr=subprocess.PIPE) as killed:
            self.wait_for_blocks(job, random.randint(1, 3), killed)
            killed.send_signal(signal.SIGKILL)
            killed.stderr.read()
        done = status_of(read_spec(job)).done
        with (
            self.start("run", job, "--shard", "0/3", stderr=subprocess.PIPE) as again,
            self.start("run", job, "--shard", "1/3", stderr=subprocess.DEVNULL),
        ):
            self.assertIn(f"{4 - done} blocks to compute, {done} are there", again.stderr.read())
        self.call("run", job, "--shard", "2/3")
        self.check(job, "many", "one")
        with mock.patch.dict(os.environ, self.environment):
            whole = znni.predict(network, self.volume, mem=MEM, progress=False)
        found = self.voxels("many")
        self.assertEqual((found.shape, whole.shape), ((2, *EXTENT),) * 2)
        self.assertLess(np.abs(found - whole).max(), 1e-4 * np.abs(whole).max())

    def test_a_measured_block_is_one_of_the_job(self):
        """Its daemon has the plan that those of all machines have, so that its voxels are theirs, bit for bit."""
        options = ("-m", self.work / "unet.onnx", "--mem", MEM, "--threads", "1")
        measured = self.plan("measured", *options)
        spec = read_spec(measured)
        told, status = spec.predicted, status_of(spec)
        for planned, block, volume in zip(spec.planned, spec.block, EXTENT):
            self.assertTrue(block < planned <= volume)  # what surrounds a block, which ends at the volume's border
        self.assertGreater(status.done, len(told["measured"]["others"]))
        self.assertLess(told["measured"]["seconds"], 3600 * told["hours"])
        self.assertGreater(told["memory_bytes"]["client"], 1 << 25)
        self.assertGreater(told["memory_bytes"]["daemon"], 1 << 25)
        self.call("run", measured)
        self.call("run", self.plan("unmeasured", *options, "--no-measure"))
        self.check(measured, "measured", "unmeasured")

    def test_a_job_of_an_older_version(self):
        job = self.plan("older", "-m", self.work / "unet.onnx", "--mem", MEM, "--threads", "1", "--no-measure")
        fields = json.loads(job.read_text())
        del fields["planned"]
        job.write_text(json.dumps(fields))
        self.call("run", job)
        self.assertEqual(self.call("verify", job), "0 blocks missing, 0 damaged\n")

    def test_a_bucket_and_a_machine_that_is_killed(self):
        network = self.work / "unet.onnx"
        options = ("-m", network, "--mem", MEM, "--threads", "1")
        self.call("run", self.plan("calm", *options))
        server = S3Server()
        objects = server.buckets["data"]
        objects.update(
            {
                f"in.zarr/{path.relative_to(self.work / 'in.zarr')}": path.read_bytes()
                for path in (self.work / "in.zarr").rglob("*")
                if path.is_file()
            }
        )
        for output in ("s3://data/out.zarr", "precomputed://s3://data/out"):
            with (
                server.served(),
                mock.patch.dict(
                    self.environment, {name: value for name, value in os.environ.items() if name.startswith("AWS_")}
                ),
            ):
                self.call(
                    "plan", "-i", "s3://data/in.zarr", "-o", output, "--block", "64,64,64", "--no-measure", *options
                )
                with self.start("run", output, stderr=subprocess.PIPE) as killed:
                    self.wait_for_blocks(output, random.randint(1, 3), killed)
                    killed.send_signal(signal.SIGKILL)
                    killed.stderr.read()
                done = status_of(read_spec(output)).done
                with self.start("run", output, stderr=subprocess.PIPE) as again:
                    self.assertIn(f"{12 - done} blocks to compute, {done} are there", again.stderr.read())
                self.assertEqual(self.call("verify", output), "0 blocks missing, 0 damaged\n")
                with open_source(output) as source:
                    found = source.read(Box((0, 0, 0), EXTENT))
            np.testing.assert_array_equal(found, self.voxels("calm"))

    def test_daemons_of_which_one_is_killed(self):
        with Daemon(self.work / "models", mem=MEM) as first, Daemon(self.work / "models", mem=MEM) as second:
            servers = ("--server", first.url, "--server", second.url, "--model", "net")
            self.call("run", self.plan("net_calm", *servers))
            job = self.plan("net_killed", "--no-measure", *servers)
            with self.start("run", job, stderr=subprocess.PIPE) as running:
                self.wait_for_blocks(job, 2, running)
                first.process.kill()
                first.process.wait()
                err = running.stderr.read()
            self.assertEqual(running.returncode, 0, err)
        self.check(job, "net_killed", "net_calm")
        nets.save(nets.small_net(8, f_out=3), self.work / "trained_again", "net")
        with (
            Daemon(self.work / "trained_again", mem=MEM) as other,
            self.start("run", job, "--server", other.url, stderr=subprocess.PIPE) as refused,
        ):
            self.assertRegex(
                refused.stderr.read(), "model 'net': fingerprint [0-9a-f]{32} found, expected [0-9a-f]{32}"
            )
        self.assertEqual(refused.returncode, 2)

    def test_a_dask_cluster_of_which_a_process_is_killed(self):
        network = self.work / "unet.onnx"
        self.call("run", self.plan("alone", "-m", network, "--mem", MEM, "--threads", "1"))
        killed = []

        def kill(done, _):
            if done and not killed:
                killed.append(
                    next(
                        pid
                        for pid in cluster.run(os.getpid).values()
                        if "znnid" in [child.name() for child in psutil.Process(pid).children()]
                    )
                )
                os.kill(killed[0], signal.SIGKILL)

        with (
            mock.patch.dict(os.environ, {**self.environment, "TMPDIR": str(self.work)}),
            distributed.LocalCluster(
                n_workers=2, threads_per_worker=1, dashboard_address=":0", local_directory=self.work / "dask"
            ) as local,
            distributed.Client(local) as cluster,
        ):
            status = znni.dask.predict(
                cluster,
                network,
                self.work / "in.zarr",
                self.work / "dask.zarr",
                mem=MEM,
                threads=1,
                block=(64, 64, 64),
                progress=kill,
            )
        self.assertEqual((status.done, status.failed, len(killed)), (12, {}, 1))
        self.wait_until_no_daemon_is_left()
        self.check(self.work / "dask.zarr", "dask", "alone")


if __name__ == "__main__":
    unittest.main()

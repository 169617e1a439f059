"""A job of blocks over a small volume, computed by a fake daemon that returns the voxels that it is sent."""

import pathlib
import tempfile
import unittest
from unittest import mock

import numpy as np
import zarr
from fake_daemon import FakeDaemon
from znni.blocks import work
from znni.blocks.planning import Wishes, plan
from znni.blocks.serving import Serving
from znni.blocks.work import Worker

EXTENT = (70, 130, 20)  # 6 blocks of one chunk, of 64 x 64 x 20 voxels


class JobCase(unittest.TestCase):
    """Has a volume of random voxels at `input`, a daemon, and no pauses between two tries."""

    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.input = str(self.folder / "in.zarr")
        self.output = str(self.folder / "out.zarr")
        self.volume = np.random.default_rng(1).random(EXTENT, np.float32)
        zarr.save_array(self.input, self.volume)
        self.daemon = FakeDaemon(part=EXTENT[1:], voxel_seconds=1e-6)
        self.address = self.enterContext(self.daemon.served())
        self.enterContext(mock.patch.object(work, "_FIRST_DELAY", 0))
        self.said = []

    def plan(self, **wishes):
        """Returns the spec of a job of blocks of one chunk."""
        usual = {
            "network": "",
            "servers": [self.address],
            "model": "same",
            "input": self.input,
            "output": self.output,
            "pad": "none",
            "dtype": "float32",
            "mem": None,
            "threads": None,
            "config": None,
            "block": (64, 64, 20),
            "nodes": 2,
            "mask": None,
            "skip_empty": False,
            "price_per_hour": None,
            "overwrite": False,
            "measure": False,
        }
        return plan(Wishes(**{**usual, **wishes}))

    def serving(self):
        """Returns who computes: the daemon that runs."""
        return Serving(network="", mem=None, threads=None, config=None, model="same", servers=[self.address])

    def run_shard(self, spec, shard, retries=0):
        """Computes a shard and returns the errors of its blocks."""
        with self.serving() as serving:
            worker = Worker(spec, serving, retries, self.said.append)
            self.addCleanup(worker.close)
            return worker.run(shard)

    def found(self):
        """Returns the output."""
        return zarr.open_array(self.output + "/0", mode="r")[:]

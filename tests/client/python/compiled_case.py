"""Modules that are compiled with stand-ins: for PyTorch, for the planner, and for a daemon that returns its input."""

import json
import os
import pathlib
import tempfile
import unittest
from unittest import mock

import numpy as np
import znni
from fake_daemon import FakeDaemon
from fake_torch import Module, Tensor, use_fake_torch
from script import use_script

EXTENTS = {"least": [1, 1, 1], "period": [1, 1, 1], "remainder": [0, 0, 0]}


class same(Module):
    """A module that returns its input, with the name of the daemon's model."""

    def __init__(self, function=lambda given: given, **options):
        super().__init__(function, **options)
        self.eval()


class CompiledCase(unittest.TestCase):
    """Has folders of its own for temporary files."""

    def setUp(self):
        self.torch = use_fake_torch(self)
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.enterContext(mock.patch("tempfile.tempdir", str(self.folder)))

    def compile(self, module=None, example=None, properties=(), refused="", facts=None, outputs=("output",), **options):
        """Returns the compiled module. The planner says `facts` of it or that it is `refused`, the daemon `properties`
        and the names of `outputs`."""
        self.daemon = FakeDaemon(properties=properties, outputs=outputs)
        address = self.enterContext(self.daemon.served())
        all_facts = {
            "runs": not refused,
            "tile_bound": False,
            "windows": None,
            "volume": EXTENTS,
            "output": {"channels": 1, "voxels_smaller": [0, 0, 0], "stride": [1, 1, 1]},
            "outputs": [{"name": "output", "channels": 1}],
            **(facts or {}),
        }
        (self.folder / "facts").write_text(json.dumps(all_facts))
        (self.folder / "text").write_text(refused or "it runs here")
        use_script(
            self,
            "planner",
            "ZNNI_PLANNER",
            f'case "$*" in *--json*) cat {self.folder}/facts ;; ',
            f"*) cat {self.folder}/text ;; esac",
        )
        use_script(
            self,
            "znnid",
            "ZNNID",
            f'cp "$2/same/config.pbtxt" {self.folder} 2>{os.devnull}',
            f'echo "info listening on {address}" >&2',
            f"touch {self.folder}/started",
            "exec sleep 600",
        )
        return znni.compile(module or same(), example, progress=False, **options)

    def left(self):
        """Returns the folders that exist."""
        return list(self.folder.glob("znni-own-*"))


def batch(*extent, count=1, kind=np.float32):
    """Returns a tensor of random voxels."""
    return Tensor(np.random.default_rng(7).integers(0, 200, (count, 1, *extent)).astype(kind))

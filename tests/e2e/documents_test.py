"""Blocks of documents run as they stand: the README's commands with a net of one's own and its Python,
docs/tutorial.md, and the recipe of docs/volumes.md for napari."""

import contextlib
import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import types
import unittest
from unittest import mock

import h5py
import nets
import numpy as np
import onnx
import zarr
import znni
from harness import ROOT, ZNNID, Daemon

BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# The voxel size and the position of images, in nanometers.
SCALE, PLACE = [40.0, 8.0, 8.0], [4000.0, 160.0, -80.0]


def blocks_of(document, *kinds, section=""):
    """Returns (kind, text) of the blocks of these kinds in a document, or in the section with this heading."""
    text = (ROOT / document).read_text()
    if section:
        text = re.search(rf"^## {re.escape(section)}\n(.*?)(?=^## )", text, re.MULTILINE | re.DOTALL)[1]
    return [block for block in BLOCK.findall(text) if block[0] in kinds]


def write_image(path, voxels):
    """Writes an OME-Zarr image with voxel size and position."""
    transforms = [{"type": "scale", "scale": SCALE}, {"type": "translation", "translation": PLACE}]
    image = {
        "axes": [{"name": name, "type": "space", "unit": "nanometer"} for name in "zyx"],
        "datasets": [{"path": "0", "coordinateTransformations": transforms}],
    }
    group = zarr.open_group(path, mode="w")
    group.create_array("0", data=voxels, chunks=(16, 32, 32))
    group.attrs["ome"] = {"version": "0.5", "multiscales": [image]}


def tutorial_net():
    """Returns the net of the tutorial's first block, with other weights."""
    rng = np.random.default_rng(1)
    net = nets.Net(1)
    for channels, is_pooled in ((8, True), (16, False), (1, False)):
        net.conv(rng, channels, (3, 3, 3))
        net.activate("Sigmoid" if channels == 1 else "Relu")
        if is_pooled:
            net.pool((2, 2, 2))
    model = nets.export(net)
    model.graph.input[0].name = model.graph.node[0].input[0] = "raw"
    return model


def looking_net(field_of_view):
    """Returns a net that gives the voxel in the middle of its field of view."""
    kernel = np.zeros((1, 1, *field_of_view), np.float32)
    kernel[(0, 0, *((extent - 1) // 2 for extent in field_of_view))] = 1
    net = nets.Net(1)
    weights = [kernel, np.zeros(1, np.float32)]
    ones = (1, 1, 1)
    net.add(nets.Node("Conv", ["input"], "seen", weights, k=field_of_view, dilation=ones), 1, (field_of_view, ones))
    return net


class DocumentCase(unittest.TestCase):
    """An empty folder in which blocks run."""

    def setUp(self):
        self.work = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.environment = {**os.environ, "XDG_STATE_HOME": str(self.work / "state")}

    def run_block(self, kind, text):
        """Runs a block and returns what it printed on standard error."""
        command = [sys.executable, "-c", text] if kind == "python" else ["bash", "-euc", text]
        ran = subprocess.run(command, cwd=self.work, env=self.environment, capture_output=True, text=True, check=False)
        self.assertEqual(ran.returncode, 0, f"{text}\n{ran.stdout}{ran.stderr}")
        return ran.stderr


class FromPythonTest(DocumentCase):
    """The README's block of Python, by a daemon of another port."""

    def test_volumes_and_paths(self):
        net = nets.small_net(7, f_out=1)
        nets.save(net, self.work / "models", "net")
        shutil.copy(self.work / "models/net/1/model.onnx", self.work / "net.onnx")
        voxels = np.random.default_rng(6).integers(0, 4, (24, 30, 34), np.uint8)
        np.save(self.work / "volume.npy", voxels)
        zarr.create_array(self.work / "raw.zarr", data=voxels, chunks=(16, 16, 16))
        ((_, block),) = blocks_of("README.md", "python", section="From Python")
        block = block.replace("2G", "1G").replace("dense = znni", "np.save('first.npy', dense); dense = znni")
        self.environment["ZNNID"] = str(ZNNID)
        with Daemon(self.work / "models", mem="512M").wait_ready() as daemon:
            self.run_block("python", block.replace("127.0.0.1:8001", daemon.url) + "np.save('own.npy', dense)\n")
        expected = nets.run_float64(net, voxels[None, None])[0, 0]
        for name in ("first.npy", "own.npy"):
            np.testing.assert_allclose(
                np.load(self.work / name), expected, rtol=0, atol=1e-5 * np.abs(expected).max(), err_msg=name
            )
        padded = nets.run_float64(net, np.pad(voxels, [(4, 5)] * 3, mode="reflect")[None, None])[0, 0]
        found = zarr.open_array(self.work / "dense.zarr/0", mode="r")[:]
        self.assertEqual(found.dtype, np.uint8)
        np.testing.assert_allclose(found, 255 * np.clip(padded, 0, 1), rtol=0, atol=0.51)


class ReadmeTest(DocumentCase):
    """The commands that come first, in what deploy/demo leaves of a clone."""

    def setUp(self):
        super().setUp()
        for name in ("client/python", "proto"):
            built = shutil.ignore_patterns("build", "*.egg-info", "__pycache__", "*.binpb", "bin", "*.so")
            shutil.copytree(ROOT / name, self.work / name, ignore=built)
        (self.work / "deploy").symlink_to(ROOT / "deploy")
        (self.work / "build/release").mkdir(parents=True)
        (self.work / "build/release/bin").symlink_to(ZNNID.parent)
        self.make_environment(self.work / "build/venv")
        self.generated = np.random.default_rng(2).integers(0, 256, (50, 52, 54), np.uint8)
        (self.work / "build/demo").mkdir()
        with h5py.File(self.work / "build/demo/generated.h5", "w") as file:
            file["raw"] = self.generated

    def make_environment(self, folder):
        """Makes an environment that finds the packages of this one, and whose pip asks no network."""
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
        (packages,) = folder.glob("lib/python*/site-packages")
        (packages / "tests.pth").write_text(sysconfig.get_path("purelib") + "\n")
        pip = folder / "bin/pip"
        pip.write_text(f'#!/bin/sh\nexec "{folder}/bin/python" -m pip "$@"\n')
        pip.chmod(0o755)
        # 0 of what is off by default: "no isolation" would be on otherwise.
        self.environment.update(PIP_NO_INDEX="1", PIP_NO_BUILD_ISOLATION="0", PIP_DISABLE_PIP_VERSION_CHECK="1")
        self.environment.update(PIP_CONFIG_FILE=os.devnull, PIP_ROOT_USER_ACTION="ignore", PIP_NO_CACHE_DIR="1")
        for name in ("PYTHONPATH", "ZNNID", "ZNNI_PROGRAMS", "ZNNI_CONV_LIBRARY"):
            self.environment.pop(name, None)

    def test_a_net_of_ones_own(self):
        net = nets.small_net(7, f_out=1)
        onnx.save(nets.export(net), self.work / "net.onnx")
        # Few grey values: with larger ones the sigmoid at the net's end would show rounding errors of thousands.
        voxels = np.random.default_rng(1).integers(0, 4, (24, 40, 36), np.uint8)
        write_image(self.work / "raw.ome.zarr", voxels)
        (_, three), (_, on_what_is_shipped) = blocks_of("README.md", "", section="Your own net, your own volume")
        demo, install, run = three.splitlines()
        self.assertEqual(demo.split()[0], "deploy/demo")  # CI runs it, on a machine without anything
        self.assertIn("\ndeploy/demo\n", (ROOT / ".ci/run").read_text())
        said = self.run_block("sh", install)
        self.assertNotIn("does not provide the extra", said)
        self.run_block("sh", run.replace("4G", "1G"))
        padded = np.pad(voxels, [(4, 5)] * 3, mode="reflect")
        expected = nets.run_float64(net, padded[None, None])[0, 0]
        found = zarr.open_array(self.work / "dense.ome.zarr/0", mode="r")[:]
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5 * np.abs(expected).max())
        self.run_block("sh", on_what_is_shipped.replace("4G", "1G"))
        self.assertEqual(np.load(self.work / "try.npy").shape, (10, 12, 14))


class TutorialTest(DocumentCase):
    def test_all_blocks(self):
        programs = pathlib.Path(znni.__file__).parents[1] / "bin"
        self.environment["PATH"] = f"{ZNNID.parent}:{programs}:{os.environ['PATH']}"
        blocks = blocks_of("docs/tutorial.md", "python", "sh")
        self.assertEqual([kind for kind, _ in blocks], ["python", "sh", "python", "sh", "python", "python", "sh"])
        self.assertIn("torch.onnx.export", blocks[0][1])
        if importlib.util.find_spec("torch") is None:  # it is not among the packages of the tests
            print("no PyTorch: its block is replaced by a net of the same layers")
            onnx.save(tutorial_net(), self.work / "net.onnx")
            blocks = blocks[1:]
        for block in blocks:
            self.run_block(*block)


class Viewer:
    """Stands for napari's viewer: keeps the layers, each with the place of its first voxel in the world."""

    def __init__(self):
        self.layers = {}

    def add_image(self, array, *, channel_axis, name, scale, translate):
        self.layers[name] = (np.asarray(array), channel_axis, np.array(scale), np.array(translate))


class NapariTest(DocumentCase):
    """The recipe lays each voxel of an output where the middle of what the net has seen of it lies."""

    def layers(self):
        """Runs the recipe in the folder and returns the layers that it adds."""
        (recipe,) = (text for _, text in blocks_of("docs/volumes.md", "python") if "import napari\n" in text)
        viewer = Viewer()
        napari = types.SimpleNamespace(Viewer=lambda: viewer, run=lambda: None)
        with mock.patch.dict(sys.modules, napari=napari), contextlib.chdir(self.work):
            exec(recipe, {})
        return viewer.layers

    def check(self, voxels, field_of_view, **options):
        """Runs a net that shows where it has looked, and compares the places of equal voxels."""
        onnx.save(nets.export(looking_net(field_of_view)), self.work / "net.onnx")
        own = {"ZNNID": str(ZNNID), "XDG_STATE_HOME": str(self.work / "state")}
        with mock.patch.dict(os.environ, own), contextlib.chdir(self.work):
            znni.predict("net.onnx", "in.zarr", "out.zarr", mem="256M", progress=False, overwrite=True, **options)
        layers = self.layers()
        self.assertEqual(list(layers), ["in.zarr", "out.zarr"])
        _, _, scale, translation = layers["in.zarr"]
        np.testing.assert_array_equal((scale, translation), (SCALE, PLACE))
        seen, channel_axis, own_scale, own_translation = layers["out.zarr"]
        self.assertIsNone(channel_axis)
        np.testing.assert_array_equal(own_scale, scale)
        for here in ((0, 0, 0), (1, 2, 3), tuple(n - 1 for n in seen.shape)):
            (there,) = np.argwhere(voxels == round(float(seen[here])))
            np.testing.assert_allclose(own_translation + own_scale * here, translation + scale * there)

    def test_places(self):
        """Every voxel has a number of its own."""
        voxels = np.random.default_rng(3).permutation(14 * 18 * 22).reshape(14, 18, 22).astype(np.uint16)
        write_image(self.work / "in.zarr", voxels)
        self.check(voxels, (5, 7, 3))
        self.check(voxels, (4, 6, 2))
        self.check(voxels, (5, 4, 3), roi=np.s_[2:12, 3:15, 5:20])
        self.check(voxels, (5, 4, 3), pad="reflect")


if __name__ == "__main__":
    unittest.main()

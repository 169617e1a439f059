"""Compares trainings of U-Nets that pad and stride, and of nets of max filters, by znni-train, with those of a peer in
float64, step by step.

The peer is NumPy; where torch is installed (deploy/packages/python.txt does not have it), PyTorch is another one.
"""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest

import h5py
import numpy as np
import onnx
from layer_peers import HAS_TORCH, RATE, STEPS, Numpy, Onnx, Torch

PROGRAM = pathlib.Path(os.environ["ZNNI_BIN_DIR"]) / "znni-train"
LONGEST = 600  # seconds; only a bound for a hang
BOUND = 1e-4  # of a loss
PATCH = (8, 12, 16)  # as large as the volume: every step has the same sample


def random_weights(shapes):
    """Returns small weights; kernels by He."""
    rng = np.random.default_rng(7)
    weights = {}
    for name, shape in shapes.items():
        deviation = np.sqrt(2 / np.prod(shape[1:])) if name.endswith(".w") else 0.1
        weights[name] = rng.normal(0, deviation, shape).astype(np.float32)
    return weights


def pooled_unet(layers, x):
    """Poolings down, transposed convolutions up."""
    top = layers.relu(layers.conv(x, "a"))
    below = layers.relu(layers.conv(layers.pool(top), "b"))
    bottom = layers.relu(layers.conv(layers.pool(below), "c"))
    middle = layers.relu(layers.conv(layers.join(below, layers.transposed(bottom, "d")), "e"))
    last = layers.relu(layers.conv(layers.join(top, layers.transposed(middle, "f")), "g"))
    return layers.conv(last, "h")


POOLED = {
    **{"a.w": (4, 1, 3, 3, 3), "b.w": (6, 4, 3, 3, 3), "c.w": (8, 6, 3, 3, 3), "d.w": (8, 6, 2, 2, 2)},
    **{"e.w": (6, 12, 3, 3, 3), "f.w": (6, 4, 2, 2, 2), "g.w": (4, 8, 3, 3, 3), "h.w": (1, 4, 1, 1, 1)},
    **{"a.b": (4,), "b.b": (6,), "c.b": (8,), "d.b": (6,), "e.b": (6,), "f.b": (4,), "g.b": (4,), "h.b": (1,)},
}


def strided_unet(layers, x):
    """Strided convolutions down, both kinds of upsampling up, slopes for each channel, and a gate."""
    top = layers.prelu(layers.conv(x, "a"), "a")
    below = layers.prelu(layers.conv(top, "b", stride=2), "b")
    bottom = layers.prelu(layers.conv(below, "c", stride=2), "c")
    middle = layers.prelu(layers.conv(layers.join(below, layers.resize(bottom, "nearest")), "d"), "d")
    up = layers.conv(layers.resize(middle, "linear"), "e")
    return layers.conv(layers.join(top, layers.product(top, up)), "f")


STRIDED = {
    **{"a.w": (4, 1, 3, 3, 3), "b.w": (6, 4, 3, 3, 3), "c.w": (6, 6, 3, 3, 3), "d.w": (5, 12, 3, 3, 3)},
    **{"e.w": (4, 5, 3, 3, 3), "f.w": (1, 8, 1, 1, 1), "a.s": (4, 1, 1, 1), "b.s": (6, 1, 1, 1)},
    **{"c.s": (6, 1, 1, 1), "d.s": (5, 1, 1, 1)},
    **{"a.b": (4,), "b.b": (6,), "c.b": (6,), "d.b": (5,), "e.b": (4,), "f.b": (1,)},
}


def mirrored_unet(layers, x):
    """Convolutions that reflect the voxels at the border, the input's too, or repeat them."""
    top = layers.relu(layers.conv(x, "a", mode="reflect"))
    below = layers.relu(layers.conv(layers.pool(top), "b", mode="reflect"))
    middle = layers.relu(layers.conv(below, "c", mode="edge"))
    last = layers.relu(layers.conv(layers.join(top, layers.transposed(middle, "d")), "e", mode="edge"))
    return layers.conv(last, "f")


MIRRORED = {
    **{"a.w": (4, 1, 3, 3, 3), "b.w": (6, 4, 3, 3, 3), "c.w": (6, 6, 3, 3, 3), "d.w": (6, 4, 2, 2, 2)},
    **{"e.w": (4, 8, 3, 3, 3), "f.w": (1, 4, 1, 1, 1)},
    **{"a.b": (4,), "b.b": (6,), "c.b": (6,), "d.b": (4,), "e.b": (4,), "f.b": (1,)},
}


def filter_net(layers, x):
    """Max filters, dilated convolutions behind them; nothing pads."""
    top = layers.filter(layers.relu(layers.conv(x, "a", mode=None)), 1)
    middle = layers.filter(layers.relu(layers.conv(top, "b", mode=None, dilation=2)), 2)
    last = layers.relu(layers.conv(middle, "c", mode=None, dilation=4))
    return layers.conv(last, "d", mode=None)


FILTERS = {
    **{"a.w": (5, 1, 3, 3, 3), "b.w": (6, 5, 3, 3, 3), "c.w": (6, 6, 3, 3, 3), "d.w": (1, 6, 1, 1, 1)},
    **{"a.b": (5,), "b.b": (6,), "c.b": (6,), "d.b": (1,)},
}
FILTERS_FOV = 18


def windows_of(path):
    """Returns how the layers of a model read."""
    default = [1] * 3
    found = []
    for node in onnx.load(path).graph.node:
        own = {each.name: list(each.ints) for each in node.attribute}
        found.append((node.op_type, own.get("strides", default), own.get("dilations", default)))
    return found


class TrainUnetTest(unittest.TestCase):
    """One volume of random voxels, which is the patch of every step."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.use_volume(PATCH)

    def use_volume(self, extent):
        """Makes the volume, of so many voxels."""
        self.patch = list(extent)
        rng = np.random.default_rng(3)
        self.image = rng.standard_normal(extent).astype(np.float32)
        self.labels = rng.integers(0, 3, extent).astype(np.uint32)
        with h5py.File(self.root / "data.h5", "w") as file:
            file["raw"], file["labels"] = self.image, self.labels

    def run_program(self, model, threads, more=f"steps: {STEPS}"):
        """Runs a training on that many threads."""
        data, config = self.root / "data.h5", self.root / "train.pbtxt"
        files = f'{{ input: "{data}:/raw" labels: "{data}:/labels" }}'
        config.write_text(
            f"patch: {self.patch} loss {{ kind: square }} optimizer {{ kind: sgd learning_rate: {RATE} }} "
            f"volume {files} {more.replace('FILES', files)}"
        )
        words = [PROGRAM, "--model", model, "--config", config, "--output", self.root / f"out{threads}"]
        words += ["--mem", "300M", "--threads", str(threads)]
        return subprocess.run(words, capture_output=True, text=True, timeout=LONGEST, check=False)

    def log_of(self, ended, threads):
        """Returns the lines of the log of a training."""
        self.assertEqual(ended.returncode, 0, ended.stderr)
        lines = (self.root / f"out{threads}/train.jsonl").read_text().splitlines()
        return [json.loads(line) for line in lines]

    def train(self, net, weights, more):
        """Trains. Returns the losses."""
        model = self.root / "net.onnx"
        Onnx(weights).write(net, model)
        ended = self.run_program(model, 2, f"steps: {STEPS} {more}")
        log = self.log_of(ended, 2)
        self.assertTrue((self.root / "out2/1/model.onnx").exists())
        return [line["loss"] for line in log]

    def compare(self, net, shapes, fov=1, more="", stride=1):
        """Trains by all, from the same weights. Returns the losses of NumPy, of two more steps."""
        weights = random_weights(shapes)
        ours = self.train(net, weights, more)
        self.assertEqual(len(ours), STEPS)
        self.assertLess(ours[-1], 0.95 * ours[0])
        part = tuple(slice((fov - 1) // 2, (fov - 1) // 2 + n - fov + 1, stride) for n in self.patch)
        target = self.labels.astype(np.float32)[part][None]
        found = []
        for peer in (Torch, Numpy) if HAS_TORCH else (Numpy,):
            found = peer(weights).losses(net, self.image[None], target, STEPS + 2, stride)
            for step, (mine, wanted) in enumerate(zip(ours, found), 1):
                self.assertAlmostEqual(mine, wanted, delta=BOUND * wanted, msg=f"{peer.__name__}, step {step}")
        return found

    def test_poolings_and_transposed_convolutions(self):
        self.compare(pooled_unet, POOLED)

    def test_strides_upsamplings_slopes_and_a_gate(self):
        self.compare(strided_unet, STRIDED)

    def test_pads_that_copy_voxels(self):
        self.compare(mirrored_unet, MIRRORED)

    def filters(self, extent):
        """Trains max filters, and goes on from the model: the step that follows, and a validation by the engine."""
        self.use_volume(extent)
        wanted = self.compare(filter_net, FILTERS, FILTERS_FOV)
        model = self.root / "out2/1/model.onnx"
        self.assertEqual(windows_of(model), windows_of(self.root / "net.onnx"))
        first, last = self.log_of(self.run_program(model, 1, "steps: 1 validation FILES"), 1)
        self.assertAlmostEqual(first["loss"], wanted[STEPS], delta=BOUND * wanted[STEPS])
        self.assertAlmostEqual(last["validation_loss"], wanted[STEPS + 1], delta=BOUND * wanted[STEPS + 1])

    def test_max_filters(self):
        """They are trained as poolings with strides, and written as they were."""
        self.filters((21, 25, 29))

    def test_max_filters_of_any_patch(self):
        """They are trained as they are."""
        self.filters((22, 25, 28))

    def test_sparse_max_filters(self):
        """The loss compares the voxels that poolings with strides leave."""
        self.use_volume((22, 26, 30))
        self.compare(filter_net, FILTERS, FILTERS_FOV, "sparse: true", 4)
        self.assertEqual(windows_of(self.root / "out2/1/model.onnx"), windows_of(self.root / "net.onnx"))

    def test_a_patch_off_the_period_is_refused(self):
        """The error says which extents are right."""
        model = self.root / "net.onnx"
        Onnx(random_weights(POOLED)).write(pooled_unet, model)
        with h5py.File(self.root / "data.h5", "a") as file:
            for name in ("raw", "labels"):
                values = file[name][:, :, :14]
                del file[name]
                file[name] = values
        self.patch = [8, 12, 14]
        ended = self.run_program(model, 1)
        self.assertEqual(ended.returncode, 1)
        self.assertIn("patch.x = 14 does not fit", ended.stderr)
        self.assertIn("take 12 or 16", ended.stderr)


if __name__ == "__main__":
    unittest.main()

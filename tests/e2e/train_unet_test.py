"""Compares trainings of U-Nets that pad and stride, by znni-train, with those of a peer in float64, step by step.

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


class TrainUnetTest(unittest.TestCase):
    """One volume of random voxels, which is the patch of every step."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.patch = list(PATCH)
        rng = np.random.default_rng(3)
        self.image = rng.standard_normal(PATCH).astype(np.float32)
        self.labels = rng.integers(0, 3, PATCH).astype(np.uint32)
        with h5py.File(self.root / "data.h5", "w") as file:
            file["raw"], file["labels"] = self.image, self.labels

    def run_program(self, model, threads):
        """Runs a training on that many threads."""
        data, config = self.root / "data.h5", self.root / "train.pbtxt"
        config.write_text(
            f"patch: {self.patch} steps: {STEPS} loss {{ kind: square }} "
            f"optimizer {{ kind: sgd learning_rate: {RATE} }} "
            f'volume {{ input: "{data}:/raw" labels: "{data}:/labels" }}'
        )
        words = [PROGRAM, "--model", model, "--config", config, "--output", self.root / f"out{threads}"]
        words += ["--mem", "300M", "--threads", str(threads)]
        return subprocess.run(words, capture_output=True, text=True, timeout=LONGEST, check=False)

    def train(self, net, weights):
        """Trains. Returns the losses."""
        model = self.root / "net.onnx"
        Onnx(weights).write(net, model)
        ended = self.run_program(model, 2)
        self.assertEqual(ended.returncode, 0, ended.stderr)
        self.assertTrue((self.root / "out2/1/model.onnx").exists())
        lines = (self.root / "out2/train.jsonl").read_text().splitlines()
        return [json.loads(line)["loss"] for line in lines]

    def compare(self, net, shapes):
        """Trains by all, from the same weights."""
        weights = random_weights(shapes)
        ours = self.train(net, weights)
        self.assertEqual(len(ours), STEPS)
        self.assertLess(ours[-1], 0.95 * ours[0])
        target = self.labels.astype(np.float32)[None]
        for peer in (Numpy, Torch) if HAS_TORCH else (Numpy,):
            theirs = peer(weights).losses(net, self.image[None], target)
            for step, (mine, wanted) in enumerate(zip(ours, theirs, strict=True), 1):
                self.assertAlmostEqual(mine, wanted, delta=BOUND * wanted, msg=f"{peer.__name__}, step {step}")

    def test_poolings_and_transposed_convolutions(self):
        self.compare(pooled_unet, POOLED)

    def test_strides_upsamplings_slopes_and_a_gate(self):
        self.compare(strided_unet, STRIDED)

    def test_pads_that_copy_voxels(self):
        self.compare(mirrored_unet, MIRRORED)

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

"""A network of Caffe, prototxt and caffemodel, through the planner and a daemon, against its layers in NumPy."""

import os
import pathlib
import struct
import subprocess
import tempfile
import unittest
import unittest.mock

import numpy as np
import znni
from harness import ZNNID

PLANNER = ZNNID.parent / "planner"

NET = """
name: "small"
layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 1 dim: 1 dim: 3 dim: 8 dim: 12 } } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "data" top: "loss" include { phase: TRAIN } }
layer { name: "a" type: "Convolution" bottom: "data" top: "a" param { lr_mult: 1 } convolution_param {
  num_output: 2 bias_term: false pad: 0 pad: 1 pad: 1 kernel_size: 1 kernel_size: 3 kernel_size: 3
  weight_filler { type: "msra" } } }
layer { name: "bn" type: "BatchNorm" bottom: "a" top: "a" batch_norm_param { use_global_stats: true } }
layer { name: "scale" type: "Scale" bottom: "a" top: "a" scale_param { bias_term: true } }
layer { name: "elu" type: "ELU" bottom: "a" top: "a" }
layer { name: "pool" type: "Pooling" bottom: "a" top: "pool" pooling_param {
  pool: MAX kernel_size: 1 kernel_size: 2 kernel_size: 2 stride: 1 stride: 2 stride: 2 } }
layer { name: "up" type: "Deconvolution" bottom: "pool" top: "up" convolution_param {
  num_output: 2 kernel_size: 1 kernel_size: 2 kernel_size: 2 stride: 1 stride: 2 stride: 2 } }
layer { name: "sum" type: "Eltwise" bottom: "up" bottom: "a" top: "sum" }
layer { name: "out" type: "Sigmoid" bottom: "sum" top: "out" }
"""

# Groups, averages with pads, and windows that reach behind an odd extent: the last of them are shorter.
ODD = """
name: "odd"
layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 1 dim: 2 dim: 3 dim: 9 dim: 13 } } }
layer { name: "a" type: "Convolution" bottom: "data" top: "a" convolution_param {
  num_output: 4 group: 2 pad: 0 pad: 1 pad: 1 kernel_size: 1 kernel_size: 3 kernel_size: 3 } }
layer { name: "prelu" type: "PReLU" bottom: "a" top: "a" prelu_param { channel_shared: true } }
layer { name: "pool" type: "Pooling" bottom: "a" top: "pool" pooling_param { pool: AVE
  kernel_size: 1 kernel_size: 4 kernel_size: 4 stride: 1 stride: 2 stride: 2 pad: 0 pad: 1 pad: 1 } }
layer { name: "mean" type: "Pooling" bottom: "pool" top: "mean" pooling_param { pool: AVE
  kernel_size: 3 stride: 1 pad: 1 } }
layer { name: "up" type: "Deconvolution" bottom: "mean" top: "up" convolution_param { num_output: 4 group: 2
  bias_term: false kernel_size: 1 kernel_size: 2 kernel_size: 2 stride: 1 stride: 2 stride: 2 } }
layer { name: "crop" type: "Crop" bottom: "up" bottom: "a" top: "crop" crop_param { axis: 2 } }
layer { name: "sum" type: "Eltwise" bottom: "crop" bottom: "a" top: "sum" eltwise_param { coeff: 0.5 coeff: -2 } }
"""


def field(number, kind, payload):
    """Returns a field of a message of protobuf: kind 0 a whole number, 2 bytes."""
    head = varint(number << 3 | kind)
    return head + (varint(payload) if kind == 0 else varint(len(payload)) + payload)


def varint(value):
    text = b""
    while value > 0x7F:
        text += bytes([value & 0x7F | 0x80])
        value >>= 7
    return text + bytes([value])


def blob(numbers):
    """Returns a BlobProto: data 5, shape 7, which has dim 1. A scalar has no shape."""
    shape = field(1, 2, b"".join(varint(extent) for extent in numbers.shape))
    data = struct.pack(f"<{numbers.size}f", *numbers.ravel())
    return field(5, 2, data) + (field(7, 2, shape) if numbers.shape else b"")


def caffemodel(layers):
    """Returns a NetParameter with these layers' blobs: name 1, blobs 7, in layer 100."""
    text = b""
    for name, blobs in layers.items():
        text += field(100, 2, field(1, 2, name.encode()) + b"".join(field(7, 2, blob(one)) for one in blobs))
    return text


def computed(layers, volume):
    """Returns the network's output in float64, each layer by its definition."""
    z, y, x = volume.shape
    padded = np.pad(volume.astype(float), ((0, 0), (1, 1), (1, 1)))
    kernels = layers["a"][0][:, 0, 0]
    a = np.zeros((2, z, y, x))
    for dy in range(3):
        for dx in range(3):
            a += kernels[:, dy, dx, None, None, None] * padded[:, dy : dy + y, dx : dx + x]
    mean, variance, weight = layers["bn"]
    per_channel = lambda numbers: numbers[:, None, None, None]  # noqa: E731
    a = (a - per_channel(mean / weight)) / np.sqrt(per_channel(variance / weight) + 1e-5)
    a = a * per_channel(layers["scale"][0]) + per_channel(layers["scale"][1])
    a = np.where(a > 0, a, np.expm1(np.minimum(a, 0)))
    pool = a.reshape(2, z, y // 2, 2, x // 2, 2).max(axis=(3, 5))
    up = np.zeros_like(a)
    for dy in range(2):
        for dx in range(2):
            up[:, :, dy::2, dx::2] = np.einsum("fg,fzyx->gzyx", layers["up"][0][:, :, 0, dy, dx], pool)
    up += per_channel(layers["up"][1])
    return 1 / (1 + np.exp(-(up + a)))


def averaged(volume, axis, k, stride, pad):
    """Returns means along an axis as Caffe has them: of windows with the pads, up to the end of those."""
    n = volume.shape[axis]
    means = []
    for begin in range(-pad, -pad + stride * -(-(n + 2 * pad - k) // stride) + 1, stride):
        end = min(begin + k, n + pad)
        inside = np.take(volume, range(max(begin, 0), min(end, n)), axis)
        means.append(inside.sum(axis) / (end - begin))
    return np.stack(means, axis)


def computed_odd(layers, volume):
    """Returns the output of ODD in float64, each layer by its definition."""
    _, z, y, x = volume.shape
    padded = np.pad(volume.astype(float), ((0, 0), (0, 0), (1, 1), (1, 1)))
    kernels, bias = layers["a"]
    a = np.zeros((4, z, y, x)) + bias[:, None, None, None]
    for to in range(4):
        for dy, dx in np.ndindex(3, 3):
            a[to] += kernels[to, 0, 0, dy, dx] * padded[to // 2, :, dy : dy + y, dx : dx + x]
    a = np.where(a > 0, a, layers["prelu"][0] * a)
    mean = averaged(averaged(a, 2, 4, 2, 1), 3, 4, 2, 1)
    for axis in (1, 2, 3):
        mean = averaged(mean, axis, 3, 1, 1)
    up = np.zeros((4, z, 2 * mean.shape[2], 2 * mean.shape[3]))
    for of, to in ((of, of // 2 * 2 + to) for of in range(4) for to in range(2)):
        for dy, dx in np.ndindex(2, 2):
            up[to, :, dy::2, dx::2] += layers["up"][0][of, to % 2, 0, dy, dx] * mean[of]
    return 0.5 * up[:, :, :y, :x] - 2 * a


class CaffeTest(unittest.TestCase):
    def setUp(self):
        self.work = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        own = {"XDG_STATE_HOME": str(self.work / "state"), "ZNNID": str(ZNNID)}
        self.enterContext(unittest.mock.patch.dict(os.environ, own))
        random = np.random.default_rng(3)
        normal = lambda *extent: random.normal(size=extent).astype(np.float32)  # noqa: E731
        self.layers = {
            "a": [normal(2, 1, 1, 3, 3)],
            "bn": [normal(2), 4 + normal(2) ** 2, np.full(1, 4, np.float32)],
            "scale": [normal(2), normal(2)],
            "up": [normal(2, 2, 1, 2, 2), normal(2)],
            "gone": [normal(7)],  # of training
        }
        self.net = self.work / "net.prototxt"
        self.net.write_text(NET)
        (self.work / "net.caffemodel").write_bytes(caffemodel(self.layers))

    def planner(self, *arguments):
        run = subprocess.run([PLANNER, *map(str, arguments)], capture_output=True, text=True)
        return run.returncode, run.stdout + run.stderr

    def test_a_volume(self):
        """Of another extent than the file declares."""
        volume = np.random.default_rng(4).normal(size=(5, 20, 26)).astype(np.float32)
        found = znni.predict(self.net, volume, mem="256M", progress=False)
        np.testing.assert_allclose(found, computed(self.layers, volume), atol=1e-5)

    def test_odd_extents(self):
        random = np.random.default_rng(5)
        normal = lambda *extent: random.normal(size=extent).astype(np.float32)  # noqa: E731
        layers = {
            "a": [normal(4, 1, 1, 3, 3), normal(4)],
            "prelu": [np.float32(0.25)],
            "up": [normal(4, 2, 1, 2, 2)],
        }
        self.net.write_text(ODD)
        (self.work / "net.caffemodel").write_bytes(caffemodel(layers))
        for extent in ((5, 19, 27), (4, 17, 21)):
            volume = normal(2, *extent)
            found = znni.predict(self.net, volume, mem="256M", progress=False)
            np.testing.assert_allclose(found, computed_odd(layers, volume), atol=1e-5)

    def test_the_planner(self):
        code, text = self.planner("check", self.net)
        self.assertEqual(code, 0, text)
        moved = self.work / "elsewhere.caffemodel"
        (self.work / "net.caffemodel").rename(moved)
        code, text = self.planner("check", self.net)
        self.assertEqual(code, 2)
        self.assertIn("net.caffemodel: ", text)
        code, text = self.planner("--model", self.net, "--weights", moved, "--mem", "256M", "--patience", "model")
        self.assertEqual(code, 0, text)

    def test_all_that_is_refused(self):
        self.net.write_text(NET.replace('"Sigmoid"', '"LRN"').replace("pool: MAX", "pool: STOCHASTIC"))
        code, text = self.planner("check", self.net)
        self.assertNotEqual(code, 0)
        for words in ("local response normalisation", "Pooling STOCHASTIC"):
            self.assertIn(words, text)


if __name__ == "__main__":
    unittest.main()

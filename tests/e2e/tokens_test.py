"""Networks whose voxels are tokens give what ONNX Runtime computes of their window; over volumes of other extents they
give the weighted mean of what it computes of overlapping windows."""

import pathlib
import tempfile
import unittest

import numpy as np
from harness import Daemon
from normalised_test import CONFIG, OTHERS, WINDOW, blended, declaring, gaussian, instance_norm, noise, save
from onnx import helper
from padded_test import Graph, infer, integers

PATCH = 4
GRID = [n // PATCH for n in WINDOW]
CHANNELS = 12
LAST = [0, 2, 3, 4, 1]
FIRST = [0, 4, 1, 2, 3]


def number(value):
    """Returns a constant of one number."""
    return np.full((), value, np.float32)


def linear(graph, source, f):
    """Returns a linear layer of channels that are last."""
    read = graph.images[source]
    product = graph.add("MatMul", [source], f, [graph.rng.normal(0, read**-0.5, (read, f)).astype(np.float32)])
    return graph.add("Add", [product], f, [graph.rng.normal(0, 0.3, f).astype(np.float32)])


def norm(graph, source):
    """Returns a layer normalisation of channels that are last."""
    f = graph.images[source]
    tensors = [graph.rng.uniform(0.5, 1.5, f).astype(np.float32), graph.rng.normal(0, 0.3, f).astype(np.float32)]
    return graph.add("LayerNormalization", [source], f, tensors, axis=-1, epsilon=1e-6)


def gelu(graph, x):
    """Returns GELU as PyTorch exports it."""
    f = graph.images[x]
    error = graph.add("Erf", [graph.add("Div", [x], f, [number(np.sqrt(2))])], f)
    last = graph.add("Mul", [x, graph.add("Add", [error], f, [number(1)])], f)
    return graph.add("Mul", [last], f, [number(0.5)])


def add(graph, a, b):
    """Returns a sum."""
    return graph.add("Add", [a, b], graph.images[a])


def tokens_of(graph, source):
    """Returns the voxels as tokens."""
    f = graph.images[source]
    return graph.add("Transpose", [graph.add("Reshape", [source], f, [integers(1, f, -1)])], f, perm=[0, 2, 1])


def gated(graph, tokens):
    """Returns a linear layer whose halves are multiplied, one of them behind a GELU."""
    wide = linear(graph, norm(graph, tokens), 4 * CHANNELS)
    names = [f"{wide}/{half}" for half in range(2)]
    graph.nodes.append(helper.make_node("Split", [wide], names, axis=-1))
    graph.images.update(dict.fromkeys(names, 2 * CHANNELS))
    product = graph.add("Mul", [names[0], gelu(graph, names[1])], 2 * CHANNELS)
    return add(graph, tokens, linear(graph, product, CHANNELS))


def perceptron():
    """Returns patches, a gated perceptron of each token, and a transposed convolution of what is voxels again."""
    graph = Graph(31, 1)
    conv = graph.conv("input", CHANNELS, (PATCH,) * 3, stride=PATCH, pads=[0] * 6)
    last = norm(graph, gated(graph, tokens_of(graph, instance_norm(graph, conv))))
    grid = graph.add("Reshape", [last], CHANNELS, [integers(1, *GRID, CHANNELS)])
    low = graph.add("Transpose", [grid], CHANNELS, perm=FIRST)
    up = graph.transposed(low, 4, (PATCH,) * 3, PATCH)
    return graph.model(graph.conv(graph.add("Concat", [up, graph.conv("input", 3)], 7, axis=1), 3))


def convnext():
    """Returns a block of ConvNeXt behind a normalisation: linear layers of channels that are last."""
    graph = Graph(35, 1)
    x = instance_norm(graph, graph.conv("input", 4))
    last = norm(graph, graph.add("Transpose", [graph.conv(x, 4, group=4)], 4, perm=LAST))
    out = linear(graph, gelu(graph, linear(graph, last, 8)), 4)
    scaled = graph.add("Mul", [out], 4, [graph.rng.normal(0, 1, 4).astype(np.float32)])
    return graph.model(graph.conv(add(graph, x, graph.add("Transpose", [scaled], 4, perm=FIRST)), 3))


NETS = {"perceptron": perceptron(), "convnext": convnext()}


def declared(model):
    """Returns the model with the window's extents and later operators."""
    fixed = declaring(model, WINDOW)
    fixed.opset_import[0].version = 17
    fixed.graph.input[0].type.tensor_type.shape.dim[0].dim_value = 1
    return fixed


class TokensTest(unittest.TestCase):
    """A daemon with such networks, which normalise over their window, too."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.models = {name: declared(model) for name, model in NETS.items()}
        for name, model in cls.models.items():
            save(model, pathlib.Path(cls.folder.name), name, CONFIG)
        cls.daemon = Daemon(cls.folder.name, mem="256M")
        cls.daemon.__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.daemon.__exit__(None, None, None)
        cls.folder.cleanup()

    def test_windows_and_other_extents(self):
        for name, model in self.models.items():
            for extent in (WINDOW, OTHERS[0]):
                with self.subTest(name, extent=extent), self.daemon.client() as client:
                    volume = noise(extent)
                    exact = blended(model, volume, gaussian(WINDOW), 0.5)
                    found = infer(client, name, volume)
                    self.assertEqual(found.shape, exact.shape)
                    self.assertLess(np.abs(found - exact).max(), 2e-5 * np.abs(exact).max())


if __name__ == "__main__":
    unittest.main()

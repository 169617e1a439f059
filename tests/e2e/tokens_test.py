"""Networks with transformer blocks give what ONNX Runtime computes of their window; over volumes of other extents they
give the weighted mean of what it computes of overlapping windows."""

import unittest

import numpy as np
from harness import ServedCase
from normalised_test import CONFIG, OTHERS, WINDOW, blended, declaring, gaussian, instance_norm, noise
from onnx import helper
from padded_test import Graph, infer, integers

PATCH = 4
GRID = [n // PATCH for n in WINDOW]
TOKENS = int(np.prod(GRID))
CHANNELS = 12
HEADS = 3
LAST = [0, 2, 3, 4, 1]
FIRST = [0, 4, 1, 2, 3]


def number(value):
    """Returns a constant of one number."""
    return np.full((), value, np.float32)


def linear(graph, source, f):
    """Returns a linear layer of channels that are last."""
    read = graph.channels[source]
    product = graph.add("MatMul", [source], f, [graph.rng.normal(0, read**-0.5, (read, f)).astype(np.float32)])
    return graph.add("Add", [product], f, [graph.rng.normal(0, 0.3, f).astype(np.float32)])


def norm(graph, source):
    """Returns a layer normalisation of channels that are last."""
    f = graph.channels[source]
    tensors = [graph.rng.uniform(0.5, 1.5, f).astype(np.float32), graph.rng.normal(0, 0.3, f).astype(np.float32)]
    return graph.add("LayerNormalization", [source], f, tensors, axis=-1, epsilon=1e-6)


def gelu(graph, x):
    """Returns GELU as PyTorch exports it."""
    f = graph.channels[x]
    error = graph.add("Erf", [graph.add("Div", [x], f, [number(np.sqrt(2))])], f)
    last = graph.add("Mul", [x, graph.add("Add", [error], f, [number(1)])], f)
    return graph.add("Mul", [last], f, [number(0.5)])


def add(graph, a, b):
    """Returns a sum."""
    return graph.add("Add", [a, b], graph.channels[a])


def embedded(graph, positions=True):
    """Returns tokens of patches, with a number of its own for each channel of each."""
    conv = graph.conv("input", CHANNELS, (PATCH,) * 3, stride=PATCH, pads=[0] * 6)
    flat = graph.add("Reshape", [conv], CHANNELS, [integers(1, CHANNELS, -1)])
    tokens = graph.add("Transpose", [flat], CHANNELS, perm=[0, 2, 1])
    if not positions:
        return tokens
    place = graph.rng.normal(0, 0.5, (1, TOKENS, CHANNELS)).astype(np.float32)
    return graph.add("Add", [tokens], CHANNELS, [place])


def heads_of(graph, tokens):
    """Returns queries, keys and values, [1, heads, tokens, channels], of one linear layer."""
    each = CHANNELS // HEADS
    split = graph.add("Reshape", [linear(graph, tokens, 3 * CHANNELS)], each, [integers(1, TOKENS, 3, HEADS, each)])
    turned = graph.add("Transpose", [split], each, perm=[2, 0, 3, 1, 4])
    return [graph.add("Gather", [turned], each, [np.full((), i, np.int64)], axis=0) for i in range(3)]


def by_products(graph, q, k, v):
    """Returns attention by MatMul, as PyTorch's scaled_dot_product_attention is exported."""
    each = CHANNELS // HEADS
    root = number(each**-0.25)
    turned = graph.add("Transpose", [k], TOKENS, perm=[0, 1, 3, 2])
    scores = graph.add(
        "MatMul", [graph.add("Mul", [q], each, [root]), graph.add("Mul", [turned], TOKENS, [root])], TOKENS
    )
    shares = graph.add("Softmax", [scores], TOKENS, axis=-1)
    out = graph.add("Transpose", [graph.add("MatMul", [shares, v], each)], each, perm=[0, 2, 1, 3])
    return graph.add("Reshape", [out], CHANNELS, [integers(1, TOKENS, CHANNELS)])


def by_letters(graph, q, k, v):
    """Returns attention by Einsum, as MONAI's SABlock has it."""
    scores = graph.add("Einsum", [q, k], TOKENS, equation="blxd,blyd->blxy")
    scaled = graph.add("Mul", [scores], TOKENS, [number((CHANNELS // HEADS) ** -0.5)])
    shares = graph.add("Softmax", [scaled], TOKENS, axis=-1)
    out = graph.add("Einsum", [shares, v], CHANNELS // HEADS, equation="bhxy,bhyd->bhxd")
    turned = graph.add("Transpose", [out], CHANNELS // HEADS, perm=[0, 2, 1, 3])
    return graph.add("Reshape", [turned], CHANNELS, [integers(0, TOKENS, CHANNELS)])


def block(graph, tokens, attention):
    """Returns a block of a vision transformer."""
    x = add(graph, tokens, linear(graph, attention(graph, *heads_of(graph, norm(graph, tokens))), CHANNELS))
    return add(graph, x, linear(graph, gelu(graph, linear(graph, norm(graph, x), 2 * CHANNELS)), CHANNELS))


def transformer(seed, attention):
    """Returns UNETR in small: patches, a block, tokens back to voxels, and a transposed convolution; and a skip."""
    graph = Graph(seed, 1)
    last = norm(graph, block(graph, embedded(graph), attention))
    grid = graph.add("Reshape", [last], CHANNELS, [integers(1, *GRID, CHANNELS)])
    low = graph.add("Transpose", [grid], CHANNELS, perm=FIRST)
    up = graph.transposed(low, 4, (PATCH,) * 3, PATCH)
    both = graph.add("Concat", [up, graph.conv("input", 3)], 7, axis=1)
    return graph.model(graph.conv(both, 3))


def non_local():
    """Returns a non-local block: attention whose queries and keys have half of the channels; and its residual."""
    graph = Graph(33, 1)
    x = graph.conv("input", 6, (PATCH,) * 3, stride=PATCH, pads=[0] * 6)
    q, k, v = (graph.add("Reshape", [graph.conv(x, f, (1, 1, 1))], f, [integers(1, f, TOKENS)]) for f in (3, 3, 6))
    scores = graph.add("MatMul", [graph.add("Transpose", [q], 3, perm=[0, 2, 1]), k], TOKENS)
    shares = graph.add("Softmax", [scores], TOKENS, axis=2)
    made = graph.add("MatMul", [shares, graph.add("Transpose", [v], 6, perm=[0, 2, 1])], 6)
    flat = graph.add("Transpose", [made], 6, perm=[0, 2, 1])
    grid = graph.add("Reshape", [flat], 6, [integers(1, 6, *GRID)])
    last = add(graph, x, graph.conv(grid, 6, (1, 1, 1)))
    return graph.model(graph.transposed(last, 3, (PATCH,) * 3, PATCH))


def turned_scores():
    """Returns SAGAN's attention: values before scores whose queries are last."""
    graph = Graph(34, 1)
    x = graph.conv("input", 6, (PATCH,) * 3, stride=PATCH, pads=[0] * 6)
    q, k, v = (graph.add("Reshape", [graph.conv(x, f, (1, 1, 1))], f, [integers(1, -1, TOKENS)]) for f in (2, 2, 6))
    scores = graph.add("MatMul", [graph.add("Transpose", [q], 2, perm=[0, 2, 1]), k], TOKENS)
    shares = graph.add("Softmax", [scores], TOKENS, axis=-1)
    made = graph.add("MatMul", [v, graph.add("Transpose", [shares], TOKENS, perm=[0, 2, 1])], 6)
    last = add(graph, graph.add("Reshape", [made], 6, [integers(1, 6, *GRID)]), x)
    return graph.model(graph.transposed(last, 3, (PATCH,) * 3, PATCH))


def tokens_of(graph, source):
    """Returns the voxels as tokens."""
    f = graph.channels[source]
    return graph.add("Transpose", [graph.add("Reshape", [source], f, [integers(1, f, -1)])], f, perm=[0, 2, 1])


def gated(graph, tokens):
    """Returns a linear layer whose halves are multiplied, one of them behind a GELU."""
    wide = linear(graph, norm(graph, tokens), 4 * CHANNELS)
    names = [f"{wide}/{half}" for half in range(2)]
    graph.nodes.append(helper.make_node("Split", [wide], names, axis=-1))
    graph.channels.update(dict.fromkeys(names, 2 * CHANNELS))
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
    """Returns a block of ConvNeXt V2: linear layers of channels that are last, and global response normalisation."""
    graph = Graph(35, 1)
    x = graph.conv("input", 4)
    last = norm(graph, graph.add("Transpose", [graph.conv(x, 4, group=4)], 4, perm=LAST))
    wide = gelu(graph, linear(graph, last, 8))
    length = graph.add("ReduceL2", [wide], 8, axes=[1, 2, 3], keepdims=1)
    mean = graph.add("Add", [graph.add("ReduceMean", [length], 1, axes=[-1], keepdims=1)], 1, [number(1e-6)])
    response = graph.add("Mul", [wide, graph.add("Div", [length, mean], 8)], 8)
    scale, shift = (graph.rng.normal(0, 1, (1, 1, 1, 1, 8)).astype(np.float32) for _ in range(2))
    scaled = graph.add("Add", [graph.add("Mul", [response], 8, [scale])], 8, [shift])
    out = linear(graph, add(graph, scaled, wide), 4)
    return graph.model(graph.conv(add(graph, x, graph.add("Transpose", [out], 4, perm=FIRST)), 3))


NETS = {
    "products": transformer(31, by_products),
    "letters": transformer(32, by_letters),
    "non_local": non_local(),
    "turned_scores": turned_scores(),
    "convnext": convnext(),
    "perceptron": perceptron(),
}


def declared(model):
    """Returns the model with the window's extents and later operators."""
    fixed = declaring(model, WINDOW)
    fixed.opset_import[0].version = 17
    fixed.graph.input[0].type.tensor_type.shape.dim[0].dim_value = 1
    return fixed


class TokensTest(ServedCase):
    """A daemon with transformers."""

    models = {name: declared(model) for name, model in NETS.items()}
    config = CONFIG
    mem = "256M"

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

"""Parts that published networks have in common. `graph` is a NetGraph, `source` the name of a value."""

import numpy as np


def unit(graph, source, f, k=3, activation="Relu", **words):
    """Returns a convolution, a batch normalisation and an activation."""
    alpha = {"LeakyRelu": {"alpha": 0.1}, "Elu": {"alpha": 1.0}}.get(activation, {})
    return graph.act(activation, graph.batch_norm(graph.conv(source, f, k, **words)), **alpha)


def units(graph, source, f, count=2, **words):
    """Returns several of them in a row."""
    for _ in range(count):
        source = unit(graph, source, f, **words)
    return source


def before(graph, source, f, **words):
    """Returns a batch normalisation, a ReLU and a convolution, in this order: what is padded is not zero before."""
    return graph.conv(graph.relu(graph.batch_norm(source)), f, **words)


def upsampled(graph, source, f, scale=2, mode="linear"):
    """Returns an upsampling and a convolution of 1."""
    return graph.conv(graph.resize(source, scale, mode), f, 1)


def ladder(graph, source, widths, part, down, up, join):
    """Returns a U-Net: part(source, f) at each level; down(source, f), up(source, f) and join(up, skip) between
    them."""
    skip = part(source, widths[0])
    if len(widths) == 1:
        return skip
    low = ladder(graph, down(skip, widths[1]), widths[1:], part, down, up, join)
    return part(join(up(low, widths[0]), skip), widths[0])


def layer_norm(graph, source):
    """Returns a normalisation over channels, as PyTorch exports ConvNeXt's: channels are moved to the end and back."""
    f, rank = graph.channels[source], graph.rank
    last = graph.node("Transpose", [source], f, perm=[0, *range(2, rank + 2), 1])
    last = graph.node("LayerNormalization", [last], f, [graph.uniform(f), graph.normal(0.3, f)], axis=-1, epsilon=1e-6)
    return graph.node("Transpose", [last], f, perm=[0, rank + 1, *range(1, rank + 1)])


def gelu(graph, source):
    """Returns a GELU of several operators, as exporters write it up to opset 19."""
    f = graph.channels[source]
    error = graph.act("Erf", graph.node("Div", [source], f, [np.float32(np.sqrt(2))]))
    half = graph.node("Mul", [source, graph.node("Add", [error], f, [np.float32(1)])], f)
    return graph.node("Mul", [half], f, [np.float32(0.5)])


def clipped(graph, source, most=6):
    """Returns a ReLU6."""
    return graph.node("Clip", [source], graph.channels[source], [np.float32(0), np.float32(most)])


def padded(graph, source, margin, mode):
    """Returns `margin` more voxels on either side: of zeros, reflected, or those of the border again."""
    pads = np.array([0, 0, *graph.each(margin)] * 2, np.int64)
    return graph.node("Pad", [source], graph.channels[source], [pads], mode=mode)


def around(graph, source, f, mode, k=3, **words):
    """Returns a convolution of the same extent that reads what padded() adds."""
    return graph.conv(padded(graph, source, k // 2, mode), f, k, pads=0, **words)

"""Published networks in the form of a U, narrow, with random weights. Each function returns (graph, outputs)."""

import numpy as np
from field.blocks import before, clipped, gelu, ladder, layer_norm, unit, units, upsampled
from net_graph import NetGraph


def rsunet(trilinear):
    """Returns DeepEM's RSUNet: residual units, poolings of 1x2x2; upsampled linearly, or by transposed convolutions of
    each channel by itself."""
    graph = NetGraph(seed=21)
    flat = (1, 2, 2)

    def part(source, f):
        first = unit(graph, source, f, activation="Elu")
        inner = before(graph, before(graph, first, f), f)
        return graph.add(inner, first)

    def up(low, f):
        if trilinear:
            return upsampled(graph, low, f, flat)
        group = graph.channels[low]
        return graph.conv(graph.transposed(low, group, (1, 4, 4), flat, (0, 1, 1), group=group), f, 1)

    first = unit(graph, "input", 4, (1, 5, 5), "Elu")
    last = ladder(graph, first, (4, 5, 6), part, lambda skip, f: graph.pool(skip, flat), up, graph.add)
    return graph, [graph.conv(last, 2, (1, 5, 5))]


def valid_nearest():
    """Returns a U-Net that does not pad, with nearest neighbours: skips are cropped."""
    graph = NetGraph(seed=22)

    def pair(source, f):
        return units(graph, source, f, pads=0)

    def level(source, widths):
        skip = pair(source, widths[0])
        if len(widths) == 1:
            return skip, 2
        low, lost = level(graph.pool(skip), widths[1:])
        both = graph.concat(graph.crop(skip, 2 * lost), graph.resize(low))
        return pair(both, widths[0]), 2 * lost + 4

    return graph, [graph.conv(level("input", (4, 6))[0], 2, 1)]


def unet3d(order):
    """Returns pytorch-3dunet's net: "bcr" normalises before the convolution, "cbr" behind it."""
    graph = NetGraph(seed=23)

    def part(source, f):
        for width in (max(f // 2, graph.channels[source]), f):
            source = unit(graph, source, width) if order == "cbr" else graph.relu(graph.conv(normal(source), width))
        return source

    def normal(source):
        return graph.batch_norm(source)

    last = ladder(
        graph,
        "input",
        (4, 6, 8),
        part,
        lambda skip, f: graph.pool(skip),
        lambda low, f: graph.resize(low),
        lambda up, skip: graph.concat(skip, up),
    )
    return graph, [graph.act("Sigmoid", graph.conv(last, 2, 1))]


def residual_encoder():
    """Returns nnU-Net's ResEnc with batch normalisation: strided residual units whose skips are averaged."""
    graph = NetGraph(seed=24)

    def leaky(source):
        return graph.act("LeakyRelu", source, alpha=0.01)

    def block(source, f, stride):
        inner = graph.conv(leaky(graph.conv(source, f, stride=stride)), f)
        skip = graph.pool(source, 2, op="AveragePool") if stride == 2 else source
        return leaky(graph.add(inner, graph.conv(skip, f, 1) if graph.channels[source] != f else skip))

    def level(source, widths, stride=1):
        skip = block(block(source, widths[0], stride), widths[0], 1)
        if len(widths) == 1:
            return skip
        up = graph.transposed(level(skip, widths[1:], 2), widths[0])
        return leaky(graph.conv(graph.concat(up, skip), widths[0]))

    return graph, [graph.conv(level(leaky(graph.conv("input", 4)), (4, 6, 8)), 2, 1)]


def basic_unet():
    """Returns MONAI's BasicUNet: leaky ReLUs, poolings, transposed convolutions that halve the channels."""
    graph = NetGraph(seed=25)

    def part(source, f):
        return units(graph, source, f, activation="LeakyRelu")

    last = ladder(
        graph,
        "input",
        (4, 6, 8),
        part,
        lambda skip, f: graph.pool(skip),
        graph.transposed,
        lambda up, skip: graph.concat(skip, up),
    )
    return graph, [graph.conv(last, 2, 1)]


def dynamic_unet():
    """Returns MONAI's DynUNet with anisotropic kernels and strides."""
    graph = NetGraph(seed=26)
    flat = (1, 2, 2)

    def level(source, widths, strides, kernels):
        skip = unit(graph, source, widths[0], kernels[0], "LeakyRelu", stride=strides[0])
        skip = unit(graph, skip, widths[0], kernels[0], "LeakyRelu")
        if len(widths) == 1:
            return skip
        low = level(skip, widths[1:], strides[1:], kernels[1:])
        up = graph.transposed(low, widths[0], strides[1], strides[1])
        return units(graph, graph.concat(up, skip), widths[0], k=kernels[0], activation="LeakyRelu")

    last = level("input", (4, 5, 6, 8), (1, flat, flat, 2), ((1, 3, 3), (1, 3, 3), 3, 3))
    return graph, [graph.conv(last, 2, 1)]


def attention_unet():
    """Returns MONAI's AttentionUnet: gates of one channel that weigh what is skipped."""
    graph = NetGraph(seed=27)

    def join(up, skip):
        both = graph.add(graph.conv(up, 3, 1), graph.conv(skip, 3, 1))
        gate = graph.act("Sigmoid", graph.conv(graph.relu(both), 1, 1))
        return graph.concat(graph.node("Mul", [gate, skip], graph.channels[skip]), up)

    last = ladder(
        graph,
        "input",
        (4, 6, 8),
        lambda source, f: units(graph, source, f),
        lambda skip, f: graph.pool(skip),
        lambda low, f: unit(graph, graph.resize(low), f),
        join,
    )
    return graph, [graph.conv(last, 2, 1)]


def smooth_segresnet():
    """Returns MONAI's SegResNet with linear upsampling."""
    graph = NetGraph(seed=28)

    def block(source, f):
        return graph.add(before(graph, before(graph, source, f), f), source)

    last = ladder(
        graph,
        graph.conv("input", 4),
        (4, 8, 16),
        block,
        lambda skip, f: graph.conv(skip, f, stride=2),
        lambda low, f: graph.resize(graph.conv(low, f, 1), mode="linear"),
        graph.add,
    )
    return graph, [before(graph, last, 2, k=1)]


def vnet():
    """Returns V-Net: kernels of 5, an input that is repeated and added, PReLUs, strided kernels of 2."""
    graph = NetGraph(seed=29)

    def part(source, f):
        return graph.prelu(graph.add(graph.conv(graph.prelu(graph.conv(source, f, 5)), f, 5), wide(source, f)))

    def wide(source, f):
        channels = graph.channels[source]
        if channels == f:
            return source
        if channels > f:
            return graph.conv(source, f, 1)
        return graph.node("Tile", [source], f, [np.array([1, f // channels, 1, 1, 1])])

    last = ladder(
        graph,
        "input",
        (4, 8),
        part,
        lambda skip, f: graph.prelu(graph.conv(skip, f, 2, 2, pads=0)),
        lambda low, f: graph.prelu(graph.transposed(low, f)),
        graph.concat,
    )
    return graph, [graph.node("Softmax", [graph.conv(last, 2, 1)], 2, axis=1)]


def nested():
    """Returns U-Net++: every level is upsampled to all above it."""
    graph, widths = NetGraph(seed=30), (4, 5, 6)
    column, source = [], "input"
    for f in widths:
        column.append([units(graph, source, f, count=1)])
        source = graph.pool(column[-1][-1])
    for step in (1, 2):
        for row in range(len(widths) - step):
            up = graph.transposed(column[row + 1][step - 1], widths[row])
            column[row].append(unit(graph, graph.concat(*column[row], up), widths[row]))
    return graph, [graph.conv(column[0][-1], 2, 1)]


def planar():
    """Returns ELEKTRONN3's UNet with padding: a planar first level, poolings that round up."""
    graph = NetGraph(seed=31)
    scales = iter([(1, 2, 2), 2])

    def level(source, widths, k):
        skip = units(graph, source, widths[0], k=k)
        if len(widths) == 1:
            return skip
        scale = next(scales)
        low = level(graph.pool(skip, scale, ceil_mode=1), widths[1:], 3)
        up = graph.transposed(low, widths[0], scale, scale)
        return units(graph, graph.concat(up, skip), widths[0], k=k)

    return graph, [graph.conv(level("input", (4, 6, 8), (1, 3, 3)), 2, 1)]


def mednext():
    """Returns MedNeXt with a normalisation of channels: depthwise convolutions, strided and transposed ones."""
    graph = NetGraph(seed=32)

    def wide(source, f, ratio=2):
        inner = gelu(graph, graph.conv(layer_norm(graph, source), ratio * graph.channels[source], 1))
        return graph.conv(inner, f, 1)

    def block(source, f):
        return graph.add(wide(graph.conv(source, f, group=f), f), source)

    def down(skip, f):
        low = graph.conv(skip, graph.channels[skip], stride=2, group=graph.channels[skip])
        return graph.add(wide(low, f), graph.conv(skip, f, 1, 2))

    def up(low, f):
        g = graph.channels[low]
        return wide(graph.transposed(low, g, 3, 2, 1, 1, group=g), f)

    last = ladder(graph, graph.conv("input", 4, 1), (4, 8), block, down, up, graph.add)
    return graph, [graph.conv(last, 2, 1)]


def stardist():
    """Returns StarDist's net of grid 2: a U-Net behind a pooling, probabilities and distances at half the
    resolution."""
    graph = NetGraph(seed=33)
    low = graph.pool(units(graph, "input", 4))
    last = ladder(
        graph,
        low,
        (4, 6),
        lambda source, f: graph.relu(graph.conv(graph.relu(graph.conv(source, f)), f)),
        lambda skip, f: graph.pool(skip),
        lambda low, f: graph.resize(low),
        graph.concat,
    )
    features = graph.relu(graph.conv(last, 6))
    return graph, [graph.act("Sigmoid", graph.conv(features, 1, 1)), graph.conv(features, 5, 1)]


def care():
    """Returns CARE's net: a U-Net whose output is added to its input."""
    graph = NetGraph(seed=34)
    last = ladder(
        graph,
        "input",
        (4, 6),
        lambda source, f: graph.relu(graph.conv(graph.relu(graph.conv(source, f)), f)),
        lambda skip, f: graph.pool(skip),
        lambda low, f: graph.resize(low),
        graph.concat,
    )
    return graph, [graph.add(graph.conv(last, 1, 1), "input")]


def tiramisu():
    """Returns the FC-DenseNet: dense blocks, transposed convolutions of 3 and 2."""
    graph = NetGraph(seed=35)

    def dense(source, _):
        for _ in range(2):
            source = graph.concat(source, before(graph, source, 3))
        return source

    last = ladder(
        graph,
        graph.conv("input", 4),
        (4, 4),
        dense,
        lambda skip, f: graph.pool(before(graph, skip, graph.channels[skip], k=1)),
        lambda low, f: graph.transposed(low, f, 3, 2, 1, 1),
        graph.concat,
    )
    return graph, [graph.conv(last, 2, 1)]


def mobile():
    """Returns a U-Net of MobileNet's inverted residuals: depthwise convolutions, ReLU6 and hard swish."""
    graph = NetGraph(seed=36)

    def block(source, f, stride=1):
        wide = clipped(graph, graph.conv(source, 2 * f, 1))
        inner = graph.act("HardSwish", graph.conv(wide, 2 * f, stride=stride, group=2 * f))
        last = graph.conv(inner, f, 1)
        return graph.add(last, source) if stride == 1 and graph.channels[source] == f else last

    last = ladder(
        graph,
        graph.conv("input", 4),
        (4, 6),
        block,
        lambda skip, f: block(skip, f, 2),
        lambda low, f: upsampled(graph, low, f, mode="nearest"),
        graph.concat,
    )
    return graph, [graph.conv(last, 2, 1)]


def flat():
    """Returns the U-Net of two dimensions."""
    graph = NetGraph(seed=37, rank=2)
    last = ladder(
        graph,
        "input",
        (4, 6, 8),
        lambda source, f: units(graph, source, f),
        lambda skip, f: graph.pool(skip),
        graph.transposed,
        graph.concat,
    )
    return graph, [graph.conv(last, 2, 1)]

"""Published networks that are no U, narrow, with random weights. Each function returns (graph, outputs)."""

from field.blocks import around, before, clipped, gelu, layer_norm, unit, units, upsampled
from net_graph import NetGraph


def highres():
    """Returns HighRes3DNet: dilated residual units, skips whose channels are padded with zeros."""
    graph = NetGraph(seed=41)
    last = unit(graph, "input", 4)
    for f, dilation in ((4, 1), (6, 2), (8, 4)):
        for _ in range(2):
            inner = before(graph, before(graph, last, f, dilation=dilation), f, dilation=dilation)
            more = f - graph.channels[last]
            if more:
                last = graph.node(
                    "Pad", [last], f, [graph.integers(0, more // 2, 0, 0, 0, 0, more - more // 2, 0, 0, 0)]
                )
            last = graph.add(inner, last)
    return graph, [graph.conv(unit(graph, last, 6, 1), 2, 1)]


def mixed_scale():
    """Returns the mixed-scale dense net: each layer reads all before it, with another dilation."""
    graph, values = NetGraph(seed=42), ["input"]
    for depth in range(7):
        seen = graph.concat(*values) if len(values) > 1 else values[0]
        values.append(graph.relu(graph.conv(seen, 1, dilation=depth % 4 + 1)))
    return graph, [graph.conv(graph.concat(*values), 2, 1)]


def deeplab():
    """Returns DeepLab's head behind a strided stem: dilated convolutions side by side, upsampled linearly."""
    graph = NetGraph(seed=43)
    stem = unit(graph, "input", 4)
    low = unit(graph, unit(graph, stem, 6, stride=2), 6)
    sides = [unit(graph, low, 3, 1), *(unit(graph, low, 3, dilation=d) for d in (2, 3, 4))]
    up = graph.resize(unit(graph, graph.concat(*sides), 4, 1), mode="linear")
    return graph, [graph.conv(unit(graph, graph.concat(up, unit(graph, stem, 2, 1)), 4), 2, 1)]


def erfnet():
    """Returns ERFNet: kernels of one axis each, a convolution and a pooling side by side, transposed ones."""
    graph = NetGraph(seed=44)

    def down(source, f):
        sides = graph.conv(source, f - graph.channels[source], stride=2), graph.pool(source)
        return graph.relu(graph.batch_norm(graph.concat(*sides)))

    def block(source, dilation=1):
        last = source
        for step in (1, dilation):
            for k in ((3, 1, 1), (1, 3, 1), (1, 1, 3)):
                last = graph.relu(graph.conv(last, graph.channels[source], k, dilation=step))
        return graph.relu(graph.add(last, source))

    low = block(block(down(down("input", 4), 8)), 2)
    up = graph.relu(graph.batch_norm(graph.transposed(low, 4, 3, 2, 1, 1)))
    return graph, [graph.transposed(block(up), 2)]


def inception():
    """Returns Inception's blocks: kernels of 1, 3, 5 and a padded pooling of stride 1 side by side."""
    graph, last = NetGraph(seed=45), "input"
    for _ in range(2):
        sides = [
            unit(graph, last, 2, 1),
            unit(graph, unit(graph, last, 2, 1), 3),
            unit(graph, unit(graph, last, 2, 1), 2, 5),
        ]
        last = graph.concat(*sides, unit(graph, graph.pool(last, 3, 1, 1), 2, 1))
    return graph, [graph.conv(last, 2, 1)]


def convnext():
    """Returns ConvNeXt's blocks: wide depthwise kernels, a normalisation of channels, GELU, scaled residuals."""
    graph = NetGraph(seed=46)
    last = graph.conv("input", 6)
    for _ in range(2):
        inner = graph.conv(layer_norm(graph, graph.conv(last, 6, 7, group=6)), 12, 1)
        inner = graph.conv(gelu(graph, inner), 6, 1)
        last = graph.add(graph.node("Mul", [inner], 6, [graph.uniform(1, 6, 1, 1, 1)]), last)
    return graph, [graph.conv(last, 2, 1)]


def voxresnet():
    """Returns VoxResNet: strided residual units, an output of each scale, upsampled and summed."""
    graph = NetGraph(seed=47)
    last, heads = unit(graph, "input", 4), []
    for f, scale in ((4, 1), (6, 2), (8, 4)):
        if scale > 1:
            last = before(graph, last, f, stride=2)
        last = graph.add(before(graph, before(graph, last, f, k=(1, 3, 3)), f), last)
        heads.append(graph.conv(last, 2, 1) if scale == 1 else graph.transposed(last, 2, scale, scale))
    return graph, [graph.node("Sum", heads, 2)]


def denoising():
    """Returns DnCNN, whose output is taken from its input."""
    graph = NetGraph(seed=48)
    last = units(graph, graph.relu(graph.conv("input", 5)), 5, count=3)
    return graph, [graph.node("Sub", ["input", graph.conv(last, 1)], 1)]


def generator(mode):
    """Returns the generator of CycleGAN with batch normalisation: what it reads beyond the border is reflected, or the
    voxels at the border again."""
    graph = NetGraph(seed=49)
    last = graph.relu(around(graph, "input", 4, mode, 7))
    last = unit(graph, last, 6, stride=2)
    for _ in range(2):
        last = graph.add(around(graph, graph.relu(around(graph, last, 6, mode)), 6, mode), last)
    up = graph.relu(graph.batch_norm(graph.transposed(last, 4, 3, 2, 1, 1)))
    return graph, [graph.act("Tanh", around(graph, up, 1, mode, 7, gain=0.3))]


def high_resolution():
    """Returns HRNet: branches of three resolutions that exchange what they have."""
    graph, widths = NetGraph(seed=50), (4, 6, 8)
    branches = [units(graph, "input", widths[0], count=1)]
    for f in widths[1:]:
        branches.append(unit(graph, branches[-1], f, stride=2))
        branches = [graph.relu(sums(graph, branches, row)) for row in range(len(branches))]
    ups = [graph.resize(low, 2**row, "linear") for row, low in enumerate(branches) if row]
    return graph, [graph.conv(graph.concat(branches[0], *ups), 2, 1)]


def sums(graph, branches, row):
    """Returns the sum of all branches at the resolution of one of them."""
    f, total = graph.channels[branches[row]], unit(graph, branches[row], graph.channels[branches[row]])
    for other, value in enumerate(branches):
        if other > row:
            total = graph.add(total, graph.resize(graph.conv(value, f, 1), 2 ** (other - row)))
        for _ in range(row - other):
            value = graph.conv(value, f, stride=2)
        total = graph.add(total, value) if other < row else total
    return total


def refined():
    """Returns RefineNet: chains of padded poolings of stride 1 whose results are added."""
    graph = NetGraph(seed=51)
    high = unit(graph, "input", 4)
    low = unit(graph, high, 4, stride=2)
    fused = graph.relu(graph.add(graph.conv(high, 4), graph.resize(graph.conv(low, 4), mode="linear")))
    last = pooled = fused
    for _ in range(2):
        pooled = graph.conv(graph.pool(pooled, 5, 1, 2), 4)
        last = graph.add(last, pooled)
    return graph, [graph.conv(last, 2)]


def pyramid():
    """Returns a feature pyramid behind ResNet's stem: lateral convolutions, nearest neighbours, sums."""
    graph = NetGraph(seed=52)
    levels = [unit(graph, "input", 4, 7, stride=2)]
    for f in (4, 6):
        low = graph.pool(levels[-1], 3, 2, 1)
        levels.append(graph.relu(graph.add(graph.conv(unit(graph, low, f), f), graph.conv(low, f, 1))))
    last = graph.conv(levels.pop(), 4, 1)
    while levels:
        last = graph.add(graph.resize(last), graph.conv(levels.pop(), 4, 1))
    return graph, [upsampled(graph, unit(graph, last, 4), 2)]


def smooth_pooled():
    """Returns a pyramid of averages: padded ones that count the padding and ones that do not."""
    graph = NetGraph(seed=53)
    skip = unit(graph, "input", 4)
    both = [graph.pool(skip, 3, 1, 1, op="AveragePool", count_include_pad=count) for count in (0, 1)]
    low = unit(graph, graph.pool(skip, 2, op="AveragePool"), 4)
    return graph, [graph.conv(graph.concat(*both, graph.transposed(low, 4)), 2)]


def gated():
    """Returns WaveNet's gated units, dilated: tanh times sigmoid, residuals and skips that are summed."""
    graph = NetGraph(seed=54)
    last, skips = graph.conv("input", 4), []
    for dilation in (1, 2, 4):
        gates = [graph.act(op, graph.conv(last, 4, dilation=dilation)) for op in ("Tanh", "Sigmoid")]
        product = graph.node("Mul", gates, 4)
        skips.append(graph.conv(product, 3, 1))
        last = graph.add(graph.conv(product, 4, 1), last)
    return graph, [graph.conv(graph.relu(graph.node("Sum", skips, 3)), 2, 1)]


def squeezed():
    """Returns SqueezeNet's fire modules behind each other, without strides, ReLU6."""
    graph, last = NetGraph(seed=55), "input"
    for f in (2, 3, 4):
        low = clipped(graph, graph.conv(last, f, 1))
        last = graph.relu(graph.concat(graph.conv(low, 2 * f, 1), graph.conv(low, 2 * f)))
    return graph, [graph.conv(last, 2, 1)]


def resnet2d():
    """Returns ResNet18's first stages in two dimensions, with padded poolings: an output of a quarter of the
    resolution."""
    graph = NetGraph(seed=56, rank=2)
    last = graph.pool(unit(graph, "input", 4, 7, stride=2), 3, 2, 1)
    for f in (4, 4):
        last = graph.relu(graph.add(graph.conv(unit(graph, last, f), f), last))
    return graph, [graph.conv(last, 3, 1)]


def vgg2d():
    """Returns VGG in two dimensions: an output of a quarter of the resolution."""
    graph, last = NetGraph(seed=57, rank=2), "input"
    for f in (4, 6):
        last = graph.pool(units(graph, last, f))
    return graph, [graph.conv(graph.relu(graph.conv(last, 8)), 3, 1)]


def two_inputs():
    """Returns branches of two inputs that meet at half the resolution."""
    graph = NetGraph(2, seed=58)
    mask = graph.input("mask", 1)
    sides = [units(graph, value, 4) for value in ("input", mask)]
    low = [unit(graph, side, 5, stride=2) for side in sides]
    up = graph.transposed(graph.add(*low), 4)
    return graph, [graph.conv(graph.concat(up, *sides), 2)]


def two_outputs():
    """Returns a trunk with affinities and a mask, as nets for synapses have."""
    graph = NetGraph(seed=59)
    skip = units(graph, "input", 4)
    up = graph.resize(unit(graph, graph.pool(skip, (1, 2, 2)), 5), (1, 2, 2), "linear")
    trunk = unit(graph, graph.concat(up, skip), 5)
    mask = graph.node("Softmax", [graph.conv(trunk, 2, 1)], 2, axis=1)
    return graph, [graph.act("Sigmoid", graph.conv(trunk, 3)), mask]

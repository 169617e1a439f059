"""The networks of `deploy/bench --padded`, with random weights: U-Nets and other published nets that pad.

Their graphs follow the papers and the code of their authors. A batch normalisation behind a convolution is a part of
its weights, as in what PyTorch exports. Functions take the channels of each level, so that tests have narrow ones.
"""

import dataclasses

from net_graph import NetGraph


def twice(graph, source, f, activate):
    """Returns two convolutions of 3^3 with activations."""
    for _ in range(2):
        source = activate(graph.conv(source, f))
    return source


def symmetric(widths=(32, 64, 128, 256), outputs=3):
    """Returns PZnet's symmetric U-Net: ELU, skips that are added; period 8."""
    graph = NetGraph(seed=1)

    def elu(source):
        return graph.act("Elu", source)

    def level(source, widths):
        skip = twice(graph, source, widths[0], elu)
        if len(widths) == 1:
            return skip
        up = graph.transposed(level(graph.pool(skip), widths[1:]), widths[0])
        return twice(graph, graph.add(up, skip), widths[0], elu)

    return graph, [graph.act("Sigmoid", graph.conv(level("input", widths), outputs, 1, gain=0.1))]


def residual(widths=(28, 36, 48, 64, 80), outputs=3):
    """Returns PZnet's residual U-Net, of Lee et al. 2017: kernels of 1x3x3 and 3^3, poolings of 1x2x2; period 1, 16,
    16."""
    graph = NetGraph(seed=2)

    def block(source, f):
        first = graph.act("Elu", graph.conv(source, f, (1, 3, 3)))
        inner = graph.conv(graph.act("Elu", graph.conv(first, f)), f)
        return graph.act("Elu", graph.add(first, inner))

    def level(source, widths):
        skip = block(source, widths[0])
        if len(widths) == 1:
            return skip
        low = level(graph.pool(skip, (1, 2, 2)), widths[1:])
        return block(graph.add(graph.transposed(low, widths[0], (1, 2, 2), (1, 2, 2)), skip), widths[0])

    first = graph.act("Elu", graph.conv("input", widths[0], (1, 5, 5)))
    return graph, [graph.act("Sigmoid", graph.conv(level(first, widths), outputs, (1, 5, 5), gain=0.01))]


def nnunet(widths=(32, 64, 128, 256, 320, 320), outputs=3, norm="instance"):
    """Returns nnU-Net's PlainConvUNet: strided convolutions, leaky ReLUs, skips that are concatenated; period 2 for
    each level but one. With norm="instance" the volume is the window of the normalisation."""
    graph = NetGraph(seed=3)

    def unit(source, f, stride=1):
        found = graph.conv(source, f, stride=stride)
        normal = graph.instance_norm(found) if norm == "instance" else graph.batch_norm(found)
        return graph.act("LeakyRelu", normal, alpha=0.01)

    def level(source, widths, stride=1):
        skip = unit(unit(source, widths[0], stride), widths[0])
        if len(widths) == 1:
            return skip
        up = graph.transposed(level(skip, widths[1:], 2), widths[0])
        return unit(unit(graph.concat(up, skip), widths[0]), widths[0])

    return graph, [graph.conv(level("input", widths), outputs, 1)]


def original(widths=(64, 128, 256, 512), outputs=3):
    """Returns the 3D U-Net of Çiçek et al. 2016, which does not pad: skips are cropped to their middle."""
    graph = NetGraph(seed=4)

    def pair(source, first, second):
        for f in (first, second):
            source = graph.relu(graph.conv(source, f, pads=0))
        return source

    def level(source, widths):
        """Returns a level's output, and how many voxels it has less on each side than its input."""
        skip = pair(source, widths[0] // 2, widths[0])
        if len(widths) == 1:
            return skip, 2
        low, lost = level(graph.pool(skip), widths[1:])
        both = graph.concat(graph.crop(skip, 2 * lost), graph.transposed(low, widths[1]))
        return pair(both, widths[0], widths[0]), 2 * lost + 4

    last, _ = level("input", widths)
    return graph, [graph.conv(last, outputs, 1)]


def segresnet(width=16, down=(1, 2, 2, 4), outputs=2):
    """Returns MONAI's SegResNet with batch normalisation and transposed convolutions; period 8."""
    graph = NetGraph(seed=5)

    def unit(source):
        return graph.conv(graph.relu(graph.batch_norm(source)), graph.channels[source])

    def block(source):
        return graph.add(unit(unit(source)), source)

    def level(source, f, blocks):
        for _ in range(blocks[0]):
            source = block(source)
        if len(blocks) == 1:
            return source
        low = level(graph.conv(source, 2 * f, stride=2), 2 * f, blocks[1:])
        return block(graph.add(graph.transposed(graph.conv(low, f, 1), f), source))

    last = level(graph.conv("input", width), width, down)
    return graph, [graph.conv(graph.relu(graph.batch_norm(last)), outputs, 1)]


def meshnet(width=21, dilations=(1, 2, 4, 8, 16, 8, 4, 2, 1), outputs=3):
    """Returns MeshNet: dilated convolutions in a row."""
    graph, last = NetGraph(seed=6), "input"
    for dilation in dilations:
        last = graph.relu(graph.conv(last, width, dilation=dilation))
    return graph, [graph.conv(last, outputs, 1)]


def monai_unet(widths=(16, 32, 64, 128, 256), outputs=2):
    """Returns MONAI's UNet with residual units of two convolutions and batch normalisation; period 2 for each level but
    one."""
    graph = NetGraph(seed=7)

    def unit(found):
        return graph.prelu(graph.batch_norm(found))

    def encode(source, f, stride):
        inner = unit(graph.conv(unit(graph.conv(source, f, stride=stride)), f))
        return graph.add(inner, graph.conv(source, f, 3 if stride == 2 else 1, stride))

    def decode(source, f, is_top):
        up = unit(graph.transposed(source, f, 3, 2, 1, 1))
        inner = graph.conv(up, f)
        return graph.add(inner if is_top else unit(inner), up)

    def level(source, f_out, widths, is_top=False):
        skip = encode(source, widths[0], 2)
        deepest = len(widths) == 2
        low = encode(skip, widths[1], 1) if deepest else level(skip, widths[0], widths[1:])
        return decode(graph.concat(skip, low), f_out, is_top)

    return graph, [level("input", outputs, widths, True)]


def stack(depth=10, channels=32):
    """Returns BrainSlug's stack: max poolings of stride 1, batch normalisations and ReLUs in turn."""
    graph, last = NetGraph(channels, seed=8), "input"
    for _ in range(depth):
        last = graph.relu(graph.batch_norm(graph.pool(last, 3, 1, 1)))
    return graph, [last]


def ffn(modules=12, width=32):
    """Returns the body of a flood-filling network: residual modules of two convolutions."""
    graph = NetGraph(2, seed=9)
    last = graph.conv(graph.relu(graph.conv("input", width)), width)
    for _ in range(modules - 1):
        inner = graph.relu(graph.conv(graph.relu(last), width))
        last = graph.add(graph.conv(inner, width), last)
    return graph, [graph.conv(graph.relu(last), 1, 1)]


@dataclasses.dataclass(frozen=True)
class Peer:
    """A network, the patch on which all programs run it, and how many times as fast as ONNX Runtime and OpenVINO it is
    meant to be: at least, and at best."""

    make: object
    patch: tuple
    floor: tuple = ()
    goal: tuple = ()


NETS = {
    "Symmetric": Peer(symmetric, (32, 128, 128), (3.5, 1.8), (4.6, 2.4)),
    "Residual": Peer(residual, (18, 160, 160), (3.0, 1.7), (4.0, 2.3)),
    "nnU-Net": Peer(nnunet, (64, 64, 64), (3.0, 1.7), (4.0, 2.3)),
    "Original": Peer(original, (116, 116, 116), (2.5, 1.7), (4.0, 2.5)),
    "SegResNet": Peer(segresnet, (64, 96, 96), (2.5, 1.6), (4.0, 2.8)),
    "MeshNet": Peer(meshnet, (64, 64, 64), (2.0, 1.3), (3.2, 2.1)),
    "MONAI-UNet": Peer(monai_unet, (64, 128, 128), (1.5, 0.9), (2.5, 1.2)),
    "stack-10": Peer(stack, (64, 64, 64), (6.0, 4.0), (15.0, 10.0)),
    **{f"stack-{depth}": Peer(lambda depth=depth: stack(depth), (64, 64, 64)) for depth in (1, 40)},
    "nnU-Net-batch": Peer(lambda: nnunet(norm="batch"), (64, 64, 64)),
    **{f"FFN-{modules}": Peer(lambda modules=modules: ffn(modules), (64, 64, 64)) for modules in (6, 8, 10, 12)},
}


def model_of(name, patch=None):
    """Returns the model of a name for volumes of the extent `patch`, by default its own."""
    peer = NETS[name]
    graph, outputs = peer.make()
    return graph.model(*outputs, extent=patch or peer.patch)

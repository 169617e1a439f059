"""Counts the work and memory of a chain of convolutions and max poolings that computes each voxel of dense output once.

All functions count for `output`, the extents of the dense output, in MPF (max-pooling fragments). Input extents are
output + field of view - 1. A pooling of stride s makes s^3 fragments of its input, each a part of the dense result.
The dilated form does the same work on the same voxels. Extents are z, y, x.
"""

import argparse
import importlib
import math
import pathlib
import sys
import tempfile

PROTO = pathlib.Path(__file__).resolve().parents[2] / "proto"
UNITS = {"M": 2**20, "G": 2**30, "T": 2**40}
FLOAT = 4  # bytes


def parse_bytes(text):
    """Returns the bytes of "16G", "512M", or a number of bytes."""
    try:
        return int(text) if text.isdigit() else int(float(text[:-1]) * UNITS[text[-1].upper()])
    except (KeyError, ValueError, IndexError):
        raise argparse.ArgumentTypeError(f"'{text}': write a size such as 16G or 512M") from None


def read_network(path):
    """Returns the message znni.text.Network of a file."""
    from google.protobuf import text_format
    from grpc_tools import protoc

    if "network_pb2" not in sys.modules:
        with tempfile.TemporaryDirectory() as folder:
            if protoc.main(["protoc", f"--proto_path={PROTO}", f"--python_out={folder}", "network.proto"]) != 0:
                sys.exit(f"{PROTO / 'network.proto'}: protoc failed")
            sys.path.insert(0, folder)
            importlib.import_module("network_pb2")
            sys.path.remove(folder)
    return text_format.Parse(pathlib.Path(path).read_text(), sys.modules["network_pb2"].Network())


def extents(values, otherwise):
    """Returns the three numbers of a field that may hold one or none."""
    return [int(v) for v in (list(values) * 3 if len(values) == 1 else values)] or otherwise


class Layer:
    """A convolution (stride 1) or a max pooling (dilation 1) of a chain."""

    def __init__(self, number, node, f_in):
        kind = node.WhichOneof("op")
        if node.inputs or kind not in ("conv", "max_pool"):
            sys.exit(
                f"node {number}: {kind}{' with inputs' if node.inputs else ''}: only chains of conv and max_pool "
                "are built"
            )
        self.is_conv = kind == "conv"
        self.f_in, self.relu = f_in, False
        self.dilation = [1, 1, 1]
        if not self.is_conv:
            self.f_out = f_in
            self.window = extents(node.max_pool.window, None)
            self.stride = extents(node.max_pool.stride, self.window)
            return
        self.f_out, self.window, self.stride = node.conv.f_out, extents(node.conv.k, None), [1, 1, 1]
        self.dilation = extents(node.conv.dilation, self.dilation)
        kinds = type(node.conv).DESCRIPTOR.fields_by_name["activation"].enum_type.values_by_number
        activation = kinds[node.conv.activation].name
        if activation not in ("none", "relu"):
            sys.exit(f"node {number}: activation {activation}: only relu is built")
        self.relu = activation == "relu"

    def reach(self):
        """Returns how far a window reads beyond its first voxel, per axis."""
        return [d * (w - 1) for d, w in zip(self.dilation, self.window)]


def layers_of(network):
    """Returns the chain of layers of a network's message."""
    if network.spatial_rank != 3:
        sys.exit(f"network {network.name}: has spatial_rank {network.spatial_rank}; only 3 is built")
    if network.HasField("frame") or any(node.conv.pad_begin or node.conv.pad_end for node in network.node):
        sys.exit(f"network {network.name}: pads; only networks that do not are built")
    layers, f = [], network.f_in
    for number, node in enumerate(network.node):
        layers.append(Layer(number, node, f))
        f = layers[-1].f_out
    return layers


def pool_product(layers):
    """Returns the extents of which a dense output must be a multiple, so that all fragments have one size."""
    return [math.prod(layer.stride[axis] for layer in layers) for axis in range(3)]


def field_of_view(layers):
    """Returns the input voxels of one output voxel, per axis."""
    view, pace = [1, 1, 1], [1, 1, 1]
    for layer in layers:
        view = [v + r * p for v, r, p in zip(view, layer.reach(), pace)]
        pace = [p * s for p, s in zip(pace, layer.stride)]
    return view


def sizes(layers, output):
    """Yields (layer, number of inputs, extents of each, number of outputs, extents of each) of every layer."""
    S, n = 1, [o + v - 1 for o, v in zip(output, field_of_view(layers))]
    for layer in layers:
        n_out = [(extent - reach) // s for extent, reach, s in zip(n, layer.reach(), layer.stride)]
        S_out = S * math.prod(layer.stride)
        yield layer, S, n, S_out, n_out
        S, n = S_out, n_out


def direct_flops(layers, output):
    """Returns the operations of all convolutions by the direct algorithm; a multiply-add counts as two."""
    return sum(
        2 * S * layer.f_in * layer.f_out * math.prod(layer.window) * math.prod(n_out)
        for layer, S, _, _, n_out in sizes(layers, output)
        if layer.is_conv
    )


def traffic_bytes(layers, output):
    """Returns the least bytes moved if each layer reads its input and weights and writes its output once."""
    weights = sum(layer.f_in * layer.f_out * math.prod(layer.window) for layer in layers if layer.is_conv)
    return FLOAT * (
        weights
        + sum(
            S * layer.f_in * math.prod(n) + S_out * layer.f_out * math.prod(n_out)
            for layer, S, n, S_out, n_out in sizes(layers, output)
        )
    )


def peak_bytes(layers, output):
    """Returns the bytes of input and output together, of the layer for which they are largest."""
    return FLOAT * max(
        S * layer.f_in * math.prod(n) + S_out * layer.f_out * math.prod(n_out)
        for layer, S, n, S_out, n_out in sizes(layers, output)
    )


def largest_output(layers, allowed):
    """Returns the largest nearly cubic output that is a multiple of pool_product() and that allowed(output) accepts, or
    None. If allowed() refuses an output, it must refuse larger ones."""
    unit, best, times = pool_product(layers), None, 1
    while allowed([u * times for u in unit]):
        best = [u * times for u in unit]
        times += 1
    return best


def best_output(layers, memory):
    """Returns the largest output whose peak fits in `memory` bytes: the best for a peer that keeps whole layers."""
    return largest_output(layers, lambda output: peak_bytes(layers, output) <= memory)


def tail(network, poolings):
    """Returns the network behind the first `poolings` poolings, for one fragment of them. It is far cheaper to run."""
    if poolings == 0:
        return network
    last = [i for i, node in enumerate(network.node) if node.WhichOneof("op") == "max_pool"][poolings - 1]
    part = type(network)()
    part.CopyFrom(network)
    part.name = f"{network.name}_after_{poolings}"
    part.f_in = layers_of(network)[last].f_out
    del part.node[: last + 1]
    return part


def poolings_of(network):
    """Returns the number of poolings."""
    return sum(node.WhichOneof("op") == "max_pool" for node in network.node)


def carried(layers, memory, flops_per_second):
    """Extrapolates the rate of direct operations to the best output in `memory`: voxels/s = rate / (operations per
    voxel). Returns {output, flops_per_voxel, voxels_per_second}, or None if no output fits."""
    output = best_output(layers, memory)
    if output is None:
        return None
    per_voxel = direct_flops(layers, output) / math.prod(output)
    return {"output": output, "flops_per_voxel": per_voxel, "voxels_per_second": flops_per_second / per_voxel}

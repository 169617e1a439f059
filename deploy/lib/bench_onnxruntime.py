"""Times ONNX Runtime on a network of planner/networks, in its best dense form: every stride becomes a dilation of what
follows, so that each voxel is computed once. Patches grow until the next would take longer than the limit or more
memory than it may; the figures of the largest that ended are printed as JSON.

    bench_onnxruntime.py NETWORK.pbtxt --mem 16G [--threads N] [--limit SECONDS] [--seed N]
"""

import argparse
import importlib
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

EDGES = (1, 4, 8, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)  # of the output
START_SECONDS = 60  # of a process and its session, at most
PROTO = pathlib.Path(__file__).resolve().parents[2] / "proto"
UNITS = {"M": 2**20, "G": 2**30, "T": 2**40}


def parse_bytes(text):
    """16G, 512M."""
    try:
        return int(float(text[:-1]) * UNITS[text[-1].upper()])
    except (KeyError, ValueError, IndexError):
        raise argparse.ArgumentTypeError(f"'{text}': write a size such as 16G or 512M") from None


def read_network(path):
    """The message znni.text.Network of a file."""
    from google.protobuf import text_format
    from grpc_tools import protoc
    with tempfile.TemporaryDirectory() as folder:
        if protoc.main(["protoc", f"--proto_path={PROTO}", f"--python_out={folder}", "network.proto"]) != 0:
            sys.exit(f"{PROTO / 'network.proto'}: protoc failed")
        sys.path.insert(0, folder)
        messages = importlib.import_module("network_pb2")
        sys.path.remove(folder)
    return text_format.Parse(pathlib.Path(path).read_text(), messages.Network())


def extents(values, otherwise):
    """Three numbers of a field that may hold one or none."""
    return [int(v) for v in (list(values) * 3 if len(values) == 1 else values)] or otherwise


class DenseNet:
    """The dilated form of a chain of convolutions and max poolings, with seeded He-normal weights."""

    def __init__(self, network, seed=1):
        if network.spatial_rank != 3:
            sys.exit(f"network {network.name}: has spatial_rank {network.spatial_rank}; only 3 is built")
        self.f_in = self.images = network.f_in
        self.dilation = [1, 1, 1]
        self.field_of_view = [1, 1, 1]
        self.random = np.random.default_rng(seed)
        self.nodes, self.tensors = [], []
        self.value = "input"
        for number, node in enumerate(network.node):
            self.add(number, node)

    def add(self, number, node):
        """One node more."""
        kind = node.WhichOneof("op")
        if node.inputs or kind not in ("conv", "max_pool"):
            sys.exit(f"node {number}: {kind}{' with inputs' if node.inputs else ''}: only chains of conv and max_pool "
                     "are built")
        if kind == "conv":
            self.add_conv(number, node.conv)
        else:
            window = extents(node.max_pool.window, None)
            self.step("MaxPool", number, window, self.dilation)
            stride = extents(node.max_pool.stride, window)
            self.dilation = [d * s for d, s in zip(self.dilation, stride)]

    def step(self, op, number, window, dilation, names=()):
        """An operator with a window, and what it does to the field of view."""
        output = f"value{number}"
        self.nodes.append(helper.make_node(op, [self.value, *names], [output], kernel_shape=window,
                                           dilations=list(dilation), strides=[1, 1, 1]))
        self.field_of_view = [v + (w - 1) * d for v, w, d in zip(self.field_of_view, window, dilation)]
        self.value = output

    def add_conv(self, number, conv):
        """A convolution with its activation."""
        k = extents(conv.k, None)
        shape = (conv.f_out, self.images, *k)
        deviation = np.sqrt(2 / np.prod(shape[1:]))
        weights = {f"kernels{number}": self.random.normal(0, deviation, shape).astype(np.float32),
                   f"bias{number}": self.random.normal(0, 0.1, conv.f_out).astype(np.float32)}
        self.tensors += [numpy_helper.from_array(array, name) for name, array in weights.items()]
        dilation = [d * own for d, own in zip(self.dilation, extents(conv.dilation, [1, 1, 1]))]
        self.step("Conv", number, k, dilation, list(weights))
        self.images = conv.f_out
        activation = type(conv).DESCRIPTOR.fields_by_name["activation"].enum_type.values_by_number[conv.activation].name
        if activation == "none":
            return
        if activation != "relu":
            sys.exit(f"node {number}: activation {activation}: only relu is built")
        self.nodes.append(helper.make_node("Relu", [self.value], [self.value + "r"]))
        self.value += "r"

    def model(self):
        """An ONNX model with free extents."""
        def value(name, f, extent):
            return helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, f, *extent])
        graph = helper.make_graph(self.nodes, "dense", [value("input", self.f_in, "zyx")],
                                  [value(self.value, self.images, ["oz", "oy", "ox"])], self.tensors)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
        model.ir_version = 8
        onnx.checker.check_model(model)
        return model


def time_patch(path, extent, f_in, threads, limit):
    """Cold and, where that did not take too long, warm seconds of one patch."""
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    volume = np.random.default_rng(2).random((1, f_in, *extent), dtype=np.float32)
    seconds = []
    while len(seconds) < 2 and sum(seconds) <= limit:
        start = time.perf_counter()
        session.run(None, {"input": volume})
        seconds.append(time.perf_counter() - start)
    return {"cold_seconds": seconds[0], "seconds": min(seconds),
            "bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}


def in_child(model, net, edge, arguments):
    """time_patch() of a process of its own, whose memory is limited: its figures, or why there are none."""
    extent = [edge + v - 1 for v in net.field_of_view]
    command = [sys.executable, __file__, model, "--mem", str(arguments.mem), "--threads", str(arguments.threads),
               "--limit", str(arguments.limit), "--patch", *map(str, extent), "--f-in", str(net.f_in)]
    patience = START_SECONDS + 3 * arguments.limit
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=patience, check=False)
    except subprocess.TimeoutExpired:
        return None, f"{edge}^3 outputs took more than {patience:.0f} s"
    if done.returncode != 0:
        said = done.stderr.strip().split("\n")[-1][:200]
        return None, f"{edge}^3 outputs: exit code {done.returncode}: {said}"
    figures = json.loads(done.stdout)
    figures.update(patch=extent, output=[edge] * 3, voxels_per_second=edge**3 / figures["seconds"])
    return figures, ""


def grow(model, net, arguments):
    """The figures of the largest patch, and what ended the growth."""
    best, ended = None, "no larger patch was tried"
    for edge in EDGES:
        if best:
            grown = np.prod([(edge + v - 1) / n for v, n in zip(net.field_of_view, best["patch"])])
            if best["seconds"] * grown > arguments.limit:
                ended = f"{edge}^3 outputs would take about {best['seconds'] * grown:.0f} s"
                break
        figures, why = in_child(model, net, edge, arguments)
        if figures is None:
            ended = why
            break
        print(f"{edge}^3 outputs: {figures['seconds']:.2f} s", file=sys.stderr)
        if figures["cold_seconds"] > arguments.limit and best:
            ended = f"{edge}^3 outputs took {figures['cold_seconds']:.0f} s"
            break
        best = figures
    return {"refusal": ended} if best is None else {**best, "ended": ended}


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("network")
    parser.add_argument("--mem", type=lambda text: int(text) if text.isdigit() else parse_bytes(text), required=True)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--limit", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--patch", type=int, nargs=3, help=argparse.SUPPRESS)
    parser.add_argument("--f-in", type=int, help=argparse.SUPPRESS)
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    if arguments.patch:
        resource.setrlimit(resource.RLIMIT_DATA, (arguments.mem, arguments.mem))
        figures = time_patch(arguments.network, arguments.patch, arguments.f_in, arguments.threads, arguments.limit)
        print(json.dumps(figures))
        return
    import onnxruntime
    network = read_network(arguments.network)
    net = DenseNet(network, arguments.seed)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "dense.onnx")
        onnx.save(net.model(), path)
        figures = grow(path, net, arguments)
    print(json.dumps({"network": network.name, "onnxruntime": onnxruntime.__version__, "threads": arguments.threads,
                      **figures}))


if __name__ == "__main__":
    main()

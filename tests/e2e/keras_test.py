"""Networks of Keras, whose channels are last, give what ONNX Runtime computes of them, with channels first."""

import pathlib
import tempfile
import unittest

import numpy as np
import onnx
from harness import Daemon
from onnx import TensorProto, helper
from padded_test import Graph, expected, infer, integers

FIXED = (16, 8, 24)


def model_of(graph, extents, outputs):
    """Returns the model: an input [1][extents][f], and outputs [1][extents][f]."""
    value = helper.make_tensor_value_info

    def shape(f):
        return [1, *(extents or ["z", "y", "x"]), f]

    body = helper.make_graph(
        graph.nodes,
        "net",
        [value("input", TensorProto.FLOAT, shape(graph.channels["input"]))],
        [value(name, TensorProto.FLOAT, shape(graph.channels[name])) for name in outputs],
        graph.tensors,
    )
    model = helper.make_model(body, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    return model


def moved(graph, source, perm):
    """Returns a Transpose."""
    return graph.add("Transpose", [source], graph.channels[source], perm=perm)


def planes_repeated(graph, source, axis, count):
    """Returns UpSampling3D along an axis of a tensor with fixed extents."""
    f, name = graph.channels[source], f"split{len(graph.nodes)}"
    planes = [f"{name}.{i}" for i in range(count)]
    graph.nodes.append(helper.make_node("Split", [source], planes, name=name, axis=axis))
    return graph.add("Concat", [plane for plane in planes for _ in range(2)], f, axis=axis)


def upsampled_fixed(graph, source, extents):
    """Returns UpSampling3D of fixed extents: channels last, plane by plane along each axis."""
    last = moved(graph, source, [0, 2, 3, 4, 1])
    for axis, count in enumerate(extents, 1):
        last = planes_repeated(graph, last, axis, count)
    return moved(graph, last, [0, 4, 1, 2, 3])


def upsampled_open(graph, source):
    """Returns UpSampling3D of open extents: copies along a new axis behind each, and a Reshape."""
    f = graph.channels[source]
    last = moved(graph, source, [0, 2, 3, 4, 1])
    for axis in (1, 2, 3):
        shape = graph.add("Shape", [last], f)
        times = np.ones(5, np.int64)
        times[axis] = 2
        shape = graph.add("Mul", [shape], f, [times])
        more = graph.add("Unsqueeze", [last], f, [integers(axis + 1)])
        repeats = np.ones(6, np.int64)
        repeats[axis + 1] = 2
        copies = graph.add("Tile", [more], f, [repeats])
        last = graph.add("Reshape", [copies, shape], f)
    return moved(graph, last, [0, 4, 1, 2, 3])


def unet(graph, first, extents):
    """Returns a U-Net of `first`, whose channels are first."""
    skip = graph.add("Relu", [graph.conv(first, 4, auto_pad="SAME_UPPER")], 4)
    low = graph.add("MaxPool", [skip], 4, kernel_shape=[2] * 3, strides=[2] * 3)
    low = graph.add("Relu", [graph.conv(low, 6, auto_pad="SAME_UPPER")], 6)
    high = upsampled_fixed(graph, low, [n // 2 for n in extents]) if extents else upsampled_open(graph, low)
    both = graph.add("Concat", [high, skip], 10, axis=1)
    return graph.add("Relu", [graph.conv(both, 4, auto_pad="SAME_UPPER")], 4)


def fixed():
    """Returns StarDist's form: one channel in, two outputs, fixed extents."""
    graph = Graph(21, 1)
    features = unet(graph, graph.add("Reshape", ["input"], 1, [integers(1, 1, *FIXED)]), FIXED)
    prob = graph.add("Sigmoid", [graph.conv(features, 1, (1, 1, 1))], 1)
    prob = graph.add("Reshape", [prob], 1, [integers(1, *FIXED, 1)])
    return model_of(graph, FIXED, [prob, moved(graph, graph.conv(features, 3, (1, 1, 1)), [0, 2, 3, 4, 1])])


def open_extents():
    """Returns the same with open extents and one output."""
    graph = Graph(22, 1)
    first = graph.add("Unsqueeze", ["input"], 1, [integers(0)])
    features = unet(graph, graph.add("Reshape", [first], 1, [integers(-1, 1, 0, 0, 0)]), None)
    last = graph.add("Reshape", [graph.conv(features, 1, (1, 1, 1))], 1, [integers(1, -1, 0, 0, 0, 1)])
    return model_of(graph, None, [graph.add("Squeeze", [last], 1, [integers(0)])])


def strided():
    """Returns a net with two channels in; a convolution of stride 2 that pads so that no voxel is lost; a transposed
    one."""
    graph = Graph(23, 2)
    skip = graph.conv(moved(graph, "input", [0, 4, 1, 2, 3]), 3, auto_pad="SAME_UPPER")
    low = graph.add("Relu", [graph.conv(skip, 5, stride=2, auto_pad="SAME_UPPER")], 5)
    high = graph.transposed(low, 3, (2, 2, 2), 2)
    return model_of(graph, None, [moved(graph, graph.add("Add", [skip, high], 3), [0, 2, 3, 4, 1])])


class KerasTest(unittest.TestCase):
    """A daemon with three nets, in memory for patches smaller than the volumes."""

    def test_messages(self):
        models = {"fixed": fixed(), "open": open_extents(), "strided": strided()}
        rng = np.random.default_rng(7)
        with tempfile.TemporaryDirectory() as repository:
            for name, model in models.items():
                folder = pathlib.Path(repository) / name / "1"
                folder.mkdir(parents=True)
                onnx.save(model, folder / "model.onnx")
            with Daemon(repository, mem="512M") as daemon, daemon.client() as client:
                for name, model in models.items():
                    channels = model.graph.input[0].type.tensor_type.shape.dim[4].dim_value
                    for extent in (FIXED,) if name == "fixed" else (FIXED, (4, 6, 8), (40, 66, 52)):
                        with self.subTest(f"{name} {extent}"):
                            volume = rng.standard_normal((1, channels, *extent), np.float32)
                            exact = np.moveaxis(expected(model, np.moveaxis(volume, 1, -1)), -1, 1)
                            found = infer(client, name, volume)
                            self.assertEqual(found.shape, exact.shape)
                            self.assertLess(np.abs(found - exact).max(), 1e-4 * np.abs(exact).max())

    def test_outputs_keep_their_names(self):
        with tempfile.TemporaryDirectory() as repository:
            folder = pathlib.Path(repository) / "net" / "1"
            folder.mkdir(parents=True)
            model = fixed()
            onnx.save(model, folder / "model.onnx")
            with Daemon(repository, mem="512M") as daemon, daemon.client() as client:
                outputs = client.get_model_metadata("net").outputs
        self.assertEqual([tensor.name for tensor in outputs], [tensor.name for tensor in model.graph.output])
        self.assertEqual([list(tensor.shape) for tensor in outputs], [[-1, 1, -1, -1, -1], [-1, 3, -1, -1, -1]])


if __name__ == "__main__":
    unittest.main()

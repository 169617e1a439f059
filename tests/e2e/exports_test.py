"""Tests one net in the many forms in which exporters write it: znnid's dense output is the same for all."""

import pathlib
import tempfile
import unittest

import nets
import numpy as np
import onnx
import onnxruntime
from dense_test import infer, volume_for
from harness import Daemon
from onnx import TensorProto, external_data_helper, helper, numpy_helper

BOUND = 1e-5  # of the largest output


def a_net():
    """Returns a net with normalisation, both poolings and a softmax, which exporters write in different ways."""
    rng = np.random.default_rng(11)
    net = nets.Net(1)
    net.conv(rng, 4, (3, 3, 3))
    net.normalize(rng)
    net.activate("Relu")
    net.pool((2, 2, 2))
    net.conv(rng, 4, (2, 2, 2), dilation=(2, 2, 2))
    net.pool((1, 2, 2), op="AveragePool")
    net.conv(rng, 3, (2, 1, 2))
    net.softmax()
    return net


def as_exported(model):
    """Changes nothing."""


def set_opset(model, version, ir):
    """Sets an older or newer operator set and file version."""
    model.opset_import[0].version = version
    model.ir_version = ir


def weights_as_inputs(model):
    """Makes each initializer an input too, as PyTorch before 1.2 and keep_initializers_as_inputs do."""
    for tensor in model.graph.initializer:
        model.graph.input.append(helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims))


def old_weights_as_inputs(model):
    """Does the same with the operators of that time, in which Softmax works on the last axis."""
    softmax_between_transpositions(model)
    weights_as_inputs(model)
    set_opset(model, 8, 3)


def weights_as_constants(model):
    """Makes weights Constant nodes, as tf2onnx and others do, here behind Identity nodes as well."""
    nodes = []
    for tensor in model.graph.initializer:
        kept = onnx.TensorProto()
        kept.CopyFrom(tensor)
        nodes.append(helper.make_node("Constant", [], [f"{tensor.name}.constant"], value=kept))
        nodes.append(helper.make_node("Identity", [f"{tensor.name}.constant"], [tensor.name]))
    nodes += model.graph.node
    del model.graph.initializer[:]
    del model.graph.node[:]
    model.graph.node.extend(nodes)


def weights_in_fields(model):
    """Stores numbers as float_data instead of raw bytes."""
    for tensor in model.graph.initializer:
        values = numpy_helper.to_array(tensor).ravel()
        tensor.ClearField("raw_data")
        tensor.float_data.extend(values)


def free_of_shapes(model):
    """Leaves batch and extents of the input open, and notes intermediate shapes."""
    for dim in model.graph.input[0].type.tensor_type.shape.dim:
        if dim.dim_param:
            dim.Clear()
    model.graph.value_info.append(helper.make_tensor_value_info(model.graph.node[0].output[0], TensorProto.FLOAT, None))


def padding_in_words(model):
    """Adds auto_pad and pads of zero."""
    for number, node in enumerate(model.graph.node):
        if node.op_type in ("Conv", "MaxPool", "AveragePool"):
            words = {"auto_pad": "VALID"} if number % 2 else {"pads": [0] * 6, "auto_pad": "NOTSET"}
            node.attribute.extend(helper.make_attribute(*pair) for pair in words.items())


def without_effect(model):
    """Adds Dropout, Identity, Pad by zero and Mul by 1 behind every node."""
    nodes, output = [], model.graph.output[0].name
    numbers = {
        "zeros": np.zeros(10, np.int64),
        "one": np.ones((1, 1, 1, 1, 1), np.float32),
        "ratio": np.float32(0.5),
        "training": np.array(False),
    }
    model.graph.initializer.extend(numpy_helper.from_array(np.asarray(v), name) for name, v in numbers.items())
    for node in model.graph.node:
        name = node.output[0]
        node.output[0] = f"{name}.raw"
        nodes += [
            node,
            helper.make_node("Dropout", [f"{name}.raw", "ratio", "training"], [f"{name}.dropped"]),
            helper.make_node("Identity", [f"{name}.dropped"], [f"{name}.same"]),
            helper.make_node("Pad", [f"{name}.same", "zeros"], [f"{name}.padded"], mode="constant"),
            helper.make_node("Mul", [f"{name}.padded", "one"], [name]),
        ]
    assert nodes[-1].output[0] == output
    del model.graph.node[:]
    model.graph.node.extend(nodes)


def softmax_between_transpositions(model):
    """Moves channels to the end and back, as PyTorch does for operator sets before 13, in which Softmax flattens."""
    softmax = model.graph.node[-1]
    swap = [0, 4, 2, 3, 1]
    there = helper.make_node("Transpose", [softmax.input[0]], ["there"], perm=swap)
    back = helper.make_node("Transpose", ["back"], [softmax.output[0]], perm=swap)
    turned = helper.make_node("Softmax", ["there"], ["back"], axis=4)
    del model.graph.node[-1]
    model.graph.node.extend([there, turned, back])
    set_opset(model, 11, 6)


def channels_last(model):
    """Puts channels last, as Keras has them."""
    graph = model.graph
    first, last = graph.input[0].name, graph.output[0].name
    for node in graph.node:
        for names, old, new in ((node.input, first, "channels first"), (node.output, last, "result")):
            for i, name in enumerate(names):
                names[i] = new if name == old else name
    nodes = [
        helper.make_node("Transpose", [first], ["channels first"], perm=[0, 4, 1, 2, 3]),
        *graph.node,
        helper.make_node("Transpose", ["result"], [last], perm=[0, 2, 3, 4, 1]),
    ]
    del graph.node[:]
    graph.node.extend(nodes)
    for value in (graph.input[0], graph.output[0]):
        dims = [dim for dim in value.type.tensor_type.shape.dim]
        value.type.tensor_type.shape.ClearField("dim")
        value.type.tensor_type.shape.dim.extend([dims[0], *dims[2:], dims[1]])


FORMS = [
    as_exported,
    weights_as_inputs,
    old_weights_as_inputs,
    weights_as_constants,
    weights_in_fields,
    free_of_shapes,
    padding_in_words,
    without_effect,
    softmax_between_transpositions,
    channels_last,
]


PATCH = (11, 10, 13)  # of a patch classifier
STATISTICS = ["gamma", "beta", "mean", "variance"]  # of its row


def a_patch_classifier(flat):
    """Returns a net that flattens a patch by the nodes `flat`, for two linear layers."""
    rng = np.random.default_rng(5)
    weights = {
        "k": (4, 1, 4, 3, 4),
        "w": (6, 4 * 4 * 4 * 5),
        "b": (6,),
        "m": (6, 3),
        "n": (3,),
        **{name: (4 * 4 * 4 * 5,) for name in STATISTICS},
    }
    numbers = {name: rng.standard_normal(shape) / np.sqrt(np.prod(shape[1:])) for name, shape in weights.items()}
    numbers["variance"] = numbers["variance"] ** 2 + 0.5
    tensors = [numpy_helper.from_array(values.astype(np.float32), name) for name, values in numbers.items()]
    tensors.append(numpy_helper.from_array(np.array([0, -1]), "row"))
    window = {"kernel_shape": [2, 2, 2], "strides": [2, 2, 2]}
    make = helper.make_node
    nodes = [
        make("Conv", ["input", "k"], ["c"]),
        make("Relu", ["c"], ["r"]),
        make("MaxPool", ["r"], ["p"], **window),
        *flat,
        make("Dropout", ["f"], ["d"]),
        make("Gemm", ["d", "w", "b"], ["g"], transB=1, alpha=0.5, beta=2.0),
        make("Relu", ["g"], ["h"]),
        make("MatMul", ["h", "m"], ["l"]),
        make("Add", ["l", "n"], ["a"]),
        make("Softmax", ["a"], ["classes"], axis=1),
    ]
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes,
        "patches",
        [value("input", TensorProto.FLOAT, ["n", 1, *PATCH])],
        [value("classes", TensorProto.FLOAT, ["n", 3])],
        tensors,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
    model.ir_version = 8
    return model


CLASSIFIERS = {
    "flattened": [helper.make_node("Flatten", ["p"], ["f"])],
    "reshaped": [helper.make_node("Reshape", ["p", "row"], ["f"])],
    "normalised": [
        helper.make_node("Flatten", ["p"], ["q"]),
        helper.make_node("BatchNormalization", ["q", *STATISTICS], ["f"]),
    ],
}


def classes_at_every_position(model, volume):
    """Returns what ONNX Runtime makes of the patch at every position of the volume: [1,C,...]."""
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    extents = [v - n + 1 for v, n in zip(volume.shape[2:], PATCH)]
    windows = np.lib.stride_tricks.sliding_window_view(volume[0, 0], PATCH).reshape(-1, 1, *PATCH)
    return session.run(None, {"input": np.ascontiguousarray(windows)})[0].T.reshape(1, -1, *extents)


class ExportsTest(unittest.TestCase):
    """Tests all forms in one daemon."""

    def assert_same(self, output, reference, hint):
        self.assertEqual(output.shape, reference.shape, hint)
        self.assertLessEqual(np.abs(output - reference).max(), BOUND * np.abs(reference).max(), hint)

    def test_every_form_computes_the_same(self):
        net = a_net()
        volume = volume_for(net, [v + 9 for v in net.field_of_view], 1)
        reference = nets.run_dilated(net, volume)
        with tempfile.TemporaryDirectory() as repository:
            for form in FORMS:
                model = nets.export(net)
                form(model)
                onnx.checker.check_model(model)
                self.save(model, repository, form.__name__)
            outside = nets.export(net)
            external_data_helper.convert_model_to_external_data(outside, location="weights.bin", size_threshold=0)
            self.save(outside, repository, "outside")
            self.assertTrue(pathlib.Path(repository, "outside/1/weights.bin").exists())
            with Daemon(repository, mem="128M") as daemon, daemon.client() as client:
                for name in [*(form.__name__ for form in FORMS), "outside"]:
                    with self.subTest(name):
                        self.assert_same(infer(client, name, volume), reference, name)

    def test_weights_of_other_types(self):
        """float64 is rounded; half precision is what the file says."""
        net = nets.small_net(3)
        volume = volume_for(net, (14, 15, 16), 2)
        for node in net.nodes:
            node.weights = [w.astype(np.float16).astype(np.float32) for w in node.weights]
        reference = nets.run_dilated(net, volume)
        with tempfile.TemporaryDirectory() as repository:
            for name, kind in (("double", np.float64), ("half", np.float16)):
                model = nets.export(net)
                for tensor in model.graph.initializer:
                    tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor).astype(kind), tensor.name))
                self.save(model, repository, name)
            with Daemon(repository, mem="128M") as daemon, daemon.client() as client:
                for name in ("double", "half"):
                    self.assert_same(infer(client, name, volume), reference, name)

    def test_patch_classifiers_are_dense(self):
        """A volume of the patch's extent has one voxel; of a larger one each voxel is that of the patch there."""
        with tempfile.TemporaryDirectory() as repository:
            for name, flat in CLASSIFIERS.items():
                self.save(a_patch_classifier(flat), repository, name)
            with Daemon(repository, mem="128M") as daemon, daemon.client() as client:
                for name, flat in CLASSIFIERS.items():
                    for more in ((0, 0, 0), (5, 4, 2)):
                        volume = np.random.default_rng(6).standard_normal((1, 1, *np.add(PATCH, more)))
                        volume = volume.astype(np.float32)
                        reference = classes_at_every_position(a_patch_classifier(flat), volume)
                        self.assert_same(infer(client, name, volume), reference, f"{name}, {more} more")

    @staticmethod
    def save(model, repository, name):
        """Writes a model into a repository."""
        folder = pathlib.Path(repository, name, "1")
        folder.mkdir(parents=True)
        onnx.save(model, folder / "model.onnx")


if __name__ == "__main__":
    unittest.main()

"""Operations over the channels of each voxel give what ONNX Runtime makes of them: densely, padded, and in streams."""

import unittest

import nets
import numpy as np
import onnx
import onnxruntime
import znni
from dense_test import infer
from harness import ServedCase
from onnx import TensorProto, helper, numpy_helper

BOUND = 1e-5  # of the largest output
MARGIN = 1e-4  # by which the largest channel leads where its number is compared
CHANNELS = 5
LAST = [0, 2, 3, 4, 1]
FIRST = [0, 4, 1, 2, 3]
make = helper.make_node


def logarithm():
    """Returns a LogSoftmax."""
    return [make("LogSoftmax", ["body"], ["result"], axis=1)], {}


def logarithm_of_a_softmax():
    """Returns the same as two nodes, between Transposes."""
    return [
        make("Transpose", ["body"], ["last"], perm=LAST),
        make("Softmax", ["last"], ["soft"], axis=-1),
        make("Log", ["soft"], ["log"]),
        make("Transpose", ["log"], ["result"], perm=FIRST),
    ], {}


def class_numbers():
    """Returns the largest channel, without its axis, as bytes."""
    return [
        make("ArgMax", ["body"], ["class"], axis=1, keepdims=0),
        make("Cast", ["class"], ["result"], to=TensorProto.UINT8),
    ], {}


def last_class_numbers():
    """Returns the last of the largest channels, which are last themselves; then real numbers, of which 1 is taken."""
    return [
        make("Transpose", ["body"], ["last"], perm=LAST),
        make("ArgMax", ["last"], ["class"], axis=-1, keepdims=1, select_last_index=1),
        make("Transpose", ["class"], ["whole"], perm=FIRST),
        make("Cast", ["whole"], ["real"], to=TensorProto.FLOAT),
        make("Sub", ["real", "one"], ["result"]),
    ], {"one": np.ones((1,), np.float32)}


def layer_norm():
    """Returns LayerNormalization of channels that are last, with a convolution behind that takes its scale and shift
    in."""
    rng = np.random.default_rng(3)
    numbers = {
        "scale": rng.uniform(0.5, 1.5, CHANNELS),
        "shift": rng.standard_normal(CHANNELS),
        "kernels": rng.standard_normal((3, CHANNELS, 1, 1, 1)),
    }
    nodes = [
        make("Transpose", ["body"], ["last"], perm=LAST),
        make("LayerNormalization", ["last", "scale", "shift"], ["normal"], axis=-1, epsilon=1e-3),
        make("Transpose", ["normal"], ["moved"], perm=FIRST),
        make("Conv", ["moved", "kernels"], ["result"]),
    ]
    return nodes, {name: values.astype(np.float32) for name, values in numbers.items()}


def written_norm():
    """Returns ConvNeXt's normalisation of channels that are first, and the residual around it."""
    rng = np.random.default_rng(4)
    numbers = {
        "two": np.full((), 2),
        "epsilon": np.full((), 1e-6),
        "scale": rng.uniform(0.5, 1.5, (CHANNELS, 1, 1, 1)),
        "shift": rng.standard_normal((CHANNELS, 1, 1, 1)),
    }
    nodes = [
        make("ReduceMean", ["body"], ["mean"], axes=[1]),
        make("Sub", ["body", "mean"], ["off"]),
        make("Pow", ["off", "two"], ["square"]),
        make("ReduceMean", ["square"], ["variance"], axes=[1]),
        make("Add", ["variance", "epsilon"], ["sum"]),
        make("Sqrt", ["sum"], ["root"]),
        make("Div", ["off", "root"], ["normal"]),
        make("Mul", ["scale", "normal"], ["scaled"]),
        make("Add", ["scaled", "shift"], ["shifted"]),
        make("Add", ["body", "shifted"], ["result"]),
    ]
    return nodes, {name: values.astype(np.float32) for name, values in numbers.items()}


def unit_length():
    """Returns PyTorch's F.normalize of channels that are first."""
    nodes = [
        make("ReduceL2", ["body"], ["length"], axes=[1], keepdims=1),
        make("Clip", ["length", "epsilon"], ["divisor"]),
        make("Shape", ["body"], ["shape"]),
        make("Expand", ["divisor", "shape"], ["wide"]),
        make("Div", ["body", "wide"], ["result"]),
    ]
    return nodes, {"epsilon": np.full((), 1e-12, np.float32)}


def unit_length_last():
    """Returns LpNormalization of channels that are last."""
    return [
        make("Transpose", ["body"], ["last"], perm=LAST),
        make("LpNormalization", ["last"], ["unit"], axis=-1, p=2),
        make("Transpose", ["unit"], ["result"], perm=FIRST),
    ], {}


TAILS = {
    "log_softmax": logarithm,
    "log_of_softmax": logarithm_of_a_softmax,
    "class": class_numbers,
    "last_class": last_class_numbers,
    "layer_norm": layer_norm,
    "written_norm": written_norm,
    "unit_length": unit_length,
    "unit_length_last": unit_length_last,
}
CLASSES = ("class",)


def body_model(kind):
    """Returns the model of a net that pools, or of one that pads, with the output "body"; and its dense form."""
    rng = np.random.default_rng(7)
    if kind == "dense":
        net = nets.Net(1)
        net.conv(rng, 4, (3, 3, 3))
        net.activate("Relu")
        net.pool((2, 2, 2))
        net.conv(rng, CHANNELS, (2, 3, 2))
        models = [nets.export(net), nets.export(net, dilated=True)]
        names = [net.last] * 2
    else:
        weights = [
            rng.standard_normal(shape).astype(np.float32) / 4 for shape in ((4, 1, 3, 3, 3), (CHANNELS, 4, 3, 3, 3))
        ]
        tensors = [numpy_helper.from_array(w, name) for w, name in zip(weights, ("first", "second"))]
        nodes = [
            make("Conv", ["input", "first"], ["a"], pads=[1] * 6),
            make("Elu", ["a"], ["b"]),
            make("Conv", ["b", "second"], ["c"], pads=[1] * 6),
        ]
        value = helper.make_tensor_value_info
        graph = helper.make_graph(
            nodes,
            "padded",
            [value("input", TensorProto.FLOAT, ["n", 1, "z", "y", "x"])],
            [value("c", TensorProto.FLOAT, ["n", CHANNELS, "z", "y", "x"])],
            tensors,
        )
        models = [helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])] * 2
        names = ["c"] * 2
    for model, name in zip(models, names):
        for node in model.graph.node:
            if node.output[0] == name:
                node.output[0] = "body"
    return models


def with_tail(model, tail):
    """Returns the model with the nodes behind its body."""
    nodes, tensors = tail()
    whole = onnx.ModelProto()
    whole.CopyFrom(model)
    whole.ir_version = 8
    whole.opset_import[0].version = 17
    whole.graph.node.extend(nodes)
    whole.graph.initializer.extend([numpy_helper.from_array(numbers, name) for name, numbers in tensors.items()])
    del whole.graph.output[:]
    whole.graph.output.append(helper.make_empty_tensor_value_info("result"))
    return onnx.shape_inference.infer_shapes(whole)


def run(model, volume, output):
    """Returns a tensor of the model by ONNX Runtime."""
    asked = onnx.ModelProto()
    asked.CopyFrom(model)
    if output not in [known.name for known in asked.graph.output]:
        asked.graph.output.append(helper.make_tensor_value_info(output, TensorProto.FLOAT, None))
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(asked.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run([output], {"input": volume})[0]


def is_clear(body):
    """Returns where the largest channel leads the next one."""
    sorted_channels = np.sort(body, axis=1)
    return sorted_channels[:, -1:] - sorted_channels[:, -2:-1] > MARGIN


class AcrossTest(ServedCase):
    """A daemon with every tail behind every body."""

    mem = "128M"

    @classmethod
    def setUpClass(cls):
        cls.models, cls.dense = {}, {}
        for kind in ("dense", "padded"):
            strided, dilated = body_model(kind)
            for name, tail in TAILS.items():
                cls.models[f"{kind}_{name}"] = with_tail(strided, tail)
                cls.dense[f"{kind}_{name}"] = with_tail(dilated, tail)
        super().setUpClass()

    def assert_same(self, found, name, volume):
        """Compares with ONNX Runtime; numbers of channels where they do not depend on rounding."""
        model = self.dense[name]
        exact = run(model, volume, "result")
        if exact.ndim == 4:
            exact = exact[:, None]
        self.assertEqual(found.shape, exact.shape, name)
        if not name.endswith(CLASSES):
            self.assertLessEqual(np.abs(found - exact).max(), BOUND * np.abs(exact).max(), name)
            return
        clear = is_clear(run(model, volume, "body"))
        self.assertGreater(clear.mean(), 0.9, name)
        np.testing.assert_array_equal(found[clear], exact[clear].astype(np.float32), name)

    def test_messages(self):
        rng = np.random.default_rng(1)
        with self.daemon.client() as client:
            for name in self.models:
                for extent in ((9, 10, 11), (23, 18, 29)):
                    volume = rng.standard_normal((1, 1, *extent), np.float32)
                    with self.subTest(name, extent=extent):
                        self.assert_same(infer(client, name, volume), name, volume)

    def test_volumes(self):
        """Volumes come in streams, plane by plane."""
        volume = np.random.default_rng(2).standard_normal((1, 70, 40, 44), np.float32)
        with znni.Client(self.daemon.url) as client:
            for name in self.models:
                with self.subTest(name):
                    found = client.predict(name, volume, progress=False)
                    self.assert_same(found[None], name, volume[None])


if __name__ == "__main__":
    unittest.main()

"""Networks written as ONNX pass ONNX's checker, and ONNX Runtime computes from them what it computes from the files
read."""

import os
import pathlib
import subprocess
import tempfile
import unittest

import nets
import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

ROOT = pathlib.Path(__file__).resolve().parents[2]
BOUND = 1e-5  # of the largest output
make = helper.make_node


def computed(model, inputs):
    """Returns what ONNX Runtime computes."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, inputs)


def model_of(nodes, tensors, inputs, outputs, opset):
    """Returns a model of float32 tensors."""
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes,
        "net",
        [value(name, TensorProto.FLOAT, shape) for name, shape in inputs.items()],
        [value(name, TensorProto.FLOAT, None) for name in outputs],
        [numpy_helper.from_array(np.asarray(values), name) for name, values in tensors.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    model.ir_version = 10
    return model


def kernels(rng, f_out, f, k):
    """Returns He-normal kernels."""
    values = rng.standard_normal((f_out, f, k, k, k)) * np.sqrt(2 / (f * k**3))
    return values.astype(np.float32)


def trained_form():
    """Returns a net with a pooling, a batch normalisation, a residual, a crop and a concatenation."""
    rng = np.random.default_rng(1)
    net = nets.Net(2)
    net.conv(rng, 4, (3, 3, 3))
    net.normalize(rng)
    body = net.activate("LeakyRelu", 0.2)
    net.conv(rng, 4, (3, 1, 3))
    net.join("Add", [net.last, net.crop((1, 0, 1), (1, 0, 1), source=body)])
    net.activate("Elu", 0.5)
    net.pool((2, 2, 2))
    left = net.last
    net.join("Concat", [net.conv(rng, 2, (1, 1, 1), source=left), left])
    net.pool((1, 2, 2), op="AveragePool")
    net.softmax()
    return nets.export(net), {"input": (1, 2, 12, 14, 14)}


def u_net():
    """Pads, keeps the first offset of its pooling, interpolates, and has two outputs."""
    rng = np.random.default_rng(2)
    same = {"pads": [1] * 6}
    tensors = {
        "a": kernels(rng, 4, 1, 3),
        "b": kernels(rng, 6, 4, 3),
        "c": kernels(rng, 2, 10, 3),
        "d": kernels(rng, 1, 2, 1),
        "scales": np.array([1, 1, 2, 2, 2], np.float32),
    }
    nodes = [
        make("Conv", ["in", "a"], ["fine"], **same),
        make("MaxPool", ["fine"], ["coarse"], kernel_shape=[2] * 3, strides=[2] * 3),
        make("Conv", ["coarse", "b"], ["wide"], **same),
        make("Gelu", ["wide"], ["active"]),
        make("Resize", ["active", "", "scales"], ["up"], mode="linear"),
        make("Concat", ["fine", "up"], ["both"], axis=1),
        make("Conv", ["both", "c"], ["head"], **same),
        make("Sigmoid", ["head"], ["prob"]),
        make("Conv", ["head", "d"], ["distance"]),
    ]
    shape = [1, 1, "z", "y", "x"]
    return model_of(nodes, tensors, {"in": shape}, ["prob", "distance"], 20), {"in": (1, 1, 8, 10, 12)}


def normalised():
    """Normalises instances and groups, gates by means of all voxels, and ends with the number of a class."""
    rng = np.random.default_rng(3)
    tensors = {
        "a": kernels(rng, 6, 1, 3),
        "b": kernels(rng, 6, 6, 1),
        "scale": rng.uniform(0.5, 1.5, 6).astype(np.float32),
        "shift": rng.standard_normal(6).astype(np.float32),
    }
    nodes = [
        make("Conv", ["in", "a"], ["x"]),
        make("InstanceNormalization", ["x", "scale", "shift"], ["instances"]),
        make("Mish", ["instances"], ["active"]),
        make("GroupNormalization", ["active", "scale", "shift"], ["groups"], num_groups=3),
        make("GlobalAveragePool", ["groups"], ["mean"]),
        make("Conv", ["mean", "b"], ["squeezed"]),
        make("HardSwish", ["squeezed"], ["gate"]),
        make("Mul", ["groups", "gate"], ["gated"]),
        make("LogSoftmax", ["gated"], ["out"], axis=1),
    ]
    return model_of(nodes, tensors, {"in": [1, 1, 9, 8, 10]}, ["out"], 21), {"in": (1, 1, 9, 8, 10)}


def two_inputs():
    """Multiplies two inputs, and reads them side by side."""
    rng = np.random.default_rng(4)
    tensors = {"a": kernels(rng, 3, 3, 3), "six": np.array(6, np.float32), "zero": np.array(0, np.float32)}
    nodes = [
        make("Mul", ["raw", "mask"], ["masked"]),
        make("Concat", ["masked", "raw", "mask"], ["all"], axis=1),
        make("Conv", ["all", "a"], ["x"], strides=[1, 2, 2]),
        make("Clip", ["x", "zero", "six"], ["low"]),
        make("Sigmoid", ["low"], ["gate"]),
        make("Mul", ["low", "gate"], ["out"]),
    ]
    shape = [1, 1, "z", "y", "x"]
    sizes = {"raw": (1, 1, 5, 9, 9), "mask": (1, 1, 5, 9, 9)}
    return model_of(nodes, tensors, {"raw": shape, "mask": shape}, ["out"], 17), sizes


def transposed():
    """Transposed convolutions: of 2 and 2, and of 3 and 2 with pads and one voxel more."""
    rng = np.random.default_rng(6)
    wide = kernels(rng, 8, 4, 3)
    tensors = {"a": kernels(rng, 8, 1, 4), "b": wide, "bias": rng.standard_normal(4).astype(np.float32)}
    tensors["c"] = kernels(rng, 4, 3, 2)
    more = {"strides": [2] * 3, "pads": [1] * 6, "output_padding": [1] * 3}
    nodes = [
        make("Conv", ["in", "a"], ["coarse"], strides=[4] * 3),
        make("ConvTranspose", ["coarse", "b", "bias"], ["half"], name="up", **more),
        make("ConvTranspose", ["half", "c"], ["out"], name="last", strides=[2] * 3),
    ]
    return model_of(nodes, tensors, {"in": [1, 1, "z", "y", "x"]}, ["out"], 17), {"in": (1, 1, 12, 16, 8)}


def mirrored():
    """Reflects the input before a convolution and a wider value before a pooling, and repeats the border of others."""
    rng = np.random.default_rng(7)
    tensors = {"a": kernels(rng, 4, 1, 3), "b": kernels(rng, 4, 4, 3), "c": kernels(rng, 2, 4, 1)}
    tensors["one"] = np.array([0, 0, 1, 1, 1] * 2, np.int64)
    tensors["more"] = np.array([0, 0, 1, 0, 2, 0, 0, 0, 1, 2], np.int64)
    nodes = [
        make("Pad", ["in", "one"], ["around"], mode="reflect"),
        make("Conv", ["around", "a"], ["x"]),
        make("Pad", ["x", "more"], ["wide"], mode="reflect"),
        make("AveragePool", ["wide"], ["mean"], kernel_shape=[2, 2, 5]),
        make("Pad", ["mean", "one"], ["edges"], mode="edge"),
        make("Conv", ["edges", "b"], ["y"]),
        make("Conv", ["y", "c"], ["out"]),
    ]
    return model_of(nodes, tensors, {"in": [1, 1, "z", "y", "x"]}, ["out"], 17), {"in": (1, 1, 8, 9, 11)}


def shipped():
    """Returns the net in the package."""
    model = onnx.load(ROOT / "deploy/models/fib25-boundary/1/model.onnx")
    return model, {model.graph.input[0].name: (1, 1, 45, 45, 49)}


class Written(unittest.TestCase):
    """Compares files with what is written of them."""

    def check(self, made, *, fused=False):
        """Writes the model again."""
        model, shapes = made
        rng = np.random.default_rng(5)
        inputs = {name: rng.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
        with tempfile.TemporaryDirectory() as folder:
            source, target = pathlib.Path(folder) / "in.onnx", pathlib.Path(folder) / "out.onnx"
            onnx.save(model, source)
            command = [os.environ["ZNNI_ONNX_AGAIN"], str(source), str(target), *(["fused"] if fused else [])]
            subprocess.run(command, check=True, capture_output=True, text=True)
            written = onnx.load(target)
        onnx.checker.check_model(written, full_check=True)
        self.assertEqual([o.name for o in written.graph.output], [o.name for o in model.graph.output])
        for found, wanted in zip(computed(written, inputs), computed(model, inputs), strict=True):
            self.assertEqual(found.shape, wanted.shape)
            np.testing.assert_allclose(found, wanted, rtol=0, atol=BOUND * np.abs(wanted).max())

    def test_of_each(self):
        """Every net, as it is read and with activations fused."""
        for made in (trained_form, u_net, normalised, two_inputs, transposed, mirrored, shipped):
            with self.subTest(made.__name__):
                self.check(made())
        self.check(shipped(), fused=True)
        self.check(trained_form(), fused=True)
        self.check(mirrored(), fused=True)

    def test_of_a_shuffle(self):
        """A net that is not written is refused in one line that names the node."""
        rng = np.random.default_rng(6)
        tensors = {"a": rng.standard_normal((8, 1, 2, 2)).astype(np.float32)}
        tensors["bias"] = rng.standard_normal(8).astype(np.float32)
        nodes = [
            make("Conv", ["in", "a", "bias"], ["coarse"], strides=[2] * 2),
            make("DepthToSpace", ["coarse"], ["out"], name="up", blocksize=2),
        ]
        model = model_of(nodes, tensors, {"in": [1, 1, "y", "x"]}, ["out"], 17)
        with self.assertRaises(subprocess.CalledProcessError) as refused:
            self.check((model, {"in": (1, 1, 8, 8)}))
        self.assertIn("node up", refused.exception.stderr)
        self.assertEqual(len(refused.exception.stderr.splitlines()), 1)


if __name__ == "__main__":
    unittest.main()

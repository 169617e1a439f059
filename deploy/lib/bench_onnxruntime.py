"""Times ONNX Runtime on the dense output of a network of planner/networks, in two forms. In the dilated form every
stride becomes a dilation of the layers behind it. In MPF (max-pooling fragments) the fragments are in the batch axis.

    bench_onnxruntime.py NETWORK.pbtxt --mem 16G [--threads N] [--limit SECONDS] [--flops N] [--runs N] [--seed N]
"""

import itertools

import bench_peer
import bench_work as work
import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

FORMS = ("dilated", "fragments")


class DenseNet:
    """A chain of layers in one of the forms, with seeded He-normal weights."""

    def __init__(self, layers, form, seed=1):
        self.layers, self.form = layers, form
        self.dilation = [1, 1, 1]
        self.random = np.random.default_rng(seed)
        self.nodes, self.tensors = [], []
        self.value = "input"
        for number, layer in enumerate(layers):
            if layer.is_conv:
                self.add_conv(number, layer)
            elif form == "fragments":
                self.add_fragments(number, layer)
            else:
                self.step("MaxPool", number, layer)
                self.dilation = [d * s for d, s in zip(self.dilation, layer.stride)]

    def step(self, op, number, layer, names=()):
        """Adds an operator with a window."""
        dilation = [d * own for d, own in zip(self.dilation, layer.dilation)]
        self.node(
            op, [self.value, *names], f"value{number}", kernel_shape=layer.window, dilations=dilation, strides=[1, 1, 1]
        )
        self.value = f"value{number}"

    def node(self, op, inputs, output, **attributes):
        self.nodes.append(helper.make_node(op, inputs, [output], **attributes))

    def tensor(self, name, array):
        self.tensors.append(numpy_helper.from_array(array, name))
        return name

    def add_conv(self, number, layer):
        """Adds a convolution with its activation."""
        shape = (layer.f_out, layer.f_in, *layer.window)
        deviation = np.sqrt(2 / np.prod(shape[1:]))
        kernels = self.random.normal(0, deviation, shape).astype(np.float32)
        bias = self.random.normal(0, 0.1, layer.f_out).astype(np.float32)
        self.step("Conv", number, layer, [self.tensor(f"kernels{number}", kernels), self.tensor(f"bias{number}", bias)])
        if layer.relu:
            self.node("Relu", [self.value], self.value + "r")
            self.value += "r"

    def add_fragments(self, number, layer):
        """Adds the strided pooling at every offset, stacked along the batch axis."""
        axes = self.tensor(f"axes{number}", np.array([2, 3, 4]))
        ends = self.tensor(f"ends{number}", np.array([2**31] * 3))
        parts = []
        for offset in itertools.product(*map(range, layer.stride)):
            name = f"value{number}_" + "".join(map(str, offset))
            starts = self.tensor(name + "_at", np.array(offset))
            self.node("Slice", [self.value, starts, ends, axes], name + "_of")
            self.node("MaxPool", [name + "_of"], name, kernel_shape=layer.window, strides=layer.stride)
            parts.append(name)
        self.value = f"value{number}"
        self.node("Concat", parts, self.value, axis=0)

    def model(self):
        """Returns an ONNX model with free extents."""

        def value(name, batch, f, extent):
            return helper.make_tensor_value_info(name, TensorProto.FLOAT, [batch, f, *extent])

        graph = helper.make_graph(
            self.nodes,
            "dense",
            [value("input", 1, self.layers[0].f_in, "zyx")],
            [value(self.value, "S", self.layers[-1].f_out, ["oz", "oy", "ox"])],
            self.tensors,
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
        model.ir_version = 8
        onnx.checker.check_model(model)
        return model


def maker_of(arguments):
    """Returns the maker for bench_peer.measure()."""

    def make(part, output, form):
        layers = work.layers_of(part)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = arguments.threads
        session = onnxruntime.InferenceSession(
            DenseNet(layers, form, arguments.seed).model().SerializeToString(),
            options,
            providers=["CPUExecutionProvider"],
        )
        extent = [o + v - 1 for o, v in zip(output, work.field_of_view(layers))]
        volume = np.random.default_rng(2).random((1, layers[0].f_in, *extent), dtype=np.float32)
        return lambda: session.run(None, {"input": volume})

    return make


if __name__ == "__main__":
    bench_peer.run(__doc__, "onnxruntime", onnxruntime.__version__, FORMS, maker_of)

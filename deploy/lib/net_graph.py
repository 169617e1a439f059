"""Writes networks as files of ONNX, node by node, with seeded random weights."""

import math

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 17


class NetGraph:
    """A network under construction, of `rank` spatial axes. Values are called by the names that the methods return.
    `channels` has how many each value has."""

    def __init__(self, channels=1, seed=1, rank=3):
        self.rank = rank
        self.random = np.random.default_rng(seed)
        self.nodes, self.tensors = [], []
        self.channels = {"input": channels}
        self.operator = {"input": ""}

    def each(self, value):
        """Returns one value for each axis: the same, or those that `value` has."""
        return [value] * self.rank if isinstance(value, int) else list(value)

    def input(self, name, channels):
        """Adds an input beside the first."""
        self.channels[name], self.operator[name] = channels, ""
        return name

    def node(self, op, inputs, channels, tensors=(), **attributes):
        """Adds a node; `tensors` are its constants, behind its inputs."""
        name = f"{op}{len(self.nodes)}"
        names = [f"{name}.{i}" for i in range(len(tensors))]
        self.tensors += [numpy_helper.from_array(np.asarray(t), n) for t, n in zip(tensors, names)]
        self.nodes.append(helper.make_node(op, [*inputs, *names], [name], name=name, **attributes))
        self.channels[name], self.operator[name] = channels, op
        return name

    def normal(self, deviation, *shape):
        """Draws weights."""
        return self.random.normal(0, deviation, shape).astype(np.float32)

    def uniform(self, *shape):
        """Draws factors about 1."""
        return self.random.uniform(0.5, 1.5, shape).astype(np.float32)

    @staticmethod
    def integers(*values):
        """Returns a list of int64."""
        return np.array(values, np.int64)

    def conv(self, source, f, k=3, stride=1, dilation=1, group=1, pads=None, gain=1.0):
        """Adds a convolution, padded to the same extent, or with `pads` voxels on either side. `gain` scales its
        weights: before a sigmoid values should be small."""
        k, stride, dilation = self.each(k), self.each(stride), self.each(dilation)
        read = self.channels[source] // group
        before = [(n - 1) * d // 2 for n, d in zip(k, dilation)] if pads is None else self.each(pads)
        weights = [self.normal(gain * math.sqrt(2 / (read * math.prod(k))), f, read, *k), self.normal(0.1, f)]
        words = {"kernel_shape": k, "strides": stride, "dilations": dilation, "pads": before * 2}
        return self.node("Conv", [source], f, weights, group=group, **words)

    def transposed(self, source, f, k=2, stride=2, pads=0, output_padding=0, group=1):
        """Adds a transposed convolution."""
        k, stride = self.each(k), self.each(stride)
        read = self.channels[source]
        taps = math.prod(k) / math.prod(stride)
        weights = [self.normal(math.sqrt(2 / (read / group * taps)), read, f // group, *k), self.normal(0.1, f)]
        return self.node(
            "ConvTranspose",
            [source],
            f,
            weights,
            kernel_shape=k,
            strides=stride,
            group=group,
            pads=self.each(pads) * 2,
            output_padding=self.each(output_padding),
        )

    def batch_norm(self, source):
        """Adds a batch normalisation. Directly behind a convolution it is a part of its weights already, as in what
        PyTorch exports."""
        if self.operator[source] == "Conv":
            return source
        f = self.channels[source]
        statistics = [self.uniform(f), self.normal(0.3, f), self.normal(0.3, f), self.uniform(f)]
        return self.node("BatchNormalization", [source], f, statistics)

    def instance_norm(self, source):
        """Adds an instance normalisation with factors and shifts."""
        f = self.channels[source]
        return self.node("InstanceNormalization", [source], f, [self.uniform(f), self.normal(0.3, f)], epsilon=1e-5)

    def relu(self, source):
        return self.act("Relu", source)

    def act(self, op, source, **attributes):
        """Adds an operator of one input."""
        return self.node(op, [source], self.channels[source], **attributes)

    def prelu(self, source, slope=0.25):
        """Adds a PReLU with one slope for all channels."""
        return self.node("PRelu", [source], self.channels[source], [np.full((1, *[1] * self.rank), slope, np.float32)])

    def pool(self, source, window=2, stride=None, pads=0, op="MaxPool", **attributes):
        """Adds a pooling, by default without overlap."""
        window = self.each(window)
        words = {"kernel_shape": window, "strides": self.each(stride or window), "pads": self.each(pads) * 2}
        return self.node(op, [source], self.channels[source], **words, **attributes)

    def add(self, a, b):
        return self.node("Add", [a, b], self.channels[a])

    def concat(self, *sources):
        return self.node("Concat", list(sources), sum(self.channels[one] for one in sources), axis=1)

    def crop(self, source, margin):
        """Removes `margin` voxels on all sides."""
        begin, axes = np.array(self.each(margin)), np.arange(2, 2 + self.rank)
        return self.node("Slice", [source], self.channels[source], [begin, -begin, axes])

    def resize(self, source, scale=2, mode="nearest"):
        """Adds an upsampling: nearest neighbours, or linear between them, as PyTorch exports both."""
        how = {"mode": mode, "coordinate_transformation_mode": "half_pixel"}
        if mode == "nearest":
            how = {"mode": mode, "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
        scales = np.array([1, 1, *self.each(scale)], np.float32)
        return self.node("Resize", [source, ""], self.channels[source], [scales], **how)

    def model(self, *outputs, extent=None, opset=OPSET):
        """Returns the model of these outputs for one volume; without `extent` all extents are open."""
        letters = "zyx"[-self.rank :]

        def value(name, axes):
            return helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, self.channels[name], *axes])

        graph = helper.make_graph(
            self.nodes,
            "net",
            [value(name, extent or letters) for name, op in self.operator.items() if not op],
            [value(name, [f"{axis}{i}" for axis in letters]) for i, name in enumerate(outputs)],
            self.tensors,
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
        model.ir_version = 9
        return model


def shapes_of(model):
    """Returns {value: [N, C, Z, Y, X]} of a model whose input has no open extent."""
    graph = onnx.shape_inference.infer_shapes(model, strict_mode=True, data_prop=True).graph
    values = [*graph.input, *graph.value_info, *graph.output]
    return {one.name: [axis.dim_value for axis in one.type.tensor_type.shape.dim] for one in values}


def flops_per_voxel(model):
    """Returns the multiplications and additions of all convolutions for each voxel of the output, of a model whose
    input has no open extent."""
    shapes, taps = shapes_of(model), {one.name: math.prod(one.dims[1:]) for one in model.graph.initializer}
    total = 0
    for node in model.graph.node:
        if node.op_type in ("Conv", "ConvTranspose"):
            windows = node.output[0] if node.op_type == "Conv" else node.input[0]
            total += 2 * math.prod(shapes[windows]) * taps[node.input[1]]
    return total / math.prod(shapes[model.graph.output[0].name][2:])

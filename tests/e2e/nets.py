"""Nets for tests, in three forms: as trained (strided poolings), dilated (the dense output in one pass, for
ONNX Runtime), and evaluated in float64."""

import dataclasses
import pathlib

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper


@dataclasses.dataclass
class Node:
    """op: Conv, MaxPool, AveragePool, BatchNormalization, Add, Concat, Slice, Softmax or an activation's name."""

    op: str
    inputs: list
    output: str
    weights: list = dataclasses.field(default_factory=list)
    k: tuple = ()  # kernel or window
    stride: tuple = ()  # of poolings
    dilation: tuple = ()  # of convolutions
    begin: tuple = ()  # voxels that a Slice removes
    end: tuple = ()
    alpha: float = 0.0


class Net:
    """A net without padding and with `rank` spatial axes, built node by node."""

    def __init__(self, channels, rank=3):
        self.rank = rank
        self.f_in = channels
        self.nodes = []
        self.last = "input"
        self.channels = {"input": channels}
        self.reach = {"input": ((1,) * rank, (1,) * rank)}  # field of view, stride

    def add(self, node, channels, reach=None):
        """Appends `node`; its output becomes the last."""
        self.nodes.append(node)
        self.channels[node.output] = channels
        self.reach[node.output] = reach or self.reach[node.inputs[0]]
        self.last = node.output
        return node.output

    def _name(self, op):
        return f"{op.lower()}{len(self.nodes)}"

    def conv(self, rng, f_out, k, source=None, dilation=None):
        """Adds a convolution with He-normal weights."""
        source = source or self.last
        dilation = dilation or (1,) * self.rank
        f = self.channels[source]
        weights = rng.standard_normal((f_out, f, *k)) * np.sqrt(2 / (f * np.prod(k)))
        bias = 0.1 * rng.standard_normal(f_out)
        fov, stride = self.reach[source]
        fov = tuple(v + (a - 1) * d * s for v, a, d, s in zip(fov, k, dilation, stride))
        node = Node(
            "Conv",
            [source],
            self._name("conv"),
            [weights.astype(np.float32), bias.astype(np.float32)],
            k=tuple(k),
            dilation=tuple(dilation),
        )
        return self.add(node, f_out, (fov, stride))

    def pool(self, window, stride=None, op="MaxPool"):
        """Adds a strided pooling."""
        stride = tuple(stride or window)
        fov, before = self.reach[self.last]
        fov = tuple(v + (w - 1) * s for v, w, s in zip(fov, window, before))
        node = Node(op, [self.last], self._name("pool"), k=tuple(window), stride=stride)
        return self.add(node, self.channels[self.last], (fov, tuple(a * b for a, b in zip(before, stride))))

    def activate(self, op, alpha=0.0):
        """Adds Relu, LeakyRelu, Elu, Sigmoid or Tanh."""
        return self.add(Node(op, [self.last], self._name(op), alpha=alpha), self.channels[self.last])

    def normalize(self, rng):
        """Adds a batch normalisation with plausible statistics."""
        f = self.channels[self.last]
        weights = [rng.uniform(0.5, 1.5, f), rng.normal(0, 0.1, f), rng.normal(0, 0.1, f), rng.uniform(0.5, 1.5, f)]
        return self.add(
            Node("BatchNormalization", [self.last], self._name("bn"), [w.astype(np.float32) for w in weights]), f
        )

    def join(self, op, sources):
        """Adds an Add or Concat of values with equal reach."""
        channels = [self.channels[source] for source in sources]
        return self.add(Node(op, list(sources), self._name(op)), channels[0] if op == "Add" else sum(channels))

    def crop(self, begin, end, source=None):
        """Adds a Slice that removes the first and last voxels of each axis."""
        source = source or self.last
        fov, stride = self.reach[source]
        fov = tuple(v + (b + e) * s for v, b, e, s in zip(fov, begin, end, stride))
        node = Node("Slice", [source], self._name("crop"), begin=tuple(begin), end=tuple(end))
        return self.add(node, self.channels[source], (fov, stride))

    def softmax(self):
        """Adds a softmax over channels."""
        return self.add(Node("Softmax", [self.last], self._name("softmax")), self.channels[self.last])

    @property
    def field_of_view(self):
        """Returns the output's field of view."""
        return self.reach[self.last][0]

    @property
    def f_out(self):
        """Returns the channels of the output."""
        return self.channels[self.last]


def _attributes(node, dilated, stride):
    rank = len(stride)
    if node.op == "Conv":
        return {
            "kernel_shape": node.k,
            "dilations": [d * s for d, s in zip(node.dilation, stride)] if dilated else node.dilation,
        }
    if node.op == "MaxPool" and dilated:
        return {"kernel_shape": node.k, "dilations": stride, "strides": [1] * rank}
    if node.op in ("MaxPool", "AveragePool"):
        return {"kernel_shape": node.k, "strides": node.stride}
    if node.op in ("LeakyRelu", "Elu"):
        return {"alpha": node.alpha}
    if node.op in ("Softmax", "Concat"):
        return {"axis": 1}
    return {}


def _operator(net, node, dilated):
    """Returns the ONNX node and its initializers."""
    stride = net.reach[node.inputs[0]][1]
    weights = node.weights
    attributes = _attributes(node, dilated, stride)
    op = node.op
    if op == "AveragePool" and dilated:
        # A dilated average is a convolution of each channel by itself.
        f = net.channels[node.inputs[0]]
        op, weights = "Conv", [np.full((f, 1, *node.k), 1 / np.prod(node.k), np.float32)]
        attributes = {"kernel_shape": node.k, "dilations": stride, "group": f}
    if op == "Slice":
        step = stride if dilated else (1,) * net.rank
        ends = [-e * s if e else np.iinfo(np.int64).max for e, s in zip(node.end, step)]
        weights = [
            np.array(v, np.int64) for v in ([b * s for b, s in zip(node.begin, step)], ends, range(2, 2 + net.rank))
        ]
    names = [f"{node.output}.{i}" for i in range(len(weights))]
    tensors = [numpy_helper.from_array(w, name) for w, name in zip(weights, names)]
    return helper.make_node(op, [*node.inputs, *names], [node.output], name=node.output, **attributes), tensors


def export(net, dilated=False):
    """Returns an ONNX model with free extents."""
    operators, tensors = [], []
    for node in net.nodes:
        operator, initializers = _operator(net, node, dilated)
        operators.append(operator)
        tensors += initializers
    extents = ["z", "y", "x"][-net.rank :]
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        operators,
        "net",
        [value("input", TensorProto.FLOAT, ["n", net.f_in, *extents])],
        [value(net.last, TensorProto.FLOAT, ["n", net.f_out, *(f"out_{e}" for e in extents)])],
        tensors,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
    model.ir_version = 8
    return model


def save(net, repository, name, version="1", config=None):
    """Writes the strided form into a model repository."""
    folder = pathlib.Path(repository) / name / version
    folder.mkdir(parents=True)
    onnx.save(export(net), folder / "model.onnx")
    if config:
        (folder.parent / "config.pbtxt").write_text(config)


def run_dilated(net, volume):
    """Returns the dense output by ONNX Runtime, float32, [N,C,...]."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(
        export(net, dilated=True).SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    return session.run(None, {"input": volume})[0]


ACTIVATIONS = {
    "Relu": lambda x, a: np.maximum(x, 0),
    "LeakyRelu": lambda x, a: np.where(x < 0, a * x, x),
    "Elu": lambda x, a: np.where(x < 0, a * np.expm1(np.minimum(x, 0)), x),
    "Sigmoid": lambda x, a: 1 / (1 + np.exp(-x)),
    "Tanh": lambda x, a: np.tanh(x),
}


def _windows(x, k, step):
    """Yields (offset within the window, view) for every tap of a window dilated by `step`."""
    out = [n - (a - 1) * s for n, a, s in zip(x.shape[1:], k, step)]
    for tap in np.ndindex(*k):
        yield tap, x[(slice(None), *(slice(t * s, t * s + n) for t, s, n in zip(tap, step, out)))]


def _evaluate(net, node, values):
    x = values[node.inputs[0]]
    stride = net.reach[node.inputs[0]][1]
    if node.op == "Conv":
        step = [d * s for d, s in zip(node.dilation, stride)]
        weights, bias = (w.astype(np.float64) for w in node.weights)
        total = sum(np.tensordot(weights[(..., *tap)], view, 1) for tap, view in _windows(x, node.k, step))
        return total + bias.reshape(-1, *[1] * net.rank)
    if node.op == "MaxPool":
        return np.max([view for _, view in _windows(x, node.k, stride)], axis=0)
    if node.op == "AveragePool":
        return np.mean([view for _, view in _windows(x, node.k, stride)], axis=0)
    if node.op == "BatchNormalization":
        scale, shift, mean, variance = (w.astype(np.float64).reshape(-1, *[1] * net.rank) for w in node.weights)
        return (x - mean) / np.sqrt(variance + 1e-5) * scale + shift
    if node.op == "Add":
        return sum(values[name] for name in node.inputs)
    if node.op == "Slice":
        cut = (slice(b * s, n - e * s) for b, e, s, n in zip(node.begin, node.end, stride, x.shape[1:]))
        return x[(slice(None), *cut)]
    if node.op == "Concat":
        return np.concatenate([values[name] for name in node.inputs])
    if node.op == "Softmax":
        powers = np.exp(x - x.max(axis=0))
        return powers / powers.sum(axis=0)
    return ACTIVATIONS[node.op](x, node.alpha)


def run_float64(net, volume):
    """Returns the dense output in float64, [N,C,...]; for small volumes."""
    outputs = []
    for one in volume:
        values = {"input": one.astype(np.float64)}
        for node in net.nodes:
            values[node.output] = _evaluate(net, node, values)
        outputs.append(values[net.last])
    return np.stack(outputs)


def _random_chain(rng):
    net = Net(int(rng.integers(1, 4)))
    layers = int(rng.integers(2, 6))
    pools = set(rng.choice(layers - 1, min(layers - 1, int(rng.integers(0, 4))), replace=False))
    for layer in range(layers):
        last = layer == layers - 1
        k = rng.integers(1, 8, 3) if rng.random() < 0.5 else [int(rng.integers(1, 8))] * 3
        net.conv(rng, int(rng.integers(1, 21)), [int(a) for a in k])
        if rng.random() < 0.2:
            net.normalize(rng)
        if not last:
            net.activate(str(rng.choice(["Relu", "LeakyRelu", "Elu", "Tanh"])), alpha=0.1)
        if layer in pools:
            window = [(2, 2, 2), (1, 2, 2), (3, 3, 3), (2, 3, 1)][int(rng.choice(4, p=[0.6, 0.2, 0.1, 0.1]))]
            net.pool(window, op=str(rng.choice(["MaxPool", "AveragePool"], p=[0.85, 0.15])))
    if rng.random() < 0.5:
        net.activate("Sigmoid")
    return net


def dense_work(net, extent):
    """Returns the multiplications of the dense output."""
    voxels = np.prod([float(n) for n in extent])
    return sum(
        voxels * np.prod(n.k) * net.channels[n.inputs[0]] * net.channels[n.output] for n in net.nodes if n.op == "Conv"
    )


def random_net(seed, max_fov=64, max_work=4e9):
    """Returns (net, extent): 2-5 convolutions of 1-7, 0-3 poolings, 1-20 channels, anisotropic at times."""
    rng = np.random.default_rng(seed)
    while True:
        net = _random_chain(rng)
        extent = [int(v + rng.integers(0, 25)) for v in net.field_of_view]
        if max(net.field_of_view) <= max_fov and max(extent) <= 96 and dense_work(net, extent) <= max_work:
            return net, extent


def residual_net(seed):
    """Returns a net with a sum of two branches of equal reach behind a pooling."""
    rng = np.random.default_rng(seed)
    net = Net(1)
    net.conv(rng, 8, (3, 3, 3))
    net.activate("Relu")
    net.pool((2, 2, 2))
    trunk = net.conv(rng, 8, (3, 3, 3))
    net.activate("Relu")
    branch = net.conv(rng, 8, (1, 1, 1))
    net.join("Add", [trunk, branch])
    net.activate("Relu")
    net.conv(rng, 2, (2, 3, 3))
    net.activate("Sigmoid")
    return net


def concat_net(seed):
    """Returns a net of two concatenated branches of other kernels but equal reach, with a softmax at the end."""
    rng = np.random.default_rng(seed)
    net = Net(2)
    stem = net.conv(rng, 6, (2, 2, 2))
    wide = net.conv(rng, 5, (5, 5, 5), source=stem)
    net.conv(rng, 4, (3, 3, 3), source=stem)
    narrow = net.conv(rng, 7, (3, 3, 3))
    net.join("Concat", [wide, narrow])
    net.activate("Elu", alpha=1.0)
    net.pool((2, 2, 2))
    net.conv(rng, 3, (3, 3, 3))
    net.softmax()
    return net


def skipping_net(seed):
    """Returns a net of valid convolutions and skipped branches, cropped before and behind a pooling."""
    rng = np.random.default_rng(seed)
    net = Net(1)
    stem = net.conv(rng, 6, (3, 3, 3))
    net.activate("Relu")
    net.conv(rng, 6, (3, 5, 5))
    trunk = net.conv(rng, 6, (3, 1, 1))
    net.join("Add", [trunk, net.crop((2, 2, 2), (2, 2, 2), source=stem)])
    net.activate("Relu")
    pooled = net.pool((2, 2, 2))
    trunk = net.conv(rng, 5, (3, 4, 3))
    net.join("Concat", [net.crop((1, 2, 0), (1, 1, 2), source=pooled), trunk])
    net.conv(rng, 2, (1, 1, 1))
    net.activate("Sigmoid")
    return net


def small_net(seed, f_out=2):
    """Returns a net with a field of view of 10 and a sigmoid at the end."""
    rng = np.random.default_rng(seed)
    net = Net(1)
    net.conv(rng, 4, (3, 3, 3))
    net.activate("Relu")
    net.pool((2, 2, 2))
    net.conv(rng, f_out, (4, 4, 4))
    net.activate("Sigmoid")
    return net


def flat_net(seed):
    """Returns a 2D net."""
    rng = np.random.default_rng(seed)
    net = Net(1, rank=2)
    net.conv(rng, 6, (3, 3))
    net.activate("Relu")
    net.pool((2, 2))
    net.conv(rng, 2, (3, 3))
    return net


def line_net(seed):
    """Returns a 1D net."""
    rng = np.random.default_rng(seed)
    net = Net(2, rank=1)
    net.conv(rng, 6, (5,))
    net.activate("Relu")
    net.pool((2,))
    net.conv(rng, 3, (4,), dilation=(2,))
    return net


# With this configuration same_net() returns the bytes of its input.
SAME_CONFIG = 'parameters { key: "input_scale" value { string_value: "0.0039215686" } }\n'


def same_net():
    """Returns a net that returns its input."""
    net = Net(1)
    net.add(
        Node(
            "Conv",
            ["input"],
            "same",
            [np.ones((1, 1, 1, 1, 1), np.float32), np.zeros(1, np.float32)],
            k=(1, 1, 1),
            dilation=(1, 1, 1),
        ),
        1,
    )
    return net


def check_forms():
    """Checks that the dilated form and the float64 evaluation agree with each other, and with the strided form where
    both are defined."""
    for seed in range(6):
        net, _ = random_net(seed, max_fov=20, max_work=2e7)
        rng = np.random.default_rng(seed)
        volume = rng.standard_normal((1, net.f_in, *net.field_of_view)).astype(np.float32)
        session = onnxruntime.InferenceSession(export(net).SerializeToString(), providers=["CPUExecutionProvider"])
        strided = session.run(None, {"input": volume})[0]
        np.testing.assert_allclose(strided, run_dilated(net, volume), rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(strided, run_float64(net, volume), rtol=1e-4, atol=1e-4)


if __name__ == "__main__":
    check_forms()

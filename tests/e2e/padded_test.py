"""Networks that pad or upsample give what ONNX Runtime computes of the whole volume, in messages and in streams."""

import pathlib
import subprocess
import unittest

import numpy as np
import onnxruntime
import tritonclient.grpc as triton
import znni
from harness import ZNNID, ServedCase
from onnx import TensorProto, helper, numpy_helper

ZNNI = ZNNID.parent / "znni"
PERIODIC = ("unet", "strided", "nearest", "linear", "shaped", "grouped", "gated", "copied", "reflected", "stacked")


class Graph:
    """An ONNX graph node by node."""

    def __init__(self, seed, channels):
        self.rng = np.random.default_rng(seed)
        self.nodes, self.tensors, self.channels = [], [], {"input": channels}

    def add(self, op, inputs, channels, tensors=(), **attributes):
        """Adds a node and returns the name of its output."""
        name = f"{op}{len(self.nodes)}"
        names = [f"{name}.{i}" for i in range(len(tensors))]
        self.tensors += [numpy_helper.from_array(t, n) for t, n in zip(tensors, names)]
        self.nodes.append(helper.make_node(op, [*inputs, *names], [name], name=name, **attributes))
        self.channels[name] = channels
        return name

    def conv(self, source, f, k=(3, 3, 3), dilation=1, stride=1, group=1, **pads):
        """Adds a convolution, padded to the same extent unless `pads` says otherwise."""
        read = self.channels[source] // group
        scale = 1 / np.sqrt(read * np.prod(k) / 2)
        tensors = [self.rng.normal(0, scale, (f, read, *k)), self.rng.normal(0, 0.3, f)]
        border = [(n - 1) * dilation // 2 for n in k]
        pads = pads or {"pads": border * 2}
        return self.add(
            "Conv",
            [source],
            f,
            [t.astype(np.float32) for t in tensors],
            kernel_shape=k,
            dilations=[dilation] * len(k),
            strides=[stride] * len(k),
            group=group,
            **pads,
        )

    def transposed(self, source, f, k, stride, group=1, **pads):
        """Adds a transposed convolution."""
        scale = 1 / np.sqrt(self.channels[source] // group * np.prod(k) / stride ** len(k) / 2)
        tensors = [self.rng.normal(0, scale, (self.channels[source], f // group, *k)), self.rng.normal(0, 0.3, f)]
        return self.add(
            "ConvTranspose",
            [source],
            f,
            [t.astype(np.float32) for t in tensors],
            kernel_shape=k,
            strides=[stride] * len(k),
            group=group,
            **pads,
        )

    def normalised(self, source):
        """Adds a batch normalisation and a ReLU."""
        f = self.channels[source]
        statistics = [
            self.rng.uniform(0.5, 1.5, f),
            self.rng.normal(0, 1, f),
            self.rng.normal(0, 1, f),
            self.rng.uniform(0.5, 1.5, f),
        ]
        norm = self.add("BatchNormalization", [source], f, [t.astype(np.float32) for t in statistics])
        return self.add("Relu", [norm], f)

    def model(self, last):
        """Returns the model that ends with `last`."""
        value, extents = helper.make_tensor_value_info, ["z", "y", "x"]
        graph = helper.make_graph(
            self.nodes,
            "net",
            [value("input", TensorProto.FLOAT, ["n", self.channels["input"], *extents])],
            [value(last, TensorProto.FLOAT, ["n", self.channels[last], *(f"o{e}" for e in extents)])],
            self.tensors,
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
        model.ir_version = 8
        return model


def meshnet():
    """Returns dilated convolutions in a row."""
    graph, last = Graph(1, 1), "input"
    for dilation in (1, 2, 4, 2, 1):
        last = graph.add("Elu", [graph.conv(last, 5, dilation=dilation)], 5, alpha=0.5)
    return graph.model(graph.conv(last, 3, (1, 1, 1)))


def activated():
    """Returns activations behind padded convolutions and max poolings: operators, and modules of several nodes."""
    graph, last = Graph(8, 1), "input"

    def number(value):
        return np.array(value, np.float32)

    for op, numbers, words in (
        ("Gelu", [], {}),
        ("Gelu", [], {"approximate": "tanh"}),
        ("Mish", [], {}),
        ("HardSwish", [], {}),
        ("Softplus", [], {}),
        ("Selu", [], {}),
        ("Clip", [number(0), number(1)], {}),
        ("Clip", [number(-0.5), number(1.5)], {}),
    ):
        last = graph.add(op, [graph.conv(last, 4, (1, 3, 3))], 4, numbers, **words)
    last = graph.add("MaxPool", [last], 4, kernel_shape=[3] * 3, pads=[1] * 6)
    x = graph.conv(last, 4)
    last = graph.add("Mul", [x, graph.add("Sigmoid", [x], 4)], 4)
    x = graph.conv(last, 4)
    error = graph.add("Erf", [graph.add("Div", [x], 4, [number(np.sqrt(2))])], 4)
    last = graph.add("Mul", [x, graph.add("Add", [error], 4, [number(1)])], 4)
    last = graph.add("MaxPool", [graph.add("Mul", [last], 4, [number(0.5)])], 4, kernel_shape=[3] * 3, pads=[1] * 6)
    model = graph.model(graph.conv(last, 2))
    model.opset_import[0].version = 20
    model.ir_version = 9
    return model


def residual():
    """Returns residual blocks of anisotropic kernels, a concatenation, a normalisation whose reader pads."""
    graph = Graph(2, 2)
    last = graph.conv("input", 6, (1, 5, 5))
    for _ in range(2):
        inner = graph.add("Relu", [graph.conv(last, 6)], 6)
        last = graph.add("Relu", [graph.add("Add", [last, graph.conv(inner, 6)], 6)], 6)
    statistics = [
        graph.rng.uniform(0.5, 1.5, 6),
        graph.rng.normal(0, 1, 6),
        graph.rng.normal(0, 1, 6),
        graph.rng.uniform(0.5, 1.5, 6),
    ]
    normal = graph.add(
        "BatchNormalization", [graph.add("Elu", [last], 6)], 6, [s.astype(np.float32) for s in statistics]
    )
    both = graph.add("Concat", [normal, graph.conv(normal, 3, (3, 1, 3))], 9, axis=1)
    return graph.model(graph.add("Sigmoid", [graph.conv(both, 2, (3, 3, 3))], 2))


def uneven():
    """Pads of one side alone, kernels of even extent, and both kinds of SAME."""
    graph = Graph(3, 1)
    last = graph.add("Relu", [graph.conv("input", 4, (2, 4, 3), auto_pad="SAME_UPPER")], 4)
    last = graph.add("Relu", [graph.conv(last, 4, (3, 2, 2), pads=[0, 1, 0, 2, 0, 0])], 4)
    return graph.model(graph.conv(last, 2, (2, 2, 4), auto_pad="SAME_LOWER"))


def unet():
    """Returns the 3D U-Net: max poolings, transposed convolutions of 2 and 2, concatenations; period 4."""
    graph, skips, last = Graph(4, 1), [], "input"
    for f in (4, 6):
        last = graph.normalised(graph.conv(graph.normalised(graph.conv(last, f)), f))
        skips.append(last)
        last = graph.add("MaxPool", [last], f, kernel_shape=[2] * 3, strides=[2] * 3)
    last = graph.normalised(graph.conv(last, 8))
    for f in (6, 4):
        up = graph.transposed(last, f, (2, 2, 2), 2)
        both = graph.add("Concat", [up, skips.pop()], 2 * f, axis=1)
        last = graph.normalised(graph.conv(both, f))
    return graph.model(graph.conv(last, 2, (1, 1, 1)))


def strided():
    """Returns convolutions of stride 2 and transposed ones of 3 and 2, with residual units, as MONAI's UNet has; period
    4."""
    graph, skips, last = Graph(5, 2), [], "input"
    for f in (4, 6):
        down = graph.conv(last, f, stride=2)
        last = graph.add("Add", [graph.normalised(graph.conv(graph.normalised(down), f)), down], f)
        skips.append(last)
    last = graph.normalised(graph.conv(skips.pop(), 6))
    last = graph.normalised(graph.transposed(last, 4, (3, 3, 3), 2, pads=[1] * 6, output_padding=[1] * 3))
    both = graph.add("Concat", [skips.pop(), last], 8, axis=1)
    return graph.model(graph.transposed(both, 3, (3, 3, 3), 2, pads=[1] * 6, output_padding=[1] * 3))


def nearest():
    """Returns padded max poolings, nearest neighbours, sums; period 2."""
    graph = Graph(6, 1)
    skip = graph.add("Relu", [graph.conv("input", 5)], 5)
    low = graph.add("MaxPool", [skip], 5, kernel_shape=[3] * 3, strides=[2] * 3, pads=[1] * 6)
    low = graph.add("Relu", [graph.conv(low, 5)], 5)
    graph.tensors.append(numpy_helper.from_array(np.array([1, 1, 2, 2, 2], np.float32), "scales"))
    up = graph.add(
        "Resize",
        [low, "", "scales"],
        5,
        mode="nearest",
        nearest_mode="floor",
        coordinate_transformation_mode="asymmetric",
    )
    return graph.model(graph.conv(graph.add("Add", [skip, up], 5), 2))


def linear():
    """Returns two linear upsamplings, one of y and x alone; what they read is padded with zeros; period 4 of y, x."""
    graph, skips, last = Graph(7, 1), [], "input"
    for stride in (2, [1, 2, 2]):
        last = graph.normalised(graph.conv(last, 4))
        skips.append(last)
        strides = stride if isinstance(stride, list) else [stride] * 3
        last = graph.add("MaxPool", [last], 4, kernel_shape=strides, strides=strides)
    for name, scales in (("scales0", [1, 1, 1, 2, 2]), ("scales1", [1, 1, 2, 2, 2])):
        graph.tensors.append(numpy_helper.from_array(np.array(scales, np.float32), name))
        low = graph.add("Add", [last, graph.conv(last, 4)], 4)
        up = graph.add("Resize", [low, "", name], 4, mode="linear", coordinate_transformation_mode="half_pixel")
        last = graph.normalised(graph.conv(graph.add("Add", [up, skips.pop()], 4), 4))
    return graph.model(graph.conv(last, 2, (1, 1, 1)))


def grouped():
    """Returns depthwise convolutions, one of a stride, wide ones in groups, and a depthwise transposed one; period
    2."""
    graph = Graph(8, 1)
    skip = graph.normalised(graph.conv("input", 6))
    inner = graph.conv(graph.conv(skip, 6, (5, 3, 3), group=6), 12, (1, 1, 1), group=3)
    skip = graph.add("Add", [skip, graph.conv(graph.add("Elu", [inner], 12), 6, (1, 1, 1))], 6)
    low = graph.normalised(graph.conv(skip, 12, stride=2, group=6))
    up = graph.transposed(low, 12, (4, 4, 4), 2, pads=[1] * 6, group=12)
    both = graph.add("Concat", [up, skip], 18, axis=1)
    return graph.model(graph.conv(both, 2))


def gated():
    """Returns attention gates of one channel, as MONAI's AttentionUnet has, a difference, and a repeated input; period
    2."""
    graph = Graph(9, 1)
    wide = graph.add("Tile", ["input"], 4, [integers(1, 4, 1, 1, 1)])
    skip = graph.add("Add", [graph.normalised(graph.conv("input", 4)), wide], 4)
    low = graph.normalised(graph.conv(skip, 4, stride=2))
    up = graph.transposed(low, 4, (2, 2, 2), 2)
    both = graph.add("Add", [graph.conv(up, 4), graph.conv(skip, 4, (1, 1, 1))], 4)
    both = graph.add("PRelu", [both], 4, [np.array([0.1, 0.5, -1, 0], np.float32).reshape(4, 1, 1, 1)])
    gate = graph.add("Sigmoid", [graph.conv(both, 1)], 1)
    seen = graph.add("Mul", [gate, skip], 4)
    change = graph.add("Sub", [seen, graph.add("Mul", [up, skip], 4)], 4)
    change = graph.add("Min", [graph.add("Max", [change, up, seen], 4), skip], 4)
    return graph.model(graph.conv(graph.add("Concat", [seen, change], 8, axis=1), 2))


def copied():
    """Returns zeros around space and channels, some channels alone, and a transposed convolution with gaps; period
    2."""
    graph = Graph(14, 2)
    skip = graph.add("Relu", [graph.conv("input", 4)], 4)
    low = graph.add("MaxPool", [skip], 4, kernel_shape=[2] * 3, strides=[2] * 3)
    up = graph.transposed(low, 4, (1, 1, 1), 2)  # one voxel less than the skipped branch
    up = graph.add("Pad", [up], 4, [np.array([0, 0, 1, 1, 0, 0, 0, 0, 0, 1], np.int64)])
    wide = graph.add(
        "Pad",
        [graph.add("Cast", [up], 4, to=TensorProto.FLOAT)],
        7,
        [np.array([0, 1, 0, 0, 0, 0, 2, 0, 0, 0], np.int64)],
    )
    some = graph.add("Slice", [skip], 3, [np.array([1], np.int64), np.array([4], np.int64), np.array([1], np.int64)])
    first = graph.add("Split", [wide], 2, [np.array([2, 5], np.int64)], axis=1)
    graph.nodes[-1].output.append("rest")
    graph.channels["rest"] = 5
    smooth = graph.add(
        "AveragePool",
        [graph.add("Pad", ["rest"], 5, [np.array([0, 0, 1, 0, 1, 0, 0, 0, 1, 0], np.int64)])],
        5,
        kernel_shape=[2] * 3,
        strides=[1] * 3,
    )
    both = graph.add("Concat", [some, first, smooth], 10, axis=1)
    return graph.model(graph.conv(both, 2))


def reflected():
    """Pads that reflect, before convolutions that read both voxels together and before one that does not; period 2."""
    graph = Graph(15, 1)

    def pad(source, *begin_and_end):
        pads = np.array([0, 0, *begin_and_end[:3], 0, 0, *begin_and_end[3:]], np.int64)
        return graph.add("Pad", [source], graph.channels[source], [pads], mode="reflect")

    def conv(source, f, k=(3, 3, 3), **words):
        border = [n // 2 for n in k]
        return graph.conv(pad(source, *border, *border), f, k, pads=[0] * 6, **words)

    skip = graph.normalised(conv("input", 4, (3, 7, 7)))
    skip = graph.add("Add", [skip, conv(skip, 4)], 4)
    low = graph.add("Relu", [conv(skip, 6, stride=2)], 6)
    low = graph.add("Relu", [conv(low, 6)], 6)
    up = graph.transposed(low, 4, (2, 2, 2), 2)
    both = graph.add("Relu", [conv(graph.add("Concat", [up, skip], 8, axis=1), 4)], 4)
    return graph.model(graph.conv(pad(both, 1, 0, 2, 0, 1, 1), 2, (2, 2, 4), pads=[0] * 6))


def stacked():
    """Returns poolings of stride 1 in a row, with normalisations and activations between, at the input and behind a
    stride, with a skipped branch around some; period 2."""
    graph = Graph(16, 1)

    def pool(op, source, window, pads):
        counts = {"count_include_pad": 1} if op == "AveragePool" else {}
        return graph.add(op, [source], graph.channels[source], kernel_shape=window, pads=pads, **counts)

    last = graph.normalised(pool("MaxPool", "input", [3, 5, 3], [1, 2, 1] * 2))
    last = graph.normalised(pool("AveragePool", last, [3, 2, 3], [1, 0, 1, 1, 1, 1]))
    skip = graph.conv(last, 9)
    low = graph.add("MaxPool", [skip], 9, kernel_shape=[2] * 3, strides=[2] * 3)
    for _ in range(3):
        low = graph.add("Elu", [pool("MaxPool", low, [3] * 3, [1] * 6)], 9, alpha=0.5)
        low = graph.normalised(pool("AveragePool", low, [1, 3, 2], [0, 2, 1, 0, 0, 0]))
    up = graph.transposed(low, 9, (2, 2, 2), 2)
    last = pool(
        "MaxPool", pool("MaxPool", graph.add("Add", [up, skip], 9), [3] * 3, [1] * 6), [3] * 3, [2] * 3 + [0] * 3
    )
    return graph.model(graph.add("Sigmoid", [last], 9))


def integers(*values):
    """Returns a list of int64."""
    return np.array(values, np.int64)


def resized_to(graph, low, skip):
    """Resizes by nearest neighbours, as many as `skip` has, as exporters write them."""
    f = graph.channels[low]
    others = graph.add("Slice", [graph.add("Shape", [low], 0)], 0, [integers(0), integers(2)])
    spatial = graph.add("Slice", [graph.add("Shape", [skip], 0)], 0, [integers(2), integers(99)])
    sizes = graph.add("Concat", [others, graph.add("Cast", [spatial], 0, to=TensorProto.INT64)], 0, axis=0)
    return graph.add(
        "Resize",
        [low, "", "", sizes],
        f,
        mode="nearest",
        nearest_mode="floor",
        coordinate_transformation_mode="asymmetric",
    )


def middle_of(graph, skip, inner):
    """Returns the middle of `skip`, of the extents of `inner`."""
    last = skip
    for axis in (2, 3, 4):
        large = graph.add("Gather", [graph.add("Shape", [skip], 0)], 0, [integers(axis)])
        small = graph.add("Gather", [graph.add("Shape", [inner], 0)], 0, [integers(axis)])
        start = graph.add("Div", [graph.add("Sub", [large, small], 0)], 0, [integers(2)])
        end = graph.add("Add", [start, small], 0)
        last = graph.add("Slice", [last, start, end], graph.channels[skip], [integers(axis)])
    return last


def if_alike(graph, a, b):
    """Returns a ReLU of `b` if it has the extents of `a`, else a Tanh."""
    same = graph.add("Equal", [graph.add("Shape", [a], 0), graph.add("Shape", [b], 0)], 0)
    least = graph.add("ReduceMin", [graph.add("Cast", [same], 0, to=TensorProto.INT32)], 0, keepdims=0)
    branches = {}
    for name, op in (("then_branch", "Relu"), ("else_branch", "Tanh")):
        output = helper.make_tensor_value_info(f"{op} of {b}", TensorProto.FLOAT, None)
        branches[name] = helper.make_graph([helper.make_node(op, [b], [output.name])], name, [], [output])
    return graph.add("If", [graph.add("Cast", [least], 0, to=TensorProto.BOOL)], graph.channels[b], **branches)


def shaped():
    """Returns a net whose extents, crops and branches the file computes from shapes; period 2."""
    graph = Graph(7, 1)
    skip = graph.add("Relu", [graph.conv("input", 4)], 4)
    low = graph.conv(graph.add("MaxPool", [skip], 4, kernel_shape=[2] * 3, strides=[2] * 3), 4)
    up = if_alike(graph, skip, if_alike(graph, skip, resized_to(graph, low, skip)))
    inner = if_alike(graph, skip, graph.conv(up, 4, (3, 2, 3), pads=[0] * 6))
    both = graph.add("Concat", [inner, middle_of(graph, skip, inner)], 8, axis=1)
    return graph.model(graph.conv(both, 2, pads=[2, 1, 2, 2, 2, 2]))


def expected(model, volume):
    """Returns ONNX Runtime's output, float32."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, {"input": volume})[0]


def infer(client, name, volume):
    """Returns the daemon's output of one message."""
    tensor = triton.InferInput("input", list(volume.shape), "FP32")
    tensor.set_data_from_numpy(volume)
    answer = client.infer(name, [tensor])
    return answer.as_numpy(answer.get_response().outputs[0].name)


class PaddedTest(ServedCase):
    """A daemon with fourteen nets, in memory for patches much smaller than the volumes."""

    @classmethod
    def setUpClass(cls):
        cls.models = {
            "meshnet": meshnet(),
            "residual": residual(),
            "uneven": uneven(),
            "unet": unet(),
            "strided": strided(),
            "nearest": nearest(),
            "linear": linear(),
            "shaped": shaped(),
            "grouped": grouped(),
            "gated": gated(),
            "copied": copied(),
            "reflected": reflected(),
            "stacked": stacked(),
            "activated": activated(),
        }
        super().setUpClass()

    def assert_equal_to(self, exact, found, hint):
        """Expects what whole convolutions give, within float rounding."""
        self.assertEqual(found.shape, exact.shape, hint)
        self.assertLess(np.abs(found - exact).max(), 1e-4 * np.abs(exact).max(), hint)

    def test_regions(self):
        """The Python client's regions are those of the whole output."""
        rng = np.random.default_rng(11)
        with znni.Client(self.daemon.url) as client:
            for name in self.models:
                model = client.model(name)
                volume = rng.standard_normal((model.channels, 36, 44, 40), np.float32)
                whole = client.predict(name, volume, progress=False)
                for _ in range(2):
                    start = [rng.integers(0, n - 8) for n in volume.shape[1:]]
                    stop = [rng.integers(a + 8, n + 1) for a, n in zip(start, volume.shape[1:])]
                    found = client.predict(name, volume, roi=list(zip(start, stop)), progress=False)
                    extent = found.shape[1:]
                    exact = whole[(slice(None), *(slice(a, a + n) for a, n in zip(start, extent)))]
                    self.assert_equal_to(exact, found, f"{name} {start} {stop}")

    def test_messages(self):
        rng = np.random.default_rng(5)
        for name, model in self.models.items():
            channels = model.graph.input[0].type.tensor_type.shape.dim[1].dim_value
            has_period = name in PERIODIC
            periodic, other = ((4, 8, 4), (28, 20, 32), (48, 64, 52)), ((3, 4, 5), (25, 20, 31), (48, 61, 50))
            for extent in periodic if has_period else other:
                volume = rng.standard_normal((1, channels, *extent), np.float32)
                with self.daemon.client() as client:
                    found = infer(client, name, volume)
                self.assert_equal_to(expected(model, volume), found, f"{name} {extent}")

    def test_volumes(self):
        """`znni infer` sends planes one after the other."""
        rng = np.random.default_rng(6)
        volume = rng.standard_normal((92, 72, 80), np.float32)
        folder = pathlib.Path(self.folder.name)
        np.save(folder / "in.npy", volume)
        for name in ("meshnet", "uneven", "unet", "nearest", "linear", "grouped", "gated", "stacked"):
            out = folder / f"{name}.npy"
            subprocess.run(
                [ZNNI, "infer", "-m", name, "-i", folder / "in.npy", "-o", out, "--server", self.daemon.url],
                check=True,
                capture_output=True,
            )
            exact = expected(self.models[name], volume[None, None])
            self.assert_equal_to(exact[0], np.load(out), name)

    def test_an_extent_that_fits_no_stride_is_refused(self):
        """It is named with the two next ones."""
        volume = np.zeros((1, 1, 8, 9, 8), np.float32)
        with self.daemon.client() as client, self.assertRaises(triton.InferenceServerException) as refused:
            infer(client, "unet", volume)
        self.assertIn(
            "the volume has 9 voxels along y; the network's strides need steps of 4, here 8 or 12",
            str(refused.exception),
        )

    def test_boxes(self):
        """Boxes of `znni infer` are those of the Python client, and leave no record behind."""
        rng = np.random.default_rng(9)
        folder = pathlib.Path(self.folder.name)
        volume = rng.standard_normal((44, 60, 52), np.float32)
        np.save(folder / "box.npy", volume)
        with znni.Client(self.daemon.url) as client:
            for name in ("meshnet", "unet", "shaped"):
                subprocess.run(
                    [
                        ZNNI,
                        "infer",
                        "-m",
                        name,
                        "-i",
                        folder / "box.npy",
                        "-o",
                        folder / f"{name}_box.npy",
                        "--bbox",
                        "3:30,20:47,5:50",
                        "--server",
                        self.daemon.url,
                    ],
                    check=True,
                    capture_output=True,
                )
                found = np.load(folder / f"{name}_box.npy")
                np.testing.assert_array_equal(
                    found, client.predict(name, volume, roi="3:30,20:47,5:50", progress=False)
                )
                whole = client.predict(name, volume, progress=False)
                extent = found.shape[-3:]
                exact = whole[(..., *(slice(a, a + n) for a, n in zip((3, 20, 5), extent)))]
                self.assert_equal_to(exact, found, name)
        self.assertEqual([path.name for path in folder.glob("*.partial*")], [])


if __name__ == "__main__":
    unittest.main()

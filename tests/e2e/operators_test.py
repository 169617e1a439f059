"""Operators in forms that exporters write less often give what ONNX Runtime computes, in messages and in streams."""

import pathlib
import subprocess
import unittest

import numpy as np
import onnx
from harness import ZNNID, ServedCase
from onnx import TensorProto, helper, numpy_helper
from padded_test import Graph, expected, infer, integers

ZNNI = ZNNID.parent / "znni"
BOUND = 1e-5  # of the largest output
POOLED = ("pooled", "means_rounded_up")
EXTENTS = ((4, 8, 4), (28, 20, 32), (48, 64, 52))


def with_opset(model, opset):
    """Returns the model as one of another operator set."""
    model.opset_import[0].version = opset
    return model


def with_extents(model, extents):
    """Returns the model with declared extents of its input."""
    for dim, n in zip(model.graph.input[0].type.tensor_type.shape.dim[2:], extents):
        dim.dim_value = n
    return model


def with_slices(graph, source, starts, ends, steps, axes=(2, 3, 4)):
    """Returns a Slice."""
    f = graph.channels[source]
    return graph.add("Slice", [source], f, [integers(*part) for part in (starts, ends, axes, steps)])


def stepped():
    """Returns a U-Net that goes down by Slices with steps, as SpaceToDepth is written, and drops channels; period 2."""
    graph = Graph(31, 1)
    skip = graph.add("Relu", [graph.conv("input", 4)], 4)
    end = [np.iinfo(np.int64).max] * 3
    parts = [with_slices(graph, skip, (z, y, x), end, (2, 2, 2)) for z in (0, 1) for y in (0, 1) for x in (0, 1)]
    low = graph.add("Relu", [graph.conv(graph.add("Concat", parts, 32, axis=1), 6)], 6)
    some = graph.add("Slice", [low], 3, [integers(n) for n in (1, 6, 1, 2)])
    both = graph.add("Concat", [graph.transposed(some, 4, (2, 2, 2), 2), skip], 8, axis=1)
    return graph.model(graph.conv(both, 2))


def thinned():
    """Returns a valid net that takes every second voxel of what a convolution writes: dense, as poolings are."""
    graph = Graph(32, 1)
    last = graph.add("Relu", [graph.conv("input", 4, pads=[0] * 6)], 4)
    last = with_slices(graph, last, (1, 0, 0), (-1, 2**31 - 1, -2), (2, 1, 2))
    return graph.model(graph.conv(last, 2, pads=[0] * 6))


def rounded_up():
    """Returns a max pooling with padding that rounds its extents up; period 2."""
    graph = Graph(34, 1)
    skip = graph.add("Relu", [graph.conv("input", 4)], 4)
    low = graph.add("MaxPool", [skip], 4, kernel_shape=[3] * 3, strides=[2] * 3, pads=[1] * 6, ceil_mode=1)
    up = graph.transposed(graph.conv(low, 4), 4, (2, 2, 2), 2)  # two voxels more per axis
    up = with_slices(graph, up, (1, 0, 2), (-1, -2, 2**31 - 1), (1, 1, 1))
    return graph.model(graph.conv(graph.add("Concat", [up, skip], 8, axis=1), 2))


def pooled():
    """Returns poolings with dilations, and means that count pads or do not; period 2."""
    graph = Graph(43, 1)
    skip = graph.add("Relu", [graph.conv("input", 4)], 4)

    def pool(op, source, k, **words):
        return graph.add(op, [source], 4, kernel_shape=k, **words)

    same = [
        pool("MaxPool", skip, [3, 2, 3], dilations=[2, 2, 1], pads=[2, 1, 1, 2, 1, 1]),
        pool("AveragePool", skip, [3] * 3, pads=[1] * 6),
        pool("AveragePool", skip, [2, 3, 3], dilations=[2, 1, 2], pads=[1, 2, 2, 1, 0, 2]),
        pool("AveragePool", skip, [3, 1, 3], dilations=[1, 1, 2], pads=[1, 0, 2, 1, 0, 2], count_include_pad=1),
        pool("AveragePool", skip, [3] * 3, auto_pad="SAME_UPPER"),
    ]
    fine = graph.conv(graph.add("Concat", same, 20, axis=1), 4)
    low = [
        pool("MaxPool", fine, [2] * 3, strides=[2] * 3, dilations=[3, 2, 1], pads=[1, 0, 0, 1, 1, 0]),
        pool("AveragePool", fine, [3] * 3, strides=[2] * 3, pads=[1] * 6),
        pool("AveragePool", fine, [3, 4, 3], strides=[2] * 3, pads=[1] * 6, count_include_pad=1),
    ]
    up = graph.transposed(graph.conv(graph.add("Concat", low, 12, axis=1), 4), 4, (2, 2, 2), 2)
    model = graph.model(graph.conv(graph.add("Concat", [up, fine], 8, axis=1), 2))
    return with_opset(model, 19)


def means_rounded_up():
    """Returns means that round their extents up, of which some count the pads; period 2."""
    graph = Graph(44, 1)
    skip = graph.add("Relu", [graph.conv("input", 4)], 4)
    words = {"kernel_shape": [3] * 3, "strides": [2] * 3, "pads": [1] * 6, "ceil_mode": 1}
    low = [graph.add("AveragePool", [skip], 4, count_include_pad=counted, **words) for counted in (0, 1)]
    both = graph.conv(graph.add("Concat", low, 8, axis=1), 4)
    up = graph.transposed(both, 4, (2, 2, 2), 2)  # two voxels more per axis
    up = with_slices(graph, up, (1, 0, 2), (-1, -2, 2**31 - 1), (1, 1, 1))
    return graph.model(graph.conv(graph.add("Concat", [up, skip], 8, axis=1), 2))


def filtered():
    """Returns a valid net with a max filter, a dilated max pooling of stride 1, and dilated convolutions behind it."""
    graph = Graph(45, 1)
    last = graph.add("Relu", [graph.conv("input", 4, pads=[0] * 6)], 4)
    last = graph.add("MaxPool", [last], 4, kernel_shape=[2] * 3, strides=[1] * 3)
    last = graph.add("Relu", [graph.conv(last, 4, dilation=2, pads=[0] * 6)], 4)
    last = graph.add("MaxPool", [last], 4, kernel_shape=[2] * 3, strides=[1] * 3, dilations=[2] * 3)
    return graph.model(graph.conv(last, 2, dilation=4, pads=[0] * 6))


def transposed():
    """Returns transposed convolutions with dilation, and padded by SAME; period 2."""
    graph = Graph(35, 1)
    skip = graph.normalised(graph.conv("input", 4))
    low = graph.normalised(graph.conv(skip, 4, stride=2))
    ups = [
        graph.transposed(low, 3, (2, 3, 4), 2, auto_pad="SAME_UPPER"),
        graph.transposed(low, 3, (3, 5, 3), 2, auto_pad="SAME_LOWER"),
        graph.transposed(low, 2, (2, 3, 2), 2, dilations=[2, 1, 3], pads=[0, 0, 1, 1, 1, 1]),
        graph.transposed(low, 4, (3, 3, 3), 2, group=2, dilations=[2] * 3, pads=[1, 2, 1, 2, 1, 2]),
    ]
    return graph.model(graph.conv(graph.add("Concat", [*ups, skip], 16, axis=1), 2))


def shaped(extents):
    """Returns transposed convolutions to declared extents."""
    graph = Graph(36, 1)
    skip = graph.normalised(graph.conv("input", 4))
    low = graph.normalised(graph.conv(skip, 4, stride=2))
    ups = [
        graph.transposed(low, 3, (4, 3, 5), 2, output_shape=extents),
        graph.transposed(low, 3, (5, 4, 3), 2, output_shape=extents, auto_pad="SAME_UPPER"),
    ]
    both = graph.add("Concat", [*ups, skip], 10, axis=1)
    return with_extents(graph.model(graph.conv(both, 2)), extents)


def weight_normed():
    """Returns convolutions whose weights the file computes, as weight_norm and standardised weights are exported."""
    graph = Graph(37, 2)

    def conv(source, f, weights):
        name = f"conv{len(graph.nodes)}"
        graph.nodes.append(helper.make_node("Conv", [source, weights], [name], name=name, pads=[1] * 6))
        graph.channels[name] = f
        return name

    def tensor(*extents):
        return graph.rng.normal(0, 1, extents).astype(np.float32)

    def constant(values):
        name = f"constant{len(graph.tensors)}"
        graph.tensors.append(numpy_helper.from_array(values, name))
        return name

    v, g = constant(tensor(24, 2, 3, 3, 3)), constant(tensor(24, 1, 1, 1, 1))
    length = graph.add("ReduceL2", [v], 0, axes=[1, 2, 3, 4], keepdims=1)
    last = graph.add("Relu", [conv("input", 24, graph.add("Mul", [graph.add("Div", [v, length], 0), g], 0))], 24)
    w = constant(tensor(8, 24, 3, 3, 3))  # more numbers than small constants have
    centred = graph.add("Sub", [w, graph.add("ReduceMean", [w], 0, axes=[1, 2, 3, 4], keepdims=1)], 0)
    square = graph.add("ReduceMean", [graph.add("Mul", [centred, centred], 0)], 0, axes=[1, 2, 3, 4], keepdims=1)
    root = graph.add("Sqrt", [graph.add("Add", [square], 0, [np.array(1e-5, np.float32)])], 0)
    last = graph.add("Relu", [conv(last, 8, graph.add("Div", [centred, root], 0))], 8)
    half = constant((0.1 * tensor(3, 8, 3, 3, 3)).astype(np.float16))
    return graph.model(conv(last, 3, graph.add("Cast", [half], 0, to=TensorProto.FLOAT)))


def resized():
    """Returns linear upsamplings without half pixels, of named axes; period 2 of z, 12 of y, x."""
    graph = Graph(38, 1)
    skip = graph.normalised(graph.conv("input", 4))
    low = graph.add("MaxPool", [skip], 4, kernel_shape=[1, 2, 2], strides=[1, 2, 2])
    least = graph.add("MaxPool", [graph.conv(low, 4)], 4, kernel_shape=[2, 1, 2], strides=[2, 1, 2])
    words = {"mode": "linear", "coordinate_transformation_mode": "asymmetric"}
    graph.tensors.append(numpy_helper.from_array(np.array([2, 2], np.float32), "two"))
    up = graph.add("Resize", [graph.conv(least, 4), "", "two"], 4, axes=[-1, 2], **words)
    up = graph.conv(graph.add("Add", [up, low], 4), 4)
    up = graph.add("Resize", [up, "", "two"], 4, axes=[3, 4], **words)
    return with_opset(graph.model(graph.conv(graph.add("Concat", [up, skip], 8, axis=1), 2)), 18)


def as_bfloats(model):
    """Returns the model with its weights as bfloat16, and one with the floats that these are."""
    short, rounded = onnx.ModelProto(), onnx.ModelProto()
    short.CopyFrom(model)
    rounded.CopyFrom(model)
    for tensor, other in zip(short.graph.initializer, rounded.graph.initializer):
        floats = numpy_helper.to_array(tensor)
        if floats.dtype != np.float32:
            continue
        bits = floats.reshape(-1).view(np.uint32) >> 16
        tensor.raw_data, tensor.data_type = bits.astype(np.uint16).tobytes(), TensorProto.BFLOAT16
        other.raw_data = (bits << 16).astype(np.uint32).tobytes()
    return short, rounded


def trained():
    """Returns batch normalisations in training mode, and a sum with what is pooled of all voxels."""
    graph = Graph(40, 1)
    last = graph.conv("input", 4)
    f = graph.channels[last]
    tensors = [graph.rng.uniform(0.5, 1.5, f), graph.rng.normal(0, 1, f), np.zeros(f), np.ones(f)]
    norm = graph.add(
        "BatchNormalization", [last], f, [t.astype(np.float32) for t in tensors], training_mode=1, epsilon=1e-3
    )
    graph.nodes[-1].output.extend(["new mean", "new variance"])
    last = graph.add("Relu", [norm], f)
    both = graph.add("Add", [last, graph.add("GlobalAveragePool", [last], f)], f)
    return with_opset(graph.model(graph.conv(both, 2)), 15)


def divided():
    """Returns quotients in a U-Net: of tensors, by one channel, of a number by a tensor, and a Reciprocal; period 2.

    Divisors that depend on the volume alone are 0 beside it, where a patch or a step of a stream reads zeros.
    """
    graph = Graph(41, 1)

    def positive(source, f):
        """Returns numbers that may be divided by without making much of their errors."""
        quarter = np.array(0.25, np.float32)
        return graph.add("Add", [graph.add("Sigmoid", [source], f)], f, [quarter])

    skip = positive(graph.conv("input", 16, k=(5, 5, 5)), 16)
    low = graph.conv(skip, 16, stride=2)
    size = graph.add("Add", [graph.add("Mul", [low, low], 16)], 16, [np.array(0.5, np.float32)])
    low = graph.add("Div", [low, size], 16)
    low = graph.add("Relu", [graph.conv(low, 16, k=(5, 5, 5))], 16)
    both = graph.add("Concat", [graph.transposed(low, 8, (2, 2, 2), 2), skip], 24, axis=1)
    last = graph.add("Div", [both, positive(graph.conv(both, 1), 1)], 24)
    graph.tensors.append(numpy_helper.from_array(np.array(2, np.float32), "two"))
    inverse = graph.add("Div", ["two", skip], 16)
    inverse = graph.add("Add", [inverse, graph.add("Reciprocal", [skip], 16)], 16)
    return graph.model(graph.conv(graph.add("Concat", [last, inverse], 40, axis=1), 2))


def by_zeros():
    """Returns a valid net that divides by a convolution without bias, which is 0 where the volume is, and convolves."""
    graph = Graph(42, 1)
    line = numpy_helper.from_array(graph.rng.uniform(0.5, 1, (16, 1, 3, 1, 1)).astype(np.float32), "line")
    graph.tensors.append(line)
    graph.nodes.append(helper.make_node("Conv", ["input", "line"], ["sum"], name="sum"))
    graph.channels["sum"] = 16
    quotient = graph.add("Div", [graph.conv("input", 16, k=(3, 1, 1), pads=[0] * 6), "sum"], 16)
    last = graph.conv(quotient, 16, k=(5, 5, 5), pads=[0] * 6)
    return graph.model(graph.conv(last, 2, pads=[0] * 6))


class OperatorsTest(ServedCase):
    """A daemon with all nets, in memory for patches much smaller than the volumes."""

    @classmethod
    def setUpClass(cls):
        short, rounded = as_bfloats(transposed())
        cls.models = {
            "stepped": stepped(),
            "thinned": thinned(),
            "rounded_up": rounded_up(),
            "transposed": transposed(),
            "shaped": shaped([28, 20, 32]),
            "weight_normed": weight_normed(),
            "resized": resized(),
            "short": short,
            "pooled": pooled(),
            "means_rounded_up": means_rounded_up(),
            "filtered": filtered(),
            "divided": divided(),
            "by_zeros": by_zeros(),
            "trained": with_extents(trained(), [28, 20, 32]),
        }
        cls.peers = {**cls.models, "short": rounded}
        super().setUpClass()

    def assert_equal_to(self, exact, found, hint):
        """Expects what whole layers give, within float rounding."""
        self.assertEqual(found.shape, exact.shape, hint)
        self.assertLess(np.abs(found - exact).max(), BOUND * np.abs(exact).max(), hint)

    def compare(self, name, extent, peer=None):
        """Compares the output of one message with ONNX Runtime's of the peer's file."""
        model = peer or self.peers[name]
        channels = model.graph.input[0].type.tensor_type.shape.dim[1].dim_value
        volume = np.random.default_rng(sum(extent)).standard_normal((1, channels, *extent), np.float32)
        with self.daemon.client() as client:
            found = infer(client, name, volume)
        self.assert_equal_to(expected(model, volume), found, f"{name} {extent}")

    def test_nets_that_pad(self):
        for name in ("stepped", "rounded_up", "transposed", "weight_normed", "resized", "short", "divided", *POOLED):
            for extent in EXTENTS:
                with self.subTest(name, extent=extent):
                    self.compare(name, extent)

    def test_nets_of_declared_extents(self):
        for name in ("shaped", "trained"):
            with self.subTest(name):
                self.compare(name, (28, 20, 32))

    def test_steps_of_a_valid_net_are_computed_at_every_offset(self):
        """ONNX Runtime takes each second voxel of the volume, from the first or the second on."""
        volume = np.random.default_rng(3).standard_normal((1, 1, 24, 20, 28), np.float32)
        with self.daemon.client() as client:
            found = infer(client, "thinned", volume)
        for z, x in ((0, 0), (0, 1), (1, 0), (1, 1)):
            exact = expected(self.models["thinned"], volume[:, :, z:, :, x:])
            n = [min(a, b) for a, b in zip(exact.shape[2:], found[:, :, z::2, :, x::2].shape[2:])]
            own = tuple(slice(None, m) for m in n)
            self.assertGreater(min(n), 5)
            self.assert_equal_to(exact[(..., *own)], found[:, :, z::2, :, x::2][(..., *own)], f"{z} {x}")

    def test_a_zero_spoils_no_voxel_that_does_not_read_it(self):
        """Voxels of zeros are divided by: ONNX Runtime's infinities and NaN are where they are here."""
        volume = np.random.default_rng(8).uniform(0.5, 1, (1, 1, 60, 40, 44)).astype(np.float32)
        volume[0, 0, 20:24, 11, 17] = 0
        exact = expected(self.models["by_zeros"], volume)
        with self.daemon.client() as client:
            found = infer(client, "by_zeros", volume)
        self.assertGreater(np.isnan(exact).sum(), 0)
        self.assertGreater(np.isfinite(exact).mean(), 0.8)
        np.testing.assert_array_equal(np.isfinite(found), np.isfinite(exact))
        kept = np.isfinite(exact)
        self.assert_equal_to(exact[kept], found[kept], "by_zeros")

    def test_quotients_in_a_stream_begin_and_end_with_the_volume(self):
        """Before the first plane and behind the last one a stream reads zeros, and divides by them."""
        folder = pathlib.Path(self.folder.name)
        volume = np.random.default_rng(9).uniform(0.5, 1, (92, 72, 80)).astype(np.float32)
        np.save(folder / "positive.npy", volume)
        out = folder / "by_zeros.npy"
        words = ["-m", "by_zeros", "-i", folder / "positive.npy", "-o", out, "--server", self.daemon.url]
        subprocess.run([ZNNI, "infer", *words], check=True, capture_output=True)
        self.assert_equal_to(expected(self.models["by_zeros"], volume[None, None])[0], np.load(out), "by_zeros")

    def test_streams(self):
        """`znni infer` sends planes one after the other."""
        folder = pathlib.Path(self.folder.name)
        volume = np.random.default_rng(6).standard_normal((92, 72, 80), np.float32)
        np.save(folder / "in.npy", volume)
        for name in ("stepped", "rounded_up", "transposed", "resized", "divided", *POOLED, "filtered"):
            with self.subTest(name):
                out = folder / f"{name}.npy"
                words = ["-m", name, "-i", folder / "in.npy", "-o", out, "--server", self.daemon.url]
                subprocess.run([ZNNI, "infer", *words], check=True, capture_output=True)
                self.assert_equal_to(expected(self.peers[name], volume[None, None])[0], np.load(out), name)


if __name__ == "__main__":
    unittest.main()

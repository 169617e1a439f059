"""Outputs that are pooled of all voxels have what ONNX Runtime computes of a window at every voxel; over volumes of
other extents they are the weighted mean of what it computes of overlapping windows."""

import unittest

import numpy as np
import onnxruntime
import tritonclient.grpc as triton
from harness import ServedCase
from normalised_test import CONFIG, OTHERS, WINDOW, begins, gaussian, noise
from onnx import TensorProto, helper
from padded_test import Graph

CLASSES = 3


def classified(graph, source):
    """Returns the classes of all voxels, as PyTorch exports them."""
    f = graph.channels[source]
    flat = graph.add("Flatten", [graph.add("GlobalAveragePool", [source], f)], f, axis=1)
    tensors = [graph.rng.normal(0, 1, (CLASSES, f)), graph.rng.normal(0, 0.5, CLASSES)]
    linear = graph.add("Gemm", [flat], CLASSES, [t.astype(np.float32) for t in tensors], transB=1)
    return graph.add("Softmax", [linear], CLASSES, axis=1)


def trunk(graph):
    """Returns convolutions and a pooling, whose voxels are coarser than the input's."""
    first = graph.add("Relu", [graph.conv("input", 4)], 4)
    low = graph.add("MaxPool", [first], 4, kernel_shape=[2] * 3, strides=[2] * 3)
    return first, graph.add("Relu", [graph.conv(low, 6)], 6)


def with_outputs(graph, axes):
    """Returns the model with these outputs, of so many axes."""
    model = graph.model(next(iter(axes)))
    del model.graph.output[:]
    for name, count in axes.items():
        shape = ["n", graph.channels[name], *(f"{name}{i}" for i in range(count - 2))]
        model.graph.output.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape))
    return model


def classifier():
    """Returns a net that writes the classes of its window."""
    graph = Graph(21, 1)
    return with_outputs(graph, {classified(graph, trunk(graph)[1]): 2})


def features():
    """Returns a net that writes what is pooled, without padding."""
    graph = Graph(22, 1)
    last = graph.add("Relu", [graph.conv("input", 5, pads=[0] * 6)], 5)
    return with_outputs(graph, {graph.add("GlobalMaxPool", [last], 5): 5})


def heads():
    """Returns a net that labels voxels and writes the classes of its window."""
    graph = Graph(23, 1)
    first, low = trunk(graph)
    return with_outputs(graph, {graph.conv(first, 2): 5, classified(graph, low): 2})


NETS = {"classifier": classifier(), "features": features(), "heads": heads()}


def expected(model, window):
    """Returns the outputs of ONNX Runtime for a window, one after the other, each with as many voxels as the first that
    has any, or as one voxel."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    found = [output.reshape(output.shape + (1,) * (5 - output.ndim)) for output in session.run(None, {"input": window})]
    extent = max(output.shape[2:] for output in found)
    return np.concatenate([np.broadcast_to(output, (*output.shape[:2], *extent)) for output in found], axis=1)


def blended(model, volume, extent):
    """Returns the weighted mean of what ONNX Runtime makes of the windows of a volume that is not smaller, in float64.
    `extent` is that of what the daemon computes of a window."""
    lost = [w - n for w, n in zip(WINDOW, extent)]
    whole = [n - a for n, a in zip(volume.shape[2:], lost)]
    weights = gaussian(extent)
    sums, counted = 0.0, np.zeros(whole)
    for begin in np.ndindex(*(len(begins(n, w, 0.5)) for n, w in zip(whole, extent))):
        first = [begins(n, w, 0.5)[i] for n, w, i in zip(whole, extent, begin)]
        found = expected(model, volume[(..., *(slice(b, b + n) for b, n in zip(first, WINDOW)))])[0].astype(np.float64)
        own = np.zeros((len(found), *whole))
        place = (..., *(slice(b, b + n) for b, n in zip(first, extent)))
        own[place] = weights * found
        sums = sums + own
        counted[place] += weights
    return (sums / counted)[None]


def infer(client, name, volume):
    """Returns all outputs of the daemon, one after the other."""
    tensor = triton.InferInput("input", list(volume.shape), "FP32")
    tensor.set_data_from_numpy(volume)
    answer = client.infer(name, [tensor])
    return np.concatenate([answer.as_numpy(output.name) for output in NETS[name].graph.output], axis=1)


class PooledTest(ServedCase):
    """A daemon with nets that end with what is pooled of all voxels."""

    models = NETS
    config = CONFIG
    mem = "256M"

    def assert_same(self, found, exact, hint):
        """Expects the same at every voxel, within float rounding."""
        exact = np.broadcast_to(exact, (*exact.shape[:2], *found.shape[2:]))
        self.assertLess(np.abs(found - exact).max(), 1e-5 * np.abs(exact).max(), hint)

    def test_windows(self):
        """Several windows in one message have classes of their own."""
        volumes = np.concatenate([noise(WINDOW, seed) * (seed + 1) for seed in range(2)])
        with self.daemon.client() as client:
            for name, model in NETS.items():
                with self.subTest(name):
                    found = infer(client, name, volumes)
                    for i in range(2):
                        self.assert_same(found[i : i + 1], expected(model, volumes[i : i + 1]), name)

    def test_other_extents_are_blended(self):
        volume = noise(OTHERS[0])
        with self.daemon.client() as client:
            for name, model in NETS.items():
                extent = [n - 2 for n in WINDOW] if name == "features" else WINDOW
                with self.subTest(name):
                    exact = blended(model, volume, extent)
                    self.assertEqual(exact.shape[2:], tuple(n - (name == "features") * 2 for n in OTHERS[0]))
                    self.assert_same(infer(client, name, volume), exact, name)


if __name__ == "__main__":
    unittest.main()

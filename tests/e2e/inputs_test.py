"""Networks with several inputs give what ONNX Runtime computes of them, in messages, over HTTP and in streams."""

import json
import pathlib
import subprocess
import tempfile
import unittest
from multiprocessing import shared_memory

import numpy as np
import onnx
import onnxruntime
import tritonclient.grpc as triton
import tritonclient.http as triton_http
import znni
from harness import ZNNID, Daemon
from normalised_test import instance_norm
from onnx import TensorProto, helper
from padded_test import Graph

ZNNI = ZNNID.parent / "znni"
PLANNER = ZNNID.parent / "planner"


def with_tensors(graph, inputs, *outputs):
    """Returns the model with these inputs beside "input", and with all of these outputs."""
    model = graph.model(outputs[0])
    for name in inputs:
        model.graph.input.append(
            helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", graph.channels[name], "z", "y", "x"])
        )
    for name in outputs[1:]:
        shape = ["n", graph.channels[name], "pz", "py", "px"]
        model.graph.output.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape))
    return model


def early():
    """Returns an image and what is known of it, side by side from the beginning, as in FFN."""
    graph = Graph(21, 1)
    graph.channels["mask"] = 1
    both = graph.add("Concat", ["input", "mask"], 2, axis=1)
    return with_tensors(graph, ["mask"], graph.conv(graph.add("Relu", [graph.conv(both, 6)], 6), 1))


def late():
    """Returns two branches that meet, an input that is read again at the end, and two outputs."""
    graph = Graph(22, 2)
    graph.channels.update(mask=1, flow=3)
    first = graph.add("Relu", [graph.conv("input", 6)], 6)
    second = graph.add("Relu", [graph.conv("mask", 6)], 6)
    trunk = graph.conv(graph.add("Add", [first, second], 6), 4)
    both = graph.add("Concat", ["flow", trunk], 7, axis=1)
    return with_tensors(graph, ["mask", "flow"], graph.conv(both, 2, (1, 1, 1)), graph.add("Tanh", [trunk], 4))


def valid():
    """Returns a net that pools, without pads: dense."""
    graph = Graph(23, 1)
    graph.channels["mask"] = 2
    sums = graph.add("Add", [graph.conv("input", 4, pads=[0] * 6), graph.conv("mask", 4, pads=[0] * 6)], 4)
    low = graph.add("MaxPool", [sums], 4, kernel_shape=[2] * 3, strides=[2] * 3)
    return with_tensors(graph, ["mask"], graph.conv(low, 3, (2, 2, 2), pads=[0] * 6))


def bound():
    """Returns a net that normalises over its window."""
    graph = Graph(24, 1)
    graph.channels["mask"] = 1
    both = graph.add("Concat", ["mask", instance_norm(graph, graph.conv("input", 3))], 4, axis=1)
    return with_tensors(graph, ["mask"], graph.conv(both, 2))


def volumes_of(model, extent, batch=1):
    """Returns voxels for each input by name."""
    rng = np.random.default_rng(5)
    channels = {tensor.name: tensor.type.tensor_type.shape.dim[1].dim_value for tensor in model.graph.input}
    return {name: rng.standard_normal((batch, f, *extent), np.float32) for name, f in channels.items()}


def expected(model, volumes):
    """Returns ONNX Runtime's outputs by name."""
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    names = [output.name for output in model.graph.output]
    return dict(zip(names, session.run(names, volumes)))


def tensors_of(volumes, kind=triton, **how):
    """Returns the tensors of a request, the last one first."""
    tensors = []
    for name, volume in reversed(volumes.items()):
        tensors.append(kind.InferInput(name, list(volume.shape), "FP32"))
        tensors[-1].set_data_from_numpy(volume, **how)
    return tensors


class InputsTest(unittest.TestCase):
    """A daemon with such nets."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.work = pathlib.Path(cls.folder.name)
        cls.models = {"early": early(), "late": late(), "valid": valid(), "bound": bound()}
        for name, model in cls.models.items():
            (cls.work / "models" / name / "1").mkdir(parents=True)
            onnx.save(model, cls.work / "models" / name / "1/model.onnx")
        (cls.work / "models/bound/config.pbtxt").write_text(
            'parameters { key: "window" value { string_value: "10,12,14" } }'
        )
        cls.daemon = Daemon(cls.work / "models", "--allow-client-shm", mem="512M").wait_ready()
        cls.client = cls.daemon.client()

    @classmethod
    def tearDownClass(cls):
        cls.client.close()
        cls.daemon.stop()
        cls.folder.cleanup()

    def assert_near(self, found, exact):
        """Expects what whole convolutions give, within float rounding."""
        self.assertEqual(found.shape, exact.shape)
        self.assertLess(np.abs(found - exact).max(), 1e-4 * np.abs(exact).max())

    def assert_answer(self, answer, exact):
        for name, values in exact.items():
            self.assert_near(answer.as_numpy(name), values)

    def test_each_input_is_a_tensor(self):
        for name in ("early", "late"):
            volumes = volumes_of(self.models[name], (13, 14, 15), batch=2)
            exact = expected(self.models[name], volumes)
            self.assert_answer(self.client.infer(name, tensors_of(volumes)), exact)

    def test_a_net_that_pools(self):
        """Every other voxel of the dense output is the network's own."""
        volumes = volumes_of(self.models["valid"], (18, 20, 22))
        answer = self.client.infer("valid", tensors_of(volumes))
        for name, values in expected(self.models["valid"], volumes).items():
            self.assert_near(answer.as_numpy(name)[:, :, ::2, ::2, ::2], values)

    def test_a_net_that_normalises(self):
        volumes = volumes_of(self.models["bound"], (10, 12, 14))
        self.assert_answer(self.client.infer("bound", tensors_of(volumes)), expected(self.models["bound"], volumes))

    def test_what_is_refused_is_named(self):
        volumes = volumes_of(self.models["late"], (8, 9, 10))
        tensors = tensors_of(volumes)
        short = {**volumes, "mask": volumes["mask"][:, :, 1:]}
        more = {**volumes, "more": volumes["mask"]}
        wide = {**volumes, "mask": volumes["flow"]}
        cases = [
            (tensors[:-1], "input 'input' is missing"),
            (tensors + tensors[:1], "input 'flow' found twice"),
            (tensors_of(more), "input 'more' found, expected 'input' or 'mask' or"),
            (tensors_of(wide), r"input 'mask': shape \[1,3,8,9,10\] found, expected"),
            (tensors_of(short), r"input 'mask': shape \[1,1,7,9,10\] found, expected batch and extents"),
        ]
        for wrong, message in cases:
            with self.assertRaisesRegex(triton.InferenceServerException, message):
                self.client.infer("late", wrong)

    def test_the_net_tells_them(self):
        told = self.client.get_model_metadata("late").inputs
        self.assertEqual([(tensor.name, tensor.shape[1]) for tensor in told], [("input", 2), ("mask", 1), ("flow", 3)])
        config = self.client.get_model_config("late").config.input
        self.assertEqual([(tensor.name, tensor.dims[1]) for tensor in config], [("input", 2), ("mask", 1), ("flow", 3)])
        checked = subprocess.run(
            [PLANNER, "check", self.work / "models/late/1/model.onnx", "--json"], check=True, capture_output=True
        )
        self.assertEqual(
            json.loads(checked.stdout)["inputs"],
            [{"name": tensor.name, "channels": tensor.shape[1]} for tensor in told],
        )

    def test_over_http(self):
        """Inputs come as numbers, as bytes, and mixed."""
        volumes = volumes_of(self.models["late"], (4, 5, 6))
        exact = expected(self.models["late"], volumes)
        with triton_http.InferenceServerClient(f"127.0.0.1:{self.daemon.metrics_port}") as client:
            for binary in (True, False):
                tensors = tensors_of(volumes, triton_http, binary_data=binary)
                outputs = [triton_http.InferRequestedOutput(name, binary_data=binary) for name in exact]
                self.assert_answer(client.infer("late", tensors, outputs=outputs), exact)
            tensors[0].set_data_from_numpy(volumes["flow"], binary_data=True)
            self.assert_answer(client.infer("late", tensors), exact)

    def test_shared_memory(self):
        """One input there, or all of them."""
        volumes = volumes_of(self.models["early"], (6, 7, 8))
        exact = expected(self.models["early"], volumes)
        memory = shared_memory.SharedMemory(create=True, size=2 * volumes["input"].nbytes)
        self.addCleanup(memory.unlink)
        self.addCleanup(memory.close)
        self.client.register_system_shared_memory("both", memory.name, memory.size)
        self.addCleanup(self.client.unregister_system_shared_memory, "both")
        tensors = tensors_of(volumes)
        for tensor, (name, offset) in zip(tensors, (("mask", 0), ("input", volumes["mask"].nbytes))):
            data = volumes[name].tobytes()
            memory.buf[offset : offset + len(data)] = data
            tensor.set_shared_memory("both", len(data), offset)
            self.assert_answer(self.client.infer("early", tensors), exact)

    def test_a_stream_has_all_channels(self):
        volumes = volumes_of(self.models["late"], (40, 41, 52))
        exact = np.concatenate(list(expected(self.models["late"], volumes).values()), 1)[0]
        np.save(self.work / "in.npy", np.concatenate(list(volumes.values()), 1)[0])
        subprocess.run(
            [
                ZNNI,
                "infer",
                "-m",
                "late",
                "-i",
                self.work / "in.npy",
                "-o",
                self.work / "out.npy",
                "--server",
                self.daemon.url,
            ],
            check=True,
            capture_output=True,
        )
        self.assert_near(np.load(self.work / "out.npy"), exact)

    def test_a_dictionary_in_python(self):
        volumes = volumes_of(self.models["late"], (20, 21, 22))
        exact = np.concatenate(list(expected(self.models["late"], volumes).values()), 1)[0]
        parts = {name: volume[0] for name, volume in reversed(volumes.items())}
        with znni.Client(self.daemon.url) as client:
            self.assert_near(client.predict("late", parts, progress=False), exact)
            with self.assertRaisesRegex(znni.InvalidError, "input 'flow' is missing, which model 'late' has"):
                client.predict("late", {"input": parts["input"], "mask": parts["mask"]}, progress=False)


if __name__ == "__main__":
    unittest.main()

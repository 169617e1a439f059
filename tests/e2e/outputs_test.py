"""Networks with several outputs give what ONNX Runtime computes of each, in messages, over HTTP and in streams."""

import json
import pathlib
import subprocess
import tempfile
import time
import unittest
import urllib.request

import numpy as np
import onnx
import onnxruntime
import tritonclient.grpc as triton
import tritonclient.http as triton_http
from harness import LONGEST_START, ZNNID, Daemon
from normalised_test import instance_norm
from onnx import TensorProto, helper
from padded_test import Graph

ZNNI = ZNNID.parent / "znni"
PLANNER = ZNNID.parent / "planner"


def with_outputs(graph, *names):
    """Returns the model that ends with these values."""
    model = graph.model(names[0])
    for name in names[1:]:
        shape = ["n", graph.channels[name], *(f"{name}.{axis}" for axis in "zyx")]
        model.graph.output.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape))
    return model


def heads():
    """Returns a padded trunk with affinities, a mask, and the trunk itself."""
    graph = Graph(11, 1)
    trunk = graph.add("Relu", [graph.conv("input", 6)], 6)
    affinities = graph.add("Sigmoid", [graph.conv(trunk, 3)], 3)
    mask = graph.add("Softmax", [graph.conv(trunk, 2, (1, 1, 1))], 2, axis=1)
    return with_outputs(graph, affinities, mask, trunk)


def valid():
    """Returns a net that pools, without pads: dense, with two heads behind."""
    graph = Graph(12, 1)
    low = graph.add("MaxPool", [graph.conv("input", 4, pads=[0] * 6)], 4, kernel_shape=[2] * 3, strides=[2] * 3)
    trunk = graph.conv(low, 4, (2, 2, 2), pads=[0] * 6)
    return with_outputs(graph, graph.conv(trunk, 2, (1, 1, 1)), graph.add("Tanh", [trunk], 4))


def coarse():
    """Returns a padded net that ends at half the resolution, with two heads there."""
    graph = Graph(14, 1)
    low = graph.add("MaxPool", [graph.conv("input", 4)], 4, kernel_shape=[2] * 3, strides=[2] * 3)
    trunk = graph.conv(low, 4)
    return with_outputs(graph, graph.conv(trunk, 2, (1, 1, 1)), graph.add("Tanh", [trunk], 4))


def supervised(normalises=False):
    """Returns a U-Net that first gives out what it has at half the resolution, and last at a quarter: period 4."""
    graph = Graph(13, 1)
    skips, value = [], "input"
    for f in (4, 5):
        skips.append(graph.add("Relu", [graph.conv(value, f)], f))
        value = graph.add("MaxPool", [skips[-1]], f, kernel_shape=[2] * 3, strides=[2] * 3)
    levels = [graph.conv(instance_norm(graph, value) if normalises else value, 6)]
    for skip in skips[::-1]:
        f = graph.channels[skip]
        both = graph.add("Concat", [graph.transposed(levels[-1], f, (2, 2, 2), 2), skip], 2 * f, axis=1)
        levels.append(graph.conv(both, f))
    quarter, half, full = (graph.conv(level, 2, (1, 1, 1)) for level in levels)
    return with_outputs(graph, graph.add("Sigmoid", [half], 2), full, quarter)


def uneven():
    """Returns a padded net of which one head is valid."""
    graph = Graph(15, 1)
    trunk = graph.add("Relu", [graph.conv("input", 4)], 4)
    return with_outputs(graph, graph.conv(trunk, 2), graph.conv(trunk, 2, pads=[0] * 6))


def bound():
    """Returns a net that normalises over its window, with two heads."""
    graph = Graph(14, 1)
    trunk = instance_norm(graph, graph.conv("input", 4))
    return with_outputs(graph, graph.conv(trunk, 3), graph.add("Sigmoid", [trunk], 4))


def parameter(name, value):
    """Returns a parameter of a config.pbtxt."""
    return f'parameters {{ key: "{name}" value {{ string_value: "{value}" }} }}'


def expected(model, volume):
    """Returns ONNX Runtime's outputs by name."""
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    names = [output.name for output in model.graph.output]
    return dict(zip(names, session.run(names, {"input": volume})))


def tensor_of(volume):
    tensor = triton.InferInput("input", list(volume.shape), "FP32")
    tensor.set_data_from_numpy(volume)
    return tensor


class OutputsTest(unittest.TestCase):
    """A daemon with such nets; of "chosen" its configuration names one output, of "uneven" none."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.work = pathlib.Path(cls.folder.name)
        cls.models = {
            "heads": heads(),
            "valid": valid(),
            "coarse": coarse(),
            "supervised": supervised(),
            "deep": supervised(normalises=True),
            "uneven": uneven(),
            "chosen": uneven(),
            "bound": bound(),
        }
        for name, model in cls.models.items():
            (cls.work / "models" / name / "1").mkdir(parents=True)
            onnx.save(model, cls.work / "models" / name / "1/model.onnx")
        first = cls.models["chosen"].graph.output[0].name
        (cls.work / "models/chosen/config.pbtxt").write_text(parameter("outputs", first))
        (cls.work / "models/bound/config.pbtxt").write_text(parameter("window", "10,12,14"))
        (cls.work / "models/deep/config.pbtxt").write_text(parameter("window", "12,16,20"))
        cls.daemon = Daemon(cls.work / "models", mem="512M", ready=False).wait_listening()
        cls.client = cls.daemon.client()
        deadline = time.monotonic() + LONGEST_START
        while not all(cls.client.is_model_ready(name) for name in cls.models if name != "uneven"):
            if time.monotonic() > deadline:
                raise TimeoutError("\n".join(cls.daemon.log))
            time.sleep(0.05)

    @classmethod
    def tearDownClass(cls):
        cls.client.close()
        cls.daemon.stop()
        cls.folder.cleanup()

    def volume(self, *shape):
        return np.random.default_rng(3).standard_normal(shape, np.float32)

    def assert_near(self, found, exact):
        """Expects what whole convolutions give, within float rounding."""
        self.assertEqual(found.shape, exact.shape)
        self.assertLess(np.abs(found - exact).max(), 1e-4 * np.abs(exact).max())

    def test_each_output_is_a_tensor(self):
        volume = self.volume(2, 1, 13, 14, 15)
        exact = expected(self.models["heads"], volume)
        answer = self.client.infer("heads", [tensor_of(volume)])
        self.assertEqual([output.name for output in answer.get_response().outputs], list(exact))
        for name, values in exact.items():
            self.assert_near(answer.as_numpy(name), values)

    def test_some_are_asked_for(self):
        volume = self.volume(1, 1, 13, 14, 15)
        exact = expected(self.models["heads"], volume)
        names = list(exact)[:0:-1]
        answer = self.client.infer(
            "heads", [tensor_of(volume)], outputs=[triton.InferRequestedOutput(name) for name in names]
        )
        self.assertEqual([output.name for output in answer.get_response().outputs], names)
        for name in names:
            self.assert_near(answer.as_numpy(name), exact[name])
        with self.assertRaisesRegex(triton.InferenceServerException, "requested output 'none', expected 'Sigmoid"):
            self.client.infer("heads", [tensor_of(volume)], outputs=[triton.InferRequestedOutput("none")])

    def test_the_net_tells_them(self):
        told = self.client.get_model_metadata("heads").outputs
        self.assertEqual([output.shape[1] for output in told], [3, 2, 6])
        checked = subprocess.run(
            [PLANNER, "check", self.work / "models/heads/1/model.onnx", "--json"], check=True, capture_output=True
        )
        self.assertEqual(
            json.loads(checked.stdout)["outputs"],
            [{"name": output.name, "channels": output.shape[1]} for output in told],
        )

    def test_over_http(self):
        volume = self.volume(1, 1, 4, 5, 6)
        exact = expected(self.models["heads"], volume)
        inputs = [{"name": "input", "datatype": "FP32", "shape": list(volume.shape), "data": volume.ravel().tolist()}]
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.daemon.metrics_port}/v2/models/heads/infer",
            json.dumps({"inputs": inputs}).encode(),
        )
        with urllib.request.urlopen(request) as answer:
            outputs = json.loads(answer.read())["outputs"]
        self.assertEqual([output["name"] for output in outputs], list(exact))
        for output in outputs:
            self.assert_near(np.array(output["data"], np.float32).reshape(output["shape"]), exact[output["name"]])

    def test_binary_over_http(self):
        volume = self.volume(2, 1, 4, 5, 6)
        exact = expected(self.models["heads"], volume)
        tensor = triton_http.InferInput("input", list(volume.shape), "FP32")
        tensor.set_data_from_numpy(volume)
        with triton_http.InferenceServerClient(f"127.0.0.1:{self.daemon.metrics_port}") as client:
            answer = client.infer("heads", [tensor])
            self.assertEqual([output["name"] for output in answer.get_response()["outputs"]], list(exact))
            for name, values in exact.items():
                self.assert_near(answer.as_numpy(name), values)

    def test_a_net_that_normalises(self):
        volume = self.volume(1, 1, 10, 12, 14)
        answer = self.client.infer("bound", [tensor_of(volume)])
        for name, values in expected(self.models["bound"], volume).items():
            self.assert_near(answer.as_numpy(name), values)

    def test_other_outputs_are_loaded(self):
        """The file is the same; its configuration names others."""
        volume = self.volume(1, 1, 8, 9, 10)
        exact = expected(self.models["heads"], volume)
        (self.work / "reloaded/heads/1").mkdir(parents=True)
        onnx.save(self.models["heads"], self.work / "reloaded/heads/1/model.onnx")
        with (
            Daemon(self.work / "reloaded", "--model-control-mode", "explicit", mem="512M", ready=False) as daemon,
            daemon.client() as client,
        ):
            for names in (list(exact)[:1], list(exact)[:0:-1], list(exact)[1:]):
                (self.work / "reloaded/heads/config.pbtxt").write_text(parameter("outputs", ",".join(names)))
                client.load_model("heads")
                self.assertEqual([output.name for output in client.get_model_metadata("heads").outputs], names)
                answer = client.infer("heads", [tensor_of(volume)])
                self.assertEqual([output.name for output in answer.get_response().outputs], names)
                for name in names:
                    self.assert_near(answer.as_numpy(name), exact[name])

    def test_a_stream_has_all_channels(self):
        volume = self.volume(60, 41, 52)
        np.save(self.work / "in.npy", volume)
        subprocess.run(
            [
                ZNNI,
                "infer",
                "-m",
                "heads",
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
        exact = expected(self.models["heads"], volume[None, None])
        self.assert_near(np.load(self.work / "out.npy"), np.concatenate(list(exact.values()), 1)[0])

    def test_a_net_that_pools(self):
        """Every other voxel of the dense output is the network's own."""
        volume = self.volume(1, 1, 18, 20, 22)
        exact = expected(self.models["valid"], volume)
        answer = self.client.infer("valid", [tensor_of(volume)])
        for name, values in exact.items():
            self.assert_near(answer.as_numpy(name)[:, :, ::2, ::2, ::2], values)

    def test_a_coarse_net(self):
        """Each voxel of the network's own output is repeated, so that there is one for each of the input."""
        properties = json.loads(self.daemon.page("/v2/models/coarse")[1])["properties"]
        self.assertEqual(properties["output_stride"], "2,2,2")
        volume = self.volume(1, 1, 18, 20, 22)
        answer = self.client.infer("coarse", [tensor_of(volume)])
        for name, values in expected(self.models["coarse"], volume).items():
            self.assert_near(answer.as_numpy(name), np.kron(values, np.ones((2, 2, 2), np.float32)))

    def assert_repeated(self, found, own):
        """Expects as many voxels as the input has: one of the network's own stands for several."""
        stride = found.shape[-1] // own.shape[-1]
        self.assert_near(found, np.kron(own, np.ones((stride,) * 3, np.float32)))

    def test_deep_supervision(self):
        """The coarse outputs have a voxel for each of the input, as the fine one has."""
        properties = json.loads(self.daemon.page("/v2/models/supervised")[1])["properties"]
        self.assertEqual(properties["output_strides"], "2,2,2;1,1,1;4,4,4")
        self.assertNotIn("output_stride", properties)
        checked = subprocess.run(
            [PLANNER, "check", self.work / "models/supervised/1/model.onnx", "--json"], check=True, capture_output=True
        )
        self.assertEqual(
            [output["stride"] for output in json.loads(checked.stdout)["outputs"]], [[2] * 3, [1] * 3, [4] * 3]
        )
        volume = self.volume(1, 1, 20, 24, 28)
        answer = self.client.infer("supervised", [tensor_of(volume)])
        exact = expected(self.models["supervised"], volume)
        self.assertEqual([values.shape[-1] for values in exact.values()], [14, 28, 7])
        for name, values in exact.items():
            self.assert_repeated(answer.as_numpy(name), values)

    def test_deep_supervision_in_a_stream(self):
        volume = self.volume(60, 44, 52)
        np.save(self.work / "in.npy", volume)
        subprocess.run(
            [
                ZNNI,
                "infer",
                "-m",
                "supervised",
                "-i",
                self.work / "in.npy",
                "-o",
                self.work / "deep.npy",
                "--server",
                self.daemon.url,
            ],
            check=True,
            capture_output=True,
        )
        exact = expected(self.models["supervised"], volume[None, None])
        for found, values in zip(np.split(np.load(self.work / "deep.npy"), 3), exact.values()):
            self.assert_repeated(found[None], values)

    def test_deep_supervision_of_a_net_that_normalises(self):
        volume = self.volume(1, 1, 12, 16, 20)
        answer = self.client.infer("deep", [tensor_of(volume)])
        for name, values in expected(self.models["deep"], volume).items():
            self.assert_repeated(answer.as_numpy(name), values)

    def test_outputs_of_several_extents_are_chosen(self):
        self.daemon.logged("are computed together, for which they must have one extent, but for their strides")
        self.assertFalse(self.client.is_model_ready("uneven"))
        volume = self.volume(1, 1, 12, 14, 16)
        name, exact = next(iter(expected(self.models["chosen"], volume).items()))
        answer = self.client.infer("chosen", [tensor_of(volume)])
        self.assertEqual(len(answer.get_response().outputs), 1)
        self.assert_near(answer.as_numpy(name), exact)


if __name__ == "__main__":
    unittest.main()

"""Networks that normalise or pool over their whole window give what ONNX Runtime computes of it; of volumes of other
extents they give the weighted mean of what it computes of overlapping windows."""

import itertools
import json
import os
import pathlib
import subprocess
import tempfile
import time
import unittest
from unittest import mock

import grpc
import numpy as np
import onnx
import tritonclient.grpc as triton
import znni
from harness import ZNNID, Daemon, save_model
from padded_test import Graph, expected, infer, integers
from volumes_test import collect, messages, requests, services

PLANNER = ZNNID.parent / "planner"
ZNNI = ZNNID.parent / "znni"
WINDOW = (12, 16, 20)
OTHERS = ((29, 37, 23), (19, 9, 31))  # the second is smaller than the window along y


def parameters(**values):
    """Returns a config.pbtxt."""
    return "".join(
        f'parameters {{ key: "{key}" value {{ string_value: "{value}" }} }}\n' for key, value in values.items()
    )


CONFIG = parameters(window="12,16,20")


def instance_norm(graph, source):
    """Returns an instance normalisation and a leaky ReLU."""
    f = graph.channels[source]
    tensors = [graph.rng.uniform(0.5, 1.5, f), graph.rng.normal(0, 0.5, f)]
    norm = graph.add("InstanceNormalization", [source], f, [t.astype(np.float32) for t in tensors], epsilon=1e-5)
    return graph.add("LeakyRelu", [norm], f, alpha=0.01)


def group_norm(graph, source, groups):
    """Returns a group normalisation as PyTorch exports it, and a ReLU."""
    f = graph.channels[source]
    flat = graph.add("Reshape", [source], groups, [integers(0, groups, -1)])
    norm = graph.add(
        "InstanceNormalization",
        [flat],
        groups,
        [np.ones(groups, np.float32), np.zeros(groups, np.float32)],
        epsilon=1e-5,
    )
    back = graph.add("Reshape", [norm, graph.add("Shape", [source], 0)], f)
    scale, shift = graph.rng.uniform(0.5, 1.5, (f, 1, 1, 1)), graph.rng.normal(0, 0.5, (f, 1, 1, 1))
    scaled = graph.add("Mul", [back], f, [scale.astype(np.float32)])
    return graph.add("Relu", [graph.add("Add", [scaled], f, [shift.astype(np.float32)])], f)


def normalised():
    """Returns a small U-Net of padded convolutions with both kinds of normalisation; period 2."""
    graph = Graph(11, 1)
    skip = instance_norm(graph, graph.conv("input", 6))
    low = group_norm(graph, graph.conv(skip, 8, stride=2), 4)
    up = graph.transposed(low, 6, (2, 2, 2), 2)
    both = graph.add("Concat", [up, skip], 12, axis=1)
    return graph.model(graph.conv(both, 3))


def shrinking():
    """Returns a convolution that does not pad, and a normalisation."""
    graph = Graph(12, 1)
    return graph.model(instance_norm(graph, graph.conv("input", 3, pads=[0] * 6)))


def excitation(graph, source):
    """Returns squeeze-and-excitation by linear layers, as PyTorch exports it."""
    f = graph.channels[source]
    last = graph.add("ReduceMean", [source], f, axes=[2, 3, 4], keepdims=0)
    for outputs, activation in ((f // 2, "Relu"), (f, "Sigmoid")):
        tensors = [graph.rng.normal(0, 1, (outputs, graph.channels[last])), graph.rng.normal(0, 0.5, outputs)]
        last = graph.add("Gemm", [last], outputs, [t.astype(np.float32) for t in tensors], transB=1)
        last = graph.add(activation, [last], outputs)
    return graph.add("Mul", [source, graph.add("Unsqueeze", [last], f, [integers(2, 3, 4)])], f)


def excited():
    """Returns a small U-Net of padded convolutions, two of them with squeeze-and-excitation; period 2."""
    graph = Graph(13, 1)
    skip = excitation(graph, graph.conv("input", 6))
    low = excitation(graph, graph.conv(skip, 8, stride=2))
    both = graph.add("Concat", [graph.transposed(low, 6, (2, 2, 2), 2), skip], 12, axis=1)
    return graph.model(graph.conv(both, 3))


def responding():
    """Returns a small net with ConvNeXt V2's global response normalisation and its residual."""
    graph = Graph(14, 1)
    x = graph.conv("input", 6, stride=2)
    length = graph.add("ReduceL2", [x], 6, axes=[2, 3, 4], keepdims=1)
    mean = graph.add("ReduceMean", [length], 1, axes=[1], keepdims=1)
    factor = graph.add("Div", [length, graph.add("Add", [mean], 1, [np.full((), 1e-6, np.float32)])], 6)
    scale, shift = (graph.rng.normal(0, 1, (6, 1, 1, 1)).astype(np.float32) for _ in range(2))
    scaled = graph.add("Mul", [graph.add("Mul", [x, factor], 6)], 6, [scale])
    last = graph.add("Add", [graph.add("Add", [scaled], 6, [shift]), x], 6)
    return graph.model(graph.transposed(last, 3, (2, 2, 2), 2))


def gaussian(extent):
    """Returns the weights of the voxels of a window: a Gaussian of an eighth of the extent along each axis."""
    z, y, x = (np.exp(-0.5 * ((np.arange(n) - (n - 1) / 2) / (n / 8)) ** 2) for n in extent)
    return np.maximum(z[:, None, None] * y[:, None] * x, 1e-3)


def begins(n, window, overlap):
    """Returns where windows begin along an axis; the last one ends with the volume."""
    step = max(1, int(window * (1 - overlap)))
    return [*range(0, n - window, step), n - window]


def blended(model, volume, weights, overlap):
    """Returns the mean of ONNX Runtime's outputs of all windows, each by itself, in float64. `weights` are of the
    voxels of such an output. A volume that is smaller than the window stands in the middle of zeros."""
    small = volume.shape[2:]
    beside = [max(w - n, 0) for w, n in zip(WINDOW, small)]
    volume = np.pad(volume, [(0, 0), (0, 0), *((n // 2, n - n // 2) for n in beside)])
    lost = [w - n for w, n in zip(WINDOW, weights.shape)]
    extent = [n - a for n, a in zip(volume.shape[2:], lost)]
    sums, counted = np.zeros((3, *extent)), np.zeros(extent)
    for begin in itertools.product(*map(begins, extent, weights.shape, [overlap] * 3)):
        window = volume[(..., *(slice(b, b + n) for b, n in zip(begin, WINDOW)))]
        place = (..., *(slice(b, b + n) for b, n in zip(begin, weights.shape)))
        sums[place] += weights * expected(model, window)[0].astype(np.float64)
        counted[place] += weights
    inner = (..., *(slice(n // 2, n // 2 + s - a) for n, s, a in zip(beside, small, lost)))
    return (sums / counted)[inner][None]


def declaring(model, window):
    """Returns the same model, whose file declares the extents of its input."""
    fixed = onnx.ModelProto()
    fixed.CopyFrom(model)
    for axis, n in enumerate(window):
        fixed.graph.input[0].type.tensor_type.shape.dim[2 + axis].dim_value = n
    return fixed


def noise(extent, seed=5):
    """Returns one channel of random voxels, [1,1,Z,Y,X]."""
    return np.random.default_rng(seed).standard_normal((1, 1, *extent), np.float32)


class NormalisedTest(unittest.TestCase):
    """A daemon with one net: its window named by a parameter, by the file, by a plan beside it, blended otherwise; with
    one whose output is smaller than its input; and with one that pools all voxels."""

    @classmethod
    def setUpClass(cls):
        cls.kept = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.kept.name)
        cls.model = normalised()
        save_model(cls.model, cls.folder / "models", "named", CONFIG)
        save_model(declaring(cls.model, WINDOW), cls.folder / "models", "declared")
        save_model(
            cls.model, cls.folder / "models", "even", CONFIG + parameters(window_overlap=0.25, window_weight="constant")
        )
        save_model(shrinking(), cls.folder / "models", "shrinking", CONFIG)
        save_model(excited(), cls.folder / "models", "excited", CONFIG)
        save_model(responding(), cls.folder / "models", "responding", CONFIG)
        planned = save_model(cls.model, cls.folder / "models", "planned")
        subprocess.run(
            [
                PLANNER,
                "--model",
                planned / "model.onnx",
                "--mem",
                "512M",
                "--volume",
                "12,16,20",
                "--output",
                planned / "plan.pbtxt",
            ],
            check=True,
            capture_output=True,
        )
        cls.daemon = Daemon(cls.folder / "models", mem="512M")
        cls.daemon.__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.daemon.__exit__(None, None, None)
        cls.kept.cleanup()

    def tearDown(self):
        self.assertIsNone(self.daemon.process.poll(), "\n".join(self.daemon.log))

    def assert_equal_to(self, exact, found, hint):
        """Expects what a framework computes of the whole, within float rounding."""
        self.assertEqual(found.shape, exact.shape, hint)
        self.assertLess(np.abs(found - exact).max(), 1e-4 * np.abs(exact).max(), hint)

    def infer_by_client(self, volume, *options):
        """Runs `znni infer` of [Z,Y,X], to out.npy."""
        np.save(self.folder / "in.npy", volume)
        return subprocess.run(
            [
                ZNNI,
                "infer",
                "-m",
                "named",
                "-i",
                self.folder / "in.npy",
                "-o",
                self.folder / "out.npy",
                "--overwrite",
                "--server",
                self.daemon.url,
                *options,
            ],
            capture_output=True,
            text=True,
            check=False,
        )

    def test_messages(self):
        volume = noise(WINDOW)
        exact = expected(self.model, volume)
        for name in ("named", "declared", "planned"):
            with self.daemon.client() as client:
                self.assert_equal_to(exact, infer(client, name, volume), name)

    def test_several_windows_in_one_message(self):
        """Each has its own mean."""
        volumes = np.concatenate([noise(WINDOW, seed) * (seed + 1) for seed in range(3)])
        with self.daemon.client() as client:
            found = infer(client, "named", volumes)
        for i in range(3):
            self.assert_equal_to(expected(self.model, volumes[i : i + 1]), found[i : i + 1], i)

    def test_volumes(self):
        """`znni infer` computes a volume of the window's extent, and boxes of a larger one, which are those of its
        blended output."""
        large = noise((20, 20, 30))
        whole = blended(self.model, large, gaussian(WINDOW), 0.5)[0]
        ran = self.infer_by_client(np.ascontiguousarray(large[0, 0, 4:16, :16, 10:]))
        self.assertEqual(ran.returncode, 0, ran.stderr)
        exact = expected(self.model, large[:, :, 4:16, :16, 10:])
        self.assert_equal_to(exact[0], np.load(self.folder / "out.npy"), "a volume by itself")
        for box in ((4, 16, 0, 16, 10, 30), (4, 17, 0, 20, 0, 30), (18, 20, 5, 6, 2, 9)):
            ran = self.infer_by_client(large[0, 0], "--bbox", "{}:{},{}:{},{}:{}".format(*box))
            self.assertEqual(ran.returncode, 0, ran.stderr)
            exact = whole[:, box[0] : box[1], box[2] : box[3], box[4] : box[5]]
            self.assert_equal_to(exact, np.load(self.folder / "out.npy"), box)

    def infer_by_stream(self, name, volume):
        """Returns the daemon's output of one stream."""
        with self.daemon.channel() as channel:
            return collect(services.VolumesStub(channel).Infer(requests(volume[0], name)))[1][None]

    def test_other_extents_are_blended(self):
        """Messages and streams have any extents, whether they suit the strides or not."""
        for name, weights, overlap in (("named", gaussian(WINDOW), 0.5), ("even", np.ones(WINDOW), 0.25)):
            for extent in OTHERS:
                volume = noise(extent)
                exact = blended(self.model, volume, weights, overlap)
                with self.daemon.client() as client:
                    self.assert_equal_to(exact, infer(client, name, volume), f"{name} {extent}")
                self.assert_equal_to(exact, self.infer_by_stream(name, volume), f"{name} {extent} streamed")

    def test_other_extents_by_the_client(self):
        """`znni infer` blends with every plan's window."""
        volume = noise((13, 16, 27))
        ran = self.infer_by_client(volume[0, 0])
        self.assertEqual(ran.returncode, 0, ran.stderr)
        exact = blended(self.model, volume, gaussian(WINDOW), 0.5)
        self.assert_equal_to(exact[0], np.load(self.folder / "out.npy"), "named")
        for name in ("declared", "planned"):
            self.assert_equal_to(exact, self.infer_by_stream(name, volume), name)

    def test_windows_that_lose_voxels(self):
        """Their outputs are blended; a volume that is smaller is refused, in one line with both extents."""
        volume = noise((21, 19, 33))
        exact = blended(shrinking(), volume, gaussian((10, 14, 18)), 0.5)
        with self.daemon.client() as client:
            self.assert_equal_to(exact, infer(client, "shrinking", volume), "message")
            with self.assertRaises(triton.InferenceServerException) as refused:
                infer(client, "shrinking", noise((21, 19, 19)))
        self.assert_equal_to(exact, self.infer_by_stream("shrinking", volume), "streamed")
        text = refused.exception.message()
        self.assertEqual(refused.exception.status(), "StatusCode.INVALID_ARGUMENT")
        self.assertIn("21x19x19; it must be at least the network's window, 12x16x20", text)
        self.assertNotIn("\n", text)

    def test_squeeze_and_excitation(self):
        """The output is that of the window, or blended of windows over another extent."""
        for extent in (WINDOW, OTHERS[0]):
            volume = noise(extent)
            exact = blended(excited(), volume, gaussian(WINDOW), 0.5)
            with self.daemon.client() as client:
                self.assert_equal_to(exact, infer(client, "excited", volume), extent)

    def test_global_response_normalisation(self):
        """Each window has responses of its own."""
        for extent in (WINDOW, OTHERS[0]):
            volume = noise(extent)
            exact = blended(responding(), volume, gaussian(WINDOW), 0.5)
            with self.daemon.client() as client:
                self.assert_equal_to(exact, infer(client, "responding", volume), extent)

    def header(self, extent, model="named", **fields):
        """Returns the status of a stream that ends behind its header."""
        z, y, x = extent
        header = messages.VolumeHeader(
            model_name=model, datatype="FP32", channels=1, extent=messages.Extent(z=z, y=y, x=x), **fields
        )
        with self.daemon.channel() as channel:
            with self.assertRaises(grpc.RpcError) as refused:
                list(services.VolumesStub(channel).Infer(iter([messages.VolumeRequest(header=header)])))
        return refused.exception

    def test_streams_that_are_too_small_are_refused(self):
        refused = self.header((24, 16, 19), "shrinking")
        self.assertEqual(refused.code(), grpc.StatusCode.INVALID_ARGUMENT)
        self.assertIn("24x16x19", refused.details())
        self.assertIn("12x16x20", refused.details())

    def test_streams_of_too_many_windows_are_refused(self):
        """The daemon refuses them before it lists any, and goes on."""
        refused = self.header((1 << 18, 1 << 18, 1 << 18))
        self.assertEqual(refused.code(), grpc.StatusCode.RESOURCE_EXHAUSTED)
        self.test_messages()

    def test_streams_are_not_resumed(self):
        for extent in (WINDOW, OTHERS[0]):
            refused = self.header(extent, first_plane=3, resume_token="token")
            self.assertEqual(refused.code(), grpc.StatusCode.UNIMPLEMENTED)
            self.assertIn("expected 0", refused.details())

    def test_regions(self):
        """The Python client's regions are those of the whole output."""
        rng = np.random.default_rng(11)
        with znni.Client(self.daemon.url) as client:
            for name, extent in (
                ("named", (31, 16, 53)),
                ("even", (29, 37, 20)),
                ("shrinking", (33, 20, 41)),
                ("excited", (30, 11, 47)),
            ):
                volume = noise(extent)[0, 0]
                for pad in ("none", "reflect"):
                    whole = client.predict(name, volume, pad=pad, progress=False)
                    for _ in range(3):
                        start = [rng.integers(0, n - 7) for n in extent]
                        stop = [rng.integers(a + 7, n + 1) for a, n in zip(start, extent)]
                        found = client.predict(name, volume, roi=list(zip(start, stop)), pad=pad, progress=False)
                        exact = whole[(..., *(slice(a, a + n) for a, n in zip(start, found.shape[-3:])))]
                        self.assert_equal_to(exact, found, f"{name} {pad} {start} {stop}")

    def test_metadata(self):
        """It says how windows lie, and what is the smallest volume."""
        with self.daemon.client() as client:
            for name, least, overlap, weight in (
                ("named", "1,1,1", "0.5", "gaussian"),
                ("declared", "1,1,1", "0.5", "gaussian"),
                ("planned", "1,1,1", "0.5", "gaussian"),
                ("even", "1,1,1", "0.25", "constant"),
                ("shrinking", "12,16,20", "0.5", "gaussian"),
            ):
                metadata = client.get_model_metadata(name)
                self.assertEqual(list(metadata.inputs[0].shape), [-1, 1, -1, -1, -1])
                self.assertEqual(list(metadata.outputs[0].shape), [-1, 3, -1, -1, -1])
                properties = json.loads(self.daemon.page(f"/v2/models/{name}")[1])["properties"]
                found = [properties[key] for key in ("window", "least_input", "window_overlap", "window_weight")]
                self.assertEqual(found, ["12,16,20", least, overlap, weight], name)
                self.assertNotIn("input_period", properties)
                config = client.get_model_config(name).config
                self.assertEqual(list(config.input[0].dims), [-1, 1, -1, -1, -1])


class WindowTest(unittest.TestCase):
    """The messages of daemon and planner for a window that is missing or wrong."""

    def setUp(self):
        kept = tempfile.TemporaryDirectory()
        self.addCleanup(kept.cleanup)
        self.folder = pathlib.Path(kept.name)
        self.models = self.folder / "models"

    def planner(self, *arguments):
        """Runs the planner."""
        return subprocess.run([PLANNER, *map(str, arguments)], capture_output=True, text=True, check=False)

    def plan_all(self):
        """Runs the planner over the repository."""
        return self.planner("--mem", "512M", "--model-repository", self.models, "--plan-dir", self.folder / "plans")

    def reason(self):
        """Returns why the daemon does not serve "net"."""
        with Daemon(self.models, mem="512M", plans=self.folder / "kept", ready=False) as daemon:
            with daemon.client() as client:
                while True:
                    index = client.get_model_repository_index().models[0]
                    if index.state != "LOADING":
                        break
                    time.sleep(0.05)
                self.assertEqual(index.state, "UNAVAILABLE", index)
                self.assertTrue(client.is_server_live())
                return index.reason

    def test_no_window_is_known(self):
        save_model(normalised(), self.models, "net")
        wanted = "say how large that is, with --volume Z,Y,X or the parameter 'window' of its config.pbtxt"
        self.assertIn(wanted, self.reason())
        ran = self.plan_all()
        self.assertEqual(ran.returncode, 2, ran.stderr)
        self.assertIn(wanted, ran.stderr)
        network = self.models / "net/1/model.onnx"
        with mock.patch.dict(os.environ, {"ZNNID": str(ZNNID)}), self.assertRaises(znni.UnavailableError) as caught:
            znni.predict(network, np.zeros(WINDOW, np.float32), mem="512M", progress=False)
        wanted = (
            "say how large that is, with the parameter 'window' of its config, in znni run --parameter window=Z,Y,X"
        )
        self.assertIn(wanted, str(caught.exception))

    def test_a_window_that_the_strides_do_not_divide(self):
        save_model(normalised(), self.models, "net", CONFIG.replace("20", "21"))
        self.assertRegex(self.reason(), r"config\.pbtxt: parameter 'window': the volume has 21 voxels along x")
        self.assertIn("parameter 'window': the volume has 21 voxels along x", self.plan_all().stderr)

    def test_a_window_that_the_file_contradicts(self):
        save_model(declaring(normalised(), (12, 16, 24)), self.models, "net", CONFIG)
        self.assertIn("12x16x20 found, but the network's file declares 12x16x24; drop it", self.reason())

    def test_a_window_that_overlaps_by_all_of_it(self):
        save_model(normalised(), self.models, "net", CONFIG + parameters(window_overlap=1))
        wanted = "config.pbtxt: parameter 'window_overlap' is '1'; a share of the window, from 0 to below 1, is right"
        reason = self.reason()
        self.assertIn(wanted, reason)
        self.assertNotIn("\n", reason)
        ran = self.plan_all()
        self.assertEqual(ran.returncode, 2, ran.stderr)
        self.assertIn(wanted, ran.stderr)

    def test_the_planner_plans_a_repository_for_its_windows(self):
        save_model(normalised(), self.models, "net", CONFIG)
        ran = self.plan_all()
        self.assertEqual(ran.returncode, 0, ran.stderr)
        with Daemon(self.models, mem="512M", plans=self.folder / "plans") as daemon:
            daemon.logged(f"/{512 << 20}.planner.pbtxt is used")

    def test_the_check_names_the_window(self):
        declared = save_model(declaring(normalised(), WINDOW), self.models, "declared") / "model.onnx"
        self.assertRegex(
            self.planner("check", declared).stdout, r"\n  window +12x16x20\n  volumes +any, by overlapping windows\n"
        )
        net = save_model(normalised(), self.models, "net") / "model.onnx"
        self.assertRegex(self.planner("check", net).stdout, r"\n  window +of one extent for each plan: --volume, or ")


if __name__ == "__main__":
    unittest.main()

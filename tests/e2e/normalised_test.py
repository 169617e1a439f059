"""Networks that normalise over their whole window give what ONNX Runtime computes of it, and take nothing else."""

import pathlib
import subprocess
import tempfile
import time
import unittest

import grpc
import numpy as np
import onnx
import tritonclient.grpc as triton

from harness import ZNNID, Daemon, volumes_stubs
from padded_test import Graph, expected, infer, integers

messages, services = volumes_stubs()
PLANNER = ZNNID.parent / "planner"
ZNNI = ZNNID.parent / "znni"
WINDOW = (12, 16, 20)
CONFIG = 'parameters { key: "window" value { string_value: "12,16,20" } }\n'


def instance_norm(graph, source):
    """An instance normalisation and a leaky ReLU."""
    f = graph.images[source]
    tensors = [graph.rng.uniform(0.5, 1.5, f), graph.rng.normal(0, 0.5, f)]
    norm = graph.add("InstanceNormalization", [source], f, [t.astype(np.float32) for t in tensors], epsilon=1e-5)
    return graph.add("LeakyRelu", [norm], f, alpha=0.01)


def group_norm(graph, source, groups):
    """A group normalisation as PyTorch exports it, and a ReLU."""
    f = graph.images[source]
    flat = graph.add("Reshape", [source], groups, [integers(0, groups, -1)])
    norm = graph.add("InstanceNormalization", [flat], groups,
                     [np.ones(groups, np.float32), np.zeros(groups, np.float32)], epsilon=1e-5)
    back = graph.add("Reshape", [norm, graph.add("Shape", [source], 0)], f)
    scale, shift = graph.rng.uniform(0.5, 1.5, (f, 1, 1, 1)), graph.rng.normal(0, 0.5, (f, 1, 1, 1))
    scaled = graph.add("Mul", [back], f, [scale.astype(np.float32)])
    return graph.add("Relu", [graph.add("Add", [scaled], f, [shift.astype(np.float32)])], f)


def normalised():
    """A small U-Net of padded convolutions with both kinds of normalisation; period 2."""
    graph = Graph(11, 1)
    skip = instance_norm(graph, graph.conv("input", 6))
    low = group_norm(graph, graph.conv(skip, 8, stride=2), 4)
    up = graph.transposed(low, 6, (2, 2, 2), 2)
    both = graph.add("Concat", [up, skip], 12, axis=1)
    return graph.model(graph.conv(both, 3))


def declaring(model, window):
    """The same model, whose file declares the extents of its input."""
    fixed = onnx.ModelProto()
    fixed.CopyFrom(model)
    for axis, n in enumerate(window):
        fixed.graph.input[0].type.tensor_type.shape.dim[2 + axis].dim_value = n
    return fixed


def save(model, repository, name, config=None):
    """Writes the model into a repository. Returns the folder of its version."""
    folder = pathlib.Path(repository) / name / "1"
    folder.mkdir(parents=True)
    onnx.save(model, folder / "model.onnx")
    if config:
        (folder.parent / "config.pbtxt").write_text(config)
    return folder


def noise(extent, seed=5):
    """One channel of random voxels, [1,1,Z,Y,X]."""
    return np.random.default_rng(seed).standard_normal((1, 1, *extent), np.float32)


class NormalisedTest(unittest.TestCase):
    """A daemon with one net three times: its window named by a parameter, by the file, by a plan beside it."""

    @classmethod
    def setUpClass(cls):
        cls.kept = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.kept.name)
        cls.model = normalised()
        save(cls.model, cls.folder / "models", "named", CONFIG)
        save(declaring(cls.model, WINDOW), cls.folder / "models", "declared")
        planned = save(cls.model, cls.folder / "models", "planned")
        subprocess.run([PLANNER, "--model", planned / "model.onnx", "--mem", "512M", "--volume", "12,16,20", "--output",
                        planned / "plan.pbtxt"], check=True, capture_output=True)
        cls.daemon = Daemon(cls.folder / "models", mem="512M")
        cls.daemon.__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.daemon.__exit__(None, None, None)
        cls.kept.cleanup()

    def tearDown(self):
        self.assertIsNone(self.daemon.process.poll(), "\n".join(self.daemon.log))

    def assert_equal_to(self, exact, found, hint):
        """Within float rounding of what a framework computes of the whole."""
        self.assertEqual(found.shape, exact.shape, hint)
        self.assertLess(np.abs(found - exact).max(), 1e-4 * np.abs(exact).max(), hint)

    def infer_by_client(self, volume, *options):
        """`znni infer` of [Z,Y,X], to out.npy."""
        np.save(self.folder / "in.npy", volume)
        return subprocess.run([ZNNI, "infer", "-m", "named", "-i", self.folder / "in.npy", "-o", self.folder / "out.npy",
                               "--overwrite", "--server", self.daemon.url, *options], capture_output=True, text=True,
                              check=False)

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
            self.assert_equal_to(expected(self.model, volumes[i:i + 1]), found[i:i + 1], i)

    def test_volumes(self):
        """Through `znni infer`: a volume of the window's extent, and such a box of a larger one."""
        large = noise((20, 20, 30))[0, 0]
        box = np.ascontiguousarray(large[4:16, :16, 10:])
        for volume, options in ((box, ()), (large, ("--bbox", "4:16,0:16,10:30"))):
            ran = self.infer_by_client(volume, *options)
            self.assertEqual(ran.returncode, 0, ran.stderr)
            exact = expected(self.model, box[None, None])
            self.assert_equal_to(exact[0], np.load(self.folder / "out.npy"), options)

    def test_other_extents_are_refused(self):
        """In one line with both, whether they suit the strides or not; the daemon goes on."""
        for extent in ((12, 16, 22), (12, 16, 19), (2, 2, 2), (24, 32, 40)):
            with self.daemon.client() as client, self.assertRaises(triton.InferenceServerException) as refused:
                infer(client, "named", noise(extent))
            text = refused.exception.message()
            self.assertEqual(refused.exception.status(), "StatusCode.INVALID_ARGUMENT")
            self.assertIn("x".join(map(str, extent)), text)
            self.assertIn("12x16x20", text)
            self.assertNotIn("\n", text)
        self.test_messages()

    def header(self, extent, **fields):
        """The status of a stream that ends behind its header."""
        z, y, x = extent
        header = messages.VolumeHeader(model_name="named", datatype="FP32", channels=1,
                                       extent=messages.Extent(z=z, y=y, x=x), **fields)
        with self.daemon.channel() as channel:
            with self.assertRaises(grpc.RpcError) as refused:
                list(services.VolumesStub(channel).Infer(iter([messages.VolumeRequest(header=header)])))
        return refused.exception

    def test_streams_of_other_extents_are_refused(self):
        refused = self.header((24, 16, 20))
        self.assertEqual(refused.code(), grpc.StatusCode.INVALID_ARGUMENT)
        self.assertIn("24x16x20", refused.details())
        self.assertIn("12x16x20", refused.details())

    def test_streams_are_not_resumed(self):
        refused = self.header(WINDOW, first_plane=3, resume_token="token")
        self.assertEqual(refused.code(), grpc.StatusCode.UNIMPLEMENTED)
        self.assertIn("expected 0", refused.details())

    def test_the_client_says_so_before_it_sends(self):
        ran = self.infer_by_client(noise((12, 16, 22))[0, 0])
        self.assertEqual(ran.returncode, 2, ran.stderr)
        self.assertIn("12x16x22 voxels found, expected 12x16x20, the window over which model 'named' normalises",
                      ran.stderr)

    def test_metadata(self):
        with self.daemon.client() as client:
            for name in ("named", "declared", "planned"):
                metadata = client.get_model_metadata(name)
                self.assertEqual(list(metadata.inputs[0].shape), [-1, 1, *WINDOW])
                self.assertEqual(list(metadata.outputs[0].shape), [-1, 3, *WINDOW])
                self.assertEqual(metadata.properties["window"], "12,16,20")
                config = client.get_model_config(name).config
                self.assertEqual(list(config.input[0].dims), [-1, 1, *WINDOW])


class WindowTest(unittest.TestCase):
    """What daemon and planner say of a window that is missing or wrong."""

    def setUp(self):
        kept = tempfile.TemporaryDirectory()
        self.addCleanup(kept.cleanup)
        self.folder = pathlib.Path(kept.name)
        self.models = self.folder / "models"

    def planner(self, *arguments):
        """The planner's run."""
        return subprocess.run([PLANNER, *map(str, arguments)], capture_output=True, text=True, check=False)

    def plan_all(self):
        """The planner's run over the repository."""
        return self.planner("--mem", "512M", "--model-repository", self.models, "--plan-dir", self.folder / "plans")

    def reason(self):
        """Why the daemon does not serve "net"."""
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
        save(normalised(), self.models, "net")
        wanted = "say how large that is, with --volume Z,Y,X or the parameter 'window' of its config.pbtxt"
        self.assertIn(wanted, self.reason())
        ran = self.plan_all()
        self.assertEqual(ran.returncode, 2, ran.stderr)
        self.assertIn(wanted, ran.stderr)

    def test_a_window_that_the_strides_do_not_divide(self):
        save(normalised(), self.models, "net", CONFIG.replace("20", "21"))
        self.assertRegex(self.reason(), r"config\.pbtxt: parameter 'window': the volume has 21 voxels along x")
        self.assertIn("parameter 'window': the volume has 21 voxels along x", self.plan_all().stderr)

    def test_a_window_that_the_file_contradicts(self):
        save(declaring(normalised(), (12, 16, 24)), self.models, "net", CONFIG)
        self.assertIn("12x16x20 found, but the network's file declares 12x16x24; drop it", self.reason())

    def test_the_planner_plans_a_repository_for_its_windows(self):
        save(normalised(), self.models, "net", CONFIG)
        ran = self.plan_all()
        self.assertEqual(ran.returncode, 0, ran.stderr)
        with Daemon(self.models, mem="512M", plans=self.folder / "plans") as daemon:
            daemon.logged("net/1.plan.pbtxt is used")

    def test_the_check_names_the_window(self):
        declared = save(declaring(normalised(), WINDOW), self.models, "declared") / "model.onnx"
        self.assertRegex(self.planner("check", declared).stdout, r"\n  window +12x16x20\n")
        net = save(normalised(), self.models, "net") / "model.onnx"
        self.assertRegex(self.planner("check", net).stdout, r"\n  window +of one extent for each plan: --volume, or ")


if __name__ == "__main__":
    unittest.main()

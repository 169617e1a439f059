"""The peer of deploy/bench. Usage: bench_onnxruntime_test.py FOLDER-OF-BENCH_ONNXRUNTIME."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

import numpy as np
import onnxruntime
from onnx import numpy_helper

FOLDER = pathlib.Path(sys.argv.pop(1))
sys.path.insert(0, str(FOLDER))
import bench_onnxruntime  # noqa: E402: found where the argument says

SMALL = """
name: "small"
f_in: 2
node { conv { f_out: 3 k: 2 activation: relu } }
node { max_pool { window: [1, 2, 2] } }
node { conv { f_out: 4 k: [1, 3, 3] activation: relu } }
node { max_pool { window: 3 stride: 2 } }
node { conv { f_out: 2 k: 2 } }
"""


def convolve(volume, kernels, bias):
    """Valid correlation of [f, z, y, x], float64."""
    windows = np.lib.stride_tricks.sliding_window_view(volume, kernels.shape[2:], axis=(1, 2, 3))
    return np.einsum("izyxabc,oiabc->ozyx", windows, kernels) + bias[:, None, None, None]


def pool(volume, window, stride):
    """Strided maxima."""
    windows = np.lib.stride_tricks.sliding_window_view(volume, window, axis=(1, 2, 3))
    return windows[:, ::stride[0], ::stride[1], ::stride[2]].max(axis=(4, 5, 6))


def one_window(volume, weights):
    """The strided net on one field of view: one output voxel."""
    value = np.maximum(convolve(volume, *weights[0]), 0)
    value = pool(value, (1, 2, 2), (1, 2, 2))
    value = np.maximum(convolve(value, *weights[1]), 0)
    value = pool(value, (3, 3, 3), (2, 2, 2))
    return convolve(value, *weights[2])


class PeerTest(unittest.TestCase):
    def setUp(self):
        kept = tempfile.TemporaryDirectory()
        self.addCleanup(kept.cleanup)
        self.folder = pathlib.Path(kept.name)

    def network(self, text):
        path = self.folder / "net.pbtxt"
        path.write_text(text)
        return path

    def program(self, *arguments):
        return subprocess.run([sys.executable, str(FOLDER / "bench_onnxruntime.py"), *map(str, arguments)],
                              capture_output=True, text=True, timeout=300, check=False)

    def test_the_dense_form_is_the_sliding_window(self):
        net = bench_onnxruntime.DenseNet(bench_onnxruntime.read_network(self.network(SMALL)))
        self.assertEqual(net.field_of_view, [6, 15, 15])
        model = net.model()
        arrays = [numpy_helper.to_array(tensor).astype(np.float64) for tensor in model.graph.initializer]
        weights = list(zip(arrays[::2], arrays[1::2]))
        extent = [v + 3 for v in net.field_of_view]
        volume = np.random.default_rng(5).standard_normal((2, *extent))
        session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
        dense, = session.run(None, {"input": volume[None].astype(np.float32)})
        self.assertEqual(dense.shape, (1, 2, 4, 4, 4))
        for place in np.ndindex(4, 4, 4):
            window = volume[(slice(None), *(slice(p, p + v) for p, v in zip(place, net.field_of_view)))]
            exact = one_window(window, weights)
            self.assertEqual(exact.shape, (2, 1, 1, 1))
            np.testing.assert_allclose(dense[(0, slice(None), *place)], exact[:, 0, 0, 0], atol=1e-5)

    def test_the_papers_nets_have_their_fields_of_view(self):
        networks = FOLDER.resolve().parents[1] / "planner" / "networks"
        for path in sorted(networks.glob("*.pbtxt")):
            text = path.read_text()
            net = bench_onnxruntime.DenseNet(bench_onnxruntime.read_network(path))
            self.assertIn(f"field of view {net.field_of_view[0]}.", text.split("\n", maxsplit=1)[0])

    def test_grows_until_the_limit_and_prints_the_largest(self):
        done = self.program(self.network(SMALL), "--mem", "2G", "--threads", 1, "--limit", 0.05)
        self.assertEqual(done.returncode, 0, done.stderr)
        found = json.loads(done.stdout)
        self.assertEqual(found["network"], "small")
        self.assertEqual(found["threads"], 1)
        self.assertEqual([n - v + 1 for n, v in zip(found["patch"], (6, 15, 15))], found["output"])
        self.assertAlmostEqual(found["voxels_per_second"], found["output"][0] ** 3 / found["seconds"])
        self.assertGreater(found["bytes"], 1 << 20)
        self.assertNotEqual(found["ended"], "")

    def test_memory_that_does_not_suffice_is_a_refusal(self):
        done = self.program(self.network(SMALL), "--mem", "1M", "--threads", 1, "--limit", 5)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("1^3 outputs", json.loads(done.stdout)["refusal"])

    def test_other_networks_are_refused_in_a_line(self):
        for change, part in ((("relu", "elu"), "elu"), (('name: "small"', 'spatial_rank: 2'), "spatial_rank 2"),
                             (("max_pool", "average_pool"), "average_pool")):
            done = self.program(self.network(SMALL.replace(*change)), "--mem", "2G")
            self.assertEqual(done.returncode, 1)
            self.assertIn(part, done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertEqual(self.program(self.network(SMALL), "--mem", "much").returncode, 2)


if __name__ == "__main__":
    unittest.main()

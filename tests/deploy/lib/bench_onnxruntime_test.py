"""The peer ONNX Runtime of deploy/bench. Usage: bench_onnxruntime_test.py FOLDER-OF-BENCH_ONNXRUNTIME."""

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
import bench_onnxruntime  # found where the argument says
import bench_work
import dense_form


class PeerTest(unittest.TestCase):
    def setUp(self):
        kept = tempfile.TemporaryDirectory()
        self.addCleanup(kept.cleanup)
        self.path = pathlib.Path(kept.name) / "net.pbtxt"

    def network(self, text):
        self.path.write_text(text)
        return self.path

    def program(self, *arguments):
        return subprocess.run(
            [sys.executable, "-B", str(FOLDER / "bench_onnxruntime.py"), *map(str, arguments)],
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    def test_every_dense_form_is_the_sliding_window(self):
        layers = bench_work.layers_of(bench_work.read_network(self.network(dense_form.SMALL)))
        self.assertEqual(bench_work.field_of_view(layers), dense_form.FIELD_OF_VIEW)
        for form in bench_onnxruntime.FORMS:
            model = bench_onnxruntime.DenseNet(layers, form).model()
            arrays = {
                tensor.name: numpy_helper.to_array(tensor).astype(np.float64) for tensor in model.graph.initializer
            }
            weights = [(arrays[f"kernels{number}"], arrays[f"bias{number}"]) for number in (0, 2, 4)]
            session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
            (found,) = session.run(None, {"input": dense_form.volume()[None].astype(np.float32)})
            self.assertEqual(len(found), 32 if form == "fragments" else 1)
            np.testing.assert_allclose(dense_form.joined(found), dense_form.exact(weights), atol=1e-5)

    def test_prints_the_figures_of_the_fastest_form(self):
        done = self.program(
            self.network(dense_form.SMALL), "--mem", "2G", "--threads", 1, "--limit", 0.05, "--flops", 1e9
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        found = json.loads(done.stdout)
        self.assertEqual((found["peer"], found["network"], found["threads"]), ("onnxruntime", "small", 1))
        self.assertEqual([n - v + 1 for n, v in zip(found["patch"], dense_form.FIELD_OF_VIEW)], found["output"])
        self.assertAlmostEqual(found["flops_per_second"] * found["seconds"] / found["direct_flops"], 1)
        carried = found["carried"]
        self.assertAlmostEqual(carried["voxels_per_second"] * carried["flops_per_voxel"] / found["flops_per_second"], 1)
        self.assertEqual(set(found["tried"]["seconds"]), set(bench_onnxruntime.FORMS))
        self.assertIn(found["form"], bench_onnxruntime.FORMS)
        self.assertGreater(found["bytes"], 1 << 20)

    def test_memory_that_does_not_suffice_is_a_refusal(self):
        done = self.program(self.network(dense_form.SMALL), "--mem", 1000, "--threads", 1, "--limit", 5)
        self.assertNotEqual(json.loads(done.stdout)["refusal"], "")

    def test_other_networks_are_refused_in_a_line(self):
        done = self.program(self.network(dense_form.SMALL.replace("relu", "elu")), "--mem", "2G")
        self.assertEqual(done.returncode, 1)
        self.assertIn("elu", done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertEqual(self.program(self.path, "--mem", "much").returncode, 2)


if __name__ == "__main__":
    unittest.main()

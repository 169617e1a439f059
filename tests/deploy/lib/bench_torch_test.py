"""The peer PyTorch of deploy/bench. Usage: bench_torch_test.py FOLDER-OF-BENCH_TORCH. Skipped where there is no
PyTorch: deploy/bench alone installs it."""

import contextlib
import io
import json
import pathlib
import sys
import tempfile
import unittest

import numpy as np

FOLDER = pathlib.Path(sys.argv.pop(1))
sys.path.insert(0, str(FOLDER))
try:
    import torch
except (ImportError, OSError):
    print("SKIPPED: no PyTorch (deploy/bench installs it)")
    sys.exit(0)
import bench_peer  # found where the argument says
import bench_torch
import bench_work
import dense_form


class PeerTest(unittest.TestCase):
    def setUp(self):
        kept = tempfile.TemporaryDirectory()
        self.addCleanup(kept.cleanup)
        self.path = pathlib.Path(kept.name) / "net.pbtxt"
        self.path.write_text(dense_form.SMALL)

    def test_every_dense_form_is_the_sliding_window(self):
        layers = bench_work.layers_of(bench_work.read_network(self.path))
        volume = torch.tensor(dense_form.volume()[None], dtype=torch.float32)
        for form in bench_torch.FORMS:
            net = bench_torch.DenseNet(layers, form)
            weights = [tuple(array.double().numpy() for array in pair) for pair in net.weights if pair]
            with torch.inference_mode():
                found = net(volume.contiguous(memory_format=net.layout)).numpy()
            self.assertEqual(len(found), 32 if form.startswith("fragments") else 1)
            np.testing.assert_allclose(dense_form.joined(found), dense_form.exact(weights), atol=1e-5)

    def test_fragments_keep_the_layout(self):
        value = torch.rand(1, 5, 4, 4, 4).contiguous(memory_format=torch.channels_last_3d)
        parts = bench_torch.split(value, [2, 2, 2], torch.channels_last_3d)
        self.assertTrue(parts.is_contiguous(memory_format=torch.channels_last_3d))
        self.assertTrue(torch.equal(parts[5], value[0, :, 1::2, 0::2, 1::2]))
        self.assertTrue(bench_torch.split(value, [2, 2, 2], torch.contiguous_format).is_contiguous())

    def test_prints_its_figures(self):
        with contextlib.redirect_stdout(io.StringIO()) as out:
            bench_peer.run(
                "",
                "torch",
                torch.__version__,
                bench_torch.FORMS,
                bench_torch.maker_of,
                [str(self.path), "--mem", "8G", "--limit", "0.05", "--flops", "1e9", "--threads", "1"],
            )
        found = json.loads(out.getvalue())
        self.assertEqual(set(found["tried"]["seconds"]), set(bench_torch.FORMS))
        self.assertIn(found["form"], bench_torch.FORMS)
        self.assertGreater(found["carried"]["voxels_per_second"], 0)


if __name__ == "__main__":
    unittest.main()

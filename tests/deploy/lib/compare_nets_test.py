"""The networks of deploy/compare. Usage: compare_nets_test.py FOLDER-OF-COMPARE_NETS. Skipped where PyTorch is not, and
what needs MONAI, nnU-Net or chunkflow where they are not installed: deploy/compare alone installs them."""

import contextlib
import importlib.util
import os
import pathlib
import re
import sys
import tempfile
import unittest

import numpy as np

FOLDER = pathlib.Path(sys.argv.pop(1)).resolve()
sys.path.insert(0, str(FOLDER))
try:
    import torch
except (ImportError, OSError):
    print("SKIPPED: no PyTorch (deploy/compare installs it)")
    sys.exit(0)
import compare_nets  # found where the argument says
import compare_peers
import compare_run
import compare_task
import onnx
import onnxruntime

BOUNDARY = FOLDER.parent / "models/fib25-boundary/1/model.onnx"
PAGE = FOLDER.parents[1] / "docs/compare.md"
MISSING = [name for name in ("monai", "nnunetv2", "chunkflow") if not importlib.util.find_spec(name)]


class DilatedTest(unittest.TestCase):
    def test_it_is_the_network_at_every_window(self):
        random = np.random.default_rng(5)
        volume = random.normal(size=(1, 1, 47, 46, 45)).astype(np.float32)
        with torch.no_grad():
            found = compare_nets.dilated(BOUNDARY)(torch.from_numpy(volume)).numpy()
        self.assertEqual(found.shape, (1, 1, 7, 6, 5))
        session = onnxruntime.InferenceSession(BOUNDARY, providers=["CPUExecutionProvider"])
        for place in random.integers(0, 5, (10, 3)):
            z, y, x = place
            window = volume[:, :, z : z + 41, y : y + 41, x : x + 41]
            (voxel,) = session.run(None, {onnx.load(BOUNDARY).graph.input[0].name: window})
            self.assertAlmostEqual(float(found[0, 0, z, y, x]), float(voxel.item()), delta=1e-5)


@unittest.skipIf(MISSING, f"not installed: {', '.join(MISSING)}")
class PeersTest(unittest.TestCase):
    def test_each_peer_computes_what_its_windows_allow(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            compare_nets.make(folder, BOUNDARY, 80)
            for net, bounds in {
                "boundary": {"monai": 1e-5, "monai-whole": 1e-5, "monai-onnxruntime": 1e-5, "chunkflow": 1e-5},
                "unet": {"monai-whole": 1e-5, "nnunet-whole": 1e-3, "monai": 1, "nnunet": 1, "chunkflow": 1},
            }.items():
                exact = np.load(folder / f"{net}-exact.npz")
                task = compare_task.Task(net, folder, 64, 0, 1)
                for peer, bound in bounds.items():
                    with self.subTest(f"{peer} {net}"):
                        output = compare_peers.PEERS[peer](task)()
                        self.assertEqual(output.shape[0], compare_task.CHANNELS[net])
                        self.assertLess(compare_run.differences(output, exact)["difference"], bound)


@unittest.skipIf(
    MISSING or not os.environ.get("ZNNID") or not importlib.util.find_spec("znni"), "no ZNNID, or no peers"
)
class ExamplesTest(unittest.TestCase):
    def test_the_examples_of_the_page_run_and_agree(self):
        names = {}
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            for block in re.findall("```python\n(.*?)```", PAGE.read_text(), re.DOTALL):
                exec(compile(block, str(PAGE), "exec"), names)
                if "ours =" in block:
                    ours, theirs = (np.asarray(names[name], np.float32) for name in ("ours", "theirs"))
                    self.assertEqual(ours.shape, theirs.shape)
                    self.assertLess(np.median(np.abs(ours - theirs)), 1e-3 * np.abs(ours).max())


if __name__ == "__main__":
    unittest.main()

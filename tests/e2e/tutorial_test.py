"""docs/tutorial.md: its blocks run as they stand, one after the other, in one folder."""

import importlib.util
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import nets
import numpy as np
import onnx
import znni
from harness import ROOT, ZNNID

BLOCK = re.compile(r"^```(python|sh)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def write_network(folder):
    """Writes the net of the tutorial's first block, with other weights."""
    rng = np.random.default_rng(1)
    net = nets.Net(1)
    for channels, is_pooled in ((8, True), (16, False), (1, False)):
        net.conv(rng, channels, (3, 3, 3))
        net.activate("Sigmoid" if channels == 1 else "Relu")
        if is_pooled:
            net.pool((2, 2, 2))
    model = nets.export(net)
    model.graph.input[0].name = model.graph.node[0].input[0] = "raw"
    onnx.save(model, folder / "net.onnx")


class TutorialTest(unittest.TestCase):
    def setUp(self):
        self.work = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        programs = pathlib.Path(znni.__file__).parents[1] / "bin"
        self.environment = {
            **os.environ,
            "PATH": f"{ZNNID.parent}:{programs}:{os.environ['PATH']}",
            "XDG_STATE_HOME": str(self.work / "state"),
        }

    def run_block(self, kind, text):
        command = [sys.executable, "-c", text] if kind == "python" else ["bash", "-euc", text]
        ran = subprocess.run(command, cwd=self.work, env=self.environment, capture_output=True, text=True, check=False)
        self.assertEqual(ran.returncode, 0, f"{text}\n{ran.stdout}{ran.stderr}")

    def test_all_blocks(self):
        blocks = BLOCK.findall((ROOT / "docs/tutorial.md").read_text())
        self.assertEqual([kind for kind, _ in blocks], ["python", "sh", "python", "sh", "python", "python", "sh"])
        self.assertIn("torch.onnx.export", blocks[0][1])
        if importlib.util.find_spec("torch") is None:  # it is not among the packages of the tests
            print("no PyTorch: its block is replaced by a net of the same layers")
            write_network(self.work)
            blocks = blocks[1:]
        for block in blocks:
            self.run_block(*block)


if __name__ == "__main__":
    unittest.main()

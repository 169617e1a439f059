"""Other programs run a net. Usage: bench_padded_peer_test.py FOLDER-OF-BENCH_PADDED_PEER. OpenVINO runs where it is
installed: `deploy/bench --padded` alone installs it."""

import importlib.util
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

FOLDER = pathlib.Path(sys.argv.pop(1)).resolve()
sys.path.insert(0, str(FOLDER))
import onnx
import peer_nets  # found where the argument says


class PeerTest(unittest.TestCase):
    def setUp(self):
        self.model = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory())) / "net.onnx"

    def ask(self, program, lines):
        """Returns the answers and the exit status of a program that is asked so many times."""
        done = subprocess.run(
            [sys.executable, "-B", FOLDER / "bench_padded_peer.py", program, self.model, "--threads", "1"],
            input="\n" * lines,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        return [json.loads(line) for line in done.stdout.splitlines()], done.returncode

    def assert_it_runs(self, program):
        graph, outputs = peer_nets.original((4, 6, 8))
        onnx.save(graph.model(*outputs, extent=(44, 48, 44)), self.model)
        (hello, *runs), code = self.ask(program, 3)
        self.assertEqual(code, 0)
        self.assertEqual(hello["voxels"], 4 * 8 * 4)
        self.assertRegex(hello["version"], r"^\d+\.\d+")
        self.assertEqual(len(runs), 3)
        self.assertTrue(all(run["seconds"] > 0 and run["processor_seconds"] > 0 for run in runs), runs)

    def test_onnx_runtime(self):
        self.assert_it_runs("onnxruntime")

    @unittest.skipUnless(importlib.util.find_spec("openvino"), "deploy/bench --padded installs OpenVINO")
    def test_openvino(self):
        self.assert_it_runs("openvino")

    def test_what_does_not_run_is_told(self):
        self.model.write_bytes(b"no network")
        (answer,), code = self.ask("onnxruntime", 1)
        self.assertEqual(code, 1)
        self.assertIn("net.onnx", answer["error"])


if __name__ == "__main__":
    unittest.main()

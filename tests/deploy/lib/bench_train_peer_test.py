"""Steps of training in PyTorch. Usage: bench_train_peer_test.py FOLDER-OF-BENCH_TRAIN_PEER. Skipped where there is no
PyTorch: deploy/bench alone installs it."""

import json
import pathlib
import subprocess
import sys
import unittest

FOLDER = pathlib.Path(sys.argv.pop(1))
sys.path.insert(0, str(FOLDER))
try:
    import torch
except (ImportError, OSError):
    print("SKIPPED: no PyTorch (deploy/bench installs it)")
    sys.exit(0)
import bench_train_peer as peer

LAYER = {"f": 3, "f_out": 5, "k": [3, 2, 1], "n": [6, 7, 8], "S": 2}


def conv(f_in, f_out, k, relu):
    window = {"window": [k] * 3, "stride": [1] * 3, "dilation": [1] * 3}
    return {"is_conv": True, "f_in": f_in, "f_out": f_out, "relu": relu, **window}


POOL = {"is_conv": False, "window": [2] * 3, "stride": [2] * 3, "dilation": [1] * 3, "relu": False}
NET = {"layers": [conv(1, 4, 3, True), POOL, conv(4, 2, 2, False)], "f_in": 1, "patch": [13] * 3}


class TrainPeerTest(unittest.TestCase):
    def test_a_layers_step_has_all_three_gradients(self):
        for form in peer.LAYER_FORMS:
            shapes = [tuple(gradient.shape) for gradient in peer.Layer(LAYER, form)()]
            self.assertEqual(shapes, [(2, 3, 6, 7, 8), (5, 3, 3, 2, 1), (5,)])

    def test_all_forms_train_the_same_net(self):
        found = {}
        for form in peer.NET_FORMS:
            torch.manual_seed(3)
            net = peer.Net(NET, form)
            logits = net.net(net.value)
            self.assertEqual(logits.numel(), 2 * 8**3)
            net.target = torch.ones_like(logits)
            loss = net()
            gradient = net.net.weights[0][0].grad
            found[form] = (loss.item(), gradient.abs().sum().item())
        losses, gradients = zip(*found.values())
        self.assertLess(max(losses) - min(losses), 1e-5, found)
        self.assertLess(max(gradients) - min(gradients), 1e-4 * max(gradients), found)

    def test_it_answers_line_by_line(self):
        asked = [{"layer": LAYER, "form": "channels last"}, {"run": True}, {"net": {}, "form": "dilated"}]
        done = subprocess.run(
            [sys.executable, "-B", "-W", "ignore", str(FOLDER / "bench_train_peer.py"), "--threads", "1"],
            input="".join(json.dumps(one) + "\n" for one in asked),
            capture_output=True,
            text=True,
            timeout=120,
            check=True,
        )
        hello, made, ran, failed = (json.loads(line) for line in done.stdout.splitlines())
        self.assertEqual((hello["version"], made), (torch.__version__, {}))
        self.assertEqual(tuple(hello["net"]), peer.NET_FORMS)
        self.assertGreater(ran["seconds"], 0)
        self.assertGreater(ran["processor_seconds"], 0)
        self.assertIn("error", failed)


if __name__ == "__main__":
    unittest.main()

"""Memory of the daemon seen from outside: what it takes beyond an empty one is what it said it would take."""

import re
import tempfile
import threading
import unittest

import numpy as np
import tritonclient.grpc as triton

import nets
from harness import Daemon

SLACK = 64 << 20
UNITS = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}


def logged_share(daemon, name):
    """Bytes of a share of the memory, as the daemon logged it."""
    line = daemon.logged(f'{name}="')[0]
    match = re.search(rf'{name}="([\d.]+) (\w+)"', line)
    return float(match[1]) * UNITS[match[2]]


def infer_at_once(daemon, volume, count):
    """How so many requests of one volume ended."""
    outcomes = []
    threads = [threading.Thread(target=infer, args=(daemon, volume, outcomes)) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return outcomes


def infer(daemon, volume, outcomes):
    """One request; how it ended is noted."""
    try:
        with daemon.client() as client:
            tensor = triton.InferInput("input", list(volume.shape), "FP32")
            tensor.set_data_from_numpy(volume)
            client.infer("net", [tensor])
            outcomes.append("OK")
    except triton.InferenceServerException as error:
        outcomes.append(error.status() or str(error))


class MemoryTest(unittest.TestCase):
    """VmHWM of a daemon that worked, minus RSS of one that has nothing to do."""

    def idle_bytes(self):
        with tempfile.TemporaryDirectory() as empty, Daemon(empty) as daemon:
            return daemon.memory("VmRSS")

    def check_outcomes(self, outcomes):
        """What does not fit beside the others is refused, that is the point; one always fits."""
        self.assertIn("OK", outcomes)
        self.assertLessEqual(set(outcomes), {"OK", "StatusCode.RESOURCE_EXHAUSTED"})

    def check(self, net, mem, extents):
        idle = self.idle_bytes()
        with tempfile.TemporaryDirectory() as repository:
            nets.save(net, repository, "net")
            with Daemon(repository, "--max-request-bytes", "16M", mem=mem) as daemon:
                with daemon.client() as client:
                    plan = client.get_inference_statistics("net").model_stats[0].memory_usage[0].byte_size
                for extent in extents:
                    self.check_outcomes(infer_at_once(daemon, np.zeros((1, 1, *extent), np.float32), 3))
                taken = daemon.memory("VmHWM") - idle
                allowed = plan + logged_share(daemon, "transport") + SLACK
                print(f"--mem {mem}: taken {taken >> 20} MiB of {int(allowed) >> 20} MiB, plan {plan >> 20} MiB")
                self.assertLessEqual(taken, allowed)

    def test_small_budget(self):
        self.check(nets.small_net(1), "256M", [(30, 30, 30), (96, 96, 96), (64, 130, 100)] * 2)

    def test_larger_budget(self):
        self.check(nets.residual_net(1), "1G", [(96, 96, 96), (40, 40, 40), (96, 150, 120)] * 2)

    def test_a_thousand_requests_of_random_shapes(self):
        """Nothing is kept of a shape that was seen: within --mem, and no more after a thousand than after 300."""
        rng = np.random.default_rng(1)
        with tempfile.TemporaryDirectory() as repository:
            nets.save(nets.small_net(1), repository, "net")
            with Daemon(repository, "--max-request-bytes", "4M", mem="256M") as daemon, daemon.client() as client:
                resident = {}
                for number in range(1, 1001):
                    extent = [int(n) for n in rng.integers(10, 44, 3)]
                    tensor = triton.InferInput("input", [1, 1, *extent], "UINT8")
                    tensor.set_data_from_numpy(np.zeros((1, 1, *extent), np.uint8))
                    found = client.infer("net", [tensor]).get_response().outputs[0].shape
                    self.assertEqual(list(found), [1, 2, *(n - 9 for n in extent)])
                    resident[number] = daemon.memory("VmRSS")
                most = daemon.memory("VmHWM")
                self.assertEqual(client.get_inference_statistics("net").model_stats[0].inference_count, 1000)
        print(f"--mem 256M: {resident[300] >> 20} MiB after 300 requests, {resident[1000] >> 20} after 1000, "
              f"peak {most >> 20}")
        self.assertLessEqual(most, 256 << 20)
        self.assertLessEqual(resident[1000] - resident[300], 16 << 20)

    def test_uploads_at_once(self):
        # A message stands in memory before its size is known: the limit holds all the same.
        with tempfile.TemporaryDirectory() as repository:
            nets.save(nets.small_net(1, f_out=1), repository, "net")
            with Daemon(repository, "--max-request-bytes", "64M", mem="512M") as daemon:
                volume = np.zeros((1, 1, 250, 250, 250), np.float32)
                self.check_outcomes(infer_at_once(daemon, volume, 4))
                most = daemon.memory("VmHWM")
        print(f"--mem 512M, four uploads of {volume.nbytes} bytes at once: peak {most >> 20} MiB")
        self.assertLessEqual(most, 512 << 20)


if __name__ == "__main__":
    unittest.main()

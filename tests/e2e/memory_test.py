"""Measures the daemon's memory from outside. Beyond that of an idle daemon it takes what it said it would."""

import os
import pathlib
import re
import sys
import tempfile
import threading
import unittest

import nets
import numpy as np
import onnx
import tritonclient.grpc as triton
from harness import ZNNID, Daemon

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

import peak_rss

SLACK = 64 << 20
UNITS = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}


def logged_share(daemon, name):
    """Returns the bytes of a share of the memory, as the daemon logged it."""
    line = daemon.logged(f'{name}="')[0]
    match = re.search(rf'{name}="([\d.]+) (\w+)"', line)
    return float(match[1]) * UNITS[match[2]]


def infer_at_once(daemon, volume, count):
    """Sends `count` requests of one volume at once. Returns how they ended."""
    outcomes = []
    threads = [threading.Thread(target=infer, args=(daemon, volume, outcomes)) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return outcomes


def infer(daemon, volume, outcomes):
    """Sends one request and appends its outcome."""
    try:
        with daemon.client() as client:
            tensor = triton.InferInput("input", list(volume.shape), "FP32")
            tensor.set_data_from_numpy(volume)
            client.infer("net", [tensor])
            outcomes.append("OK")
    except triton.InferenceServerException as error:
        outcomes.append(error.status() or str(error))


class MemoryTest(unittest.TestCase):
    """Compares VmHWM of a daemon that worked with RSS of an idle one."""

    def idle_bytes(self):
        with tempfile.TemporaryDirectory() as empty, Daemon(empty) as daemon:
            return daemon.memory("VmRSS")

    def check_outcomes(self, outcomes):
        """Expects requests that do not fit beside others to be refused, and at least one to fit."""
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
        """Memory stays within --mem and does not grow from 300 to a thousand requests: nothing is kept of a shape."""
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
        print(
            f"--mem 256M: {resident[300] >> 20} MiB after 300 requests, {resident[1000] >> 20} after 1000, "
            f"peak {most >> 20}"
        )
        self.assertLessEqual(most, 256 << 20)
        self.assertLessEqual(resident[1000] - resident[300], 16 << 20)

    def test_uploads_at_once(self):
        # A message is in memory before its size is known; the limit holds nevertheless.
        with tempfile.TemporaryDirectory() as repository:
            nets.save(nets.small_net(1, f_out=1), repository, "net")
            with Daemon(repository, "--max-request-bytes", "64M", mem="512M") as daemon:
                volume = np.zeros((1, 1, 250, 250, 250), np.float32)
                self.check_outcomes(infer_at_once(daemon, volume, 4))
                most = daemon.memory("VmHWM")
        print(f"--mem 512M, four uploads of {volume.nbytes} bytes at once: peak {most >> 20} MiB")
        self.assertLessEqual(most, 512 << 20)


def save_maps(repository, layers, outside=None):
    """Writes a net of maps of 1024 channels, each with 4 MiB of weights. They are in file `outside`, if it is given."""
    rng = np.random.default_rng(1)
    net = nets.Net(1024)
    for _ in range(layers):
        net.conv(rng, 1024, (1, 1, 1))
    if outside is None:
        return nets.save(net, repository, "net")
    folder = pathlib.Path(repository) / "net" / "1"
    folder.mkdir(parents=True)
    return onnx.save(
        nets.export(net),
        folder / "model.onnx",
        save_as_external_data=True,
        location=outside,
        all_tensors_to_one_file=True,
    )


def widen(repository, count):
    """Gives the weights of the first layer `count` channels, from a sparse file."""
    folder = pathlib.Path(repository) / "net" / "1"
    model = onnx.load(folder / "model.onnx", load_external_data=False)
    weights = model.graph.initializer[0]
    del weights.dims[:]
    weights.dims.extend([count, 1024, 1, 1, 1])
    data = {entry.key: entry for entry in weights.external_data}
    data["length"].value = str(count * 4096)
    data["offset"].value = "0"
    onnx.save(model, folder / "model.onnx")
    os.truncate(folder / "weights.bin", count * 4096)


class ReadingTest(unittest.TestCase):
    """Measures the peak RSS of a daemon that reads a model and frees it, with --check-config."""

    def read(self, repository, mem, data_limit=-1):
        """Returns (exit code, standard error, bytes at the peak)."""
        command = [ZNNID, "--check-config", "--mem", mem, "--model-repository", repository]
        return peak_rss.run(command, data_limit)

    def small_peak(self):
        """Returns the peak for a model with next to no weights."""
        with tempfile.TemporaryDirectory() as repository:
            nets.save(nets.small_net(1), repository, "net")
            return self.read(repository, "512M")[2]

    def test_weights_are_in_memory_once(self):
        weights = 48 * (4 << 20)
        for outside in (None, "weights.bin"):
            with self.subTest(outside=outside), tempfile.TemporaryDirectory() as repository:
                save_maps(repository, 48, outside)
                small = self.small_peak()
                code, errors, peak = self.read(repository, "512M", small + weights + SLACK)
                print(f"{weights >> 20} MiB of weights, {outside}: peak {peak >> 20} MiB, {small >> 20} without them")
                self.assertEqual(code, 0, errors)
                self.assertLessEqual(peak - small, weights + SLACK // 4)

    def test_weights_that_do_not_fit_are_not_read(self):
        for count in (None, (1 << 19) - 1024):
            with self.subTest(count=count), tempfile.TemporaryDirectory() as repository:
                save_maps(repository, 48 if count is None else 1, None if count is None else "weights.bin")
                if count is not None:
                    widen(repository, count)
                small = self.small_peak()
                code, errors, peak = self.read(repository, "256M")
                print(f"refused: peak {peak >> 20} MiB, {small >> 20} of a small model")
                self.assertEqual(code, 1)
                self.assertRegex(errors, "its weights take .* as float32, and .* may be used for all of the model")
                self.assertLessEqual(peak - small, SLACK // 4)


if __name__ == "__main__":
    unittest.main()

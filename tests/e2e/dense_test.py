"""Compares dense output of znnid, through a stock client, with ONNX Runtime on the dilated net."""

import os
import tempfile
import unittest

import nets
import numpy as np
import tritonclient.grpc as triton
from harness import Daemon

BOUND = 1e-5  # of the largest output
FIRST_SEED = int(os.environ.get("ZNNI_E2E_SEED", "1"))
NETS = int(os.environ.get("ZNNI_E2E_NETS", "8"))


def infer(client, model, volume, datatype="FP32", **parameters):
    """Returns the output [N,C,...] for a volume [N,C,...]."""
    tensor = triton.InferInput("input", list(volume.shape), datatype)
    tensor.set_data_from_numpy(volume)
    result = client.infer(model, [tensor], parameters=parameters or None)
    name = result.get_response().outputs[0].name
    return result.as_numpy(name)


def volume_for(net, extent, seed, batch=1):
    """Returns standard normal voxels."""
    shape = (batch, net.f_in, *extent)
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


class DenseTest(unittest.TestCase):
    """One test per kind of net. Every failure names the seed that makes the net again."""

    def assert_dense(self, net, volume, output, hint):
        """Expects an output within the bound of ONNX Runtime, or at most twice ONNX Runtime's own error."""
        reference = nets.run_dilated(net, volume)
        self.assertEqual(output.shape, reference.shape, hint)
        largest = np.abs(reference).max()
        error = np.abs(output - reference).max()
        if error <= BOUND * largest:
            return
        exact = nets.run_float64(net, volume)
        error, theirs = np.abs(output - exact).max(), np.abs(reference - exact).max()
        self.assertLessEqual(
            error,
            max(BOUND * largest, 2 * theirs),
            f"{hint}: largest output {largest}, error {error}, ONNX Runtime's {theirs}",
        )

    def serve_random(self, seeds, *arguments, mem):
        """Tests random nets, all in one daemon."""
        cases = {f"net{seed}": (*nets.random_net(seed), seed) for seed in seeds}
        with tempfile.TemporaryDirectory() as repository:
            for name, (net, _, _) in cases.items():
                nets.save(net, repository, name)
            with Daemon(repository, *arguments, mem=mem) as daemon, daemon.client() as client:
                for name, (net, extent, seed) in cases.items():
                    hint = f"nets.random_net({seed}) on {extent}, --mem {mem}"
                    with self.subTest(hint):
                        volume = volume_for(net, extent, seed)
                        self.assert_dense(net, volume, infer(client, name, volume), hint)

    def test_the_forms_of_the_nets_agree(self):
        nets.check_forms()

    def test_random_nets(self):
        self.serve_random(range(FIRST_SEED, FIRST_SEED + NETS // 2), mem="4G")

    def test_random_nets_in_little_memory(self):
        self.serve_random(range(FIRST_SEED + NETS // 2, FIRST_SEED + NETS), "--max-request-bytes", "16M", mem="512M")

    def serve_one(self, net, extents, batch=1, **arguments):
        """Tests one net with several volumes."""
        with tempfile.TemporaryDirectory() as repository:
            nets.save(net, repository, "net")
            with Daemon(repository, **arguments) as daemon, daemon.client() as client:
                for seed, extent in enumerate(extents):
                    volume = volume_for(net, extent, seed, batch)
                    self.assert_dense(net, volume, infer(client, "net", volume), f"extent {extent}")

    def test_residual_net(self):
        self.serve_one(nets.residual_net(1), [(12, 12, 12), (40, 33, 21)])

    def test_net_with_concatenation(self):
        self.serve_one(nets.concat_net(2), [(11, 11, 11), (24, 31, 40)])

    def test_net_with_cropped_branches(self):
        net = nets.skipping_net(8)
        self.serve_one(net, [net.field_of_view, (24, 31, 40)])

    def test_field_of_view_and_one_more(self):
        """The smallest legal volumes, and batches."""
        net = nets.small_net(3)
        fov = net.field_of_view
        self.serve_one(net, [fov, [n + 1 for n in fov], [n + 2 for n in fov]], batch=3)

    def test_long_thin_volumes(self):
        fov = nets.small_net(4).field_of_view
        self.serve_one(nets.small_net(4), [(fov[0], fov[1], 96), (96, fov[1], fov[2]), (fov[0], 96, fov[2])])

    def test_flat_net(self):
        self.serve_one(nets.flat_net(5), [(50, 60), nets.flat_net(5).field_of_view])

    def test_line_net(self):
        self.serve_one(nets.line_net(7), [(400,), nets.line_net(7).field_of_view], batch=2)

    def test_types_and_normalisation(self):
        """Volumes of bytes are scaled by the model's own configuration; outputs in every type."""
        net = nets.small_net(6)
        config = (
            'parameters { key: "input_scale" value { string_value: "0.015625" } }\n'
            'parameters { key: "input_offset" value { string_value: "-2" } }\n'
        )
        raw = np.random.default_rng(6).integers(0, 256, (1, 1, 20, 21, 22))
        reference = nets.run_dilated(net, (raw / 64 - 2).astype(np.float32))
        with tempfile.TemporaryDirectory() as repository:
            nets.save(net, repository, "net", config=config)
            with Daemon(repository) as daemon, daemon.client() as client:
                for name, kind in (
                    ("UINT8", np.uint8),
                    ("UINT16", np.uint16),
                    ("FP16", np.float16),
                    ("FP32", np.float32),
                ):
                    output = infer(client, "net", raw.astype(kind), name)
                    np.testing.assert_allclose(output, reference, atol=1e-5, err_msg=name)
                half = infer(client, "net", raw.astype(np.uint8), "UINT8", output_datatype="FP16")
                self.assertEqual(half.dtype, np.float16)
                np.testing.assert_allclose(half, reference, atol=1e-3)
                whole = infer(client, "net", raw.astype(np.uint8), "UINT8", output_datatype="UINT8")
                self.assertEqual(whole.dtype, np.uint8)
                np.testing.assert_allclose(whole, reference * 255, atol=0.51)


if __name__ == "__main__":
    unittest.main()

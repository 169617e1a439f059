"""The networks of deploy/bench --padded. Usage: peer_nets_test.py FOLDER-OF-PEER_NETS."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(sys.argv.pop(1))))
import net_graph  # found where the argument says
import numpy as np
import onnx
import onnxruntime
import peer_nets

# Thousands of operations for each voxel of the output, as the papers' nets and PyTorch's exports have them.
KFLOP = {
    "Symmetric": 330,
    "Residual": 341,
    "nnU-Net": 455,
    "Original": 16325,
    "SegResNet": 139,
    "MeshNet": 192,
    "MONAI-UNet": 12,
    "stack-1": 0,
    "stack-10": 0,
    "stack-40": 0,
}


def run(model, volume):
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, {"input": volume})[0]


class PeerNetsTest(unittest.TestCase):
    def test_they_are_the_published_nets(self):
        """They give as many voxels as they read, and have the work of the originals."""
        for name, thousands in KFLOP.items():
            with self.subTest(name):
                model, lost = peer_nets.model_of(name), 88 if name == "Original" else 0
                found = net_graph.shapes_of(model)[model.graph.output[0].name][2:]
                self.assertEqual(found, [n - lost for n in peer_nets.NETS[name].patch])
                flops = net_graph.flops_per_voxel(model)
                self.assertAlmostEqual(flops / 1e3, thousands, delta=max(0.6, 1e-4 * thousands))

    def test_floors_are_below_goals(self):
        for peer in peer_nets.NETS.values():
            self.assertTrue(all(least < best for least, best in zip(peer.floor, peer.goal)))

    def test_the_volume_may_be_another(self):
        model = peer_nets.model_of("MONAI-UNet", (16, 32, 16))
        self.assertEqual(net_graph.shapes_of(model)["input"], [1, 1, 16, 32, 16])

    def test_values_stay_in_range(self):
        volume = np.random.default_rng(1).standard_normal((1, 1, 16, 16, 32), np.float32)
        for graph, outputs in (
            peer_nets.symmetric((4, 6, 8, 10)),
            peer_nets.residual((4, 5, 6, 7)),
            peer_nets.nnunet((4, 6, 8)),
            peer_nets.nnunet((4, 6, 8), norm="batch"),
            peer_nets.segresnet(4),
            peer_nets.meshnet(),
            peer_nets.monai_unet((3, 4, 6)),
        ):
            model = graph.model(*outputs)
            onnx.checker.check_model(model, full_check=True)
            largest = np.abs(run(model, volume)).max()
            self.assertTrue(1e-3 < largest < 1e4, largest)


class NetGraphTest(unittest.TestCase):
    def test_a_normalisation_behind_a_convolution_is_in_its_weights(self):
        graph = net_graph.NetGraph()
        conv = graph.conv("input", 4)
        self.assertEqual(graph.batch_norm(conv), conv)
        self.assertNotEqual(graph.batch_norm(graph.relu(conv)), conv)

    def test_crops_and_upsamplings_undo_each_other(self):
        graph = net_graph.NetGraph(rank=2)
        last = graph.crop(graph.resize("input", 3), 3)
        volume = np.arange(20, dtype=np.float32).reshape(1, 1, 4, 5)
        np.testing.assert_array_equal(
            run(graph.model(last), volume), np.kron(volume, np.ones((3, 3), np.float32))[..., 3:-3, 3:-3]
        )


if __name__ == "__main__":
    unittest.main()

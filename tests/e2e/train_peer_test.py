"""Compares trainings of znni-train with those of PyTorch, step by step: losses, optimizers, gradients and targets.

Both are held against PyTorch in float64. Rounding decides which side of a kink a voxel is on, which of two maxima is
the larger, and one voxel moves a weight by up to some hundredths of a step of Adam. So weights are compared twice: of a
net without kinks closely, of one with a relu and a max pooling within a tenth of a step.

Runs only if torch is installed: deploy/packages/python.txt does not have it. Else it says that it is skipped.
"""

import importlib.util
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

import h5py
import numpy as np
import onnx
from onnx import numpy_helper

HAS_TORCH = bool(importlib.util.find_spec("torch"))
if HAS_TORCH:
    import torch
    from torch.nn import functional

PROGRAM = pathlib.Path(os.environ["ZNNI_BIN_DIR"]) / "znni-train"
LONGEST = 600  # seconds; only a bound for a hang
STEPS = 20
BOUND = 1e-5  # of a loss
PATCH = 25  # as large as the volume: every step has the same sample
FOV = 8
CENTRE = (FOV - 1) // 2

NET = """
name: "tiny" node { conv { f_out: 8 k: 3 activation: %s } } node { %s { window: 2 } }
node { conv { f_out: %d k: 3 } } %s
"""
SIGMOID = "node { activate { kind: sigmoid } }"
SOFTMAX = "node { softmax {} }"


class Hidden:
    """The layers in the middle: their names in a network file, in PyTorch in their dense form, and the bound of weights
    at the end of a training, absolute."""

    def __init__(self, activation, pooling, bound):
        self.names = activation, pooling
        self.bound = bound

    def __call__(self, values):
        """Computes them. A pooling has stride 1."""
        activation, pooling = self.names
        active = torch.relu(values) if activation == "relu" else torch.tanh(values)
        return functional.max_pool3d(active, 2, 1) if pooling == "max_pool" else functional.avg_pool3d(active, 2, 1)


SMOOTH = Hidden("tanh", "average_pool", 2e-6)
KINKED = Hidden("relu", "max_pool", 1e-3)


def boundaries(labels, known):
    """Returns where a known face neighbour has another label."""
    marked = labels == 0
    for axis in range(3):
        near, far = [slice(None)] * 3, [slice(None)] * 3
        near[axis], far[axis] = slice(None, -1), slice(1, None)
        near, far = tuple(near), tuple(far)
        differs = labels[near] != labels[far]
        marked[near] |= differs & known[far]
        marked[far] |= differs & known[near]
    return marked


def output_part(values):
    """Returns the voxels of the input that voxels of the output belong to."""
    part = slice(CENTRE, CENTRE + PATCH - FOV + 1)
    return values[part, part, part]


@unittest.skipUnless(HAS_TORCH, "torch is not installed")
class TrainPeerTest(unittest.TestCase):
    """One volume of random voxels, a third of which is unlabelled, the others of different weights."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        rng = np.random.default_rng(3)
        raw = rng.standard_normal((PATCH,) * 3).astype(np.float32)
        labels = np.kron(rng.integers(1, 9, (5, 5, 5)), np.ones((5, 5, 5), int)).astype(np.uint32)
        mask = (rng.random(raw.shape) > 0.3).astype(np.uint8)
        weights = rng.integers(0, 9, raw.shape).astype(np.float32) / 4
        with h5py.File(self.root / "data.h5", "w") as file:
            file["raw"], file["labels"], file["mask"], file["classes"] = raw, labels, mask, labels % 3
            file["weights"] = weights
        self.input = torch.from_numpy(raw * np.float32(0.5) + np.float32(0.25))[None, None]
        self.weight = torch.from_numpy(output_part(mask * weights).astype(np.float32))
        self.border = torch.from_numpy(output_part(boundaries(labels, mask == 1)).astype(np.float32))
        self.classes = torch.from_numpy(output_part(labels % 3).astype(np.int64))

    def use(self, dtype):
        """Makes the tensors of numbers of this type; none loses anything."""
        self.input, self.weight, self.border = (each.to(dtype) for each in (self.input, self.weight, self.border))

    def train(self, name, model, settings):
        """Trains. Returns the losses and the weights at the end."""
        config = self.root / f"{name}.pbtxt"
        config.write_text(f"patch: {PATCH} input_scale: 0.5 input_offset: 0.25 " + settings)
        output = self.root / name
        words = [PROGRAM, "--model", model, "--config", config, "--output", output, "--mem", "300M"]
        ended = subprocess.run(words, capture_output=True, text=True, timeout=LONGEST, check=False)
        self.assertEqual(ended.returncode, 0, ended.stderr)
        log = [json.loads(line) for line in (output / "train.jsonl").read_text().splitlines()]
        return [line["loss"] for line in log], self.weights(output)

    @staticmethod
    def weights(output):
        """Returns kernels and biases of a model, in order."""
        tensors = onnx.load(output / "1/model.onnx").graph.initializer
        return [torch.from_numpy(numpy_helper.to_array(each).copy()) for each in tensors]

    def network(self, hidden, weights):
        """Returns the logits: behind the pooling the dense form has dilation."""
        pooled = hidden(functional.conv3d(self.input, weights[0], weights[1]))
        return functional.conv3d(pooled, weights[2], weights[3], dilation=2)[0]

    def peer(self, dtype, first, forward, optimizer, clip_norm):
        """Trains by PyTorch. Returns the losses and the weights at the end, in float64."""
        self.use(dtype)
        weights = [each.to(dtype, copy=True).requires_grad_() for each in first]
        steps, losses = optimizer(weights), []
        for _ in range(STEPS):
            steps.zero_grad()
            found = forward(weights)
            losses.append(found.item())
            found.backward()
            if clip_norm:
                torch.nn.utils.clip_grad_norm_(weights, clip_norm)
            steps.step()
        return losses, [each.detach().double() for each in weights]

    def compare(self, *case, clip_norm=None):
        """Trains by both, from the same weights, with kinks and without."""
        for hidden in (SMOOTH, KINKED):
            with self.subTest(hidden=hidden.names):
                self.compare_with(hidden, *case, clip_norm)

    def compare_with(self, hidden, end, channels, settings, loss, optimizer, clip_norm):
        net = self.root / "net.pbtxt"
        net.write_text(NET % (*hidden.names, channels, end))
        data = self.root / "data.h5"
        labels = "classes" if channels > 1 else "labels"
        common = f'volume {{ input: "{data}:/raw" labels: "{data}:/{labels}" mask: "{data}:/mask" '
        common += f'weights: "{data}:/weights" }} '
        common += "" if channels > 1 else "targets: boundaries "
        loss_text, optimizer_text = settings
        still = "steps: 1 optimizer { kind: sgd learning_rate: 1e-30 } "  # writes the weights of its beginning
        work = "-".join(hidden.names)
        _, first = self.train(f"{work}-first", net, common + loss_text + still)
        model = self.root / f"{work}-first/1/model.onnx"
        ours = self.train(f"{work}-ours", model, f"{common}{loss_text} steps: {STEPS} {optimizer_text}")

        def forward(weights):
            return loss(self.network(hidden, weights))

        theirs = self.peer(torch.float32, first, forward, optimizer, clip_norm)
        exact = self.peer(torch.float64, first, forward, optimizer, clip_norm)
        for name, found in (("znni-train", ours), ("PyTorch", theirs)):
            self.check(name, found, exact, hidden.bound)

    def check(self, name, found, exact, bound):
        """Compares losses and weights with those in float64."""
        for step, (loss, wanted) in enumerate(zip(found[0], exact[0], strict=True), 1):
            self.assertAlmostEqual(loss, wanted, delta=BOUND * abs(wanted), msg=f"{name}, step {step}")
        off = max((own - wanted).abs().max().item() for own, wanted in zip(found[1], exact[1], strict=True))
        self.assertLess(off, bound, name)

    def binary(self, logits):
        """Returns binary cross-entropy whose class 1 counts twice."""
        total = functional.binary_cross_entropy_with_logits(
            logits[0], self.border, weight=self.weight, pos_weight=logits.new_tensor(2.0), reduction="sum"
        )
        return total / self.weight.sum()

    def test_binary_cross_entropy_and_adam(self):
        """Adam adds the decay to the gradient."""
        self.compare(
            SIGMOID,
            1,
            (
                "loss { kind: binary_cross_entropy class_weight: [1, 2] }",
                "optimizer { kind: adam learning_rate: 0.01 weight_decay: 0.1 }",
            ),
            self.binary,
            lambda weights: torch.optim.Adam(weights, 0.01, weight_decay=0.1),
        )

    def test_binary_cross_entropy_and_sgd(self):
        """The optimiser has momentum, and gradients are clipped."""
        self.compare(
            SIGMOID,
            1,
            (
                "loss { kind: binary_cross_entropy class_weight: [1, 2] }",
                "optimizer { kind: sgd learning_rate: 0.05 momentum: 0.9 weight_decay: 0.01 clip_norm: 0.3 }",
            ),
            self.binary,
            lambda weights: torch.optim.SGD(weights, 0.05, momentum=0.9, weight_decay=0.01),
            clip_norm=0.3,
        )

    def test_softmax_cross_entropy_and_adamw(self):
        """AdamW takes the decay from the weight; the mean is over the weights of the classes."""

        def softmax(logits):
            of_classes = logits.new_tensor([1.0, 2.0, 0.5])
            each = functional.cross_entropy(logits[None], self.classes[None], weight=of_classes, reduction="none")[0]
            return (self.weight * each).sum() / (self.weight * of_classes[self.classes]).sum()

        self.compare(
            SOFTMAX,
            3,
            (
                "loss { kind: softmax_cross_entropy class_weight: [1, 2, 0.5] }",
                "optimizer { kind: adamw learning_rate: 0.01 weight_decay: 0.1 }",
            ),
            softmax,
            lambda weights: torch.optim.AdamW(weights, 0.01, weight_decay=0.1),
        )

    def test_dice_and_adam(self):
        """One minus the coefficient, with 1 added above and below, over labelled voxels."""

        def dice(logits):
            parts = self.weight * torch.sigmoid(logits[0])
            both = (parts * self.border).sum()
            return 1 - (2 * both + 1) / (parts.sum() + (self.weight * self.border).sum() + 1)

        self.compare(
            SIGMOID,
            1,
            ("loss { kind: dice }", "optimizer { kind: adam learning_rate: 0.01 }"),
            dice,
            lambda weights: torch.optim.Adam(weights, 0.01),
        )

    def test_square_and_adam(self):
        """The mean over labelled voxels."""
        self.compare(
            "",
            1,
            ("loss { kind: square }", "optimizer { kind: adam learning_rate: 0.01 beta1: 0.8 beta2: 0.9 }"),
            lambda logits: (self.weight * (logits[0] - self.border) ** 2).sum() / self.weight.sum(),
            lambda weights: torch.optim.Adam(weights, 0.01, betas=(0.8, 0.9)),
        )


if __name__ == "__main__":
    unittest.main()

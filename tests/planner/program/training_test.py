"""The program `planner` from outside: steps of training. Usage: as program_case.py says."""

import re

import program_case
from small_net import SMALL

# For a run the last three layers are one convolution.
SIBLINGS = """
name: "siblings"
f_in: 1
node { name: "first" conv { f_out: 4 k: 3 activation: relu } }
node { name: "left" conv { f_out: 4 k: 3 } inputs: "first" }
node { name: "right" conv { f_out: 4 k: 3 } inputs: "first" }
node { concat {} inputs: "left" inputs: "right" }
"""

UNET = """
name: "unet"
f_in: 1
node { name: "top" conv { f_out: 4 k: 3 pad_begin: 1 pad_end: 1 activation: relu } }
node { max_pool { window: 2 } }
node { conv { f_out: 6 k: 3 pad_begin: 1 pad_end: 1 activation: relu } }
node { name: "up" upsample { factor: 2 } }
node { concat {} inputs: "top" inputs: "up" }
node { conv { f_out: 1 k: 3 pad_begin: 1 pad_end: 1 } }
"""


class Training(program_case.ProgramCase):
    def step(self, *arguments):
        return self.good("--train", "--model", self.small, "--patience", "model", *arguments)

    def test_a_step_is_one_line(self):
        line = self.step("--patch", "21,23,25", "--mem", "1G")
        self.assertEqual(line.count("\n"), 1, line)
        self.assertRegex(
            line, r"^step: .*, 21x23x25 -> 14x16x18; .*: weights .*, their gradients .*, tensors and scratch"
        )

    def test_explain_lists_every_call(self):
        lines = self.step("--patch", "21", "--mem", "1G", "--explain").splitlines()
        self.assertRegex(lines[0], "^pass +node +computes +primitive +ms +MiB$")
        passes = [re.match(r"[a-z]*", line)[0] for line in lines[1:-2]]
        self.assertEqual(passes.count(""), 1, "the loss alone belongs to no pass")
        loss = passes.index("")
        self.assertEqual(set(passes[:loss]), {"forward"})
        self.assertEqual(set(passes[loss + 1 :]), {"backward"})
        self.assertEqual(sum(bool(re.search("gradients? of the weights", line)) for line in lines), 2)
        self.assertEqual(sum("cpu.grad.pool" in line for line in lines), 1)

    def test_layers_are_those_that_are_trained(self):
        self.small.write_text(SIBLINGS)
        text = self.step("--patch", "21", "--mem", "1G", "--explain")
        trained = re.findall(r"^backward +(\w+) +gradients? of the weights", text, re.MULTILINE)
        self.assertEqual(trained, ["right", "left", "first"])

    def test_what_does_not_fit_is_one_line(self):
        line = self.refused(3, "--train", "--model", self.small, "--patch", "41", "--mem", "1M")
        self.assertIn("a step of patch 41x41x41 needs at least ", line)
        self.assertIn(", and 1.00 MiB are left of --mem: take a smaller patch", line)
        line = self.refused(2, "--train", "--model", self.small, "--patch", "21,22,23", "--mem", "1G")
        self.assertIn("patch.y = 22 does not fit the windows and strides of network small: take 21 or 23", line)

    def test_a_patch_is_chosen(self):
        lines = self.step("--mem", "64M").splitlines()
        self.assertEqual(len(lines), 2)
        edge = re.match(
            r"patch: (\d+)x\1x\1, of \d+ that fit; it trains most voxels in a second, [0-9.]+ million$", lines[0]
        )
        self.assertTrue(edge, lines[0])
        self.assertIn(f"{edge[1]}x{edge[1]}x{edge[1]} -> ", lines[1])

    def test_sparse_steps_write_one_voxel_for_each_stride(self):
        dense = self.step("--patch", "21", "--mem", "1G")
        sparse = self.step("--patch", "20", "--mem", "1G", "--sparse")
        self.assertIn("21x21x21 -> 14x14x14; ", dense)
        self.assertIn("20x20x20 -> 7x7x7; ", sparse)

    def test_networks_that_cannot_be_trained_are_named(self):
        self.small.write_text(SMALL + "node { channel_norm {} }")
        line = self.refused(2, "--train", "--model", self.small, "--patch", "21", "--mem", "1G")
        self.assertIn("training has no gradient of node '", line)
        self.assertIn(", layer normalisation; znnid serves it; to train, replace it by layers", line)

    def test_networks_that_pad_have_outputs_as_large_as_the_patch(self):
        self.small.write_text(UNET)
        text = self.step("--patch", "12", "--mem", "1G", "--explain")
        self.assertIn("12x12x12 -> 12x12x12; ", text)
        self.assertIn("gradient of the padding", text)
        line = self.refused(2, "--train", "--model", self.small, "--patch", "13", "--mem", "1G")
        self.assertIn("patch.z = 13 does not fit", line)
        self.assertIn("take 12 or 14", line)


if __name__ == "__main__":
    program_case.main()

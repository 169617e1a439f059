"""The program `planner` from outside: whether a network runs here. Usage: as program_case.py says."""

import json

import program_case
from small_onnx import chain


class Checks(program_case.ProgramCase):
    def write(self, name, content):
        path = self.folder / name
        path.write_bytes(content)
        return path

    def not_running(self, *arguments):
        """Returns what the planner says of a network that does not run here."""
        done = self.run_planner("check", *arguments)
        self.assertEqual((done.returncode, done.stderr), (2, ""))
        return done.stdout

    def test_a_network_that_runs_is_summed_up(self):
        net = self.write("net.onnx", chain("Relu", "Tanh", channels=3, axes=2))
        self.assertEqual(
            self.good("check", net),
            f"{net} runs here\n"
            "  input          3 channels, [N, C, Y, X]\n"
            "  output         3 channels, as large as the input\n"
            "  field of view  1x1\n"
            "  volumes        at least 1x1\n"
            "  parameters     0 as computed here, batch normalisations folded in\n"
            "  layers         2 activation\n",
        )
        told = json.loads(self.good("check", net, "--json"))
        self.assertTrue(told["runs"])
        self.assertEqual((told["input"]["channels"], told["layers"]), (3, {"activation": 2}))

    def test_a_text_network_is_summed_up_too(self):
        self.assertIn("field of view  8x8x8\n", self.good("check", self.small))

    def test_every_blocker_is_told_at_once(self):
        net = self.write("net.onnx", chain("Celu", "Relu", "Einsum", "Celu"))
        self.assertEqual(
            self.not_running(net),
            f"{net} does not run here: 3 blockers of 2 kinds\n"
            "CELU (2): not supported; train with ReLU, LeakyReLU, ELU, SiLU, GELU, "
            "sigmoid or tanh; first 'n0'\n"
            "Einsum (1): not supported; first 'n2'\n",
        )
        told = json.loads(self.not_running(net, "--json"))
        self.assertEqual((told["runs"], told["blockers"]), (False, 3))
        self.assertEqual(
            [(kind["kind"], kind["count"], kind["first_node"]) for kind in told["kinds"]],
            [("CELU", 2, "n0"), ("Einsum", 1, "n2")],
        )

    def test_planning_names_the_first_and_how_many_there_are(self):
        net = self.write("net.onnx", chain("Celu", "Relu", "Einsum", "Celu"))
        line = self.refused(2, "--model", net)
        self.assertTrue(line.startswith(f"planner: {net}: node 'n0' (Celu): operator is not supported"), line)
        self.assertTrue(line.endswith(f"; and 2 more of 2 kinds: planner check {net} lists them\n"), line)
        single = self.refused(2, "--model", self.write("one.onnx", chain("Celu")))
        self.assertNotIn("planner check", single)

    def test_what_is_no_network_is_the_line_that_planning_gives(self):
        whole = chain("Relu", "Tanh")
        files = [
            self.write("cut.onnx", whole[: len(whole) // 2]),
            self.write("other.onnx", b"no model"),
            self.folder / "nowhere.onnx",
            self.write("net.txt", whole),
            self.write("net.pbtxt", b"node { foo {} }"),
            self.folder,
        ]
        for file in files:
            line = self.refused(2, "check", file)
            self.assertEqual(line, self.refused(2, "--model", file))
            self.assertEqual(line, self.refused(2, "check", file, "--json"))
            self.assertIn(str(file), line)

    def test_wrong_use_is_one_line(self):
        self.assertIn("FILE", self.refused(2, "check"))
        self.assertIn("leave out --model", self.refused(2, "check", self.small, "--model", self.small))
        self.assertIn("check makes no plan", self.refused(2, "check", self.small, "--output", self.folder / "plan"))


if __name__ == "__main__":
    program_case.main()

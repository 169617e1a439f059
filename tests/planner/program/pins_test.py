"""The program `planner` from outside: what is pinned is kept, or refused in one line.
Usage: as program_case.py says."""

import json

import program_case


class Pins(program_case.ProgramCase):
    def test_forced_primitives_are_used(self):
        for name in ("cpu.conv.direct", "cpu.conv.fft_task_parallel"):
            plan = json.loads(self.good("--model", self.small, "--mem", "100M", "--force", f"conv1={name}", "--json"))
            self.assertEqual([node["primitive"] for node in plan["nodes"] if node["name"] == "conv1"], [name])

    def test_some_extents_lose_little_against_all(self):
        machine = self.networks.parent / "machines" / "ryzen-7950x.pbtxt"  # the same wherever the test runs
        for memory in ("3M", "12M"):
            arguments = (
                "--model",
                self.small,
                "--machine",
                machine,
                "--mem",
                memory,
                "--max-extent",
                40,
                "--json",
                "--modes",
                "mpf",
                "--no-stream",
                "--no-groups",
            )
            some, every = (
                json.loads(self.good(*arguments, *more))["predicted"]["voxels_per_second"]
                for more in ((), ("--all-extents",))
            )
            self.assertLessEqual(some, every * (1 + 1e-9))
            self.assertGreater(some, 0.97 * every, f"some extents lose {100 * (1 - some / every):.1f} % in {memory}")

    def test_a_plan_that_ends_at_the_bound_of_the_search_says_so(self):
        machine = self.networks.parent / "machines" / "ryzen-7950x.pbtxt"
        arguments = ("--model", self.small, "--machine", machine, "--mem", "1G", "--no-stream")
        self.assertIn(
            "is as long as --max-extent 40 lets it be", self.run_planner(*arguments, "--max-extent", 40).stderr
        )
        self.assertNotIn("--max-extent", self.run_planner(*arguments, "--volume", "60,60,60").stderr)

    def test_more_extents_than_can_be_looked_at_are_refused(self):
        refused = self.refused(2, "--model", self.small, "--mem", "1G", "--all-extents")
        self.assertRegex(
            refused, r"--all-extents: \S+ combinations of extents up to 1024; .*give a smaller --max-extent"
        )

    def test_pins_are_kept_and_told(self):
        arguments = ("--model", self.small, "--mem", "100M", "--patience", "model")
        plan = self.folder / "pinned.pbtxt"
        pins = ("--patch", "21", "--modes", "max", "--S", "2", "--no-stream", "--no-groups")
        text = self.good(*arguments, *pins, "--output", plan)
        self.assertIn("pinned     --patch 21 --modes max --S 2 --no-stream --no-groups\n", text)
        self.assertIn('pins: "--patch 21 ', plan.read_text())
        told = json.loads(self.good(*arguments, *pins, "--json"))
        self.assertEqual((told["pins"], told["input"][0], told["input"][2:]), (" ".join(pins), 2, [21, 21, 21]))
        self.assertTrue(self.good("show", plan, "--model", self.small).splitlines()[-1].startswith("runs"))
        self.assertIn("pinned ", self.good(*arguments, *pins, "--explain"))
        self.assertIsNone(json.loads(self.good(*arguments, "--json"))["pins"])

    def test_a_pin_that_nothing_satisfies_is_one_line(self):
        arguments = ("--model", self.small, "--mem", "100M", "--patience", "model")
        self.assertIn("--patch 20: no patch of small", line := self.refused(2, *arguments, "--patch", "20"))
        self.assertIn("the nearest that fit: 19 and 21", line)
        self.assertIn(
            "--modes max,mpf: 2 modes; small has 1 pooling", self.refused(2, *arguments, "--modes", "max,mpf")
        )
        self.assertIn("with --patch 601", self.refused(3, *arguments, "--patch", "601"))

    def test_the_cut_of_a_plan_over_places_is_pinned(self):
        arguments = (
            "--model",
            self.small,
            "--machine",
            self.golden / "machine.pbtxt",
            "--disable",
            "cpu.*",
            "--mem",
            "1G",
            "--strategy",
            "cpu-gpu",
            "--no-stream",
            "--no-groups",
        )
        for theta in ("0", "1", "2"):
            plan = json.loads(self.good(*arguments, "--theta", theta, "--json"))
            self.assertEqual(str(plan["theta"]), theta)
            self.assertEqual(plan["pins"], f"--theta {theta} --no-stream --no-groups")
        self.assertIn("--theta 9: small has 3 layers", self.refused(2, *arguments, "--theta", "9"))


if __name__ == "__main__":
    program_case.main()

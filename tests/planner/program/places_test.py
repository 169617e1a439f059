"""The program `planner` from outside: plans for other machines, for GPUs, and with plug-ins.
Usage: as program_case.py says."""

import json

import program_case


class Places(program_case.ProgramCase):
    def test_another_machine_is_planned_for_from_its_file(self):
        machine = self.golden / "machine.pbtxt"
        arguments = ("--model", self.small, "--machine", machine, "--enable", "zn.*", "--json")
        done = self.run_planner(*arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("predicted, nothing ran here", done.stderr)
        plan = json.loads(done.stdout)
        self.assertEqual(plan["machine"]["threads"], 72)
        self.assertEqual({node["primitive"].split(".")[0] for node in plan["nodes"] if node["index"] >= 0}, {"zn"})
        self.assertGreater(plan["memory"]["limit"], 200 << 30)
        self.assertEqual(plan["memory"]["device"]["peak"], 0)
        small = json.loads(self.good(*arguments, "--mem", "20M"))
        self.assertLess(small["predicted"]["voxels_per_second"], plan["predicted"]["voxels_per_second"])
        bases = {node["basis"] for node in small["nodes"]}
        self.assertEqual(bases, {"model"}, "cubes are recorded, and it streams through thin patches")
        cubic = json.loads(self.good(*arguments, "--mem", "20M", "--no-stream"))
        self.assertEqual({node["basis"] for node in cubic["nodes"]}, {"recorded"})
        self.assertTrue(all(node["error"] for node in small["nodes"]))
        listed = self.good("primitives", "--machine", machine)
        for name in ("cudnn.conv", "zn.conv.fft", "cpu.conv.direct"):
            self.assertIn(name, listed)
        missing = self.golden / "nowhere.pbtxt"
        self.assertIn(
            f"{missing}: cannot be read: No such file or directory",
            self.refused(2, "--model", self.small, "--machine", missing),
        )
        self.assertIn("no 'machine", self.refused(2, "--model", self.small, "--machine", self.golden / "timings.pbtxt"))
        cut = self.folder / "cut.pbtxt"
        cut.write_text(machine.read_text()[:500])
        done = self.run_planner("--model", self.small, "--machine", cut)
        self.assertEqual(done.returncode, 2)
        self.assertIn("cut.pbtxt: line 1: a record is cut short", done.stderr)

    def test_all_strategies_are_planned_for_another_machine(self):
        arguments = (
            "--model",
            self.small,
            "--machine",
            self.golden / "machine.pbtxt",
            "--disable",
            "cpu.*",
            "--mem",
            "1G",
        )
        rates = {}
        for strategy in ("cpu", "gpu", "gpu-host-ram", "cpu-gpu"):
            plan = self.folder / f"{strategy}.pbtxt"
            text = self.good(*arguments, "--strategy", strategy, "--output", plan)
            self.assertIn(f"strategy {strategy}", text)
            rates[strategy] = float(text.split("predicted")[1].split("voxels/s")[0].replace(",", ""))
            self.assertIn("voxels_per_second", plan.read_text())
        self.assertGreaterEqual(rates["gpu-host-ram"], rates["gpu"])
        self.assertGreaterEqual(rates["cpu-gpu"], rates["gpu-host-ram"])
        self.assertIn("on gpu", text)
        less = self.good(*arguments, "--strategy", "cpu-gpu", "--gpu-mem", "4M")
        self.assertLess(float(less.split("predicted")[1].split("voxels/s")[0].replace(",", "")), rates["cpu-gpu"])
        self.refused(3, *arguments, "--strategy", "gpu", "--gpu-mem", "100")

    def test_a_gpu_of_which_nothing_is_known_is_told_with_the_mend(self):
        unknown = self.folder / "unknown.pbtxt"
        unknown.write_text((self.golden / "machine.pbtxt").read_text().split("record {")[0])
        for strategy in ("gpu", "gpu-host-ram", "cpu-gpu"):
            said = self.refused(2, "--model", self.small, "--machine", unknown, "--strategy", strategy)
            self.assertIn(
                f"{unknown}: no record is of a primitive of the GPU: add some (docs/timings.md), or give "
                "--plugin libznni_cuda.so",
                said,
            )

    def test_plans_over_places_are_explained(self):
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
            "--max-extent",
            64,
        )
        plan = json.loads(self.good(*arguments, "--json"))
        self.assertEqual([node["index"] for node in plan["nodes"]], [0, 1, 2])
        self.assertEqual([node["place"] == "gpu" for node in plan["nodes"]], [i >= plan["theta"] for i in range(3)])
        self.assertEqual(plan["segments"][-1]["place"], "gpu")
        self.assertEqual((plan["machine"]["kind"], plan["gpu"]["kind"]), ("cpu", "gpu"))
        self.assertGreater(plan["memory"]["device"]["peak"], 0)
        self.assertLessEqual(plan["memory"]["host"]["peak"] + plan["memory"]["pinned"]["peak"], 1 << 30)
        page = self.folder / "report.html"
        text = self.good(*arguments, "--explain", "--report", page, "--report-curve", "1G..1G")
        for word in ("places     theta ", "device ", "fit in some cut", "host RAM", "GPU memory"):
            self.assertIn(word, text)
        for word in ("The pipeline", "gpu-host-ram", "baseline"):
            self.assertIn(word, page.read_text())

    def test_plugins_take_part(self):
        name = "example.activation.relu"
        self.assertIn(name, self.good("primitives", "--plugin", self.example))
        self.assertNotIn(name, self.good("primitives"))
        net = self.folder / "relu.pbtxt"
        net.write_text('name: "r" node { max_pool { window: 2 stride: 2 } } node { activate { kind: relu } }')
        timings = self.folder / "t.pbtxt"
        plan = json.loads(
            self.good(
                "--model",
                net,
                "--mem",
                "1M",
                "--threads",
                1,
                "--plugin",
                self.example,
                "--force",
                f"1={name}",
                "--patience",
                "measure",
                "--timings",
                timings,
                "--json",
            )
        )
        self.assertEqual([node["primitive"] for node in plan["nodes"] if node["index"] == 1], [name])
        self.assertIn(name, timings.read_text())
        self.assertIn("no such module", self.refused(2, "primitives", "--plugin", "nowhere.so"))
        self.assertIn("is not a shared library", self.refused(2, "primitives", "--plugin", net))
        self.assertIn(
            "two primitives are named",
            self.refused(2, "primitives", "--plugin", self.example, "--plugin", self.example),
        )

    def test_plans_for_the_gpu_of_this_machine(self):
        plan = self.folder / "split.pbtxt"
        arguments = ("--model", self.small, "--mem", "40M", "--strategy", "cpu-gpu", "--plugin", self.simulated)
        text = self.good(*arguments, "--gpu-mem", "1M", "--output", plan)
        self.assertRegex(text, r"fallback   \d+ rungs on the CPU")
        self.assertIn("simulated GPU", text)
        self.assertIn("place: gpu", plan.read_text())
        shown = ("show", plan, "--model", self.small, "--mem", "40M")
        self.assertEqual(self.good(*shown, "--plugin", self.simulated).splitlines()[-1], "runs")
        again = (*shown, "--plugin", self.simulated, "--timings", self.golden / "timings.pbtxt")
        done = self.run_planner(*again)
        self.assertEqual((done.returncode, done.stdout.splitlines()[-1]), (0, "runs"), done.stderr)
        self.assertIn("not predicted again", done.stderr)
        self.assertNotEqual(self.run_planner(*again, "--output", self.folder / "again.pbtxt").returncode, 0)
        done = self.run_planner(*shown)
        self.assertEqual(done.returncode, 1)
        self.assertIn("does not run", done.stdout)
        self.assertIn("has 256.00 MiB", self.refused(3, *arguments, "--gpu-mem", "1G"))
        self.assertIn("no GPU", self.refused(2, "--model", self.small, "--strategy", "gpu", "--plugin", self.example))

    def test_precision_is_a_choice_of_the_plan(self):
        path = self.folder / "coarse.pbtxt"
        arguments = (
            "--model",
            self.small,
            "--mem",
            "40M",
            "--strategy",
            "gpu",
            "--gpu-mem",
            "8M",
            "--plugin",
            self.simulated,
            "--max-extent",
            40,
        )
        rates = []
        for precision in ("fp32", "tf32", "bf16"):
            plan = json.loads(self.good(*arguments, "--precision", precision, "--output", path, "--json"))
            self.assertEqual(plan["precision"], precision)
            rates.append(plan["predicted"]["voxels_per_second"])
            if precision != "bf16":  # which may use both
                self.assertEqual("tf32" in str(plan["nodes"]), precision == "tf32", plan["nodes"])
            self.assertEqual("bf16:channels_last" in path.read_text(), precision == "bf16")
        self.assertEqual(sorted(rates), rates)
        self.assertLess(rates[0], rates[2])
        shown = ("show", path, "--model", self.small, "--mem", "40M", "--plugin", self.simulated)
        self.assertEqual(self.good(*shown).splitlines()[-1], "runs")
        path.write_text(path.read_text().replace("precision: bf16", "precision: tf32"))
        done = self.run_planner(*shown)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stdout.splitlines()[-1], "computes in bf16; the plan allows tf32$")
        self.assertIn("precision bf16", self.good(*arguments, "--precision", "bf16", "--explain"))
        self.assertIn("fp32 or bf16", self.refused(2, "--model", self.small, "--precision", "tf32"))


if __name__ == "__main__":
    program_case.main()

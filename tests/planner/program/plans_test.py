"""The program `planner` from outside: plans and how they are told. Usage: as program_case.py says."""

import json
import os
import pathlib
import subprocess
import unittest

import program_case
from small_onnx import chain

SPINNING = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT")  # how long threads inside libraries spin
LOADER = pathlib.Path("/lib64/ld-linux-x86-64.so.2")


class Plans(program_case.ProgramCase):
    def test_prints_a_summary(self):
        text = self.good("--model", self.small, "--mem", "100M", "--threads", 1)
        for word in ("small on", "voxels/s", "conv1", "pool1", "conv2", "limit 100.00 MiB"):
            self.assertIn(word, text)

    def test_says_its_version_and_licence(self):
        first, *notice = self.good("--version").splitlines()
        self.assertRegex(first, r"^planner \d+\.\d+\.\d+$")
        self.assertIn("Apache-2.0", " ".join(notice))

    def test_json_holds_the_limit(self):
        plan = json.loads(self.good("--model", self.small, "--mem", "100M", "--threads", 2, "--json"))
        self.assertLessEqual(plan["memory"]["host"]["peak"], 100 << 20)
        self.assertEqual(len(plan["nodes"]), 3 + (plan["nodes"][0]["index"] == -1))
        self.assertGreater(plan["predicted"]["voxels_per_second"], 0)
        self.assertEqual(plan["machine"]["threads"], 2)
        size = plan["input"][2:]
        self.assertEqual([n - 7 for n in size], plan["output"][2:])  # field of view 8

    def test_more_memory_than_the_machine_has_is_a_prediction(self):
        done = self.run_planner("--model", self.small, "--mem", "100T", "--max-extent", 64, "--explain")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("this machine", done.stderr)
        for word in ("field of view 8x8x8", "runner-up", "next best patches"):
            self.assertIn(word, done.stdout)

    def test_plans_are_written_shown_and_compared(self):
        first, second = self.folder / "plans" / "a.pbtxt", self.folder / "b.pbtxt"
        printed = self.good("--model", self.small, "--mem", "100M", "--output", first)
        self.good("--model", self.small, "--mem", "2M", "--output", second)
        self.assertEqual(self.good("show", first), printed)
        self.assertEqual(self.good("diff", first, first), "")
        self.assertIn("memory limit", self.good("diff", first, second))

    def test_the_same_arguments_give_the_same_plan(self):
        arguments = ("--model", self.small, "--mem", "30M", "--volume", "40,50,60", "--json")
        self.assertEqual(self.good(*arguments), self.good(*arguments))

    def test_a_plan_says_of_which_volume_its_rate_is(self):
        arguments = (
            "--model",
            self.small,
            "--mem",
            "3M",
            "--patience",
            "model",
            "--enable",
            "cpu.conv.direct,cpu.pool.mpf",
        )
        self.assertRegex(self.good(*arguments), r"predicted  [0-9,]+ voxels/s in an endless volume, ")
        plan = self.folder / "plan.pbtxt"
        told = self.good(*arguments, "--volume", "40,50,60", "--output", plan)
        said = r"predicted  ([0-9,]+) voxels/s in a volume of 40x50x60, ([0-9,]+) voxels/s in an endless one, "
        self.assertRegex(told, said)
        self.assertEqual(self.good("show", plan), told)
        predicted = json.loads(self.good(*arguments, "--volume", "40,50,60", "--json"))["predicted"]
        self.assertEqual(predicted["volume"], [40, 50, 60])
        self.assertLess(predicted["voxels_per_second"], predicted["endless_voxels_per_second"])

    def test_baseline_is_naive(self):
        plan = json.loads(self.good("--model", self.small, "--mem", "100M", "--strategy", "baseline", "--json"))
        self.assertEqual(plan["passes"], 8)

    def test_names_the_smallest_budget(self):
        line = self.refused(3, "--model", self.small, "--mem", "1K")
        needed = int(line.split("would do is ")[1].split()[0])
        self.good("--model", self.small, "--mem", needed)
        self.refused(3, "--model", self.small, "--mem", needed - 1)

    def test_wrong_use_is_one_line(self):
        self.assertIn("--foo", self.refused(2, "--model", self.small, "--foo"))
        self.assertIn("goes with --strategy", self.refused(2, "--model", self.small, "--gpu-mem", "12G"))
        self.assertIn("nowhere.onnx", self.refused(2, "--model", "nowhere.onnx"))
        self.assertIn("field of view", self.refused(2, "--model", self.small, "--volume", "7,20,20"))
        self.assertIn("cpu.nothing", self.refused(2, "--model", self.small, "--enable", "cpu.nothing"))
        self.assertIn("no node 'conv9'", self.refused(2, "--model", self.small, "--force", "conv9=cpu.conv.direct"))
        broken = self.folder / "broken.onnx"
        broken.write_bytes(b"\x08\x07\x12")
        self.assertIn("broken.onnx", self.refused(2, "--model", broken))

    def test_draws_plans_that_run(self):
        plans = self.folder / "plans"
        arguments = (
            "draw",
            "--model",
            self.small,
            "--mem",
            "20M",
            "--threads",
            1,
            "--count",
            4,
            "--neighbours",
            2,
            "--output",
            plans,
        )
        printed = self.good(*arguments)
        names = ["chosen", *(f"random-{i}" for i in (1, 2, 3, 4)), "neighbour-1", "neighbour-2"]
        self.assertEqual(
            [line.split(": ")[0] for line in printed.splitlines()], [f"{plans / name}.pbtxt" for name in names]
        )
        for name in names:
            told = self.good("show", plans / f"{name}.pbtxt", "--model", self.small, "--mem", "20M")
            self.assertEqual(told.splitlines()[-1], "runs")
        self.assertEqual(self.good(*arguments), printed)

    def test_where_it_writes_is_looked_at_first(self):
        blocked = self.folder / "blocked"
        blocked.write_text("x")
        for flag in ("--report", "--output"):
            self.assertIn(
                "blocked",
                self.refused(2, "--model", self.networks / "n337.pbtxt", "--mem", "200G", flag, blocked / "file"),
            )
            self.assertIn("is a directory", self.refused(2, "--model", self.small, flag, self.folder))

    def test_a_plan_is_told_to_run_or_not(self):
        plan = self.folder / "a.pbtxt"
        self.good(
            "--model", self.small, "--mem", "50M", "--threads", 1, "--disable", "cpu.conv.fft_*", "--output", plan
        )
        told = self.good("show", plan, "--model", self.small, "--mem", "50M").splitlines()[-1]
        self.assertTrue(told.startswith("runs, but the search space has grown: "), told)
        told = self.good("show", plan, "--model", self.small, "--mem", "50M", "--disable", "cpu.conv.fft_*")
        self.assertEqual(told.splitlines()[-1], "runs")
        done = self.run_planner("show", plan, "--model", self.small, "--mem", "1M")
        self.assertEqual(done.returncode, 1)
        self.assertTrue(done.stdout.splitlines()[-1].startswith("does not run: needs "), done.stdout)
        done = self.run_planner("show", plan, "--model", self.networks / "n337.pbtxt", "--mem", "50M")
        self.assertIn("made for another network", done.stdout)

    def test_threads_inside_libraries_sleep_between_layers(self):
        environment = {key: value for key, value in os.environ.items() if key not in SPINNING}
        done = subprocess.run(
            [self.program, "--version"],
            env={**environment, "OMP_DISPLAY_ENV": "verbose"},
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
        spins = [line.split("'")[1] for line in done.stderr.splitlines() if "GOMP_SPINCOUNT" in line]
        self.assertEqual(spins[-1:], ["0"], done.stderr)

    @unittest.skipUnless(LOADER.exists(), "another dynamic loader")
    def test_starts_by_naming_the_dynamic_loader(self):
        environment = {key: value for key, value in os.environ.items() if key not in SPINNING}
        done = subprocess.run(
            [LOADER, self.program, "--version"], env=environment, capture_output=True, text=True, timeout=60, check=True
        )
        self.assertIn("planner ", done.stdout)

    def test_explains_what_more_memory_would_be_worth(self):
        text = self.good("--model", self.small, "--mem", "3M", "--threads", 1, "--explain")
        self.assertRegex(text, r"next better\n  (with [0-9.]+ .iB more host RAM, [0-9.]+ x|four times)")

    def test_a_repository_is_planned_as_far_as_it_goes(self):
        for version in ("1", "2"):
            (self.folder / "models" / "net" / version).mkdir(parents=True)
            (self.folder / "models" / "net" / version / "model.onnx").write_bytes(b"no model")
        done = self.run_planner("--mem", "1G", "--model-repository", self.folder / "models")
        self.assertEqual(done.returncode, 2)
        self.assertEqual(done.stderr.count("\n"), 2, done.stderr)
        self.refused(2, "--mem", "1G", "--model-repository", self.folder / "nowhere")

    def repository(self, name, *operators):
        """Returns a repository whose one model is called "net"."""
        folder = self.folder / name / "net" / "1"
        folder.mkdir(parents=True)
        (folder / "model.onnx").write_bytes(chain(*operators))
        return folder.parents[1]

    def plan_all(self, repository, *arguments, expect=0):
        """Plans a repository into plans/ and returns the run, which ends with ``expect``."""
        done = self.run_planner(
            "--model-repository", repository, "--plan-dir", self.folder / "plans", "--threads", 1, *arguments
        )
        self.assertEqual(done.returncode, expect, done.stderr)
        return done

    def test_repositories_with_one_name_for_two_models_keep_a_plan_each(self):
        for name, operators in (("one", ("Relu",)), ("other", ("Relu", "Sigmoid"))):
            repository = self.repository(name, *operators)
            for memory in ("1G", "512M"):
                done = self.plan_all(repository, "--mem", memory)
                self.assertRegex(done.stdout, r"^net version 1: .* -> .*/plans/[0-9a-f]{32}/[0-9]+\.planner\.pbtxt\n$")
        files = [file.relative_to(self.folder / "plans") for file in self.folder.rglob("plans/*/*")]
        self.assertEqual(
            sorted(file.name for file in files), 2 * ["1073741824.planner.pbtxt"] + 2 * ["536870912.planner.pbtxt"]
        )
        self.assertEqual(len({file.parent for file in files}), 2)

    def test_a_second_plan_of_a_repository_replaces_the_first_and_says_how_they_differ(self):
        repository = self.repository("models", "Relu")
        first = self.plan_all(repository, "--mem", "1G")
        self.assertEqual(first.stderr, "")
        self.assertEqual(self.plan_all(repository, "--mem", "1G").stderr, "")
        done = self.plan_all(repository, "--mem", "1G", "--volume", "40,40,40", "--disable", "cpu.conv.fft_*")
        file = first.stdout.rstrip("\n").split(" -> ")[1]
        self.assertEqual(done.stderr, f"planner: {file}: replaces a plan of other primitives, volume\n")
        self.assertIn("40x40x40", self.good("show", file))

    def test_planning_that_fails_leaves_no_folder(self):
        done = self.plan_all(self.repository("models", "Relu"), "--mem", "8", expect=3)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertFalse((self.folder / "plans").exists())

    def test_plans_that_come_before_the_new_one_are_named(self):
        repository, plans = self.repository("models", "Relu"), self.folder / "plans"
        named, beside = plans / "net" / "1.plan.pbtxt", repository / "net" / "1" / "plan.pbtxt"
        larger = self.plan_all(repository, "--mem", "2G").stdout.rstrip("\n").split(" -> ")[1]
        named.parent.mkdir(parents=True)
        for file in (named, beside):
            file.write_text("by hand")
        done = self.plan_all(repository, "--mem", "1G")
        self.assertEqual(
            done.stderr.splitlines(),
            [
                f"planner: {beside} lies beside the model, and znnid takes it first: "
                "remove it to have the new plan used",
                f"planner: {named} is of an older version, and znnid takes the new plan first: remove it",
                f"planner: {larger} is there, too; of such plans znnid takes that for the most memory within what the "
                "model may take, else that for the least memory above it",
            ],
        )
        self.assertEqual((named.read_text(), beside.read_text()), ("by hand", "by hand"))

    def test_bf16_is_a_choice_where_the_processor_has_it(self):
        """Without the flag no plan knows of it, nor does its file."""
        path = self.folder / "coarse.pbtxt"
        arguments = ("--model", self.small, "--mem", "40M", "--max-extent", 40, "--patience", "model")
        self.good(*arguments, "--output", path)
        self.assertNotIn("bf16", path.read_text())
        coarse = (*arguments, "--precision", "bf16")
        if "avx512_bf16" not in pathlib.Path("/proc/cpuinfo").read_text():
            self.assertIn("lacks AVX512_BF16", self.refused(2, *coarse))
            self.skipTest("this processor lacks AVX512_BF16")
        plan = json.loads(self.good(*coarse, "--output", path, "--json"))
        self.assertEqual(plan["precision"], "bf16")
        self.assertIn("cpu.conv.onednn_bf16:", path.read_text())
        self.assertEqual(self.good("show", path, "--model", self.small, "--mem", "40M").splitlines()[-1], "runs")
        only = ("--enable", "cpu.conv.onednn_bf16,cpu.pool*")
        self.assertIn("cpu.conv.onednn_bf16", self.good(*coarse, *only))
        self.assertIn("goes with --precision bf16", self.refused(2, *arguments, "--enable", "cpu.conv.onednn_bf16"))

    def test_lists_primitives(self):
        text = self.good("primitives")
        for name in ("cpu.conv.direct", "cpu.conv.onednn", "cpu.conv.onednn_bf16", "cpu.pool.mpf"):
            self.assertIn(name, text)
        self.assertNotIn("cpu.conv.direct", self.good("primitives", "--disable", "cpu.conv.*"))


if __name__ == "__main__":
    program_case.main()

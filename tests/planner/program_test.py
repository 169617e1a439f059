"""The program `planner` from outside: output, files and exit codes. Usage: program_test.py PLANNER SOURCE_ROOT PLUGIN."""

import html.parser
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from small_net import SMALL  # noqa: E402

LOADER = pathlib.Path("/lib64/ld-linux-x86-64.so.2")


class Balanced(html.parser.HTMLParser):
    """Notes tags that are not closed in order, ids, and what would be loaded."""

    def __init__(self):
        super().__init__()
        self.open, self.wrong, self.ids, self.loaded = [], [], set(), []

    def handle_starttag(self, tag, attrs):
        self.ids.update(value for name, value in attrs if name == "id")
        self.loaded += [value for name, value in attrs if name in ("src", "href", "data")]
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append((tag, self.getpos()))


class Planner(unittest.TestCase):
    program = ""
    golden = pathlib.Path()
    example = ""
    simulated = ""
    networks = pathlib.Path()

    def setUp(self):
        self.kept = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.kept.name)
        self.small = self.folder / "small.pbtxt"
        self.small.write_text(SMALL)

    def tearDown(self):
        self.kept.cleanup()

    def environment(self):
        return {**os.environ, "XDG_STATE_HOME": str(self.folder / "state")}

    def run_planner(self, *arguments):
        return subprocess.run([self.program, *map(str, arguments)], capture_output=True, text=True, timeout=300,
                              env=self.environment(), check=False)

    def good(self, *arguments):
        done = self.run_planner(*arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def refused(self, code, *arguments):
        """The one line on stderr."""
        done = self.run_planner(*arguments)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertEqual(done.stdout, "")
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertTrue(done.stderr.startswith("planner: "), done.stderr)
        return done.stderr

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
        done = self.run_planner("--model", self.small, "--mem", "100T", "--explain")
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
        arguments = ("--model", self.small, "--mem", "3M", "--patience", "model", "--enable", "cpu.conv.direct,cpu.pool.mpf")
        self.assertRegex(self.good(*arguments), r"predicted  [0-9,]+ voxels/s in an endless volume, ")
        plan = self.folder / "plan.pbtxt"
        told = self.good(*arguments, "--volume", "40,50,60", "--output", plan)
        said = r"predicted  ([0-9,]+) voxels/s in a volume of 40x50x60, ([0-9,]+) voxels/s in an endless one, "
        self.assertRegex(told, said)
        self.assertEqual(self.good("show", plan), told)
        predicted = json.loads(self.good(*arguments, "--volume", "40,50,60", "--json"))["predicted"]
        self.assertEqual(predicted["volume"], [40, 50, 60])
        self.assertLess(predicted["voxels_per_second"], predicted["endless_voxels_per_second"])

    def test_a_curve_has_the_best_rates_over_a_range_of_limits(self):
        arguments = ("--model", self.small, "--threads", 1, "--patience", "model", "--enable",
                     "cpu.conv.direct,cpu.pool.mpf,cpu.pool.max")
        curves = json.loads(self.good(*arguments, "--mem", "3M", "--curve", "2M..4M", "--json"))
        self.assertEqual((curves["model"], curves["volume"]), ("small", None))
        self.assertEqual([curve["strategy"] for curve in curves["curves"]], ["cpu", "baseline"])
        samples = curves["curves"][0]["samples"]
        limits = [sample["memory_limit"] for sample in samples]
        self.assertEqual((limits, len(limits)), (sorted({*limits, 2 << 20, 3 << 20, 4 << 20}), 4))
        rates = [sample["voxels_per_second"] for sample in samples if sample["voxels_per_second"]]
        self.assertEqual(rates, sorted(rates))
        self.assertTrue(all(sample["bytes"] <= sample["memory_limit"] for sample in samples if sample["bytes"]))
        plan = json.loads(self.good(*arguments, "--mem", "3M", "--json"))
        own = next(sample for sample in samples if sample["memory_limit"] == 3 << 20)
        self.assertEqual(own["voxels_per_second"], plan["predicted"]["voxels_per_second"])
        self.assertEqual(own["patch_input"], plan["input"][2:])
        self.assertGreater(len(plan["ladder"]), 1)
        self.assertEqual(own["bytes"], plan["memory"]["host"]["peak"], "smaller rungs count")
        table = self.good(*arguments, "--curve", "1K..256K", "--volume", "40,50,60")
        self.assertIn("predicted in a volume of 40x50x60\n", table)
        self.assertIn("nothing fits", table)
        self.assertRegex(table, r"cpu +256.00 KiB +[0-9,]+ ")

    def test_a_curve_of_another_machine_has_its_strategies(self):
        arguments = ("--model", self.small, "--machine", self.golden / "machine.pbtxt", "--disable", "cpu.*", "--json")
        curves = json.loads(self.good(*arguments, "--curve", "1M..1M"))["curves"]
        self.assertEqual([curve["strategy"] for curve in curves], ["cpu", "baseline", "gpu", "gpu-host-ram", "cpu-gpu"])
        best = {curve["strategy"]: curve["samples"][-1]["voxels_per_second"] for curve in curves}
        self.assertGreaterEqual(best["cpu-gpu"], best["gpu"])
        plan = json.loads(self.good(*arguments, "--mem", "1M", "--strategy", "cpu-gpu"))
        self.assertGreater(len(plan["ladder"]), 1)
        self.assertEqual(curves[-1]["samples"][0]["bytes"],
                         sum(plan["memory"][space]["peak"] for space in ("host", "pinned")), "smaller rungs count")

    def test_a_wrong_curve_is_one_line(self):
        self.assertIn("range '2G..1G' is empty", self.refused(2, "--model", self.small, "--curve", "2G..1G"))
        self.assertIn("nowhere.onnx", self.refused(2, "--model", "nowhere.onnx", "--curve", "1G..2G"))
        self.assertIn("field of view", self.refused(2, "--model", self.small, "--curve", "1G..2G", "--volume", "7,20,20"))
        self.assertIn("no plan for small fits into any memory limit from 1 B to 1.00 KiB",
                      self.refused(3, "--model", self.small, "--curve", "1..1K"))

    def test_a_price_list_compares_machines(self):
        machine = self.golden / "machine.pbtxt"
        half = self.folder / "half.pbtxt"
        half.write_text(machine.read_text().replace('name: "72 cores, 256 GB, one GPU"', 'name: "another"'))
        arguments = ("--model", self.small, "--disable", "cpu.*", "--mem", "1M", "--price", "--machine", f"{machine}=2.50",
                     "--machine", f"{half}=1.25")
        prices = json.loads(self.good(*arguments, "--volume", "1000,1000,1000", "--within", "24h", "--json"))
        first, second = prices["machines"]
        self.assertEqual((first["machine"], second["machine"]), ("72 cores, 256 GB, one GPU", "another"))
        self.assertEqual(first["strategy"], "cpu-gpu")
        self.assertEqual(first["voxels_per_second"], second["voxels_per_second"])
        self.assertAlmostEqual(first["hours"] * first["voxels_per_second"] * 3600 / 993**3, 1)
        self.assertAlmostEqual(first["dollars"] / first["hours"], 2.5)
        self.assertAlmostEqual(second["voxels_per_dollar"] / first["voxels_per_dollar"], 2)
        self.assertEqual(prices["cheapest"], 1)
        table = self.good(*arguments)
        self.assertIn("small in an endless volume\n", table)
        self.assertRegex(table, r"cheapest   another, [0-9,]+ voxels a dollar\n")
        slow = json.loads(self.good(*arguments, "--strategy", "cpu", "--json"))["machines"][0]
        self.assertEqual(slow["strategy"], "cpu")
        self.assertLessEqual(slow["voxels_per_second"], first["endless_voxels_per_second"])
        late = self.good(*arguments, "--volume", "1000,1000,1000", "--within", "0.000001s")
        self.assertRegex(late, r"cheapest   none ends within 1.0 us; the soonest is 72 cores")

    def test_a_machine_that_no_plan_fits_stays_in_the_list(self):
        machine = self.golden / "machine.pbtxt"
        tiny = self.folder / "tiny.pbtxt"
        tiny.write_text(machine.read_text().replace("bytes: 274877906944", "bytes: 2000"))
        arguments = ("--model", self.small, "--disable", "cpu.*", "--strategy", "cpu", "--price", "--json", "--machine",
                     f"{tiny}=0.01")
        prices = json.loads(self.good(*arguments, "--machine", f"{machine}=2"))
        self.assertIn("the smallest budget that would do is", prices["machines"][0]["refused"])
        self.assertEqual(prices["cheapest"], 1)
        self.assertIn("tiny.pbtxt: no plan for small fits", self.refused(3, *arguments))

    def test_a_wrong_price_list_is_one_line(self):
        machine = self.golden / "machine.pbtxt"
        price = ("--model", self.small, "--price", "--machine")
        self.assertIn("FILE=DOLLARS_PER_HOUR", self.refused(2, *price, machine))
        self.assertIn("nowhere.pbtxt: cannot be read", self.refused(2, *price, "nowhere.pbtxt=2"))
        self.assertIn("no 'machine", self.refused(2, *price, f"{self.golden / 'timings.pbtxt'}=2"))
        self.assertIn("give --volume", self.refused(2, *price, f"{machine}=2", "--within", "24h"))
        self.assertIn("field of view", self.refused(2, *price, f"{machine}=2", "--strategy", "cpu", "--volume", "7,20,20"))
        self.assertIn("field of view", self.refused(2, *price, f"{machine}=2", "--volume", "7,20,20"))

    def test_the_machines_that_are_shipped_can_be_planned_for(self):
        files = sorted((self.networks.parent / "machines").glob("*.pbtxt"))
        self.assertGreaterEqual(len(files), 3)
        machines = [argument for file in files for argument in ("--machine", f"{file}=1")]
        prices = json.loads(self.good("--model", self.small, "--price", "--json", "--mem", "1M", "--enable",
                                      "cpu.conv.direct,cpu.pool.mpf", *machines))["machines"]
        self.assertEqual([price["file"] for price in prices], [str(file) for file in files])
        self.assertEqual({price["basis"] for price in prices}, {"model"})  # nothing was measured
        self.assertTrue(all(price["voxels_per_second"] > 0 for price in prices))

    def test_forced_primitives_are_used(self):
        for name in ("cpu.conv.direct", "cpu.conv.fft_task_parallel"):
            plan = json.loads(self.good("--model", self.small, "--mem", "100M", "--force", f"conv1={name}", "--json"))
            self.assertEqual([node["primitive"] for node in plan["nodes"] if node["name"] == "conv1"], [name])

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
        arguments = ("draw", "--model", self.small, "--mem", "20M", "--threads", 1, "--count", 4, "--neighbours", 2, "--output",
                     plans)
        printed = self.good(*arguments)
        names = ["chosen", *(f"random-{i}" for i in (1, 2, 3, 4)), "neighbour-1", "neighbour-2"]
        self.assertEqual([line.split(": ")[0] for line in printed.splitlines()], [f"{plans / name}.pbtxt" for name in names])
        for name in names:
            told = self.good("show", plans / f"{name}.pbtxt", "--model", self.small, "--mem", "20M")
            self.assertEqual(told.splitlines()[-1], "runs")
        self.assertEqual(self.good(*arguments), printed)

    def test_where_it_writes_is_looked_at_first(self):
        blocked = self.folder / "blocked"
        blocked.write_text("x")
        for flag in ("--report", "--output"):
            self.assertIn("blocked", self.refused(2, "--model", self.networks / "n337.pbtxt", "--mem", "200G", flag,
                                                  blocked / "file"))
            self.assertIn("is a directory", self.refused(2, "--model", self.small, flag, self.folder))

    def test_measured_timings_are_kept_and_used_again(self):
        timings, plan = self.folder / "t.pbtxt", self.folder / "plan.pbtxt"
        search = ("--model", self.small, "--mem", "3M", "--timings", timings, "--enable", "cpu.conv.direct,cpu.pool.mpf")
        self.good(*search, "--patience", "measure", "--time-limit", "60s", "--output", plan)
        records = timings.read_text().count("record {")
        self.assertGreaterEqual(records, 3)
        # A search may find another plan by the same timings, of a patch that none was taken of.
        told = self.good("show", plan, "--model", self.small, "--mem", "3M", "--timings", timings)
        self.assertIn("(recorded", told.splitlines()[-1])
        self.good(*search)
        self.assertEqual(timings.read_text().count("record {"), records)

    def test_interrupted_measuring_leaves_whole_records(self):
        timings = self.folder / "t.pbtxt"
        command = [self.program, "measure", "--model", str(self.networks / "n337.pbtxt"), "--mem", "1G", "--time-limit",
                   "5m", "--timings", str(timings)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=self.environment()) as process:
            deadline = time.monotonic() + 120
            while not timings.exists() and time.monotonic() < deadline:
                time.sleep(0.1)
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=200)
        self.assertIn(process.returncode, (0, 130))
        self.assertTrue(timings.exists())
        self.good("--model", self.small, "--mem", "3M", "--timings", timings)

    def test_some_extents_lose_little_against_all(self):
        machine = self.networks.parent / "machines" / "ryzen-7950x.pbtxt"  # the same wherever the test runs
        for memory in ("3M", "12M"):
            arguments = ("--model", self.small, "--machine", machine, "--mem", memory, "--max-extent", 40, "--json",
                         "--modes", "mpf", "--no-stream", "--no-groups")
            some, every = (json.loads(self.good(*arguments, *more))["predicted"]["voxels_per_second"]
                           for more in ((), ("--all-extents",)))
            self.assertLessEqual(some, every * (1 + 1e-9))
            self.assertGreater(some, 0.97 * every, f"some extents lose {100 * (1 - some / every):.1f} % in {memory}")

    def test_a_plan_that_ends_at_the_bound_of_the_search_says_so(self):
        machine = self.networks.parent / "machines" / "ryzen-7950x.pbtxt"
        arguments = ("--model", self.small, "--machine", machine, "--mem", "1G", "--no-stream")
        self.assertIn("is as long as --max-extent 40 lets it be", self.run_planner(*arguments, "--max-extent", 40).stderr)
        self.assertNotIn("--max-extent", self.run_planner(*arguments, "--volume", "60,60,60").stderr)

    def test_more_extents_than_can_be_looked_at_are_refused(self):
        refused = self.refused(2, "--model", self.small, "--mem", "1G", "--all-extents")
        self.assertRegex(refused, r"--all-extents: \S+ combinations of extents up to 1024; .*give a smaller --max-extent")

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
        self.assertIn(f"{missing}: cannot be read: No such file or directory",
                      self.refused(2, "--model", self.small, "--machine", missing))
        self.assertIn("no 'machine", self.refused(2, "--model", self.small, "--machine", self.golden / "timings.pbtxt"))
        cut = self.folder / "cut.pbtxt"
        cut.write_text(machine.read_text()[:500])
        done = self.run_planner("--model", self.small, "--machine", cut)
        self.assertEqual(done.returncode, 2)
        self.assertIn("cut.pbtxt: line 1: a record is cut short", done.stderr)

    def test_all_strategies_are_planned_for_another_machine(self):
        arguments = ("--model", self.small, "--machine", self.golden / "machine.pbtxt", "--disable", "cpu.*", "--mem", "1G")
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
        self.assertIn("--modes max,mpf: 2 modes; small has 1 pooling", self.refused(2, *arguments, "--modes", "max,mpf"))
        self.assertIn("with --patch 601", self.refused(3, *arguments, "--patch", "601"))

    def test_the_cut_of_a_plan_over_places_is_pinned(self):
        arguments = ("--model", self.small, "--machine", self.golden / "machine.pbtxt", "--disable", "cpu.*", "--mem", "1G",
                     "--strategy", "cpu-gpu", "--no-stream", "--no-groups")
        for theta in ("0", "1", "2"):
            plan = json.loads(self.good(*arguments, "--theta", theta, "--json"))
            self.assertEqual(str(plan["theta"]), theta)
            self.assertEqual(plan["pins"], f"--theta {theta} --no-stream --no-groups")
        self.assertIn("--theta 9: small has 3 layers", self.refused(2, *arguments, "--theta", "9"))

    def test_plans_over_places_are_explained(self):
        arguments = ("--model", self.small, "--machine", self.golden / "machine.pbtxt", "--disable", "cpu.*", "--mem", "1G",
                     "--strategy", "cpu-gpu")
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

    def test_a_plan_is_told_to_run_or_not(self):
        plan = self.folder / "a.pbtxt"
        self.good("--model", self.small, "--mem", "50M", "--threads", 1, "--disable", "cpu.conv.fft_*", "--output", plan)
        told = self.good("show", plan, "--model", self.small, "--mem", "50M").splitlines()[-1]
        self.assertTrue(told.startswith("runs, but the search space has grown: "), told)
        told = self.good("show", plan, "--model", self.small, "--mem", "50M", "--disable", "cpu.conv.fft_*").splitlines()[-1]
        self.assertEqual(told, "runs")
        done = self.run_planner("show", plan, "--model", self.small, "--mem", "1M")
        self.assertEqual(done.returncode, 1)
        self.assertTrue(done.stdout.splitlines()[-1].startswith("does not run: needs "), done.stdout)
        done = self.run_planner("show", plan, "--model", self.networks / "n337.pbtxt", "--mem", "50M")
        self.assertIn("made for another network", done.stdout)

    def test_threads_inside_libraries_sleep_between_layers(self):
        environment = {key: value for key, value in os.environ.items() if key not in ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT")}
        done = subprocess.run([self.program, "--version"], env={**environment, "OMP_DISPLAY_ENV": "verbose"},
                              capture_output=True, text=True, timeout=60, check=True)
        spins = [line.split("'")[1] for line in done.stderr.splitlines() if "GOMP_SPINCOUNT" in line]
        self.assertEqual(spins[-1:], ["0"], done.stderr)

    @unittest.skipUnless(LOADER.exists(), "another dynamic loader")
    def test_starts_by_naming_the_dynamic_loader(self):
        environment = {key: value for key, value in os.environ.items() if key not in ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT")}
        done = subprocess.run([LOADER, self.program, "--version"], env=environment, capture_output=True, text=True, timeout=60,
                              check=True)
        self.assertIn("planner ", done.stdout)

    def test_a_plan_is_told_anew(self):
        plan, anew, timings = self.folder / "a.pbtxt", self.folder / "b.pbtxt", self.folder / "t.pbtxt"
        search = ("--model", self.small, "--mem", "3M", "--enable", "cpu.conv.direct,cpu.pool.mpf", "--threads", 1)
        self.good(*search, "--patience", "model", "--output", plan)
        show = ("show", plan, "--model", self.small, "--mem", "3M", "--timings", timings)
        done = self.run_planner(*show)
        self.assertEqual(done.returncode, 2)
        self.assertIn("no timings in it", done.stderr)
        self.good("measure", *search, "--timings", timings, "--time-limit", "60s")
        told = self.good(*show, "--output", anew).splitlines()
        self.assertTrue(told[-1].startswith(f"by {timings}: "), told)
        self.assertEqual(self.good("show", anew, "--model", self.small, "--mem", "3M").splitlines()[-1], told[-2])
        self.assertNotEqual(anew.read_text(), plan.read_text())
        self.assertIn("both --model FILE and --timings FILE", self.refused(2, "show", plan, "--timings", timings))

    def test_calibration_keeps_what_it_measured(self):
        timings = self.folder / "t.pbtxt"
        command = ("measure", "--timings", timings, "--threads", 1, "--enable", "cpu.conv.direct,cpu.pool.*,cpu.softmax")
        printed = self.good(*command, "--time-limit", "20s")
        self.assertIn("cpu.conv.direct:", printed)
        self.assertIn("fitted", printed)
        records = timings.read_text().count("record {")
        self.assertGreaterEqual(records, 3)
        self.good(*command, "--time-limit", "1s")
        self.assertGreaterEqual(timings.read_text().count("record {"), records)

    def test_plugins_take_part(self):
        name = "example.activation.relu"
        self.assertIn(name, self.good("primitives", "--plugin", self.example))
        self.assertNotIn(name, self.good("primitives"))
        net = self.folder / "relu.pbtxt"
        net.write_text('name: "r" node { max_pool { window: 2 stride: 2 } } node { activate { kind: relu } }')
        timings = self.folder / "t.pbtxt"
        plan = json.loads(self.good("--model", net, "--mem", "1M", "--threads", 1, "--plugin", self.example, "--force",
                                    f"1={name}", "--patience", "measure", "--timings", timings, "--json"))
        self.assertEqual([node["primitive"] for node in plan["nodes"] if node["index"] == 1], [name])
        self.assertIn(name, timings.read_text())
        self.assertIn("no such module", self.refused(2, "primitives", "--plugin", "nowhere.so"))
        self.assertIn("is no shared library", self.refused(2, "primitives", "--plugin", net))
        self.assertIn("two primitives are named", self.refused(2, "primitives", "--plugin", self.example, "--plugin",
                                                               self.example))

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
        self.assertIn("not told anew", done.stderr)
        self.assertNotEqual(self.run_planner(*again, "--output", self.folder / "anew.pbtxt").returncode, 0)
        done = self.run_planner(*shown)
        self.assertEqual(done.returncode, 1)
        self.assertIn("does not run", done.stdout)
        self.assertIn("has 256.00 MiB", self.refused(3, *arguments, "--gpu-mem", "1G"))
        self.assertIn("no GPU", self.refused(2, "--model", self.small, "--strategy", "gpu", "--plugin", self.example))

    def test_precision_is_a_choice_of_the_plan(self):
        path = self.folder / "coarse.pbtxt"
        arguments = ("--model", self.small, "--mem", "40M", "--strategy", "gpu", "--gpu-mem", "8M", "--plugin",
                     self.simulated)
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
        self.assertIn("compute in fp32", self.refused(2, "--model", self.small, "--precision", "bf16"))

    def test_explains_what_more_memory_would_be_worth(self):
        text = self.good("--model", self.small, "--mem", "3M", "--threads", 1, "--explain")
        self.assertRegex(text, r"next better\n  (with [0-9.]+ .iB more host RAM, [0-9.]+ x|four times)")

    def test_the_report_is_one_page_that_stands_alone(self):
        page = self.folder / "pages" / "report.html"
        self.good("--model", self.small, "--mem", "3M", "--threads", 1, "--report", page)
        text = page.read_text()
        parser = Balanced()
        parser.feed(text)
        parser.close()
        self.assertEqual(parser.open, [])
        self.assertEqual(parser.wrong, [])
        self.assertLessEqual({"patches", "layers", "timeline", "refused"}, parser.ids)
        charts = self.charts_of(text)
        self.assertEqual([chart["id"] for chart in charts],
                         ["patches-memory", "patches-size", "layer-seconds", "layer-bytes", "pass-timeline"])
        self.assertLessEqual({chart["id"] for chart in charts}, parser.ids)
        self.assertRegex(text, r"<dt>Made</dt><dd>20\d\d-\d\d-\d\d \d\d:\d\d UTC by planner \d+\.\d+\.\d+</dd>")
        self.assertIn(f"<code>planner --model {self.small} --mem 3M --threads 1 --report {page}</code>", text)
        self.assertEqual(parser.loaded, [], "nothing comes from elsewhere")
        self.assertIn("default-src 'none'", text)
        plan = json.loads(self.good("--model", self.small, "--mem", "3M", "--threads", 1, "--json"))
        ring = next(own for own in charts[0]["points"]["series"] if own["mark"] == "ring")
        self.assertEqual([point["y"] for point in ring["points"]], [plan["predicted"]["voxels_per_second"]])
        layers = charts[2]["bars"]
        self.assertEqual(layers["labels"], [node["name"] for node in plan["nodes"]])
        self.assertEqual([bar["to"] for bar in layers["series"][0]["bars"]],
                         [node["runs"] * node["predicted_seconds"] for node in plan["nodes"]])
        browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
        if browser is None:
            self.skipTest("no Chromium here: the page's structure was checked, its rendering was not")
        seen = subprocess.run([browser, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom",
                               f"--user-data-dir={self.folder / 'browser'}", page.as_uri()],
                              capture_output=True, text=True, timeout=120, check=True).stdout
        self.assertIn(f'data-drawn="{len(charts)}"', seen)

    @staticmethod
    def charts_of(page):
        """What the script of a page draws."""
        return json.loads(re.search(r'id="charts">(.*?)</script>', page)[1])

    def test_the_report_has_curves_where_they_are_asked_for(self):
        page = self.folder / "report.html"
        self.good("--model", self.small, "--mem", "3M", "--threads", 1, "--patience", "model", "--enable",
                  "cpu.conv.direct,cpu.pool.mpf,cpu.pool.max", "--report", page, "--report-curve", "2M..4M")
        charts = {chart["id"]: chart for chart in self.charts_of(page.read_text())}
        memory = charts["curve-memory"]["points"]["series"]
        self.assertEqual([own["name"] for own in memory], ["cpu", "baseline", "chosen plan"])
        self.assertEqual([point["x"] for point in memory[0]["points"]], [2 << 20, int((2 << 20) * 2 ** 0.5), 3 << 20, 4 << 20])
        self.assertIn(memory[2]["points"][0]["y"], [point["y"] for point in memory[0]["points"]])
        self.assertGreater(len(charts["curve-size"]["points"]["series"][0]["points"]), 1)

    def test_what_was_measured_stands_beside_what_is_predicted(self):
        page, run = self.folder / "report.html", self.folder / "run.json"
        arguments = ("--model", self.small, "--mem", "3M", "--threads", 1, "--report", page, "--measured", run)
        plan = json.loads(self.good(*arguments[:6], "--json"))
        node = plan["nodes"][0]
        bench = {"network": "small", "patch": plan["input"][2:], "voxels": 50, "predicted_seconds": 0.5,
                 "runs": [{"kind": "warm", "voxels_per_second": 90}],
                 "nodes": [{"name": node["name"], "primitive": node["primitive"], "measured_ms": 1500}]}
        run.write_text(json.dumps(bench))
        self.good(*arguments)
        text = page.read_text()
        self.assertIn("<tr><td>znni-bench net</td><td>100</td><td>90</td><td>0.900</td></tr>", text)
        charts = {chart["id"]: chart["bars"] for chart in self.charts_of(text) if "bars" in chart}
        self.assertEqual([own["bars"][0]["to"] for own in charts["measured-rates"]["series"]], [100, 90])
        self.assertEqual(charts["layer-seconds"]["series"][1]["bars"], [{"from": 0, "to": 1.5, "text": "1.50 s"}, None, None])
        for wrong, said in (("no", "not JSON"), (json.dumps({**bench, "network": "x"}), "measured of network 'x'; the plan is"),
                            (json.dumps({**bench, "patch": [1, 1, 1]}), "measured in patches of 1x1x1; the plan's are of")):
            run.write_text(wrong)
            self.assertIn(f"--measured: {run}: {said}", self.refused(2, *arguments))
        run.unlink()
        self.assertIn(f"--measured: {run}: ", self.refused(2, *arguments))

    def test_a_repository_is_planned_as_far_as_it_goes(self):
        for version in ("1", "2"):
            (self.folder / "models" / "net" / version).mkdir(parents=True)
            (self.folder / "models" / "net" / version / "model.onnx").write_bytes(b"no model")
        done = self.run_planner("--mem", "1G", "--model-repository", self.folder / "models")
        self.assertEqual(done.returncode, 2)
        self.assertEqual(done.stderr.count("\n"), 2, done.stderr)
        self.refused(2, "--mem", "1G", "--model-repository", self.folder / "nowhere")

    def test_lists_primitives(self):
        text = self.good("primitives")
        for name in ("cpu.conv.direct", "cpu.conv.onednn", "cpu.pool.mpf"):
            self.assertIn(name, text)
        self.assertNotIn("cpu.conv.direct", self.good("primitives", "--disable", "cpu.conv.*"))


if __name__ == "__main__":
    Planner.program = sys.argv.pop(1)
    root = pathlib.Path(sys.argv.pop(1))
    Planner.networks = root / "planner" / "networks"
    Planner.golden = root / "tests" / "golden"
    Planner.example = sys.argv.pop(1)
    Planner.simulated = sys.argv.pop(1)
    unittest.main()

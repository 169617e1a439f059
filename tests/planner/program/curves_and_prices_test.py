"""The program `planner` from outside: curves over a range of limits, and price lists of machines.
Usage: as program_case.py says."""

import json

import program_case


class CurvesAndPrices(program_case.ProgramCase):
    def test_a_curve_has_the_best_rates_over_a_range_of_limits(self):
        arguments = (
            "--model",
            self.small,
            "--threads",
            1,
            "--patience",
            "model",
            "--enable",
            "cpu.conv.direct,cpu.pool.mpf,cpu.pool.max",
        )
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
        self.assertEqual(
            curves[-1]["samples"][0]["bytes"],
            sum(plan["memory"][space]["peak"] for space in ("host", "pinned")),
            "smaller rungs count",
        )

    def test_a_wrong_curve_is_one_line(self):
        self.assertIn("range '2G..1G' is empty", self.refused(2, "--model", self.small, "--curve", "2G..1G"))
        self.assertIn("nowhere.onnx", self.refused(2, "--model", "nowhere.onnx", "--curve", "1G..2G"))
        self.assertIn(
            "field of view", self.refused(2, "--model", self.small, "--curve", "1G..2G", "--volume", "7,20,20")
        )
        self.assertIn(
            "no plan for small fits into any memory limit from 1 B to 1.00 KiB",
            self.refused(3, "--model", self.small, "--curve", "1..1K"),
        )

    def test_a_price_list_compares_machines(self):
        machine = self.golden / "machine.pbtxt"
        half = self.folder / "half.pbtxt"
        half.write_text(machine.read_text().replace('name: "72 cores, 256 GB, one GPU"', 'name: "another"'))
        arguments = (
            "--model",
            self.small,
            "--disable",
            "cpu.*",
            "--mem",
            "1M",
            "--price",
            "--machine",
            f"{machine}=2.50",
            "--machine",
            f"{half}=1.25",
        )
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
        arguments = (
            "--model",
            self.small,
            "--disable",
            "cpu.*",
            "--strategy",
            "cpu",
            "--price",
            "--json",
            "--machine",
            f"{tiny}=0.01",
        )
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
        self.assertIn(
            "field of view", self.refused(2, *price, f"{machine}=2", "--strategy", "cpu", "--volume", "7,20,20")
        )
        self.assertIn("field of view", self.refused(2, *price, f"{machine}=2", "--volume", "7,20,20"))

    def test_the_machines_that_are_shipped_can_be_planned_for(self):
        files = sorted((self.networks.parent / "machines").glob("*.pbtxt"))
        self.assertGreaterEqual(len(files), 3)
        machines = [argument for file in files for argument in ("--machine", f"{file}=1")]
        prices = json.loads(
            self.good(
                "--model",
                self.small,
                "--price",
                "--json",
                "--mem",
                "1M",
                "--enable",
                "cpu.conv.direct,cpu.pool.mpf",
                *machines,
            )
        )["machines"]
        self.assertEqual([price["file"] for price in prices], [str(file) for file in files])
        self.assertEqual({price["basis"] for price in prices}, {"model"})  # nothing was measured
        self.assertTrue(all(price["voxels_per_second"] > 0 for price in prices))


if __name__ == "__main__":
    program_case.main()

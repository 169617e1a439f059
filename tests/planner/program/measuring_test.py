"""The program `planner` from outside: what it measures is kept, told and used again. Usage: as program_case.py says."""

import signal
import subprocess
import time

import program_case


class Measuring(program_case.ProgramCase):
    def test_measured_timings_are_kept_and_used_again(self):
        timings, plan = self.folder / "t.pbtxt", self.folder / "plan.pbtxt"
        search = (
            "--model",
            self.small,
            "--mem",
            "3M",
            "--timings",
            timings,
            "--enable",
            "cpu.conv.direct,cpu.pool.mpf",
        )
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
        command = [
            self.program,
            "measure",
            "--model",
            str(self.networks / "n337.pbtxt"),
            "--mem",
            "1G",
            "--time-limit",
            "5m",
            "--timings",
            str(timings),
        ]
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=self.environment()
        ) as process:
            deadline = time.monotonic() + 600
            while not timings.exists() and time.monotonic() < deadline:
                time.sleep(0.1)
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=600)
        self.assertIn(process.returncode, (0, 130))
        self.assertTrue(timings.exists())
        self.good("--model", self.small, "--mem", "3M", "--timings", timings)

    def test_a_plan_is_predicted_again(self):
        plan, again, timings = self.folder / "a.pbtxt", self.folder / "b.pbtxt", self.folder / "t.pbtxt"
        search = ("--model", self.small, "--mem", "3M", "--enable", "cpu.conv.direct,cpu.pool.mpf", "--threads", 1)
        self.good(*search, "--patience", "model", "--output", plan)
        show = ("show", plan, "--model", self.small, "--mem", "3M", "--timings", timings)
        done = self.run_planner(*show)
        self.assertEqual(done.returncode, 2)
        self.assertIn("no timings in it", done.stderr)
        self.good("measure", *search, "--timings", timings, "--time-limit", "60s")
        told = self.good(*show, "--output", again).splitlines()
        self.assertTrue(told[-1].startswith(f"by {timings}: "), told)
        self.assertEqual(self.good("show", again, "--model", self.small, "--mem", "3M").splitlines()[-1], told[-2])
        self.assertNotEqual(again.read_text(), plan.read_text())
        self.assertIn("both --model FILE and --timings FILE", self.refused(2, "show", plan, "--timings", timings))

    def test_calibration_keeps_what_it_measured(self):
        timings = self.folder / "t.pbtxt"
        command = (
            "measure",
            "--timings",
            timings,
            "--threads",
            1,
            "--enable",
            "cpu.conv.direct,cpu.pool.*,cpu.softmax",
        )
        printed = self.good(*command, "--time-limit", "20s")
        self.assertIn("cpu.conv.direct:", printed)
        self.assertIn("fitted", printed)
        records = timings.read_text().count("record {")
        self.assertGreaterEqual(records, 3)
        self.good(*command, "--time-limit", "1s")
        self.assertGreaterEqual(timings.read_text().count("record {"), records)


if __name__ == "__main__":
    program_case.main()

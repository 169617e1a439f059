"""Plans that the planner leaves for znnid, and those that znnid keeps itself."""

import os
import pathlib
import re
import subprocess
import tempfile
import unittest

import nets
import numpy as np
from harness import Daemon

PLANNER = pathlib.Path(os.environ["ZNNI_BIN_DIR"]) / "planner"
MEM = "512M"  # of daemons, whose model may take 336 MiB of it
ROUNDED = "300M"  # of the planner


def small(seed=1):
    """Returns a net whose weights, not its layers, depend on the seed."""
    rng = np.random.default_rng(seed)
    net = nets.Net(1)
    net.conv(rng, 3, (3, 3, 3))
    net.activate("Relu")
    net.conv(rng, 2, (1, 1, 1))
    return net


class PlansTest(unittest.TestCase):
    """The planner and daemons of one user, which share a folder of plans."""

    def setUp(self):
        kept = tempfile.TemporaryDirectory()
        self.addCleanup(kept.cleanup)
        self.folder = pathlib.Path(kept.name)
        self.plans = self.folder / "plans"
        self.models = self.folder / "models"
        nets.save(small(), self.models, "net")

    def plan(self, *arguments, mem=ROUNDED, repository=None):
        """Runs the planner over a repository. Returns the file of its one plan."""
        ran = subprocess.run(
            [
                PLANNER,
                "--model-repository",
                repository or self.models,
                "--plan-dir",
                self.plans,
                "--mem",
                mem,
                "--threads",
                "1",
                *arguments,
            ],
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertEqual(ran.returncode, 0, ran.stderr)
        return pathlib.Path(ran.stdout.rstrip("\n").split(" -> ")[1])

    def serve(self, threads="1", repository=None):
        """Serves a repository until its model is ready. Returns the log."""
        with Daemon(
            repository or self.models,
            "--threads",
            threads,
            mem=MEM,
            plans=self.plans,
            environment={"TMPDIR": str(self.folder)},
        ) as daemon:
            daemon.logged("is ready: ")
            self.assertEqual(daemon.stop(), 0)
            return daemon.log

    def lines(self, log, words):
        """Returns the lines of the log that have these words."""
        return [line for line in log if words in line]

    def assert_used(self, log, file):
        """Fails unless the log names `file` as the plan that is used, and no search."""
        self.assertEqual(len(self.lines(log, f"plan {file} is used")), 1, log)
        self.assertEqual(self.lines(log, "planning network"), [])

    def primitives(self, log):
        """Returns the names of the primitives of the plan, as the model's line has them."""
        return re.search(r"is ready: .* rungs, ([^:]*): ", self.lines(log, "is ready: ")[0])[1].split(", ")

    def test_the_daemon_takes_the_plan_of_the_planner(self):
        own = self.serve()
        self.assertEqual(len(self.lines(own, "plan written to ")), 1, own)
        used = next(name for name in self.primitives(own) if name.startswith("cpu.conv."))
        self.assert_used(self.serve(), next(self.plans.glob("*/*.plan.pbtxt")))
        log = self.serve_planned("--disable", used)
        self.assertNotIn(used, self.primitives(log))
        again = self.serve_planned()
        self.assertIn(used, self.primitives(again))

    def serve_planned(self, *arguments):
        """Plans and serves. Returns the log, which names the new plan."""
        file = self.plan(*arguments)
        self.assertRegex(file.name, r"^[0-9]+\.planner\.pbtxt$")
        log = self.serve()
        self.assert_used(log, file)
        return log

    def test_a_plan_for_a_volume_is_used(self):
        file = self.plan("--volume", "40,40,40")
        self.assert_used(self.serve(), file)
        self.assertIn(
            "40x40x40", subprocess.run([PLANNER, "show", file], capture_output=True, text=True, check=True).stdout
        )

    def test_a_plan_that_does_not_run_is_named_and_the_daemon_makes_its_own(self):
        file = self.plan()
        text = file.read_text()
        for broken in (text[: len(text) // 2], "", text.replace("conv", "conv4", 1)):
            file.write_text(broken)
            log = self.serve()
            warnings = self.lines(log, "is not used: ")
            self.assertEqual(len(warnings), 1, log)
            self.assertIn(f"plan {file} is not used: ", warnings[0])
            self.assertIn(f"; planner --model-repository with --plan-dir {self.plans} --mem ", warnings[0])
        self.assertEqual(file.read_text(), broken, "the daemon leaves it")
        mended = self.plan(mem=re.search(r"--mem (\d+) --threads 1", warnings[0])[1])
        self.assert_used(self.serve(), mended)

    def test_two_repositories_do_not_replace_each_others_plans(self):
        other = self.folder / "other"
        net = small()
        net.activate("Sigmoid")
        nets.save(net, other, "net")
        file, second = self.plan(), self.plan(repository=other)
        self.assertNotEqual(file.parent, second.parent)
        for _ in range(2):
            self.assert_used(self.serve(), file)
            self.assert_used(self.serve(repository=other), second)

    def test_a_plan_for_other_threads_is_named(self):
        file = self.plan()
        log = self.serve(threads="2")
        self.assertEqual(len(self.lines(log, f"plan {file} is not used: it was made for ")), 1, log)
        self.assertEqual(len(self.lines(log, " --threads 2 makes one that is")), 1, log)

    def test_a_folder_that_cannot_be_written_does_not_keep_the_daemon_from_serving(self):
        file = self.plan()
        file.unlink()
        file.parent.rmdir()
        file.parent.write_text("a file, not a folder")
        log = self.serve()
        self.assertEqual(len(self.lines(log, f"plan written to {self.folder}/znni-plans-")), 1, log)
        log = self.serve()
        self.assertEqual(len(self.lines(log, " is used")), 1, log)
        self.assertEqual(self.lines(log, "planning network"), [])


if __name__ == "__main__":
    unittest.main()

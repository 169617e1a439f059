"""Measures the memory of znni-train from outside, within a bound on its address space (`ulimit -v`)."""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import h5py
import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

import peak_rss

PROGRAM = pathlib.Path(os.environ["ZNNI_BIN_DIR"]) / "znni-train"
LONGEST = 600  # seconds; only a bound for a hang
MEM = 300 << 20
STEPS = 12
# Address space beside what is declared, as docs/training says: 90 MiB of program and libraries, 5 stacks of 8 MiB (two
# workers, OpenMP's other thread, those that make samples and wait for signals), and the heap.
PROGRAM_PART = 192 << 20
UNITS = {"bytes": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
NET = """
name: "wide"
node { conv { f_out: 16 k: 3 activation: relu } }
node { max_pool { window: 2 } }
node { conv { f_out: 16 k: 3 activation: relu } }
node { conv { f_out: 1 k: 3 activation: sigmoid } }
"""
CONFIG = """
steps: 12 patch: 61 checkpoint_steps: 4
volume { input: "%(data)s:/raw" labels: "%(data)s:/labels" }
validation { input: "%(data)s:/raw" labels: "%(data)s:/labels" }
targets: boundaries
loss { kind: binary_cross_entropy }
optimizer { kind: adam learning_rate: 0.01 }
"""


class TrainMemoryTest(unittest.TestCase):
    """Trainings of one net on one volume."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.root = pathlib.Path(folder.name)
        rng = np.random.default_rng(1)
        with h5py.File(cls.root / "data.h5", "w") as file:
            file["raw"] = rng.standard_normal((64,) * 3).astype(np.float32)
            file["labels"] = np.kron(rng.integers(1, 9, (8,) * 3), np.ones((8,) * 3, int)).astype(np.uint32)
        (cls.root / "net.pbtxt").write_text(NET)
        (cls.root / "train.pbtxt").write_text(CONFIG % {"data": cls.root / "data.h5"})
        cls.declared, validation = cls.find_declared()
        in_turn = max(cls.declared["step"], validation)
        cls.beside = int(sum(cls.declared.values()) - cls.declared["process"] - cls.declared["step"] + in_turn)
        cls.whole = cls.run_within("whole", cls.beside + PROGRAM_PART)

    @classmethod
    def command(cls, output, *arguments):
        """Returns the words of a training."""
        words = [PROGRAM, "--model", cls.root / "net.pbtxt", "--config", cls.root / "train.pbtxt"]
        words += ["--output", cls.root / output, "--mem", MEM, "--threads", 2, *arguments]
        return [str(word) for word in words]

    @classmethod
    def find_declared(cls):
        """Returns the bytes that --explain declares, by name, and those of a validation in place of the step's."""
        explain = cls.command("explained", "--explain")
        explained = subprocess.run(explain, capture_output=True, text=True, timeout=LONGEST, check=True)
        memory, validation = explained.stdout.splitlines()[-2:]
        size = r"([\d.]+) (bytes|KiB|MiB|GiB)"
        parts = re.findall(rf"([a-z ]+?) {size}", memory.rpartition(", of ")[0])
        declared = {name.strip(): float(number) * UNITS[unit] for name, number, unit in parts}
        number, unit = re.search(rf"{size} in place of the step's memory", validation).groups()
        return declared, float(number) * UNITS[unit]

    @classmethod
    def run_within(cls, output, address_limit):
        """Trains. Returns (exit code, standard error, bytes at the peak)."""
        return peak_rss.run(cls.command(output), address_limit=address_limit)

    def losses(self, output):
        """Returns the losses of the log."""
        lines = (self.root / output / "train.jsonl").read_text().splitlines()
        return [record["loss"] for record in map(json.loads, lines) if "loss" in record]

    def test_the_peak_is_at_most_what_is_declared(self):
        """What --explain says is enough, and what it says of the step is taken."""
        self.assertEqual(
            set(self.declared), {"step", "volumes", "optimizer", "copies while written", "samples", "process"}
        )
        all_declared = self.beside + int(self.declared["process"])
        code, errors, peak = self.whole
        print(
            f"peak {peak >> 20} MiB of {all_declared >> 20} declared, {int(self.declared['step']) >> 20} for the step"
        )
        self.assertEqual(code, 0, errors)
        self.assertEqual(len(self.losses("whole")), STEPS)
        self.assertLessEqual(peak, all_declared)
        self.assertGreaterEqual(peak, self.declared["step"])

    def stop_behind_a_checkpoint(self, output):
        """Trains for some steps: again from the start if a training ended before this process stopped it."""
        while True:
            with subprocess.Popen(self.command(output, "--restart"), stderr=subprocess.PIPE, text=True) as process:
                while process.poll() is None and not (self.root / output / "checkpoint").exists():
                    time.sleep(0.0005)
                process.send_signal(signal.SIGTERM)
                errors = process.communicate(timeout=LONGEST)[1]
            if process.returncode != 0:
                self.assertEqual(process.returncode, 128 + signal.SIGTERM, errors)
                return

    def check_refusal(self, code, errors):
        """Expects one line, which says that it is memory that lacks."""
        self.assertEqual(code, 1, errors)
        self.assertNotIn("terminate", errors)
        said = [line for line in errors.splitlines() if line.startswith(("znni-train: ", "libgomp: "))]
        self.assertEqual(said, errors.splitlines()[-1:], errors)
        # HDF5 says nothing of memory.
        lack = r"ulimit -v|the system refuses .* MiB .*: Cannot allocate memory|Thread creation failed|data\.h5"
        self.assertRegex(said[0], lack)

    def test_too_little_is_one_line_and_nothing_is_lost(self):
        """A training that has a checkpoint goes on within rising limits, the last of which is enough. Then all is as
        it is of a training that always had enough."""
        self.stop_behind_a_checkpoint("scarce")
        refused = 0
        for limit in range(128 << 20, MEM + PROGRAM_PART, 24 << 20):
            code, errors, _ = self.run_within("scarce", limit)
            if code == 0:
                break
            self.assertTrue((self.root / "scarce/checkpoint").exists())
            self.assertFalse((self.root / "scarce/1").exists())
            self.check_refusal(code, errors)
            refused += 1
        self.assertEqual(code, 0, errors)
        self.assertGreaterEqual(refused, 2)
        self.assertEqual(self.losses("scarce"), self.losses("whole"))
        for name in ("1/model.onnx", "checkpoint"):
            with self.subTest(name):
                self.assertEqual(*((self.root / output / name).read_bytes() for output in ("scarce", "whole")))


if __name__ == "__main__":
    unittest.main()

"""Kills what computes jobs of blocks at random moments, and compares their outputs; see deploy/soak."""

import argparse
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time

import nets
import numpy as np
import zarr
from harness import ZNNID
from soak_kills import MODES, OUTPUTS, daemons_of
from znni.local.own_folder import OwnFolder

EXTENT = (236, 165, 228)  # 48 blocks of 64x64x64 voxels, or of what is left
PATIENCE = 120  # seconds until a daemon whose process was killed has ended


def net():
    """Returns a net whose blocks take some tenths of a second."""
    rng = np.random.default_rng(5)
    made = nets.Net(1)
    for f_out in (12, 16):
        made.conv(rng, f_out, (3, 3, 3))
        made.activate("Relu")
    made.pool((2, 2, 2))
    made.conv(rng, 2, (3, 3, 3))
    made.activate("Sigmoid")
    return made


class Soak:
    """The network and the volume of all jobs, and what those give that are left alone."""

    def __init__(self, options, work):
        self.options = options
        self.work = work
        self.random = random.Random(options.seed)
        self.environment = dict(
            os.environ, ZNNID=str(ZNNID), XDG_STATE_HOME=str(work / "state"), TMPDIR=str(work / "tmp")
        )
        (work / "tmp").mkdir()
        os.environ.update(self.environment)
        tempfile.tempdir = str(work / "tmp")
        nets.save(net(), work / "models", "net")
        self.network = work / "models/net/1/model.onnx"
        volume = np.random.default_rng(options.seed).random(EXTENT, np.float32)
        for version in (2, 3):
            zarr.create_array(str(work / f"in{version}.zarr"), data=volume, chunks=(32, 32, 32), zarr_format=version)
        self.calm = {}
        self.seconds = 0.0  # of shards that were left alone

    def call(self, command, *arguments):
        """Returns what znni-job prints."""
        done = subprocess.run(
            [sys.executable, "-m", "znni.programs.job", command, *map(str, arguments)],
            text=True,
            env=self.environment,
            check=False,
            capture_output=True,
        )
        if done.returncode and command != "verify":
            raise RuntimeError(done.stderr)
        return done.stdout

    def moment(self):
        """Returns a random moment of a job, in seconds."""
        return self.random.random() * self.seconds

    def undisturbed(self, kind, mode):
        """Returns (voxels, files) of a job that is left alone; its output is made once for each kind."""
        if kind not in self.calm:
            job = MODES[mode](self, f"calm {kind}", kind, False)[0]
            self.calm[kind] = job.voxels(), job.files()
        return self.calm[kind]

    def round(self, number):
        """Runs a job of which something is killed. Returns what is reported of it."""
        mode = self.options.modes[number % len(self.options.modes)]
        kind = list(OUTPUTS)[number // len(self.options.modes) % len(OUTPUTS)]
        calm = self.undisturbed(kind, mode)
        began = time.monotonic()
        job, killed, problems = MODES[mode](self, f"round {number}", kind, True)
        problems += [*self.left(job, calm[1]), *self.differences(job, calm[0])]
        repeated, most = job.repeated(), sum(count for _, count in killed)
        problems += ["too many blocks are repeated"] if sum(repeated.values()) > most else []
        return {
            "round": number,
            "mode": mode,
            "output": kind,
            "killed": [what for what, _ in killed],
            "repeated": repeated,
            "seconds": round(time.monotonic() - began, 1),
            "problems": problems,
        }

    def left(self, job, files):
        """Yields a line for each kind of thing that a job left, or that is missing; `files` are those of another."""
        end = time.monotonic() + PATIENCE
        while (running := daemons_of(self.work)) and time.monotonic() < end:
            time.sleep(0.1)
        OwnFolder().cleanup()  # removes those of processes that were killed
        folders = [name for name in os.listdir(self.work / "tmp") if name.startswith("znni-")]
        found = job.files()
        for what, things in (
            ("daemons run", running),
            ("folders are left", folders),
            ("files are left", found - files),
            ("files are missing", files - found),
        ):
            if things:
                yield f"{what}: {sorted(map(str, things))}"

    def differences(self, job, voxels):
        """Yields a line for each block that differs from the undisturbed one, and if the job finds damage itself."""
        found, grid = job.voxels(), job.spec.grid
        for number in range(len(grid)):
            at = (..., *(slice(a, b) for a, b in zip(*grid.box(number))))
            if (found[at] != voxels[at]).any():
                yield f"block {number} differs, by {np.abs(found[at] - voxels[at]).max():.3g} at most"
        verified = self.call("verify", job.path).strip()
        if verified != "0 blocks missing, 0 damaged":
            yield verified


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--modes", nargs="+", choices=list(MODES), default=list(MODES))
    parser.add_argument("--output", default="jobs.json")
    options = parser.parse_args()
    rounds = []
    with tempfile.TemporaryDirectory(prefix="soak-") as work:
        soak = Soak(options, pathlib.Path(work))
        for number in range(options.rounds):
            rounds.append(soak.round(number))
            print(json.dumps(rounds[-1]), flush=True)
    pathlib.Path(options.output).write_text(json.dumps({"seed": options.seed, "rounds": rounds}, indent=1) + "\n")
    return 1 if any(one["problems"] for one in rounds) else 0


if __name__ == "__main__":
    sys.exit(main())

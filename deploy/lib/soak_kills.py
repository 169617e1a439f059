"""Runs jobs of blocks for deploy/soak, and kills some of what computes them at random moments."""

import collections
import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import time

import distributed
import psutil
import znni.dask
from harness import Daemon
from soak_counted import Counting
from znni.blocks.spec import read_spec
from znni.box import Box
from znni.errors import Error
from znni.stores.opening import open_source

COUNTED = pathlib.Path(__file__).with_name("soak_counted.py")
MEM = "256M"
SHARDS = 4
MOST_RUNS = 10  # of a shard, until it counts as one that does not end
AWAY = 3  # seconds for which a daemon that was killed is away, at most
OUTPUTS = {
    "zarr 2": ("in2.zarr", "{}/out.zarr"),
    "zarr 3": ("in3.zarr", "{}/out.zarr"),
    "N5": ("in2.zarr", "{}/out.n5/dense"),
    "precomputed": ("in2.zarr", "precomputed://{}/out.pre"),
}


def daemons_of(work):
    """Returns the processes of all daemons that serve something in the folder."""
    return [
        process
        for process in psutil.process_iter(["name", "cmdline"])
        if process.info["name"] == "znnid" and any(str(work) in word for word in process.info["cmdline"] or [])
    ]


class Job:
    """One job in a folder of its own: `kind` of output, computed by `options` of znni-job."""

    def __init__(self, soak, name, kind, options):
        self.soak = soak
        self.work = soak.work / name
        self.work.mkdir()
        volume, output = OUTPUTS[kind]
        self.output = output.format(self.work)
        self.log = self.work / "begun.txt"
        self.log.touch()
        self.path = self.work / "job.json"
        self.path.write_text(
            soak.call(
                "plan",
                "-i",
                soak.work / volume,
                "-o",
                self.output,
                "--block",
                "64,64,64",
                "--pad",
                "reflect",
                "--nodes",
                SHARDS,
                "--no-measure",
                *options,
            )
        )
        self.spec = read_spec(self.path)

    def start(self, shard):
        """Starts a shard."""
        with open(self.work / f"shard{shard}.txt", "a", encoding="utf-8") as said:
            return subprocess.Popen(
                [sys.executable, COUNTED, self.log, "run", self.path, "--shard", f"{shard}/{SHARDS}"],
                env=self.soak.environment,
                stdin=subprocess.DEVNULL,
                stderr=said,
            )

    def repeated(self):
        """Returns how often blocks were begun again, by number."""
        begun = collections.Counter(int(line.split()[0]) for line in self.log.read_text().splitlines())
        return {number: count - 1 for number, count in begun.items() if count > 1}

    def voxels(self):
        """Returns all voxels of the output."""
        with open_source(self.output) as source:
            return source.read(Box((0, 0, 0), source.shape[1:]))

    def files(self):
        """Returns the names of all files that the job has made; those of two jobs are the same."""
        names = (str(path.relative_to(self.work)) for path in self.work.rglob("*") if path.is_file())
        return {name.replace(self.spec.identity, "IDENTITY") for name in names if not name.endswith(".txt")}


class Shards:
    """Runs the shards of a job as a scheduler does, which starts again what ends without all of its blocks."""

    def __init__(self, job):
        self.job = job
        self.runs = collections.Counter(range(SHARDS))
        self.processes = {shard: job.start(shard) for shard in range(SHARDS)}
        self.problems = []

    def kill_one(self):
        """Kills a shard. Returns what it is, and how many blocks are repeated for it at most."""
        if not self.processes:
            return "shard, which had ended", 0
        shard = self.job.soak.random.choice(list(self.processes))
        self.processes[shard].kill()
        return f"shard {shard}", 1

    def kill_daemon(self):
        """Kills the daemon that a shard has of its own."""
        found = daemons_of(self.job.soak.work)
        if not found:
            return "daemon, of which there was none", 0
        with contextlib.suppress(psutil.NoSuchProcess):
            self.job.soak.random.choice(found).kill()
        return "daemon", 1

    def follow(self, moments):
        """Runs the shards to their end. Does what is to be done at `moments`, (seconds, function), and returns what
        the functions do."""
        began, moments, killed = time.monotonic(), sorted(moments, key=lambda one: one[0]), []
        while self._look() or moments:
            while moments and time.monotonic() - began > moments[0][0]:
                killed.append(moments.pop(0)[1]())
            time.sleep(0.02)
        if not killed:
            self.job.soak.seconds = time.monotonic() - began
        return killed

    def _look(self):
        """Starts again what was killed or has blocks missing. Returns whether some run."""
        for shard, process in list(self.processes.items()):
            code = process.poll()
            if code is None:
                continue
            del self.processes[shard]
            if code in (0, 2) or self.runs[shard] == MOST_RUNS:
                self.problems += [f"shard {shard} ended with {code} in run {self.runs[shard]}"] if code else []
            else:
                self.runs[shard] += 1
                self.processes[shard] = self.job.start(shard)
        return bool(self.processes)


class Daemons:
    """Is a context with two daemons of `soak`, each of which serves up to `most` blocks at a time."""

    def __init__(self, soak, most):
        self.soak = soak
        self.most = most
        self.killed = None

    def _start(self, port=0):
        return Daemon(self.soak.work / "models", "--threads", "1", mem=MEM, port=port, plans=self.soak.work / "plans")

    def __enter__(self):
        self.all = [self._start().wait_ready() for _ in range(2)]
        return self

    def __exit__(self, *_):
        for daemon in self.all:
            if daemon.process.poll() is None:
                daemon.stop(signal.SIGKILL)

    @property
    def options(self):
        """Returns the options by which znni-job uses them."""
        return [*(word for daemon in self.all for word in ("--server", daemon.url)), "--model", "net"]

    def kill_one(self):
        """Kills a daemon. Returns what it is, and how many blocks are repeated for it at most."""
        self.killed = self.soak.random.randrange(len(self.all))
        self.all[self.killed].stop(signal.SIGKILL)
        return f"daemon {self.killed}", self.most

    def restart(self):
        """Starts the daemon that was killed, on its port."""
        self.all[self.killed] = self._start(self.all[self.killed].port)
        return f"daemon {self.killed} is back", 0


def private(soak, name, kind, kill):
    """Runs shards with daemons of their own. Kills one, and the daemon of one. Returns (job, what was killed,
    problems)."""
    job = Job(soak, name, kind, ("-m", soak.network, "--mem", MEM, "--threads", "1"))
    shards = Shards(job)
    moments = [(soak.moment(), shards.kill_one), (soak.moment(), shards.kill_daemon)] if kill else []
    return job, shards.follow(moments), shards.problems


def daemons(soak, name, kind, kill):
    """Runs shards by two daemons. Kills a shard and a daemon, which comes back."""
    with Daemons(soak, SHARDS) as both:
        job = Job(soak, name, kind, both.options)
        shards, when = Shards(job), soak.moment()
        moments = (
            [
                (soak.moment(), shards.kill_one),
                (when, both.kill_one),
                (when + AWAY * soak.random.random(), both.restart),
            ]
            if kill
            else []
        )
        return job, shards.follow(moments), shards.problems


def dask(soak, name, kind, kill):
    """Runs a Dask cluster of four processes by two daemons. Kills a process and a daemon, which comes back."""
    killed, problems = [], []
    with (
        Daemons(soak, 2) as both,
        distributed.LocalCluster(
            n_workers=SHARDS,
            threads_per_worker=1,
            dashboard_address=":0",
            local_directory=soak.work / "dask",
            silence_logs=50,
        ) as local,
        distributed.Client(local) as cluster,
    ):
        job = Job(soak, name, kind, both.options)
        cluster.register_plugin(Counting(job.log))

        def kill_process():
            os.kill(soak.random.choice(list(cluster.run(os.getpid).values())), signal.SIGKILL)
            return "process of Dask", 1

        when = soak.random.random()
        moments = [(soak.random.random(), kill_process), (when, both.kill_one), (when, both.restart)] if kill else []
        moments.sort(key=lambda one: one[0])

        def look(done, of):
            while moments and done / of >= moments[0][0]:
                killed.append(moments.pop(0)[1]())

        try:
            status = znni.dask.run(cluster, job.path, progress=look)
            problems += [f"{status.missing} blocks are missing"] if status.missing else []
        except Error as error:
            problems.append(f"{type(error).__name__}: {error}")
    return job, killed, problems


MODES = {"daemons": daemons, "private": private, "dask": dask}

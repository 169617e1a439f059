#!/usr/bin/env python3
"""Measures the cost of serving: a net that returns its input beside a gRPC echo, a model beside one process.

  served.py --programs build/release/bin [--extent Z,Y,X] [--repetitions N] [--mem SIZE]
            [--model-repository DIR --model NAME --model-extent Z,Y,X --model-mem SIZE]

Needs the packages of deploy/packages/python.txt. Both sides run the model once before they are measured, then in turn.
Prints one JSON object: for each side, wall seconds and processor seconds of every repetition, the ratio of their
medians, and the daemon's peak resident memory. A side that streams counts from connecting to the stream's end. Seconds
in layers and in moving voxels to and from them are separate, and the daemon's own record is included.
"""

import argparse
import contextlib
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "e2e"))

SAME = """parameters { key: "input_scale" value { string_value: "0.0039215686" } }
parameters { key: "input_offset" value { string_value: "0" } }
"""


def say(line):
    print(f"served: {line}", file=sys.stderr, flush=True)


def load():
    return pathlib.Path("/proc/loadavg").read_text().split()[:3]


def processor_seconds(pid):
    """Returns the user and system time of a process so far."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def identity(repository):
    """Writes a model named `same`: bytes to 0..1, one voxel times 1, and back."""
    import nets
    import numpy as np

    net = nets.Net(1)
    net.add(
        nets.Node(
            "Conv",
            ["input"],
            "same",
            [np.ones((1, 1, 1, 1, 1), np.float32), np.zeros(1, np.float32)],
            k=(1, 1, 1),
            dilation=(1, 1, 1),
        ),
        1,
    )
    nets.save(net, repository, "same", config=SAME)


class Served:
    """Runs znni-served with the given options."""

    def __init__(self, options):
        self.program = options.programs / "znni-served"

    def once(self, *arguments, of=None):
        """Returns the output of one run, with the processor seconds that the process `of` took meanwhile."""
        before = processor_seconds(of) if of else 0
        done = subprocess.run(
            [str(word) for word in (self.program, *arguments)], capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            raise SystemExit(f"served: {done.stderr.strip()}")
        spent = json.loads(done.stdout)
        spent["server_processor_seconds"] = round(processor_seconds(of) - before, 2) if of else 0
        return spent

    def echo(self):
        """Returns a process that echoes, and its address."""
        process = subprocess.Popen([self.program, "echo"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        return process, process.stdout.readline().split()[-1]


class Inside:
    """A context that keeps the model in its own process, as a daemon does."""

    def __init__(self, served, *arguments):
        self.process = subprocess.Popen(
            [str(word) for word in (served.program, "run", *arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self):
        self.spent()
        return self

    def __exit__(self, *_):
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()

    def spent(self):
        """Returns the times of the volume that runs now."""
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"served: the run in process ended with code {self.process.wait()}")
        return json.loads(line) | {"server_processor_seconds": 0}

    def run(self):
        with contextlib.suppress(BrokenPipeError):  # the process has ended; spent() reports how
            print("again", file=self.process.stdin, flush=True)
        return self.spent()


STAGES = {"gather": "gather", "layers": "head", "stitch": "stitch"}
RECORD = {"call": "seconds"} | {part: f"{part}_seconds" for part in ("queue", "compute", "send", "input_wait")}


def stages(daemon):
    """Returns the seconds that a daemon's jobs have spent in each stage so far."""
    return {name: daemon.metric("znni_stage_seconds_total", stage=stage) for name, stage in STAGES.items()}


def recorded(daemon, calls):
    """Returns what the daemon's log says about its call number `calls`, counted from 1."""
    lines = daemon.logged("method=Volumes", calls)
    fields = dict(re.findall(r"(\w+)=(\S+)", lines[calls - 1]))
    return {name: float(fields[field]) for name, field in RECORD.items()}


def stream_through(served, daemon, volume, calls):
    """Streams one volume through a daemon, as its call number `calls`. Returns the times and the daemon's record."""
    before = stages(daemon)
    spent = served.once("stream", "--server", daemon.url, *volume, of=daemon.process.pid)
    after = stages(daemon)
    return spent | {name: round(after[name] - before[name], 4) for name in STAGES} | recorded(daemon, calls)


def parts(rows, names):
    return {name: round(statistics.median(row[name] for row in rows), 4) for name in names}


def summary(rows):
    return {
        "seconds": [row["seconds"] for row in rows],
        "median_seconds": statistics.median(row["seconds"] for row in rows),
        "client_processor_seconds": [row["processor_seconds"] for row in rows],
        "server_processor_seconds": [row["server_processor_seconds"] for row in rows],
    }


def compare_with_echo(options, served):
    """Compares the net that returns its input with the echo."""
    from harness import Daemon

    with tempfile.TemporaryDirectory() as repository:
        identity(repository)
        process, address = served.echo()
        echoed, streamed = [], []
        with process, Daemon(repository, mem=options.mem) as daemon:
            say(daemon.logged("is ready")[0])
            volume = ("--model", "same", "--extent", options.extent, "--same")
            for _ in range(options.repetitions):
                echoed.append(served.once("stream", "--server", address, *volume, of=process.pid))
                say(f"echo: {echoed[-1]}")
                streamed.append(served.once("stream", "--server", daemon.url, *volume, of=daemon.process.pid))
                say(f"stream: {streamed[-1]}")
            most = daemon.memory("VmHWM")
            transport = daemon.metric("znni_memory_peak_bytes", pool="transport")
            process.stdin.close()
    echo, daemon = summary(echoed), summary(streamed)
    return {
        "extent": options.extent,
        "mem": options.mem,
        "echo": echo,
        "daemon": daemon,
        "of_the_echo's_rate": round(echo["median_seconds"] / daemon["median_seconds"], 3),
        "daemon_most_resident_bytes": most,
        "daemon_most_transport_bytes": int(transport),
    }


def compare_with_process(options, served):
    """Compares the daemon with one process, for a model with the same plan on both sides."""
    from harness import Daemon

    volume = ("--model", options.model, "--extent", options.model_extent)
    inside, streamed = [], []
    with Daemon(options.model_repository, mem=options.model_mem) as daemon:
        say(daemon.logged("is ready")[0])
        served.once("stream", "--server", daemon.url, *volume)
        with Inside(
            served,
            "--model-repository",
            options.model_repository,
            "--plan-dir",
            f"{daemon.folder.name}/plans",
            "--mem",
            options.model_mem,
            *volume,
        ) as resident:
            for call in range(options.repetitions):
                sides = [
                    lambda: inside.append(resident.run()),
                    lambda: streamed.append(stream_through(served, daemon, volume, len(streamed) + 2)),
                ]
                for side in sides[:: 1 if call % 2 == 0 else -1]:
                    side()
                say(f"run: {inside[-1]}")
                say(f"stream: {streamed[-1]}")
        most = daemon.memory("VmHWM")
    process = summary(inside) | {"median_parts": parts(inside, STAGES)}
    daemon = summary(streamed) | {"median_parts": parts(streamed, (*STAGES, *RECORD))}
    return {
        "model": options.model,
        "extent": options.model_extent,
        "mem": options.model_mem,
        "process": process,
        "daemon": daemon,
        "over_the_process": round(daemon["median_seconds"] / process["median_seconds"], 4),
        "daemon_most_resident_bytes": most,
    }


def extent(text):
    if not re.fullmatch(r"[1-9]\d*,[1-9]\d*,[1-9]\d*", text):
        raise argparse.ArgumentTypeError(f"{text!r}: write Z,Y,X")
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--programs", type=pathlib.Path, required=True, help="folder of znnid and znni-served")
    parser.add_argument("--extent", type=extent, default="2048,1024,1024", help="of the volume that is echoed")
    parser.add_argument("--mem", default="1G", help="of the daemon that gives what it gets")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--model-repository", type=pathlib.Path)
    parser.add_argument("--model", default="fib25-boundary")
    parser.add_argument("--model-extent", type=extent, default="128,256,256")
    parser.add_argument("--model-mem", default="4G")
    options = parser.parse_args()
    os.environ["ZNNI_BIN_DIR"] = str(options.programs)
    served = Served(options)
    found = {"load_before": load(), "echo": compare_with_echo(options, served)}
    if options.model_repository:
        found["process"] = compare_with_process(options, served)
    found["load_after"] = load()
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()

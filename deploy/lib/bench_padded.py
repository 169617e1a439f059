"""Plans a network of peer_nets.py for one volume, and times the plan and other programs on that volume, in turn, round
by round. Prints one JSON object; says on stderr what it does.

    bench_padded.py NET --bin DIR --folder DIR --mem 8G [--volume Z,Y,X] [--peers onnxruntime,openvino] [--rounds N]
                    [--runs N] [--threads N] [--patience recorded]

The volume is by default the network's own patch. Every program computes in a process of its own, in float32. In each
round a program runs once, which does not count, then --runs times. Its rate is that of its median run: output voxels
per second. If our plan has patches or steps that are smaller than the volume, one of them runs. --rounds 0: planning
alone. The folder keeps the networks, plans and timings.
"""

import argparse
import contextlib
import json
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import time

import bench_work as work
import net_graph
import onnx
import peer_nets

HERE = pathlib.Path(__file__).resolve().parent
PEERS = ("onnxruntime", "openvino")


def say(text):
    print(f"bench_padded: {text}", file=sys.stderr, flush=True)


def children_seconds():
    """Returns the processor seconds of all children that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def last_line(text):
    return (text.strip().split("\n") or [""])[-1][:200]


def make_plan(given, model):
    """Plans the network. Returns (the plan's file, what planning took), or (None, why there is no plan)."""
    plan = given.folder / f"{model.stem}.pbtxt"
    command = [given.bin / "planner", "--model", model, "--mem", str(given.mem), "--threads", str(given.threads)]
    command += ["--volume", ",".join(map(str, given.volume)), "--patience", given.patience]
    command += ["--timings", given.folder / "timings.pbtxt", "--output", plan]
    before, start = children_seconds(), time.perf_counter()
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        return None, {"refusal": last_line(done.stderr)}
    return plan, {"seconds": time.perf_counter() - start, "processor_seconds": children_seconds() - before}


class Ours:
    """The plan, run by znni-bench."""

    def __init__(self, given, model, plan):
        self.command = [given.bin / "znni-bench", "net", "--plan", plan, "--model", model, "--mem", str(given.mem)]
        self.command += ["--repetitions", str(given.runs), "--json"]
        self.figures = {"peak_bytes": 0}

    def round(self):
        """Returns the times of the runs that count."""
        with subprocess.Popen([str(word) for word in self.command], stdout=subprocess.PIPE) as process:
            text = process.stdout.read()
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            sys.exit(f"bench_padded: znni-bench ended with status {process.returncode}")
        found = json.loads(text)
        peak = max(self.figures["peak_bytes"], usage.ru_maxrss * 1024)
        kept = ("patch", "steps", "voxels", "bytes", "reserved_bytes", "predicted_seconds")
        self.figures = {**{key: found[key] for key in kept}, "peak_bytes": peak}
        return [run for run in found["runs"] if run["kind"] == "warm"]

    def end(self):
        pass


class Peer:
    """Another program, in a process that stays."""

    def __init__(self, given, model, program):
        self.runs, self.figures = given.runs, {}
        command = [sys.executable, "-B", HERE / "bench_padded_peer.py", program, model, "--threads", str(given.threads)]
        self.process = subprocess.Popen(
            [str(word) for word in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.figures = self.answer()

    def answer(self):
        line = self.process.stdout.readline()
        found = json.loads(line) if line else {"error": "the program ended: see above"}
        if "error" in found:
            self.end()
            raise RuntimeError(found["error"])
        return found

    def once(self, _):
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write("\n")
            self.process.stdin.flush()
        return self.answer()

    def round(self):
        """Returns the times of the runs that count."""
        return list(map(self.once, range(self.runs + 1)))[1:]

    def end(self):
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()


def started(make):
    """Returns a program that runs, or why it does not."""
    try:
        return make(), None
    except RuntimeError as error:
        return None, {"refusal": str(error)}


def figures_of(program, runs):
    """Returns what a program took."""
    seconds = [run["seconds"] for run in runs]
    processor = [run["processor_seconds"] for run in runs]
    median = statistics.median(seconds)
    return {
        **program.figures,
        "runs": seconds,
        "processor_runs": processor,
        "seconds": median,
        "processor_seconds": statistics.median(processor),
        "voxels_per_second": program.figures["voxels"] / median,
        "voxels_per_processor_second": program.figures["voxels"] / statistics.median(processor),
    }


def in_turn(programs, rounds):
    """Returns {name: figures, or why there are none} of programs that run in turn."""
    runs, refusals = {name: [] for name in programs}, {}
    for number in range(1, rounds + 1):
        for name in [one for one in programs if one not in refusals]:
            say(f"round {number} of {rounds}: {name}")
            try:
                runs[name] += programs[name].round()
            except RuntimeError as error:
                refusals[name] = {"refusal": str(error)}
    return refusals | {name: figures_of(programs[name], runs[name]) for name in programs if name not in refusals}


def over(results, key):
    """Returns {peer: how many times as fast as it ours is}."""
    ran = {name: one for name, one in results.items() if name != "ours" and key in one}
    return {name: results["ours"][key] / one[key] for name, one in ran.items()} if key in results["ours"] else {}


def run_all(given, model, plan):
    """Returns {name: figures, or why there are none} of ours and all peers."""
    programs, results = {}, {}
    makers = {"ours": lambda: Ours(given, model, plan)}
    makers |= {name: lambda name=name: Peer(given, model, name) for name in given.peers}
    try:
        for name, make in makers.items():
            program, refusal = started(make)
            if refusal:
                results[name] = refusal
            else:
                programs[name] = program
        return results | in_turn(programs, given.rounds)
    finally:
        for program in programs.values():
            program.end()


def measure(given):
    """Returns the figures of one network."""
    name = f"{given.net}-{'x'.join(map(str, given.volume))}"
    model, path = peer_nets.model_of(given.net, given.volume), given.folder / f"{name}.onnx"
    onnx.save(model, path)
    peer = peer_nets.NETS[given.net]
    load = [os.getloadavg()[0]]
    say(f"planning {name}")
    plan, planning = make_plan(given, path)
    facts = {"net": given.net, "volume": given.volume, "threads": given.threads, "mem": given.mem, "planning": planning}
    if plan is None or given.rounds == 0:
        return {**facts, "load": load}
    results = run_all(given, path, plan)
    return {
        **facts,
        "flops_per_voxel": net_graph.flops_per_voxel(model),
        **results,
        "ratios": over(results, "voxels_per_second"),
        "processor_ratios": over(results, "voxels_per_processor_second"),
        "floors": dict(zip(PEERS, peer.floor)),
        "goals": dict(zip(PEERS, peer.goal)),
        "load": [*load, os.getloadavg()[0]],
    }


def extent(text):
    """Returns [Z, Y, X] of "Z,Y,X"."""
    found = [int(one) for one in text.split(",") if one.isdigit()]
    if len(found) != 3 or text.count(",") != 2 or min(found) < 1:
        raise argparse.ArgumentTypeError(f"'{text}': write Z,Y,X")
    return found


def names(text):
    """Returns the peers of "NAME,NAME"; "none" has none."""
    found = [] if text == "none" else text.split(",")
    for one in found:
        if one not in PEERS:
            raise argparse.ArgumentTypeError(f"'{one}': use some of {','.join(PEERS)}, or none")
    return found


def parse_arguments(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("net", choices=peer_nets.NETS)
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--folder", type=pathlib.Path, required=True)
    parser.add_argument("--mem", type=work.parse_bytes, required=True)
    parser.add_argument("--volume", type=extent)
    parser.add_argument("--peers", type=names, default=list(PEERS))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--patience", default="recorded")
    given = parser.parse_args(arguments)
    given.volume = given.volume or list(peer_nets.NETS[given.net].patch)
    return given


if __name__ == "__main__":
    print(json.dumps(measure(parse_arguments())))

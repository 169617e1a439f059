"""Plans a network for some of our primitives and runs the plan. Prints the JSON of znni-bench net with more fields.

    bench_net.py NETWORK.pbtxt --set all|onednn|onednn-layerwise|paper|paper-layerwise --mem 16G --bin DIR
                 --plans DIR [--limit SECONDS] [--threads N]

Without --limit the planned patch itself runs. With --limit the largest patch of the plan runs that is predicted to take
no longer. If there is none, a patch of a plan for less memory runs. If even one field of view takes longer, the network
after its first poolings runs (bench_work.tail). The planned rate is then scaled by measured / predicted time.
"""

import argparse
import json
import math
import os
import pathlib
import re
import statistics
import subprocess
import sys

import bench_work as work

# oneDNN's convolutions; all other primitives are ours.
ONEDNN = "cpu.conv.onednn,cpu.pool.*,cpu.reorder,cpu.activation"
# The primitives that ZNNi's papers run on CPUs.
PAPER = "cpu.conv.direct,cpu.conv.fft_data_parallel,cpu.conv.fft_task_parallel,cpu.pool.*,cpu.activation"
SETS = {"all": None, "onednn": ONEDNN, "onednn-layerwise": ONEDNN, "paper": PAPER, "paper-layerwise": PAPER}
# Strategies that keep the planner from features that users of such primitives do not have.
STRATEGIES = {"onednn-layerwise": "layerwise", "paper-layerwise": "layerwise"}
SHARES = (1, 4, 16, 64, 256)  # of --mem, for plans of smaller patches


def make_plan(network, memory, arguments):
    """Returns the text of a plan and its file, which is kept; None if no plan fits the memory."""
    name = f"{network.stem}-{arguments.set}-{memory}-t{arguments.threads}-{arguments.patience}.pbtxt"
    path = arguments.plans / name
    if not path.exists():
        command = [
            arguments.bin / "planner",
            "--model",
            network,
            "--mem",
            str(memory),
            "--threads",
            str(arguments.threads),
            "--patience",
            arguments.patience,
            "--timings",
            arguments.plans / "timings.pbtxt",
        ]
        command += ["--enable", SETS[arguments.set]] if SETS[arguments.set] else []
        command += ["--strategy", STRATEGIES[arguments.set]] if arguments.set in STRATEGIES else []
        done = subprocess.run(
            [*command, "--output", f"{path}.new"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            return None, done.stderr.strip().split("\n")[-1]
        os.replace(f"{path}.new", path)
    return path.read_text(), path


def planned(text):
    """Returns (seconds of each patch size, voxels/s of the first) from a plan's text."""
    seconds = [float(found) for found in re.findall(r"^  seconds: (\S+)", text.split("\nrung {", 1)[1], re.MULTILINE)]
    return seconds, float(re.search(r"voxels_per_second: (\S+)", text)[1])


def tail_file(network, poolings, arguments):
    """Returns a file of the network that follows the first `poolings` poolings."""
    if poolings == 0:
        return arguments.network
    from google.protobuf import text_format

    part = work.tail(network, poolings)
    path = arguments.plans / f"{part.name}.pbtxt"
    path.write_text(text_format.MessageToString(part))
    return path


def small_plan(network, arguments):
    """Returns (file of network or tail, poolings left out, plan's file) of a plan predicted to keep the limit."""
    for poolings in range(work.poolings_of(network) + 1):
        path = tail_file(network, poolings, arguments)
        for share in SHARES:
            text, plan = make_plan(path, arguments.mem // share, arguments)
            if text and min(planned(text)[0]) <= arguments.limit:
                return path, poolings, plan
    return None


def run(path, plan, arguments):
    """Returns the JSON of znni-bench."""
    command = [
        arguments.bin / "znni-bench",
        "net",
        "--plan",
        plan,
        "--model",
        path,
        "--mem",
        str(arguments.mem),
        "--repetitions",
        str(arguments.runs),
        "--json",
    ]
    command += ["--limit", str(arguments.limit)] if arguments.limit else []
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        sys.exit(done.returncode)
    return json.loads(done.stdout)


def describe(network, path, result):
    """Returns the work of the patch that ran."""
    layers = work.layers_of(work.read_network(path))
    output = [n - v + 1 for n, v in zip(result["patch"], work.field_of_view(layers))]
    S = result["S"]
    return {
        "network": network.name,
        "output": output,
        "direct_flops": S * work.direct_flops(layers, output),
        "traffic_bytes": S * work.traffic_bytes(layers, output),
        "voxels": S * math.prod(output),
    }


def measure(arguments):
    network = work.read_network(arguments.network)
    text, plan = make_plan(arguments.network, arguments.mem, arguments)
    if text is None:
        return {"refusal": plan}
    path, poolings = arguments.network, 0
    seconds, rate = planned(text)
    if arguments.limit and seconds[0] > arguments.limit:
        found = small_plan(network, arguments)
        if not found:
            return {"refusal": f"no patch is predicted to take at most {arguments.limit:.0f} s"}
        path, poolings, plan = found
    result = run(path, plan, arguments)
    ratio = statistics.median(one["measured_over_predicted"] for one in result["runs"] if one["kind"] == "warm")
    # The plan of a tail differs from that of the network; only the latter is kept, as "planned".
    result = {key: value for key, value in result.items() if not key.startswith("planned_")}
    return {
        **result,
        **describe(network, path, result),
        "part": path.stem,
        "poolings_left_out": poolings,
        "threads": arguments.threads,
        "planned": {"seconds": seconds[0], "voxels_per_second": rate},
        "carried": {"voxels_per_second": rate / ratio},
    }


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("network", type=pathlib.Path)
    parser.add_argument("--set", choices=SETS, default="all")
    parser.add_argument("--mem", type=work.parse_bytes, required=True)
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--plans", type=pathlib.Path, required=True)
    parser.add_argument("--limit", type=float)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--patience", default="recorded")
    parser.add_argument("--runs", type=int, default=1, help="warm runs")
    return parser.parse_args()


if __name__ == "__main__":
    print(json.dumps(measure(parse_arguments())))

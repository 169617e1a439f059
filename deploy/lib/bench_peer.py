"""Code that the peers of deploy/bench share: the choice of a patch, its timing, and the report.

A peer runs a network's dense form in all of its ways on a small patch, then the fastest way on a patch of about
`--limit` seconds. If even one field of view takes longer, the network after its first poolings runs, for one fragment.
The measured rate of direct operations is extrapolated to the patch that fills `--mem` (bench_work.carried).
"""

import argparse
import json
import math
import os
import pathlib
import resource
import statistics
import time

import bench_work as work

ASSUMED = 0.5  # share of the machine's multiply-adds that a peer reaches; used to choose patches, never reported
TRIAL = 0.25  # share of the limit for the small patch
LEAST_RUNS = 3
POWERCAP = pathlib.Path("/sys/class/powercap")


def parse_arguments(description, arguments=None):
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("network")
    parser.add_argument("--mem", type=work.parse_bytes, required=True)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--limit", type=float, default=20.0, help="seconds a patch may take, about")
    parser.add_argument("--flops", type=float, default=1e11, help="float32 operations/s of the machine at most")
    parser.add_argument("--runs", type=int, default=LEAST_RUNS, help="warm runs")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args(arguments)


def choose(network, limit, flops, memory):
    """Returns (network or its tail, poolings left out, output, small output) for patches of about `limit` seconds."""
    for poolings in range(work.poolings_of(network) + 1):
        part = work.tail(network, poolings)
        layers = work.layers_of(part)

        def within(seconds, layers=layers):
            work_there_is = ASSUMED * flops * seconds
            return work.largest_output(
                layers,
                lambda extent: (
                    work.direct_flops(layers, extent) <= work_there_is and work.peak_bytes(layers, extent) <= memory / 2
                ),
            )

        output = within(limit)
        if output:
            return part, poolings, output, within(TRIAL * limit) or work.pool_product(layers)
    return None


def joules():
    """Returns the joules of all processor packages so far, or None if they cannot be read."""
    try:
        counters = [path for path in POWERCAP.glob("intel-rapl:*") if path.name.count(":") == 1]
        return sum(int((path / "energy_uj").read_text()) for path in counters) / 1e6 if counters else None
    except (OSError, ValueError):
        return None


def timed(run, runs, limit):
    """Returns the seconds of a cold run and of warm ones (one if they exceed the limit), and the last one's joules."""
    seconds, energy = [], None
    while len(seconds) < 1 + runs and (len(seconds) < 2 or sum(seconds) <= limit * (1 + runs)):
        before, start = joules(), time.perf_counter()
        run()
        seconds.append(time.perf_counter() - start)
        energy = joules() - before if before is not None else None
    return {
        "cold_seconds": seconds[0],
        "runs": seconds[1:],
        "seconds": statistics.median(seconds[1:]),
        "joules": energy if energy is None or energy >= 0 else None,
    }


def try_forms(forms, make, limit):
    """Returns {form: warm seconds, or why there are none}. make(form) returns a function that does one run."""
    tried = {}
    for form in forms:
        try:
            tried[form] = timed(make(form), 1, limit)["seconds"]
        except Exception as error:  # a way may fail or not fit, and every library has its own exceptions
            tried[form] = str(error).strip().split("\n")[0][:200]
    return tried


def measure(network, arguments, forms, maker):
    """Returns the figures of one peer. maker(part, output, form) returns a function that runs it once."""
    chosen = choose(network, arguments.limit, arguments.flops, arguments.mem)
    if not chosen:
        return {"refusal": f"no patch of at most {arguments.limit:.0f} s fits in {arguments.mem / 2**30:.1f} GiB"}
    resource.setrlimit(resource.RLIMIT_DATA, (arguments.mem, arguments.mem))
    part, poolings, output, small = chosen
    layers, whole = work.layers_of(part), work.layers_of(network)
    tried = try_forms(forms, lambda form: maker(part, small, form), arguments.limit)
    ran = {form: seconds for form, seconds in tried.items() if not isinstance(seconds, str)}
    if not ran:
        return {"refusal": "; ".join(f"{form}: {why}" for form, why in tried.items())}
    best = min(ran, key=ran.get)
    try:
        times = timed(maker(part, output, best), arguments.runs, arguments.limit)
    except Exception:  # its memory beside activations is not known before
        output = small
        times = timed(maker(part, output, best), arguments.runs, arguments.limit)
    flops = work.direct_flops(layers, output)
    rate = flops / times["seconds"]
    return {
        "network": network.name,
        "part": part.name,
        "poolings_left_out": poolings,
        "form": best,
        "output": output,
        "patch": [o + v - 1 for o, v in zip(output, work.field_of_view(layers))],
        **times,
        "voxels": math.prod(output),
        "voxels_per_second": math.prod(output) / times["seconds"],
        "direct_flops": flops,
        "flops_per_second": rate,
        "traffic_bytes": work.traffic_bytes(layers, output),
        "tried": {"output": small, "seconds": tried},
        "carried": work.carried(whole, arguments.mem, rate),
        "threads": arguments.threads,
        "bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    }


def run(description, name, version, forms, maker_of, arguments=None):
    """Runs a peer and prints one JSON object. maker_of(arguments) returns measure()'s maker."""
    arguments = parse_arguments(description, arguments)
    network = work.read_network(arguments.network)
    work.layers_of(network)
    try:
        figures = measure(network, arguments, forms, maker_of(arguments))
    except Exception as error:
        figures = {"refusal": str(error).strip().split("\n")[0][:200]}
    print(json.dumps({"peer": name, "version": version, **figures}))

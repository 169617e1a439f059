"""Measures one peer on one network, in this process, and prints a line of JSON.

    compare_run.py PEER NET --folder FOLDER --mem 6G --threads 2 --window 128

The first call warms up; the second is measured. Processor seconds and the peak of resident memory are those of this
process and of a daemon that belongs to it. Differences are from the exact results.
"""

import argparse
import json
import os
import pathlib
import resource
import time

import bench_work as work
import compare_peers
import compare_task
import numpy as np

KIB = 1024


def status_of(pid, key):
    """Returns a number of /proc/PID/status."""
    lines = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{key}:"))


def ticks_of(pid):
    """Returns the processor seconds that a process has used."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def processor_seconds(daemon):
    """Returns those of this process so far, of its finished children and of a daemon that runs."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used) + (ticks_of(daemon) if daemon else 0)


def peak_bytes(daemon):
    """Returns the peak of this process and that of the largest child, or of a daemon that runs."""
    own, child = (resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return KIB * (own + (status_of(daemon, "VmHWM") if daemon else child))


def differences(output, exact):
    """Returns the largest absolute difference of [c, z, y, x] or [z, y, x] from the boxes of compare_nets.py, and the
    root of their mean square."""
    output, largest, squares, count = output.reshape(-1, *output.shape[-3:]), 0.0, 0.0, 0
    for start, value in zip(exact["start"], exact["value"]):
        places = tuple(slice(first, first + extent) for first, extent in zip(start, value.shape[1:]))
        found = output[(slice(None), *places)]
        if found.shape != value.shape:
            raise SystemExit(f"output: {output.shape} found, which does not hold {value.shape} at {start}")
        error = np.abs(found - value)
        largest, squares, count = (
            max(largest, float(error.max())),
            squares + float((error**2).sum()),
            count + error.size,
        )
    return {"difference": largest, "root_mean_square": (squares / count) ** 0.5}


def measure(call):
    """Returns (figures, output) of the second of two calls."""
    daemon = call.daemon.process.pid if hasattr(call, "daemon") else None
    call()
    before, start = processor_seconds(daemon), time.perf_counter()
    output = call()
    seconds = time.perf_counter() - start
    figures = {
        "seconds": seconds,
        "processor_seconds": processor_seconds(daemon) - before,
        "peak_bytes": peak_bytes(daemon),
    }
    return figures, np.asarray(output)


def prepare(peer, task):
    """Gives this process what its peer has: a daemon of ours the plain environment, plans of its own and a limit of its
    own, PyTorch the threads and the limit of data."""
    if peer.startswith("znni"):
        os.environ["XDG_STATE_HOME"] = str(task.folder / "state" / peer)
        for name in [one for one in os.environ if one.startswith(("LD_", "MALLOC_"))]:
            del os.environ[name]
        return
    import torch

    torch.set_num_threads(task.threads)
    resource.setrlimit(resource.RLIMIT_DATA, (task.memory, task.memory))


def run(peer, task):
    """Returns the figures of a peer, or why there are none."""
    prepare(peer, task)
    call = None
    try:
        call = compare_peers.PEERS[peer](task)
        figures, output = measure(call)
    except (NotImplementedError, MemoryError, RuntimeError) as error:
        return {"refusal": str(error).strip().splitlines()[0][:200]}
    finally:
        if hasattr(call, "daemon"):
            call.daemon.stop()
    return {
        **figures,
        **differences(output, np.load(task.folder / f"{task.name}-exact.npz")),
        "voxels": int(np.prod(output.shape[-3:])),
        "window": task.fitted,
        "lines": compare_peers.lines_of_code(peer),
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("peer", choices=compare_peers.PEERS)
    parser.add_argument("net", choices=compare_task.MARGIN)
    parser.add_argument("--folder", type=pathlib.Path, required=True)
    parser.add_argument("--mem", type=work.parse_bytes, required=True)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--window", type=int, required=True)
    given = parser.parse_args()
    task = compare_task.Task(given.net, given.folder.resolve(), given.window, given.mem, given.threads)
    print(json.dumps(run(given.peer, task)))

"""Runs the peers of deploy/compare in turn, round by round, and writes a table for each network. Needs only the
standard library.

    compare_report.py FOLDER --rounds 3 --peers znni,monai --nets boundary,unet -- COMMAND...

COMMAND PEER NET prints the figures of a peer as a line of JSON (compare_run.py). They go to FOLDER/results.jsonl, and
the tables to FOLDER/report.md.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys

TITLES = {
    "znni-planned": "znni, `planner --volume`, then `Client.predict`",
    "znni": "znni, `Client.predict`, daemon runs",
    "znni.predict": "znni, `znni.predict`, starts a daemon",
    "monai": "MONAI, sliding windows, PyTorch",
    "monai-whole": "MONAI, whole volume, PyTorch",
    "monai-onnxruntime": "MONAI, sliding windows, ONNX Runtime",
    "nnunet": "nnU-Net, sliding windows",
    "nnunet-whole": "nnU-Net, whole volume as one window",
    "chunkflow": "chunkflow, patches",
}
HEAD = [
    "program",
    "seconds",
    "processor seconds",
    "ratio",
    "peak MiB",
    "difference: largest",
    "root mean square",
    "lines of code",
]
ALIGN = ["---"] + ["---:"] * 7


def figures_of(command, peer, net):
    """Returns what COMMAND printed last, or why it failed."""
    done = subprocess.run([*command, peer, net], capture_output=True, text=True, check=False)
    lines = done.stdout.splitlines()
    if done.returncode == 0 and lines:
        return json.loads(lines[-1])
    said = [line for line in done.stderr.splitlines() if line.strip()]
    return {"refusal": said[-1][:200] if said else f"exit code {done.returncode}"}


def rounds(command, nets, peers, count):
    """Yields (net, peer, figures, load) of every round. A peer that failed once is not asked again."""
    failed = set()
    for _ in range(count):
        for net in nets:
            for peer in peers:
                if (net, peer) in failed:
                    continue
                figures = figures_of(command, peer, net)
                if "refusal" in figures:
                    failed.add((net, peer))
                yield {"net": net, "peer": peer, "figures": figures, "load": os.getloadavg()[0]}


def middle(results, key):
    """Returns the median of a figure."""
    return statistics.median(one[key] for one in results)


def span(numbers):
    """Returns "1.2 to 1.5", or one number."""
    low, high = (f"{each:.1f}" for each in (min(numbers), max(numbers)))
    return low if low == high else f"{low} to {high}"


def row(peer, results, base):
    """Returns the cells of one peer. `base` is the processor seconds that ratios stand over."""
    if "refusal" in results[-1]:
        return [TITLES.get(peer, peer), "not run: " + results[-1]["refusal"].replace("|", "/"), *[""] * 6]
    processor = middle(results, "processor_seconds")
    return [
        TITLES.get(peer, peer),
        span([one["seconds"] for one in results]),
        span([one["processor_seconds"] for one in results]),
        f"{processor / base:.2f}" if base else "",
        f"{middle(results, 'peak_bytes') / 2**20:.0f}",
        f"{max(one['difference'] for one in results):.1e}",
        f"{max(one['root_mean_square'] for one in results):.1e}",
        str(results[-1]["lines"]),
    ]


def table(lines, net):
    """Returns the table of a network in Markdown."""
    of = {}
    for line in lines:
        if line["net"] == net:
            of.setdefault(line["peer"], []).append(line["figures"])
    first = next(iter(of.values()), [{"refusal": ""}])
    base = None if "refusal" in first[-1] else middle(first, "processor_seconds")
    rows = [HEAD, ALIGN, *(row(peer, results, base) for peer, results in of.items())]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in rows) + "\n"


def report(lines, facts):
    """Returns the whole text: what was run, then a table for each network."""
    loads = [line["load"] for line in lines]
    text = f"{facts} Load {span(loads)}.\n"
    for net in dict.fromkeys(line["net"] for line in lines):
        windows = [line["figures"]["window"] for line in lines if line["net"] == net and "window" in line["figures"]]
        text += f"\n## {net}" + (f" (windows of {windows[-1]}^3)" if windows else "") + f"\n\n{table(lines, net)}"
    return text


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, required=True)
    parser.add_argument("--peers", required=True)
    parser.add_argument("--nets", required=True)
    parser.add_argument("--facts", default="")
    split = arguments.index("--")
    given, command = parser.parse_args(arguments[:split]), arguments[split + 1 :]
    lines = []
    with (given.folder / "results.jsonl").open("w") as file:
        for line in rounds(command, given.nets.split(","), given.peers.split(","), given.rounds):
            lines.append(line)
            print(json.dumps(line), file=file, flush=True)
            print(f"{line['net']} {line['peer']}: {json.dumps(line['figures'])}", flush=True)
    (given.folder / "report.md").write_text(report(lines, given.facts))


if __name__ == "__main__":
    main(sys.argv[1:])

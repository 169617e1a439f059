"""Keeps the results of deploy/bench, one JSON object per line, and makes tables (Markdown) and plots (SVG) of them.

    bench_report.py begin RESULTS COMMIT          drops a line that was cut short; refuses results of another commit
    bench_report.py steps RESULTS                 the steps that are done, one per line
    bench_report.py add RESULTS STEP COMMIT       adds the JSON object on stdin as the step's line
    bench_report.py flops RESULTS                 the machine's operations/s, as measured so far
    bench_report.py write RESULTS FOLDER          FOLDER/report.md, printed too, ratios.svg and memory.svg; what
                                                  FOLDER/left-out.txt says is told
bench_tables.py has the names of steps. Needs only the standard library.
"""

import datetime
import json
import os
import pathlib
import re
import sys

import bench_padded_tables as padded_tables
import bench_plots as plots
import bench_tables as tables


def load(path):
    """Returns all lines of a results file, except a last line that was cut short."""
    path = pathlib.Path(path)
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text().split("\n")[:-1]]


def begin(path, commit):
    """Prepares the file for new lines."""
    path = pathlib.Path(path)
    if not path.exists():
        return
    data = path.read_bytes()
    whole = data.rfind(b"\n") + 1
    if whole < len(data):
        os.truncate(path, whole)
    others = sorted({line["commit"] for line in load(path)} - {commit})
    if others:
        sys.exit(f"{path}: holds figures of commit {', '.join(others)}, this is {commit}: give another --output")


def add(path, step, commit, result):
    """Appends one line, which is on disk when this returns."""
    now = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
    line = json.dumps({"step": step, "date": now, "commit": commit, "result": result})
    with open(path, "a", encoding="utf-8") as file:
        file.write(line + "\n")
        file.flush()
        os.fsync(file.fileno())


def ratios(lines):
    """Returns (label, ratio) of every comparison, for the plot."""
    bars = []
    for _, result in tables.of_kind(lines, "layer"):
        speed = tables.over_onednn(result)
        if speed:
            bars.append((f"{tables.layer_name(result)}: {result['primitives'][0]['primitive']} / oneDNN", speed))
    for (net, mem, _), ways in tables.compared(tables.figures(lines)).items():
        for way in ways:
            speed = tables.speed_over(ways, way) if way != "all" else None
            if speed:
                bars.append((f"{net} {mem}: all primitives / {tables.way_name(way, ways[way])}", speed))
    return bars


def layer_part(lines, machine):
    """Returns the section of layers, or nothing if there are none."""
    layers = [result for _, result in tables.of_kind(lines, "layer")]
    if not layers:
        return []
    return [
        "## Layers\n",
        tables.table(tables.layer_rows(layers, machine)),
        "Medians of interleaved runs; oneDNN's best is the faster of its layouts that ran; error of sampled outputs "
        "against float64, over their root mean square.\n",
    ]


def net_part(found, machine):
    """Returns the sections of nets, or nothing if there are none."""
    parts, side_by_side = [], tables.compared(found)
    if side_by_side:
        parts += [
            "## Nets\n",
            tables.table(tables.net_rows(side_by_side, machine)),
            "Dense output voxels (spatial ones), medians of warm runs; rounds take the ways in turn. What ran may be "
            'smaller than what the memory allows, or, named "_after_N", the net after its first N poolings for one '
            "fragment: its rate is carried to the whole net's best patch, as said beside it. For our primitives that "
            "is the planned patch; for others the largest cube of outputs of which the largest layer's input and "
            "output fit the memory. GiB: what a plan reserves; of others the process's largest.\n",
        ]
    curves = tables.by_memory(found)
    if curves:
        parts += ["## Memory\n", tables.table(tables.memory_rows(curves)), "![voxels/s by memory](memory.svg)\n"]
    scaling = tables.scaling_rows(found)
    if len(scaling) > 1:
        parts += ["## Threads\n", tables.table(scaling)]
    return parts


def train_part(lines):
    """Returns the section of steps of training, or nothing if there are none."""
    results = [result for _, result in tables.of_kind(lines, "train")]
    if not results:
        return []
    threads = ", ".join(sorted({str(result["threads"]) for result in results}))
    return [
        "## Training\n",
        tables.table(tables.train_rows(results)),
        f"Best of steps run in turn, threads: {threads}; the ratio is of processor time per thread. Load: before and "
        "after.\n",
    ]


def left_out_text(names):
    """Returns a text about the steps left out; names those of the first round and counts later ones."""
    first = [name for name in names if not re.search(r" r[2-9]$", name)]
    later = len(names) - len(first)
    return ", ".join(first + ([f"{later} steps of later rounds"] if later else []))


def markdown(lines, left_out=()):
    """Returns the whole report."""
    machine = tables.Machine(lines)
    commits = ", ".join(sorted({line["commit"] for line in lines}))
    dates = sorted(line["date"] for line in lines)
    parts = [
        f"# Benchmark of commit {commits}\n",
        f"{dates[0]} to {dates[-1]}\n",
        machine.text() + "\n",
        'Direct GFLOP/s is what the direct algorithm would need, and may exceed what the machine can do; "of '
        'multiply-adds" is its share of the machine\'s rate. "Of memory": every layer\'s input, output and weights '
        "moved once, as a share of the machine's rate of reads.\n",
        *layer_part(lines, machine),
        *net_part(tables.figures(lines), machine),
        *train_part(lines),
        *padded_tables.sections([result for _, result in tables.of_kind(lines, "padded")]),
    ]
    if left_out:
        parts.append("Left out: " + left_out_text(left_out) + ".\n")
    return "\n".join([*parts, "Not measured: GPUs."]) + "\n"


def write(path, folder):
    """Writes the report's files."""
    lines = load(path)
    if not lines:
        sys.exit(f"{path}: no step is done yet")
    folder = pathlib.Path(folder)
    left_out = folder / "left-out.txt"
    text = markdown(lines, left_out.read_text().splitlines() if left_out.exists() else ())
    (folder / "report.md").write_text(text)
    (folder / "ratios.svg").write_text(plots.bars(ratios(lines)))
    curves = {
        net: [(mem, one.rate()) for mem, one in points if not one.refusal]
        for net, points in tables.by_memory(tables.figures(lines)).items()
    }
    (folder / "memory.svg").write_text(
        plots.curves({net: line for net, line in curves.items() if line}, "memory limit, GiB", "dense output voxels/s")
    )
    print(text, end="")


def main():
    match sys.argv[1:]:
        case ["begin", path, commit]:
            begin(path, commit)
        case ["steps", path]:
            print("".join(line["step"] + "\n" for line in load(path)), end="")
        case ["add", path, step, commit]:
            add(path, step, commit, json.load(sys.stdin))
        case ["flops", path]:
            print(tables.Machine(load(path)).most("flops_per_second") or 1e11)
        case ["write", path, folder]:
            write(path, folder)
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()

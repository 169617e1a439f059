"""The results of deploy/bench: one JSON object per line, a table (markdown) and a plot of ratios (SVG).

    bench_report.py begin RESULTS COMMIT          drops a line cut short; refuses results of another commit
    bench_report.py has RESULTS STEP              exit code 0 when the step's line is there
    bench_report.py add RESULTS STEP COMMIT       adds the JSON object on stdin as the step's line
    bench_report.py write RESULTS FOLDER          FOLDER/report.md, printed too, and FOLDER/ratios.svg

Steps are named "layer ...", "net NAME SET ..." and "onnxruntime NAME ...". Needs the standard library alone.
"""

import datetime
import json
import os
import pathlib
import statistics
import sys
from xml.sax.saxutils import escape

NOT_MEASURED = "Not measured: PyTorch; GPUs."
SETS = {"all": "all primitives", "paper": "those of the ZNNi papers"}


def load(path):
    """All lines of a results file; a last line without its end was cut short and does not count."""
    path = pathlib.Path(path)
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text().split("\n")[:-1]]


def begin(path, commit):
    """Makes the file ready to be added to."""
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


def has(path, step):
    """Whether the step is done."""
    return any(line["step"] == step for line in load(path))


def add(path, step, commit, result):
    """One line, whole on disk before this returns."""
    now = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
    line = json.dumps({"step": step, "date": now, "commit": commit, "result": result})
    with open(path, "a", encoding="utf-8") as file:
        file.write(line + "\n")
        file.flush()
        os.fsync(file.fileno())


def of_kind(lines, kind):
    """(words after the kind, result) of each step of this kind."""
    return [(line["step"].split()[1:], line["result"]) for line in lines if line["step"].split()[0] == kind]


def span(numbers, scale=1.0, digits=0):
    """"180 to 200", or one number."""
    low, high = (f"{scale * number:.{digits}f}" for number in (min(numbers), max(numbers)))
    return low if low == high else f"{low} to {high}"


def table(rows):
    """Markdown; the first row is the head."""
    head, *rest = rows
    lines = [head, ["---"] * len(head), *rest]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def layer_name(result):
    """"80 -> 80, k 3x3x3, n 64x64x64, S 1"; cubes by their edge."""
    def extent(numbers):
        return str(numbers[0]) if len(set(numbers)) == 1 else "x".join(map(str, numbers))
    return (f"{result['f']} → {result['f_out']}, k {extent(result['k'])}, n {extent(result['n'])}, "
            f"S {result['S']}")


def layer_rows(results):
    """One row per layer and primitive."""
    rows = [["layer", "primitive", "ms", "processor ms", "direct GFLOP/s", "speed", "persistent MiB", "transient MiB",
             "error", "variant"]]
    for result in results:
        for one in result["primitives"]:
            if "refusal" in one:
                rows.append([layer_name(result), one["primitive"], *[""] * 7, "not run: " + one["refusal"]])
                continue
            speed = one["speed_over_last"]
            rows.append([layer_name(result), one["primitive"], f"{1e3 * one['seconds']:.1f}",
                         f"{1e3 * one['processor_seconds_per_thread']:.1f}",
                         f"{one['effective_flops_per_second'] / 1e9:.0f}", f"{speed:.2f}" if speed else "",
                         f"{one['persistent_bytes'] / 2**20:.0f}", f"{one['transient_bytes'] / 2**20:.0f}",
                         f"{one['error']:.1e}", one["variant"]])
    return rows


def machine(results):
    """What the layers' steps measured of the machine."""
    return (f"{results[0]['device']}; measured before each layer: "
            f"{span([r['flops_per_second'] for r in results], 1e-9)} GFLOP/s of multiply-adds, "
            f"{span([r['read_bytes_per_second'] for r in results], 1e-9, 1)} GB/s read from memory; "
            f"load {span([r['load'] for r in results], 1, 2)}.")


def warm(result):
    """Median voxels/s of the warm runs of a net."""
    return statistics.median(run["voxels_per_second"] for run in result["runs"] if run["kind"] == "warm")


def net_rates(lines):
    """"n337 16G" -> {"all": result, "paper": result, "onnxruntime": result}; of several the last."""
    nets = {}
    for words, result in of_kind(lines, "net"):
        nets.setdefault(f"{words[0]} {words[2]}", {})[words[1]] = result
    for words, result in of_kind(lines, "onnxruntime"):
        nets.setdefault(f"{words[0]} {words[1]}", {})["onnxruntime"] = result
    return nets


def rate_of(result):
    """Voxels/s, or nothing where there are none."""
    if "refusal" in result:
        return None
    return result["voxels_per_second"] if "voxels_per_second" in result else warm(result)


def net_rows(nets):
    """One row per net and way to run it."""
    rows = [["net", "by", "input", "voxels/s", "measured / predicted time", "GiB", "speed of all primitives over it"]]
    for name, ways in nets.items():
        best = rate_of(ways["all"]) if "all" in ways else None
        for way, result in ways.items():
            if "refusal" in result:
                rows.append([name, "ONNX Runtime", *[""] * 5])
                rows[-1][3] = "not run: " + result["refusal"]
                continue
            rate = rate_of(result)
            ours = way in SETS
            voxels = "x".join(map(str, result["patch"])) + (f", S {result['S']}" if result.get("S", 1) > 1 else "")
            ratio = statistics.median(r["measured_over_predicted"] for r in result["runs"] if r["kind"] == "warm") \
                if ours else None
            rows.append([name, SETS.get(way, "ONNX Runtime, dilated form"), voxels, f"{rate:,.0f}",
                         f"{ratio:.2f}" if ratio else "", f"{result['bytes'] / 2**30:.1f}",
                         f"{best / rate:.2f}" if best else ""])
    return rows


def ratios(lines):
    """(label, ratio) of every comparison, for the plot."""
    bars = []
    for _, result in of_kind(lines, "layer"):
        first, last = result["primitives"][0], result["primitives"][-1]
        if first.get("speed_over_last"):
            bars.append((f"{layer_name(result)}: {first['primitive']} / {last['primitive']}", first["speed_over_last"]))
    for name, ways in net_rates(lines).items():
        rates = {way: rate_of(result) for way, result in ways.items()}
        for way, label in (("paper", SETS["paper"]), ("onnxruntime", "ONNX Runtime")):
            if rates.get("all") and rates.get(way):
                bars.append((f"{name}: all primitives / {label}", rates["all"] / rates[way]))
    return bars


def svg(bars):
    """Horizontal bars with a line at 1."""
    row, left, width = 22, 460, 360
    longest = max([ratio for _, ratio in bars] + [1.0])
    unit = width / longest
    height = row * len(bars) + 30
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + width + 60}" height="{height}" '
             'font-family="sans-serif" font-size="12">', '<rect width="100%" height="100%" fill="white"/>']
    for index, (label, ratio) in enumerate(bars):
        y = 8 + row * index
        colour = "#2a7ab0" if ratio >= 1 else "#b0632a"
        parts.append(f'<text x="{left - 8}" y="{y + 13}" text-anchor="end">{escape(label)}</text>')
        parts.append(f'<rect x="{left}" y="{y}" width="{ratio * unit:.1f}" height="{row - 5}" fill="{colour}"/>')
        parts.append(f'<text x="{left + ratio * unit + 5:.1f}" y="{y + 13}">{ratio:.2f}</text>')
    parts.append(f'<line x1="{left + unit:.1f}" y1="2" x2="{left + unit:.1f}" y2="{height - 20}" stroke="black"/>')
    parts.append(f'<text x="{left + unit:.1f}" y="{height - 6}" text-anchor="middle">1</text></svg>')
    return "\n".join(parts) + "\n"


def markdown(lines):
    """The whole report."""
    layers = [result for _, result in of_kind(lines, "layer")]
    nets = net_rates(lines)
    commits = ", ".join(sorted({line["commit"] for line in lines}))
    dates = sorted(line["date"] for line in lines)
    parts = [f"# Benchmark of commit {commits}\n", f"{dates[0]} to {dates[-1]}\n"]
    if layers:
        parts += [machine(layers) + "\n", "## Layers\n", table(layer_rows(layers)),
                  "Medians of interleaved runs; speed over the last primitive of the layer; error of sampled outputs "
                  "against float64, over their root mean square. Direct GFLOP/s is what the direct algorithm would "
                  "need: it may exceed what the machine can do.\n"]
    if nets:
        parts += ["## Nets\n", table(net_rows(nets)),
                  "Dense output voxels/s of warm runs. GiB: what a plan reserves; of ONNX Runtime the process's "
                  "largest.\n"]
    return "\n".join([*parts, NOT_MEASURED]) + "\n"


def write(path, folder):
    """The report's files."""
    lines = load(path)
    if not lines:
        sys.exit(f"{path}: no step is done yet")
    folder = pathlib.Path(folder)
    text = markdown(lines)
    (folder / "report.md").write_text(text)
    (folder / "ratios.svg").write_text(svg(ratios(lines)))
    print(text, end="")


def main():
    match sys.argv[1:]:
        case ["begin", path, commit]:
            begin(path, commit)
        case ["has", path, step]:
            sys.exit(0 if has(path, step) else 1)
        case ["add", path, step, commit]:
            add(path, step, commit, json.load(sys.stdin))
        case ["write", path, folder]:
            write(path, folder)
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()

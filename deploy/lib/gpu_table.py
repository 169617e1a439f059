"""Prints the lines of deploy/gpu_check.sh as a table: gpu_table.py RESULTS.jsonl"""

import collections
import json
import pathlib
import sys

NETS = ("n337", "n537", "n726", "n926")


def read(file):
    """Yields the objects in `file`, except a line that was cut off."""
    for line in pathlib.Path(file).read_text().split("\n"):
        try:
            yield json.loads(line)
        except ValueError:
            continue


def row(name, cells):
    return name.ljust(40) + "".join(cell.rjust(24) for cell in cells)


def best_lines(lines):
    """Returns the line of the fastest patch, by program and mode, by net."""
    best = collections.defaultdict(dict)
    for line in lines:
        if line.get("block") == "net" and "Mvoxels_per_s" in line:
            of_nets = best[line["who"], line["mode"]]
            before = of_nets.get(line["net"])
            if before is None or line["Mvoxels_per_s"] > before["Mvoxels_per_s"]:
                of_nets[line["net"]] = line
    return best


def rate_text(line):
    """Returns the rate, with the prediction of the back end's model for the same layers and patch, if there is one."""
    predicted = f" ({line['predicted_Mvoxels_per_s']:.2f})" if "predicted_Mvoxels_per_s" in line else ""
    patch = f" at {line['fragment']:.0f}" if "fragment" in line else ""
    return f"{line['Mvoxels_per_s']:.2f}{predicted}{patch}"


def patches(lines):
    yield "million dense voxels/s of each patch, in fragments of so many voxels per axis"
    for line in lines:
        if line.get("block") == "net" and "predicted_Mvoxels_per_s" in line:
            measured, predicted = line["Mvoxels_per_s"], line["predicted_Mvoxels_per_s"]
            yield (
                f"{line['net']:6}{line['who']:8}{line['mode']:10}fragments of {line['fragment']:<5.0f}"
                f"{measured:10.2f} of {predicted:.2f} predicted ({measured / predicted:.2f})"
            )


def nets(lines):
    by_net = best_lines(lines)
    yield row("million dense voxels/s (predicted)", NETS)
    for key, found in sorted(by_net.items()):
        yield row(" ".join(key), (rate_text(found[net]) if net in found else "-" for net in NETS))
    best = collections.defaultdict(dict)
    for key, found in by_net.items():
        best[key] = {net: line["Mvoxels_per_s"] for net, line in found.items()}
    for mode, other in (("f32", "bf16"), ("f32", "tf32"), ("bf16", "bf16"), ("tf32", "tf32")):
        ours = best["znni", mode]
        theirs = collections.defaultdict(float)
        for (who, of), rates in best.items():
            for net, rate in rates.items():
                if who != "znni" and of == other:
                    theirs[net] = max(theirs[net], rate)
        yield row(
            f"znni {mode} over PyTorch's best in {other}",
            (f"{ours[net] / theirs[net]:.2f}" if net in ours and theirs[net] else "-" for net in NETS),
        )


def errors(lines):
    rows = [line for line in lines if line.get("block") == "error"]
    yield row("error against float64", NETS)
    for key in sorted({(line["who"], line["mode"]) for line in rows}):
        found = {line["net"]: line.get("relative") for line in rows if (line["who"], line["mode"]) == key}
        yield row(" ".join(key), (f"{float(found[net]):.1e}" if found.get(net) is not None else "-" for net in NETS))


def layers(lines):
    best = {}
    for line in lines:
        if line.get("block") == "layer" and "ms" in line:
            key = (line["problem"], line["primitive"], line["format"], "tf32=1" in line["variant"])
            if key not in best or line["ms"] < best[key]["ms"]:
                best[key] = line
    for line in best.values():
        yield (
            f"{line['problem'][:44]:46}{line['primitive']:17}{line['format']:20}{line['ms']:9.3f} ms"
            f"{line['direct_TFLOP_per_s']:9.1f} TFLOP/s  predicted {line['predicted_ms']:9.3f} ms  {line['variant']}"
        )


def capped(lines):
    yield "within so much of the GPU's memory and 48 GiB of host RAM: million dense voxels/s (idle seconds of CPU, GPU)"
    for line in lines:
        if line.get("block") == "capped":
            yield (
                f"{line['net']:6}{line['strategy']:14}{line['primitives']:8}{line['precision']:6}{line['gpu_mem']:>4}"
                f"{line['Mvoxels_per_s']:10.3f} of "
                f"{line['predicted_Mvoxels_per_s']:.3f} predicted ({line['cpu_idle_seconds']:.2f}, "
                f"{line['gpu_idle_seconds']:.2f})  extent {line['extent']:.0f}: {line['places']}"
            )


def gain(alone, through):
    if through and "host" not in through["places"]:
        return "same plan"
    if not alone or not through:
        return "-"
    return f"{through['Mvoxels_per_s'] / alone['Mvoxels_per_s']:.2f}"


def gains(lines):
    """Prints the gain of layers through host RAM over the GPU alone, as in Table V of the ZNNi paper."""
    found = {
        (line["net"], line["strategy"], line["primitives"], line["precision"], line["gpu_mem"]): line
        for line in lines
        if line.get("block") == "capped"
    }
    yield row("host RAM over the GPU alone", NETS)
    for what in (
        ("fft", "fp32", "11G"),
        ("fft", "tf32", "11G"),
        ("all", "bf16", "11G"),
        ("direct", "fp32", "11G"),
        ("direct", "fp32", "1G"),
    ):
        yield row(
            " ".join(what),
            (gain(*(found.get((net, strategy, *what)) for strategy in ("gpu", "gpu-host-ram"))) for net in NETS),
        )


def overlaps(lines):
    yield "a convolution in sub-layers from host RAM"
    for line in lines:
        if line.get("block") == "overlap" and "ms" in line:
            yield (
                f"{line['primitive']:17}{line['format']:19} tensors {line['tensors']:7} products "
                f"{line['products_ms']:.1f} ms, copies {line['copies_ms']:.1f} ms, together {line['ms']:.1f} ms "
                f"({line['predicted_ms']:.1f} predicted): overlap {line['overlap']:.2f}"
            )


def unsuccessful(lines):
    last = {line["name"]: line for line in lines if line.get("block") == "item"}
    for line in last.values():
        if line["status"] != 0:
            yield f"status {line['status']}{' (out of time)' * (line['status'] in (124, 125))}: {line['name']}"


def others(lines):
    for line in lines:
        if line.get("block") in ("machine", "copy", "gemm", "launch", "memory", "check"):
            yield ", ".join(f"{name} {value}" for name, value in line.items() if name != "block")


def main(file):
    lines = list(read(file))
    for part in (others, layers, patches, nets, errors, capped, gains, overlaps, unsuccessful):
        print("\n".join(part(lines)), end="\n\n")
    failures = [line for line in lines if "failure" in line]
    print(f"{len(failures)} failures")
    for line in failures[:20]:
        print(json.dumps(line))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))

"""The lines of deploy/gpu_check.sh as a table: gpu_table.py RESULTS.jsonl"""

import collections
import json
import pathlib
import sys

# Million voxels per second on an H200 that a model of its arithmetic and memory gives (n337, n537, n726, n926); beside a
# measurement they show where the model, or the code, is wrong.
PREDICTED = {("znni", "f32"): (61, 37, 55, 40), ("znni", "fft_tf32"): (106, 46, 66, 47),
             ("znni", "bf16"): (224, 26, 15, 6.2), ("znni", "tf32"): (107, 12, 6.9, 2.8),
             ("PyTorch bf16", "bf16"): (224, 26, 15, 6.2), ("PyTorch TF32", "tf32"): (107, 12, 6.9, 2.8)}
NETS = ("n337", "n537", "n726", "n926")


def read(file):
    """The objects in `file`; a line that was cut off is left out."""
    for line in pathlib.Path(file).read_text().split("\n"):
        try:
            yield json.loads(line)
        except ValueError:
            continue


def row(name, cells):
    return name.ljust(40) + "".join(cell.rjust(18) for cell in cells)


def best_rates(lines):
    """By who and mode, by net: of all patches."""
    best = collections.defaultdict(dict)
    for line in lines:
        if line.get("block") == "net" and "Mvoxels_per_s" in line:
            rates = best[line["who"], line["mode"]]
            rates[line["net"]] = max(rates.get(line["net"], 0), line["Mvoxels_per_s"])
    return best


def nets(lines):
    best = best_rates(lines)
    yield row("million dense voxels/s (predicted)", NETS)
    for key, rates in sorted(best.items()):
        predicted = PREDICTED.get(key, ("?",) * 4)
        cells = (f"{rates[net]:.2f} ({p})" if net in rates else "-" for net, p in zip(NETS, predicted))
        yield row(" ".join(key), cells)
    for mode, other in (("f32", "bf16"), ("f32", "tf32"), ("bf16", "bf16"), ("tf32", "tf32")):
        ours = best["znni", mode]
        theirs = collections.defaultdict(float)
        for (who, of), rates in best.items():
            for net, rate in rates.items():
                if who != "znni" and of == other:
                    theirs[net] = max(theirs[net], rate)
        yield row(f"znni {mode} over PyTorch's best in {other}",
                  (f"{ours[net] / theirs[net]:.2f}" if net in ours and theirs[net] else "-" for net in NETS))


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
        yield (f"{line['problem'][:44]:46}{line['primitive']:17}{line['format']:20}{line['ms']:9.3f} ms"
               f"{line['direct_TFLOP_per_s']:9.1f} TFLOP/s  predicted {line['predicted_ms']:9.3f} ms  {line['variant']}")


def capped(lines):
    yield "within so much of the GPU's memory and 48 GiB of host RAM: million dense voxels/s (idle seconds of CPU, GPU)"
    for line in lines:
        if line.get("block") == "capped":
            yield (f"{line['net']:6}{line['strategy']:14}{line['primitives']:8}{line['precision']:6}{line['gpu_mem']:>4}"
                   f"{line['Mvoxels_per_s']:10.3f} of "
                   f"{line['predicted_Mvoxels_per_s']:.3f} predicted ({line['cpu_idle_seconds']:.2f}, "
                   f"{line['gpu_idle_seconds']:.2f})  extent {line['extent']:.0f}: {line['places']}")


def gain(alone, through):
    if through and "host" not in through["places"]:
        return "same plan"
    if not alone or not through:
        return "-"
    return f"{through['Mvoxels_per_s'] / alone['Mvoxels_per_s']:.2f}"


def gains(lines):
    """The ZNNi paper's Table V: what layers through host RAM gain over the GPU alone."""
    found = {(line["net"], line["strategy"], line["primitives"], line["precision"], line["gpu_mem"]): line
             for line in lines if line.get("block") == "capped"}
    yield row("host RAM over the GPU alone", NETS)
    for what in (("fft", "fp32", "11G"), ("fft", "tf32", "11G"), ("all", "bf16", "11G"), ("direct", "fp32", "11G"),
                 ("direct", "fp32", "1G")):
        yield row(" ".join(what), (gain(*(found.get((net, strategy, *what)) for strategy in ("gpu", "gpu-host-ram")))
                                   for net in NETS))


def overlaps(lines):
    yield "a convolution in sub-layers from host RAM"
    for line in lines:
        if line.get("block") == "overlap" and "ms" in line:
            yield (f"{line['primitive']:17}{line['format']:19} tensors {line['tensors']:7} products "
                   f"{line['products_ms']:.1f} ms, copies {line['copies_ms']:.1f} ms, together {line['ms']:.1f} ms ({line['predicted_ms']:.1f} predicted): "
                   f"overlap {line['overlap']:.2f}")


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
    for part in (others, layers, nets, errors, capped, gains, overlaps, unsuccessful):
        print("\n".join(part(lines)), end="\n\n")
    failures = [line for line in lines if "failure" in line]
    print(f"{len(failures)} failures")
    for line in failures[:20]:
        print(json.dumps(line))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))

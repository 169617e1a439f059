"""Makes the tables of deploy/bench, as rows of text, from the lines of its results. Needs only the standard library.

Steps are named "machine ...", "layer ...", "train ...", "padded ...", "net NAME SET MEM tTHREADS rROUND" and "PEER NAME
MEM tTHREADS rROUND"; several rounds of one step give one figure, the median of their warm runs.
"""

import math
import statistics

SETS = {
    "all": "all primitives",
    "onednn": "oneDNN's convolutions, all else ours",
    "onednn-layerwise": "oneDNN's convolutions, our MPF, each layer whole",
    "paper": "those of the ZNNi papers",
    "paper-layerwise": "those of the ZNNi papers, each layer whole",
}
PEERS = {"torch": "PyTorch", "onnxruntime": "ONNX Runtime"}
UNITS = {"M": 2**-10, "G": 1, "T": 2**10}


def of_kind(lines, kind):
    """Returns (words after the kind, result) of each step of this kind."""
    return [(line["step"].split()[1:], line["result"]) for line in lines if line["step"].split()[0] == kind]


def span(numbers, scale=1.0, digits=0):
    """Returns "180 to 200", or one number."""
    low, high = (f"{scale * number:.{digits}f}" for number in (min(numbers), max(numbers)))
    return low if low == high else f"{low} to {high}"


def table(rows):
    """Returns a Markdown table, whose head is the first row."""
    head, *rest = rows
    lines = [head, ["---"] * len(head), *rest]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def extent(numbers):
    """Returns "64" or "1x3x3"."""
    return str(numbers[0]) if len(set(numbers)) == 1 else "x".join(map(str, numbers))


class Machine:
    """The machine's peak rates: the largest that the steps measured, because other load only lowers them."""

    def __init__(self, lines):
        self.measured = [result for kind in ("machine", "layer") for _, result in of_kind(lines, kind)]

    def most(self, key):
        return max((one[key] for one in self.measured), default=None)

    def parts(self, flops, traffic, seconds):
        """Returns [share of the multiply-adds, share of the memory's rate] as text."""
        if not self.measured:
            return ["", ""]
        return [
            f"{flops / seconds / self.most('flops_per_second'):.2f}",
            f"{traffic / seconds / self.most('read_bytes_per_second'):.2f}",
        ]

    def text(self):
        """Returns the rates in words."""
        if not self.measured:
            return "The machine's own rates were not measured."
        return (
            f"{self.measured[0]['device']}; measured before each layer: "
            f"{span([one['flops_per_second'] for one in self.measured], 1e-9)} GFLOP/s of multiply-adds, "
            f"{span([one['read_bytes_per_second'] for one in self.measured], 1e-9, 1)} GB/s read from memory; "
            f"load {span([one['load'] for one in self.measured], 1, 2)}."
        )


def energy(joules, voxels):
    """Returns joules per 10^6 voxels, as text."""
    return "not readable" if joules is None else f"{joules / voxels * 1e6:.1f}"


def layer_name(result):
    """Returns "80 -> 80, k 3, n 64, S 1"; extents that are not cubes are written as "1x3x3"."""
    return f"{result['f']} → {result['f_out']}, k {extent(result['k'])}, n {extent(result['n'])}, S {result['S']}"


def layer_work(result):
    """Returns (direct operations, least bytes moved, output voxels) of a layer."""
    taps = math.prod(result["k"])
    read = result["S"] * math.prod(result["n"])
    written = result["S"] * math.prod(n - k + 1 for n, k in zip(result["n"], result["k"]))
    weights = result["f"] * result["f_out"] * taps
    return 2 * weights * written, 4 * (result["f"] * read + result["f_out"] * written + weights), written


def over_onednn(result):
    """Returns the speed of the first primitive over oneDNN in its better layout, or None."""
    first, *others = result["primitives"]
    seconds = [one["seconds"] for one in others if "onednn" in one["primitive"] and "refusal" not in one]
    return min(seconds) / first["seconds"] if seconds and "refusal" not in first else None


def layer_rows(results, machine):
    """Returns one row per layer and primitive."""
    rows = [
        [
            "layer",
            "primitive",
            "ms",
            "processor ms",
            "runs",
            "direct GFLOP/s",
            "of multiply-adds",
            "of memory",
            "speed over oneDNN's best",
            "J / 10^6 voxels",
            "persistent MiB",
            "transient MiB",
            "error",
            "variant",
        ]
    ]
    for result in results:
        flops, traffic, voxels = layer_work(result)
        for one in result["primitives"]:
            if "refusal" in one:
                rows.append([layer_name(result), one["primitive"], *[""] * 11, "not run: " + one["refusal"]])
                continue
            speed = over_onednn(result) if one is result["primitives"][0] else None
            rows.append(
                [
                    layer_name(result),
                    one["primitive"],
                    f"{1e3 * one['seconds']:.1f}",
                    f"{1e3 * one['processor_seconds_per_thread']:.1f}",
                    str(len(one["runs"])),
                    f"{flops / one['seconds'] / 1e9:.0f}",
                    *machine.parts(flops, traffic, one["seconds"]),
                    f"{speed:.2f}" if speed else "",
                    energy(one.get("joules"), voxels),
                    f"{one['persistent_bytes'] / 2**20:.0f}",
                    f"{one['transient_bytes'] / 2**20:.0f}",
                    f"{one['error']:.1e}",
                    one["variant"],
                ]
            )
    return rows


class Figure:
    """A net run in one way: all rounds together, or why there are none."""

    def __init__(self, results):
        ran = [result for result in results if "refusal" not in result]
        self.refusal = "" if ran else results[-1]["refusal"]
        if not ran:
            return
        self.last = ran[-1]
        same = [
            one
            for one in ran
            if (one["part"], one["patch"], one.get("form"))
            == (self.last["part"], self.last["patch"], self.last.get("form"))
        ]
        self.seconds = [seconds for one in same for seconds in warm(one)]
        self.median = statistics.median(self.seconds)
        self.here = self.last["voxels"] / self.median
        planned = self.last.get("planned", {}).get("seconds", 0)
        self.whole = self.last["poolings_left_out"] == 0 and math.isclose(
            planned, self.last.get("predicted_seconds", -1), rel_tol=1e-6
        )

    def rate(self):
        """Returns dense output voxels/s of the whole net in all of the memory, measured or extrapolated."""
        if self.whole:
            return self.here
        carried, own = self.last.get("carried"), self.last["voxels"] / statistics.median(warm(self.last))
        return carried["voxels_per_second"] * self.here / own if carried else None

    def how(self):
        """Returns how rate() was found."""
        if self.whole:
            return "measured"
        carried = self.last.get("carried")
        if not carried:
            return "no patch of the whole net fits the memory"
        if "flops_per_voxel" in carried:
            return (
                f"{self.last['direct_flops'] / self.median / 1e9:.1f} GFLOP/s / "
                f"{carried['flops_per_voxel'] / 1e6:.2f} MFLOP a voxel of {extent(carried['output'])} outputs"
            )
        planned = self.last["planned"]["voxels_per_second"]
        return f"{planned:,.0f} predicted x {self.rate() / planned:.2f} predicted / measured time of this patch"


def warm(result):
    """Returns the seconds of the warm runs of one step."""
    return [
        run["seconds"] if isinstance(run, dict) else run
        for run in result["runs"]
        if not isinstance(run, dict) or run["kind"] == "warm"
    ]


def figures(lines):
    """Returns {(net, MEM, threads): {way: Figure}}."""
    found = {}
    for words, result in of_kind(lines, "net"):
        found.setdefault((words[0], words[2], int(words[3][1:])), {}).setdefault(words[1], []).append(result)
    for peer in PEERS:
        for words, result in of_kind(lines, peer):
            found.setdefault((words[0], words[1], int(words[2][1:])), {}).setdefault(peer, []).append(result)
    return {key: {way: Figure(results) for way, results in ways.items()} for key, ways in found.items()}


def compared(found):
    """Returns the figures of nets that were run in several ways."""
    return {key: ways for key, ways in found.items() if len(ways) > 1}


def speed_over(ways, way):
    """Returns the speed of all primitives together over this way, or None."""
    ours, other = (None if one is None or one.refusal else one.rate() for one in (ways.get("all"), ways[way]))
    return ours / other if ours and other else None


def way_name(way, figure):
    """Returns a name such as "PyTorch 2.1, fragments"."""
    if way in SETS:
        return SETS[way]
    return PEERS[way] if figure.refusal else f"{PEERS[way]} {figure.last['version']}, {figure.last['form']}"


def net_rows(found, machine):
    """Returns one row per net and way to run it."""
    rows = [
        [
            "net",
            "by",
            "ran",
            "input",
            "voxels/s of it",
            "runs",
            "direct GFLOP/s",
            "of multiply-adds",
            "of memory",
            "J / 10^6 voxels",
            "GiB",
            "measured / predicted time",
            "voxels/s in all the memory",
            "which is",
            "speed of all primitives over it",
        ]
    ]
    for (net, mem, _), ways in found.items():
        for way, one in ways.items():
            name = [f"{net} {mem}", way_name(way, one)]
            if one.refusal:
                rows.append([*name, *[""] * 11, "not run: " + one.refusal, ""])
                continue
            last, rate, speed = one.last, one.rate(), speed_over(ways, way)
            predicted = last.get("predicted_seconds")
            together = f", S {last['S']}" if last.get("S", 1) > 1 else ""
            rows.append(
                [
                    *name,
                    last["part"],
                    extent(last["patch"]) + together,
                    f"{one.here:,.0f}",
                    str(len(one.seconds)),
                    f"{last['direct_flops'] / one.median / 1e9:.0f}",
                    *machine.parts(last["direct_flops"], last["traffic_bytes"], one.median),
                    energy(last["joules"], last["voxels"]),
                    f"{last['bytes'] / 2**30:.1f}",
                    f"{one.median / predicted:.2f}" if predicted else "",
                    f"{rate:,.0f}" if rate else "",
                    one.how(),
                    f"{speed:.2f}" if speed else "",
                ]
            )
    return rows


def gigabytes(text):
    """Returns the GiB of a text such as "512M"."""
    return float(text[:-1]) * UNITS[text[-1].upper()] if text[-1].upper() in UNITS else int(text) / 2**30


def by_memory(found):
    """Returns {net: [(GiB, figure)]} of all primitives with the most threads, for nets with several limits."""
    most = max((threads for _, _, threads in found), default=0)
    curves = {}
    for (net, mem, threads), ways in found.items():
        if threads == most and "all" in ways:
            curves.setdefault(net, []).append((gigabytes(mem), ways["all"]))
    return {net: sorted(points, key=lambda point: point[0]) for net, points in curves.items() if len(points) > 1}


def memory_rows(curves):
    """Returns rows of throughput under each limit."""
    rows = [["net", "GiB", "input", "voxels/s", "runs"]]
    for net, points in curves.items():
        for mem, one in points:
            rows.append(
                [net, f"{mem:g}", "", "not run: " + one.refusal, ""]
                if one.refusal
                else [net, f"{mem:g}", extent(one.last["patch"]), f"{one.rate():,.0f}", str(len(one.seconds))]
            )
    return rows


def scaling_rows(found):
    """Returns rows of throughput with each number of threads, if there are several."""
    groups = {}
    for (net, mem, threads), ways in found.items():
        if "all" in ways and not ways["all"].refusal:
            groups.setdefault((net, mem), {})[threads] = ways["all"].rate()
    rows = [["net", "threads", "voxels/s", "over one thread", "per thread"]]
    for (net, mem), rates in groups.items():
        if len(rates) < 2:
            continue
        least = min(rates)
        for threads in sorted(rates):
            speed = rates[threads] / rates[least] * least
            rows.append(
                [f"{net} {mem}", str(threads), f"{rates[threads]:,.0f}", f"{speed:.2f}", f"{speed / threads:.2f}"]
            )
    return rows


def train_name(result):
    """Returns what was trained, for how many voxels of its input."""
    if "layer" in result:
        return layer_name(result["layer"])
    channels = f", {result['channels']} channels" if result["channels"] else ""
    return f"{result['net']}{channels}, patch {extent(result['patch'])}"


def train_rows(results):
    """Returns a row for each step of training."""
    rows = [
        [
            "step of",
            "PyTorch's form",
            "PyTorch, processor ms",
            "ours, processor ms",
            "predicted ms",
            "ratio",
            "PyTorch, ms",
            "ours, ms",
            "load",
        ]
    ]
    for result in results:
        ours, peer = result["ours"], result.get("peer", {})
        ran = "ratio" in result

        def ms(one, key):
            return f"{1e3 * one[key]:.0f}"

        rows.append(
            [
                train_name(result),
                f"{peer['version']}, {peer['form']}" if ran else "did not run" if peer else "",
                ms(peer, "best_processor_seconds") if ran else "",
                ms(ours, "best_processor_seconds"),
                ms(ours, "predicted_seconds"),
                f"{result['ratio']:.1f}" if ran else "",
                ms(peer, "best_seconds") if ran else "",
                ms(ours, "best_seconds"),
                span(result["load"], 1, 1),
            ]
        )
    return rows

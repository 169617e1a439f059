"""Times a step of training beside PyTorch, in turn: round by round ours, then theirs. Prints one JSON object; says on
stderr what it does.

    bench_train.py layer --f 80 --f-out 80 --k 3 --n 48 OPTIONS [-- PYTHON...]
    bench_train.py net MODEL --patch 80 [--channels N] OPTIONS [-- PYTHON...]
    OPTIONS: --bin DIR --mem 4G [--threads N] [--rounds N] [--repetitions N]

A layer's step is its output, and the gradients of its input and of its weights: `znni-bench layer --train` on our side.
A net's is one of `znni-train`, from first to last: random voxels and labels, binary cross-entropy, SGD. MODEL is
FILE.onnx or FILE.pbtxt, a chain of convolutions and max poolings; --channels sets those of all its layers but
the last.

PYTHON... is the command of a Python that has PyTorch; without it ours runs alone. PyTorch runs in the fastest of its
forms: layers in both layouts; nets dilated and in fragments, in both layouts, with both ways of pooling. Forms are
tried first: of a layer on an output of 32^3; of a net one step each, of the dilated ones only that which is like the
best one in fragments, because they take long.

Processor seconds are those of a process over its threads. Of `znni-train` they are the difference of two trainings of
unlike length over the steps that one has more, so that its start does not count.
"""

import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

import bench_work as work

FEW_STEPS, MORE_STEPS = 2, 10
TRIAL_OUTPUT = 32  # voxels per axis
SHORT = 1.5  # seconds; of shorter trials the second run counts
UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1.0}  # that planner/base/text_table.cpp writes


def say(text):
    print(text, file=sys.stderr, flush=True)


class Peer:
    """PyTorch in a process of its own, which waits while others run."""

    def __init__(self, python, threads):
        script = pathlib.Path(__file__).with_name("bench_train_peer.py")
        self.threads = threads
        self.process = subprocess.Popen(
            [*python, "-B", "-W", "ignore", str(script), "--threads", str(threads)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.hello = self.read()

    def read(self):
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"bench_train: the peer ended with code {self.process.wait()}: is PyTorch in that Python?")
        return json.loads(line)

    def ask(self, **request):
        """Returns the answer, or raises RuntimeError with what went wrong."""
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        said = self.read()
        if "error" in said:
            raise RuntimeError(said["error"])
        return said

    def run(self):
        """Runs one step. Returns (seconds, processor seconds per thread)."""
        said = self.ask(run=True)
        return said["seconds"], said["processor_seconds"] / self.threads

    def attempt(self, spec, form):
        """Returns the processor seconds of a form, or why there are none."""
        try:
            self.ask(**spec, form=form)
            seconds = self.run()[1]
            seconds = self.run()[1] if seconds < SHORT else seconds
        except RuntimeError as error:
            say(f"PyTorch, {form}: {error}")
            return str(error)
        say(f"PyTorch, {form}: {seconds:.2f} s")
        return seconds

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def best_of(tried):
    """Returns the form of the fewest seconds; None if none ran."""
    ran = {form: seconds for form, seconds in tried.items() if not isinstance(seconds, str)}
    return min(ran, key=ran.get) if ran else None


def try_layer(peer, spec):
    """Returns {form: seconds} of a small layer."""
    own = spec["layer"]
    small = {**own, "n": [min(n, k + TRIAL_OUTPUT - 1) for n, k in zip(own["n"], own["k"])]}
    return {form: peer.attempt({"layer": small}, form) for form in peer.hello["layer"]}


def try_net(peer, spec):
    """Returns {form: seconds} of a net."""
    forms = [form for form in peer.hello["net"] if form.startswith("fragments")]
    tried = {form: peer.attempt(spec, form) for form in forms}
    best = best_of(tried)
    for form in [best] if best else forms:
        dilated = form.replace("fragments", "dilated", 1)
        tried[dilated] = peer.attempt(spec, dilated)
    return tried


def checked(command, **options):
    """Runs a command and returns what it prints; ends with its error if it fails."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, **options)
    if done.returncode != 0:
        said = done.stderr.strip().splitlines() or [f"ended with code {done.returncode}"]
        sys.exit(f"bench_train: {pathlib.Path(command[0]).name}: {said[-1]}")
    return done.stdout


class OurLayer:
    """`znni-bench layer --train`."""

    def __init__(self, arguments):
        self.command = [arguments.bin / "znni-bench", "layer", "--train", "--json"]
        for name in ("f", "f_out", "k", "n", "mem", "threads", "repetitions"):
            self.command += ["--" + name.replace("_", "-"), getattr(arguments, name)]
        self.last = None

    def run(self):
        """Returns [(seconds, processor seconds per thread)] of some steps."""
        self.last = json.loads(checked(self.command))
        return list(zip(self.last["runs"], self.last["processor_runs"]))

    def figures(self):
        last = self.last
        calls = [
            [call["part"], call["primitive"], call["variant"], call["best_processor_seconds_per_thread"]]
            for call in last["calls"]
        ]
        return {"predicted_seconds": last["predicted_seconds"], "calls": calls, "device": last["device"]}


class OurNet:
    """`znni-train`."""

    def __init__(self, model, arguments, folder):
        self.arguments, self.folder = arguments, folder
        self.model, self.channels = model
        self.count = 0
        self.write_volume()

    def write_volume(self):
        import numpy as np

        random = np.random.default_rng(1)
        extent = self.arguments.patch + 8
        np.save(self.folder / "input.npy", random.integers(0, 256, (extent,) * 3, dtype=np.uint8))
        blocks = random.integers(1, 9, (extent // 4 + 1,) * 3, dtype=np.uint8)
        labels = np.kron(blocks, np.ones((4, 4, 4), np.uint8))[:extent, :extent, :extent]
        np.save(self.folder / "labels.npy", np.ascontiguousarray(labels))

    def command(self, steps):
        self.count += 1
        config = self.folder / f"train{self.count}.pbtxt"
        targets = "affinities" if self.channels == 3 else "boundaries"
        config.write_text(
            f"steps: {steps} patch: {self.arguments.patch} targets: {targets} input_scale: 0.01\n"
            f'volume {{ input: "{self.folder}/input.npy" labels: "{self.folder}/labels.npy" }}\n'
            "loss { kind: binary_cross_entropy } optimizer { kind: sgd learning_rate: 1e-6 }\n"
        )
        options = {"model": self.model, "config": config, "mem": self.arguments.mem, "threads": self.arguments.threads}
        words = [self.arguments.bin / "znni-train", "--output", self.folder / f"model{self.count}"]
        return words + [word for name, value in options.items() for word in ("--" + name, value)]

    def train(self, steps):
        """Returns (processor seconds of a training, seconds of each step)."""
        before = os.times()
        checked(self.command(steps))
        after = os.times()
        lines = (self.folder / f"model{self.count}" / "train.jsonl").read_text().splitlines()
        used = after.children_user - before.children_user + after.children_system - before.children_system
        return used, [json.loads(line)["seconds"] for line in lines]

    def run(self):
        """Returns [(seconds, processor seconds per thread)] of a step: the median, and that of the difference."""
        few, _ = self.train(FEW_STEPS)
        more, seconds = self.train(MORE_STEPS)
        processor = (more - few) / (MORE_STEPS - FEW_STEPS) / self.arguments.threads
        return [(statistics.median(seconds[1:]), processor)]

    def figures(self):
        text = checked([*self.command(1), "--explain"])
        number, unit = re.search(r"^step: ([0-9.]+) (\w+),", text, re.MULTILINE).groups()
        return {"predicted_seconds": float(number) * UNITS[unit]}


def layers_of_onnx(path):
    """Returns the layers of a chain of Conv and MaxPool, as bench_work.Layer has them."""
    import onnx

    graph = onnx.load(path).graph
    shapes = {tensor.name: list(tensor.dims) for tensor in graph.initializer}
    layers = []
    for node in graph.node:
        if node.op_type == "Conv":
            f_out, f_in, *window = shapes[node.input[1]]
            layers.append({"is_conv": True, "f_in": f_in, "f_out": f_out, "window": window, "stride": [1, 1, 1]})
        elif node.op_type == "MaxPool":
            own = {attribute.name: list(attribute.ints) for attribute in node.attribute}
            layers.append({"is_conv": False, "window": own["kernel_shape"], "stride": own["strides"]})
        elif node.op_type not in ("Relu", "Sigmoid"):
            sys.exit(f"{path}: {node.op_type}: only chains of Conv, MaxPool, Relu and a last Sigmoid are trained")
        layers[-1].update({"dilation": [1, 1, 1], "relu": node.op_type == "Relu"})
    return layers


def layers_of_text(path, channels, folder):
    """Returns the layers of a FILE.pbtxt, and a file of the network that ends in a sigmoid."""
    from google.protobuf import text_format

    network = work.read_network(path)
    for node in [node for node in network.node if node.HasField("conv")][:-1]:
        node.conv.f_out = channels or node.conv.f_out
    written = folder / "net.pbtxt"
    written.write_text(text_format.MessageToString(network) + "node { activate { kind: sigmoid } }\n")
    return [vars(layer) for layer in work.layers_of(network)], written


def read_model(arguments, folder):
    """Returns (file that znni-train reads, layers)."""
    if arguments.model.suffix == ".onnx":
        if arguments.channels:
            sys.exit("bench_train: --channels is for networks of text, which have no weights")
        return arguments.model, layers_of_onnx(arguments.model)
    layers, written = layers_of_text(arguments.model, arguments.channels, folder)
    return written, layers


def summary(runs):
    """Returns the figures of [(seconds, processor seconds)]."""
    walls, processors = zip(*runs)
    return {
        "best_seconds": min(walls),
        "seconds": statistics.median(walls),
        "best_processor_seconds": min(processors),
        "processor_seconds": statistics.median(processors),
        "runs": walls,
        "processor_runs": processors,
    }


def compare(ours, spec, attempts, arguments):
    """Runs all rounds and returns the figures."""
    peer = Peer(arguments.peer, arguments.threads) if arguments.peer else None
    result = {"threads": arguments.threads, "load": [os.getloadavg()[0]]}
    our_runs, their_runs, form = [], [], None
    if peer:
        tried = attempts(peer, spec)
        form = best_of(tried)
        result["peer"] = {"name": "PyTorch", "version": peer.hello["version"], "form": form, "tried": tried}
        if form:
            peer.ask(**spec, form=form)
    for number in range(arguments.rounds):
        our_runs += ours.run()
        say(f"round {number + 1} of {arguments.rounds}: ours {min(run[1] for run in our_runs):.3f} s of a processor")
        if form:
            their_runs.append(peer.run())
            say(f"round {number + 1} of {arguments.rounds}: PyTorch {their_runs[-1][1]:.3f} s of a processor")
    if peer:
        peer.close()
    result["ours"] = {**summary(our_runs), **ours.figures()}
    if their_runs:
        result["peer"].update(summary(their_runs))
        result["ratio"] = result["peer"]["best_processor_seconds"] / result["ours"]["best_processor_seconds"]
    result["load"].append(os.getloadavg()[0])
    return result


def measure_layer(arguments):
    extents = {"k": [arguments.k] * 3, "n": [arguments.n] * 3}
    spec = {"layer": {"f": arguments.f, "f_out": arguments.f_out, **extents, "S": 1}}
    return {**spec, **compare(OurLayer(arguments), spec, try_layer, arguments)}


def measure_net(arguments):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        model, layers = read_model(arguments, folder)
        convolutions = [layer for layer in layers if layer["is_conv"]]
        f_in, patch = convolutions[0]["f_in"], [arguments.patch] * 3
        spec = {"net": {"layers": layers, "f_in": f_in, "patch": patch}}
        ours = OurNet((model, convolutions[-1]["f_out"]), arguments, folder)
        about = {"net": arguments.model.stem, "channels": arguments.channels, "patch": patch}
        return {**about, **compare(ours, spec, try_net, arguments)}


def parse_arguments(words):
    end = words.index("--") if "--" in words else len(words)
    own, peer = words[:end], words[end + 1 :]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    kinds = parser.add_subparsers(dest="kind", required=True)
    layer, net = kinds.add_parser("layer"), kinds.add_parser("net")
    for name, default in (("f", 80), ("f-out", 80), ("k", 3), ("n", 48)):
        layer.add_argument(f"--{name}", type=int, default=default)
    net.add_argument("model", type=pathlib.Path)
    net.add_argument("--patch", type=int, required=True)
    net.add_argument("--channels", type=int)
    for each in (layer, net):
        each.add_argument("--bin", type=pathlib.Path, required=True)
        each.add_argument("--mem", required=True)
        each.add_argument("--threads", type=int, default=1)
        each.add_argument("--rounds", type=int, default=3)
        each.add_argument("--repetitions", type=int, default=3, help="of ours in a round, for layers")
    arguments = parser.parse_args(own)
    arguments.peer = peer
    return arguments


def main(words):
    arguments = parse_arguments(words)
    print(json.dumps((measure_layer if arguments.kind == "layer" else measure_net)(arguments)))


if __name__ == "__main__":
    main(sys.argv[1:])

"""Rates of pinned plans by recorded layers, against sums by hand. Usage: pinned_rates_test.py PLANNER.

The timings file is what a stranger would write of another machine (docs/timings.md): thousands of records of two
primitives for convolutions and one for poolings, on a CPU and on a GPU. Their times follow laws, from which the rate of
a plan is added up here layer by layer.
"""

import json
import math
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest

NET = """
name: "net"
f_in: 1
node { conv { f_out: 8 k: 3 activation: relu } }
node { max_pool { window: 2 stride: 2 } }
node { conv { f_out: 8 k: 3 activation: relu } }
node { max_pool { window: 2 stride: 2 } }
node { conv { f_out: 4 k: 3 activation: relu } }
"""
FIELD_OF_VIEW = 3 + 1 + 2 * 2 + 2 + 4 * 2

MACHINE = """
machine {
  name: "16 cores and a card"
  device { name: "cores" kind: cpu threads: 16 flops_per_second: 1e12 bytes_per_second: 1e11
           memory { space: host bytes: 274877906944 } }
  device { name: "card" kind: gpu threads: 1 flops_per_second: 1e13 bytes_per_second: 5e11
           memory { space: device bytes: 25769803776 } memory { space: pinned bytes: 17179869184 } }
  link { from: pinned to: device bytes_per_second: 2e10 seconds: 1e-5 }
  link { from: device to: pinned bytes_per_second: 1.6e10 seconds: 2e-5 }
  link { from: host to: pinned bytes_per_second: 3e10 }
}
"""
CPU_BYTES_PER_SECOND, UP, DOWN, STAGING = 1e11, (1e-5, 2e10), (2e-5, 1.6e10), 3e10

# Seconds of a run, and of an operation of a convolution or an element of a pooling. The second of two convolutions is
# faster for large layers alone.
LAWS = {
    "zn.conv.direct": (1e-5, 2e-10),
    "zn.conv.fft": (5e-4, 4e-11),
    "zn.pool": (1e-5, 1e-9),
    "card.conv.gemm": (5e-3, 2e-11),
    "card.conv.fft": (8e-3, 4e-12),
    "card.pool": (1e-4, 1e-10),
}


class Layer:
    """One node for a cube of `edge` voxels and S inputs; poolings make all fragments."""

    def __init__(self, node, S, edge):
        self.conv = node % 2 == 0
        self.S, self.edge = S, edge
        self.f, self.f_out = [(1, 8), (8, 8), (8, 8), (8, 8), (8, 4)][node]
        self.edge_out = edge - 2 if self.conv else (edge - 1) // 2
        self.S_out = S if self.conv else 8 * S
        self.made = 2 if node == 3 and S % 8 == 0 else 1  # fragments of a part of a patch count as inputs
        work = 54 * S * self.f * self.f_out * self.edge_out**3
        self.work = work if self.conv else S * self.f * edge**3

    def text(self):
        shape = f"{self.S}x{self.f}x{self.edge}x{self.edge}x{self.edge}"
        if self.conv:
            return f"conv {shape} -> {self.f_out}, k 3x3x3, relu"
        return f"max pool {shape}, window 2x2x2, stride 2x2x2, fragments of {self.made}x{self.made}x{self.made}"

    def seconds(self, primitive):
        each, growth = LAWS[primitive]
        return each + growth * self.work

    def primitives(self, place):
        return [name for name in LAWS if name.startswith(place) and (".conv." in name) == self.conv]

    def fastest(self, place):
        return min(self.seconds(primitive) for primitive in self.primitives(place))

    def bytes_in(self):
        return 4 * self.S * self.f * self.edge**3

    def bytes_out(self):
        return 4 * self.S_out * self.f_out * self.edge_out**3


def layers_of(S, edge):
    layers = []
    for node in range(5):
        layers.append(Layer(node, S, edge))
        S, edge = layers[-1].S_out, layers[-1].edge_out
    return layers


def up(size):
    return UP[0] + size / UP[1]


def down(size, inputs):
    return inputs * DOWN[0] + size / DOWN[1]


def copying(S, edge):
    """Returns the time of copying: windows are read and written; stitching also fetches, twice, what it writes to."""
    outputs = 4 * S * (edge - FIELD_OF_VIEW + 1) ** 3
    return 4 * (2 * S * edge**3 + 4 * outputs) / CPU_BYTES_PER_SECOND


def through_host_ram(layer):
    """Returns the time of one part: staged, sent, computed, fetched, staged. Poolings stay on the CPU."""
    if not layer.conv:
        return layer.fastest("zn")
    moved = (layer.bytes_in() + layer.bytes_out()) / STAGING
    return moved + up(layer.bytes_in()) + layer.fastest("card") + down(layer.bytes_out(), 1)


def tail_seconds(layers):
    if not layers:
        return 0
    inputs = layers[-1].S_out
    return (
        up(layers[0].bytes_in()) + sum(layer.fastest("card") for layer in layers) + down(layers[-1].bytes_out(), inputs)
    )


def seconds_by_hand(strategy, S, edge, theta):
    layers = layers_of(S, edge)
    on_cpu = [copying(S, edge)]
    for layer in layers:
        on_cpu.append(on_cpu[-1] + layer.fastest("zn"))
    if strategy == "cpu":
        return on_cpu[-1]
    # Beside a head on the CPU no layer through host RAM may need it.
    heads = (
        [0]
        if strategy != "cpu-gpu"
        else [0] + [head for head in range(1, theta + 1) if all(layer.conv for layer in layers[head:theta])]
    )
    return min(
        max(on_cpu[head], sum(map(through_host_ram, layers[head:theta])) + tail_seconds(layers[theta:]))
        for head in heads
    )


def rate_by_hand(strategy, S, edge, theta):
    return S * (edge - FIELD_OF_VIEW + 1) ** 3 / seconds_by_hand(strategy, S, edge, theta)


def record(primitive, layer, noise):
    device = "cores" if primitive.startswith("zn") else "card"
    space = "host" if device == "cores" else "device"
    return (
        f'record {{ primitive: "{primitive}" version: 1 problem: "{layer.text()}" device: "{device}" '
        f"samples: {layer.seconds(primitive) * noise()!r} bytes {{ space: {space} transient: 4096 }} }}\n"
    )


def timings(noise):
    """Returns timings of every layer of cubes of 21 to 101, for all S that poolings, and groups on the GPU, make of 1
    and 2."""
    text = MACHINE
    for edge in range(21, 102, 4):
        for node, own in enumerate(layers_of(1, edge)):
            for S in [1 << i for i in range(8)]:
                layer = Layer(node, S, own.edge)
                for place in ("zn", "card"):
                    text += "".join(record(name, layer, noise) for name in layer.primitives(place))
    return text


class PinnedRates(unittest.TestCase):
    program = ""

    def setUp(self):
        self.kept = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.kept.name)
        self.net = self.folder / "net.pbtxt"
        self.net.write_text(NET)

    def tearDown(self):
        self.kept.cleanup()

    def write(self, noise):
        file = self.folder / "machine.pbtxt"
        file.write_text(timings(noise))
        return file

    def plan(self, machine, strategy, S, edge, theta):
        cut = [] if theta is None else ["--theta", theta]
        arguments = [
            "--model",
            self.net,
            "--machine",
            machine,
            "--enable",
            "zn.*,card.*",
            "--mem",
            "200G",
            "--strategy",
            strategy,
            "--patch",
            edge,
            "--modes",
            "mpf,mpf",
            "--S",
            S,
            "--no-stream",
            "--no-groups",
            "--json",
        ]
        done = subprocess.run(
            [self.program, *map(str, arguments), *map(str, cut)],
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def check(self, machine, share, basis, plans):
        for strategy, S, edge, theta in plans:
            with self.subTest(strategy=strategy, S=S, edge=edge, theta=theta):
                plan = self.plan(machine, strategy, S, edge, theta)
                self.assertEqual((plan["input"][0], plan["input"][2:]), (S, [edge] * 3))
                self.assertEqual(plan["theta"], theta)
                divided = any(segment["place"] == "gpu_host_ram" for segment in plan["segments"])
                self.assertEqual(plan["predicted"]["basis"], "model" if divided else basis)
                told = plan["predicted"]["voxels_per_second"]
                self.assertLess(abs(told / rate_by_hand(strategy, S, edge, theta) - 1), share)

    def test_rates_are_the_sums_of_recorded_layers(self):
        machine = self.write(lambda: 1)
        self.assertGreater(machine.read_text().count("record {"), 2000)
        self.check(
            machine,
            1e-6,
            "recorded",
            [
                ("cpu", 1, 45, None),
                ("cpu", 2, 93, None),
                ("gpu", 1, 45, 0),
                ("gpu", 2, 77, 0),
                ("gpu-host-ram", 1, 61, 1),
                ("gpu-host-ram", 1, 61, 3),
                ("gpu-host-ram", 2, 45, 5),
                ("cpu-gpu", 1, 61, 1),
                ("cpu-gpu", 1, 61, 2),
                ("cpu-gpu", 2, 45, 3),
            ],
        )

    def test_noise_of_five_in_a_hundred_is_no_more_than_three_in_the_rate(self):
        source = random.Random(3)
        machine = self.write(lambda: math.exp(source.gauss(0, 0.05)))
        self.check(
            machine,
            0.03,
            "recorded, smoothed",
            [("cpu", 2, 93, None), ("gpu", 1, 45, 0), ("gpu-host-ram", 1, 61, 3), ("cpu-gpu", 1, 61, 2)],
        )


if __name__ == "__main__":
    PinnedRates.program = sys.argv[1]
    unittest.main(argv=sys.argv[:1])

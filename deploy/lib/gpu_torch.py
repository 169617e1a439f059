"""Runs PyTorch beside znni-gpu-bench on the nets of the ZNNi paper, on one GPU. Prints JSON lines.

    gpu_torch.py speed NET --last N --mode M   patches of that size, channels last: bf16, tf32, or compiled, in bf16
    gpu_torch.py error NET --bench PROGRAM     a small patch by znni-gpu-bench and by PyTorch, against float64

Poolings are MPF (max-pooling fragments) by slicing and one permuted copy, as a skilled user would write them.
"""

import argparse
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy
import torch

# Layers, kernel of the first convolution, kernel of the others, and fragment of the small patch.
NETS = {
    "n337": ("cpcpcpcccc", 2, 3, 2),
    "n537": ("cpcpcpcccc", 4, 5, 1),
    "n726": ("cpcpcccc", 6, 7, 1),
    "n926": ("cpcpcccc", 8, 9, 1),
}
IMAGES, IMAGES_OUT = 80, 3
MODES = ("f32", "fft_tf32", "tf32", "bf16")
# Bounds of a whole net's error relative to its output. Rounding stays below them; a larger error is a wrong result.
MOST_ERROR = {"f32": 1e-4, "fft_tf32": 2e-2, "tf32": 2e-2, "bf16": 0.1}


def say(**fields):
    print(json.dumps(fields), flush=True)


def input_extent(net, last):
    layers, first, k, _ = NETS[net]
    n = last
    for i in reversed(range(len(layers))):
        n = 2 * n + 1 if layers[i] == "p" else n + (first if i == 0 else k) - 1
    return n


def make_weights(net):
    """Returns kernels and biases of every convolution, float32."""
    layers, first, k, _ = NETS[net]
    random, f, weights = numpy.random.default_rng(1), 1, []
    for i, kind in enumerate(layers):
        if kind == "p":
            continue
        size = first if i == 0 else k
        f_out = IMAGES_OUT if i + 1 == len(layers) else IMAGES
        deviation = math.sqrt(2 / (f * size**3))
        kernels = (random.standard_normal((f_out, f, size, size, size)) * deviation).astype(numpy.float32)
        weights.append((kernels, (random.standard_normal(f_out) * 0.01).astype(numpy.float32)))
        f = f_out
    return weights


def fragments(value, before):
    """Returns all offsets of a pooling by 2. The newest pooling is the most significant digit of a fragment's index."""
    for axis in (2, 3, 4):
        length = value.shape[axis] - 1
        value = torch.maximum(value.narrow(axis, 0, length), value.narrow(axis, 1, length))
    f, (z, y, x) = value.shape[1], (extent // 2 for extent in value.shape[2:])
    b = before
    value = value.reshape(b, b, b, f, z, 2, y, 2, x, 2).permute(5, 0, 7, 1, 9, 2, 3, 4, 6, 8)
    return value.reshape(8 * b**3, f, z, y, x)


class Net(torch.nn.Module):
    def __init__(self, net, weights, dtype, channels_last):
        super().__init__()
        self.layers = NETS[net][0]
        self.format = torch.channels_last_3d if channels_last else torch.contiguous_format
        self.weights = [
            (
                torch.from_numpy(k).to("cuda", dtype).contiguous(memory_format=self.format),
                torch.from_numpy(b).to("cuda", dtype),
            )
            for k, b in weights
        ]

    def forward(self, value):
        weights, before = iter(self.weights), 1
        for kind in self.layers:
            if kind == "p":
                value = fragments(value, before).contiguous(memory_format=self.format)
                before *= 2
            else:
                value = torch.nn.functional.conv3d(value, *next(weights)).relu_()
        return value


def exact_layer(value, kernels, bias):
    """Returns a convolution in float64, by a matrix product per tap: cuDNN may lack a fast 3D engine for float64."""
    f_out, _, *k = kernels.shape
    n = [have - want + 1 for have, want in zip(value.shape[2:], k)]
    out = bias[None, :, None].expand(value.shape[0], f_out, math.prod(n)).clone()
    for z in range(k[0]):
        for y in range(k[1]):
            for x in range(k[2]):
                part = value[:, :, z : z + n[0], y : y + n[1], x : x + n[2]].reshape(*value.shape[:2], -1)
                out.baddbmm_(kernels[:, :, z, y, x].expand(value.shape[0], -1, -1), part)
    return out.reshape(value.shape[0], f_out, *n)


def exact_output(net, weights, image):
    """Returns the net's output in float64, planar, as a tensor in host memory."""
    value, weights, before = image.double(), iter(weights), 1
    for kind in NETS[net][0]:
        if kind == "p":
            value, before = fragments(value, before), 2 * before
        else:
            kernels, bias = (torch.from_numpy(part).to("cuda", torch.float64) for part in next(weights))
            value = exact_layer(value, kernels, bias).relu_()
    return value.cpu()


def set_precision(mode):
    torch.backends.cuda.matmul.allow_tf32 = mode == "tf32"
    torch.backends.cudnn.allow_tf32 = mode == "tf32"


def one_run(run):
    first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    first.record()
    run()
    last.record()
    last.synchronize()
    return first.elapsed_time(last) / 1e3


def seconds_of(run):
    """Returns the median of runs after two that warm up and choose plans. Like znni-gpu-bench, times long runs once."""
    run()
    repetitions = 1 if one_run(run) > 1 else 5
    return sorted(one_run(run) for _ in range(repetitions))[repetitions // 2]


def speed(net, last, mode, plans):
    """Prints one line: the rate, or the failure in words, which is a result, too."""
    who = {"bf16": "PyTorch bf16", "tf32": "PyTorch TF32", "compiled": "PyTorch bf16, compiled"}[mode]
    compiled, mode = mode == "compiled", "bf16" if mode == "compiled" else mode
    n, dtype = input_extent(net, last), torch.bfloat16 if mode == "bf16" else torch.float32
    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.benchmark_limit = plans
    set_precision(mode)
    try:
        with torch.inference_mode():
            model = Net(net, make_weights(net), dtype, channels_last=True)
            run = torch.compile(model) if compiled else model
            value = torch.randn(1, 1, n, n, n, device="cuda", dtype=dtype).contiguous(memory_format=model.format)
            seconds = seconds_of(lambda: run(value))
            fragments_out = 8 ** NETS[net][0].count("p")
            say(
                block="net",
                who=who,
                net=net,
                mode=mode,
                n=n,
                fragment=last,
                ms=1e3 * seconds,
                Mvoxels_per_s=1e-6 * fragments_out * last**3 / seconds,
                GiB=torch.cuda.max_memory_allocated() / 2**30,
            )
    except Exception as failure:  # compilers and libraries throw any type
        say(block="net", who=who, net=net, mode=mode, n=n, failure=str(failure).split("\n")[0])


def read_output(file, mode, shape):
    """Returns the output tensor of znni-gpu-bench as float64, planar."""
    S, f, n = shape
    if mode == "bf16":
        values = torch.from_numpy(numpy.fromfile(file, dtype=numpy.int16)).view(torch.bfloat16).double()
    else:
        values = torch.from_numpy(numpy.fromfile(file, dtype=numpy.float32)).double()
    if mode in ("bf16", "tf32"):
        return values.reshape(S, n, n, n, f).permute(0, 4, 1, 2, 3)
    return values.reshape(S, f, n, n, n)


def relative(found, expected):
    return ((found - expected).norm() / expected.norm()).item()


def error(net, bench, libraries, memory):
    last = NETS[net][3]
    weights, n = make_weights(net), input_extent(net, last)
    image = numpy.random.default_rng(2).standard_normal((n, n, n)).astype(numpy.float32)
    with torch.inference_mode():
        set_precision("f32")
        value = torch.from_numpy(image).to("cuda")[None, None]
        exact = exact_output(net, weights, value)
        for mode, dtype in (("f32", torch.float32), ("tf32", torch.float32), ("bf16", torch.bfloat16)):
            set_precision(mode)
            try:
                found = Net(net, weights, dtype, mode != "f32")(value.to(dtype)).double().cpu()
                say(block="error", who="PyTorch", net=net, mode=mode, relative=relative(found, exact))
            except Exception as failure:
                say(block="error", who="PyTorch", net=net, mode=mode, failure=str(failure).split("\n")[0])
    torch.cuda.empty_cache()
    environment = {**os.environ, **({"LD_LIBRARY_PATH": libraries} if libraries else {})}
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        files = {name: str(pathlib.Path(folder) / name) for name in ("weights", "input", "output")}
        numpy.concatenate([part.ravel() for pair in weights for part in pair]).tofile(files["weights"])
        image.tofile(files["input"])
        for mode in MODES:
            command = [bench, "net", "--net", net, "--mode", mode, "--last", str(last), "--candidates", "2"]
            command += ["--memory", memory] + [word for name, file in files.items() for word in (f"--{name}", file)]
            done = subprocess.run(
                command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment
            )
            if done.returncode != 0:
                say(block="error", who="znni", net=net, mode=mode, failure=done.stderr.strip())
                failed = True
                continue
            found = read_output(files["output"], mode, (exact.shape[0], IMAGES_OUT, last))
            far = relative(found, exact)
            say(block="error", who="znni", net=net, mode=mode, relative=far if math.isfinite(far) else str(far))
            failed |= not far <= MOST_ERROR[mode]  # NaN fails, too
    return 1 if failed else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("speed", "error"))
    parser.add_argument("net", choices=NETS)
    parser.add_argument("--last", type=int, default=20, help="extent of a fragment of the output")
    parser.add_argument("--mode", choices=("bf16", "tf32", "compiled"), default="bf16")
    parser.add_argument("--plans", type=int, default=3, help="of cuDNN, tried for each layer")
    parser.add_argument("--bench", default="znni-gpu-bench")
    parser.add_argument("--libraries", help="LD_LIBRARY_PATH of that program")
    parser.add_argument("--memory", default="40", help="GiB for znni-gpu-bench where errors are measured")
    options = parser.parse_args()
    if options.what == "speed":
        return speed(options.net, options.last, options.mode, options.plans)
    return error(options.net, options.bench, options.libraries, options.memory)


if __name__ == "__main__":
    sys.exit(main())

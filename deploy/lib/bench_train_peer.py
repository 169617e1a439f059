"""Runs steps of training in PyTorch, one at each line of stdin, for bench_train.py. Needs PyTorch alone.

    bench_train_peer.py --threads N

Every line is a JSON object, and so is each answer. {"layer": {f, f_out, k, n, S}, "form": FORM} and {"net": {layers,
f_in, patch}, "form": FORM} make what runs from then on; {"run": true} runs one step, and is answered with its seconds
and processor_seconds of this process. A layer's step is its output, and the gradients of its input, kernels and bias. A
net's is a training step with binary cross-entropy and SGD, in a dense form of bench_torch.DenseNet. {"error": why} is
the answer if something fails.
"""

import argparse
import json
import sys
import time
import types

import bench_torch
import torch
from torch.nn import functional

LAYER_FORMS = tuple(layout.removeprefix(", ") or "channels first" for layout in bench_torch.LAYOUTS)
OPERATOR = ", max_pool3d"  # poolings by PyTorch's own operator; else one torch.maximum per axis
NET_FORMS = tuple(form + pooling for form in bench_torch.FORMS for pooling in ("", OPERATOR))


def pool_maximum(value, layer, dilation):
    """Returns a max pooling of stride 1 by PyTorch's own operator."""
    return functional.max_pool3d(value, layer.window, stride=1, dilation=dilation)


class Layer:
    """One convolution, with the gradient of its output."""

    def __init__(self, spec, form):
        layout = torch.channels_last_3d if form == "channels last" else torch.contiguous_format
        out = [n - k + 1 for n, k in zip(spec["n"], spec["k"])]

        def tensor(*shape):
            return torch.randn(shape).contiguous(memory_format=layout)

        self.value = tensor(spec["S"], spec["f"], *spec["n"]).requires_grad_()
        self.kernels = tensor(spec["f_out"], spec["f"], *spec["k"]).requires_grad_()
        self.bias = torch.zeros(spec["f_out"], requires_grad=True)
        self.gradient = tensor(spec["S"], spec["f_out"], *out)

    def __call__(self):
        read = (self.value, self.kernels, self.bias)
        return torch.autograd.grad(functional.conv3d(*read), read, self.gradient)


class Net:
    """A chain of layers, trained."""

    def __init__(self, spec, form):
        layers = [types.SimpleNamespace(**layer) for layer in spec["layers"]]
        pool = pool_maximum if form.endswith(OPERATOR) else bench_torch.slide_maximum
        self.net = bench_torch.DenseNet(layers, form.removesuffix(OPERATOR), pool=pool)
        weights = [weight.requires_grad_() for pair in self.net.weights if pair for weight in pair]
        self.optimizer = torch.optim.SGD(weights, 1e-6)
        self.value = torch.rand(1, spec["f_in"], *spec["patch"]).contiguous(memory_format=self.net.layout)
        self.target = None

    def __call__(self):
        self.optimizer.zero_grad()
        logits = self.net(self.value)
        if self.target is None:
            self.target = torch.randint(0, 2, logits.shape).to(logits.dtype)
        loss = functional.binary_cross_entropy_with_logits(logits, self.target)
        loss.backward()
        self.optimizer.step()
        return loss


def timed(step):
    """Returns the times of one step."""
    wall, processor = time.perf_counter(), time.process_time()
    step()
    return {"seconds": time.perf_counter() - wall, "processor_seconds": time.process_time() - processor}


def answer(request, made):
    """Returns the answer to one request. `made` holds what runs."""
    if "run" in request:
        return timed(made[0])
    made.clear()  # before the next takes memory
    make, spec = (Layer, request["layer"]) if "layer" in request else (Net, request["net"])
    made.append(make(spec, request["form"]))
    return {}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, required=True)
    torch.set_num_threads(parser.parse_args().threads)
    torch.manual_seed(1)
    made = []
    print(json.dumps({"version": torch.__version__, "layer": LAYER_FORMS, "net": NET_FORMS}), flush=True)
    for line in sys.stdin:
        try:
            said = answer(json.loads(line), made)
        except Exception as error:  # a form may not fit, and the library has its own exceptions
            said = {"error": str(error).strip().split("\n")[0][:200]}
        print(json.dumps(said), flush=True)


if __name__ == "__main__":
    main()

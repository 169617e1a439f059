#!/usr/bin/env python3
"""Train a small 3D ConvNet that marks cell boundaries, and export it to ONNX.

The exported net is a plain chain: valid convolutions, ReLU, two strided
max-poolings, sigmoid. It gives one output voxel per window. Training uses the
dense form of the same weights: each pooling has stride 1, and every layer after
it is dilated twofold, so one patch gives an output for every voxel.
"""

import argparse
import json
import os
import time

import h5py
import numpy as np
import onnx
import torch
import torch.nn.functional as F
from onnx import TensorProto, helper, numpy_helper

# The chain: ("conv", kernel, output maps) or ("pool", kernel == stride).
LAYERS = [
    ("conv", 4, 16),
    ("conv", 3, 16),
    ("pool", 2),
    ("conv", 3, 24),
    ("conv", 3, 24),
    ("pool", 2),
    ("conv", 3, 32),
    ("conv", 3, 32),
    ("conv", 3, 32),
    ("conv", 1, 1),
]

# Normalisation: raw * scale + offset is close to zero mean, unit deviation on
# the training part. Both numbers are exact in binary floating point.
INPUT_SCALE, INPUT_OFFSET = 0.03125, -4.1015625

# Boxes (z, y, x) that share no voxel, whether as input or as target.
SPLIT = {"train": np.s_[:190, :, :], "validation": np.s_[190:, :100, :], "test": np.s_[190:, 100:, :]}

PATCH_OUT = 40  # output voxels of a training patch, along each axis
LEARNING_RATE = 2e-3
SECONDS_PER_CHECK = 60  # between two validations


def field_of_view():
    """Returns the width of the input window of one output voxel."""
    width, step = 1, 1
    for kind, kernel, *_ in LAYERS:
        width += (kernel - 1) * step
        step *= kernel if kind == "pool" else 1
    return width


FOV = field_of_view()
CENTRE = FOV // 2


def boundary_map(labels):
    """Marks voxels of label 0 and those with a 6-neighbour of another label."""
    target = labels == 0
    for axis in range(3):
        near, far = [slice(None)] * 3, [slice(None)] * 3
        near[axis], far[axis] = slice(None, -1), slice(1, None)
        near, far = tuple(near), tuple(far)
        differs = labels[near] != labels[far]
        target[near] |= differs
        target[far] |= differs
    return target


def load(path):
    """Returns {part: (normalised raw, target)} as float32 tensors."""
    with h5py.File(path, "r") as volume:
        raw, labels = volume["raw"][:], volume["labels"][:]
    parts = {}
    for name, box in SPLIT.items():
        image = raw[box].astype(np.float32) * INPUT_SCALE + INPUT_OFFSET
        target = boundary_map(labels[box]).astype(np.float32)
        parts[name] = torch.from_numpy(image), torch.from_numpy(target)
    return parts


def init_weights():
    """Returns a [weight, bias] pair for each convolution (He initialisation)."""
    pairs, inputs = [], 1
    for _, kernel, maps in (layer for layer in LAYERS if layer[0] == "conv"):
        weight = torch.empty(maps, inputs, kernel, kernel, kernel)
        torch.nn.init.kaiming_normal_(weight, nonlinearity="relu")
        pairs.append([weight.requires_grad_(), torch.zeros(maps, requires_grad=True)])
        inputs = maps
    return pairs


def forward(pairs, x, dense):
    """Returns the logits, one per voxel if dense, else one per pooling step."""
    remaining, dilation = list(pairs), 1
    for kind, kernel, *_ in LAYERS:
        if kind == "pool":
            stride = 1 if dense else kernel
            x = F.max_pool3d(x, kernel, stride, dilation=dilation)
            dilation *= kernel if dense else 1
        else:
            weight, bias = remaining.pop(0)
            x = F.conv3d(x, weight, bias, dilation=dilation)
            x = F.relu(x) if remaining else x
    return x


@torch.no_grad()
def check_dense_equals_strided(pairs):
    """Compares the dense form with the strided net at all 64 window shifts."""
    x = torch.randn(1, 1, FOV + 11, FOV + 11, FOV + 11)
    dense, worst = forward(pairs, x, dense=True), 0.0
    for z, y, x0 in np.ndindex(4, 4, 4):
        strided = forward(pairs, x[..., z:, y:, x0:], dense=False)
        part = dense[..., z::4, y::4, x0::4]
        assert strided.shape == part.shape
        worst = max(worst, (strided - part).abs().max().item())
    assert worst < 1e-4 * max(1.0, dense.abs().max().item()), worst
    return worst


def sample_patch(image, target, rng):
    """Cuts a random patch, turns it by a random cube symmetry and varies its tone."""
    width = PATCH_OUT + FOV - 1
    corner = [rng.integers(0, size - width + 1) for size in image.shape]
    box = tuple(slice(c, c + width) for c in corner)
    axes = rng.permutation(3).tolist()
    flips = [axis for axis in range(3) if rng.random() < 0.5]
    x, t = (v[box].permute(axes).flip(flips) for v in (image, target))
    x = x * float(np.exp(rng.normal(0, 0.15))) + float(rng.normal(0, 0.2))
    inner = slice(CENTRE, CENTRE + PATCH_OUT)
    return x[None, None], t[inner, inner, inner][None, None]


@torch.no_grad()
def predict(pairs, image):
    """Returns the boundary probability of every voxel with a full window."""
    return torch.sigmoid(forward(pairs, image[None, None], dense=True))[0, 0]


def crop(volume):
    """Drops the margin that has no output."""
    return volume[CENTRE:-CENTRE, CENTRE:-CENTRE, CENTRE:-CENTRE]


def curve(score, target):
    """Returns thresholds, precision and recall, one entry per distinct score."""
    score, hit = score.numpy().ravel(), target.numpy().ravel()
    order = np.argsort(-score, kind="stable")
    score, hit = score[order], np.cumsum(hit[order], dtype=np.float64)
    last = np.append(np.flatnonzero(np.diff(score)), score.size - 1)
    return score[last], hit[last] / (last + 1.0), hit[last] / hit[-1]


def measure(score, target, chosen=None):
    """Returns average precision and best F1, and F1 at a chosen threshold."""
    threshold, precision, recall = curve(score, target)
    f1 = 2 * precision * recall / np.maximum(precision + recall, 1e-12)
    best = int(np.argmax(f1))
    steps = np.diff(recall, prepend=0.0)
    result = {
        "average_precision": float(np.sum(precision * steps)),
        "best_f1": float(f1[best]),
        "best_f1_threshold": float(threshold[best]),
    }
    if chosen is not None:
        at = max(int(np.count_nonzero(threshold >= chosen)) - 1, 0)
        result["f1_at_validation_threshold"] = float(f1[at])
    return result


def baseline(image):
    """Scores darkness: the inverted intensity, averaged over 3^3 voxels."""
    return -F.avg_pool3d(image[None, None], 3, 1, padding=1)[0, 0]


def report(pairs, parts):
    """Scores the net and the baseline on the held-out parts."""
    scores = {}
    for name, function in (("net", lambda v: predict(pairs, v)), ("baseline", lambda v: crop(baseline(v)))):
        chosen = None
        for part in ("validation", "test"):
            image, target = parts[part]
            result = measure(function(image), crop(target), chosen)
            chosen = result["best_f1_threshold"]
            scores[f"{name}_{part}"] = result
    scores["boundary_fraction_test"] = crop(parts["test"][1]).mean().item()
    return scores


def train_step(state, part, rng, pos_weight, rate):
    """Takes one Adam step on one patch and returns the loss."""
    for group in state["optimizer"].param_groups:
        group["lr"] = rate
    x, t = sample_patch(*part, rng)
    logits = forward(state["pairs"], x, dense=True)
    loss = F.binary_cross_entropy_with_logits(logits, t, pos_weight=pos_weight)
    state["optimizer"].zero_grad()
    loss.backward()
    state["optimizer"].step()
    return loss.item()


def new_state():
    """Returns fresh weights and optimiser, with nothing learnt yet."""
    pairs = init_weights()
    optimizer = torch.optim.Adam([p for pair in pairs for p in pair])
    return {"pairs": pairs, "optimizer": optimizer, "step": 0, "elapsed": 0.0, "best": -1.0, "best_pairs": pairs}


def save(state, rng, path):
    """Writes a checkpoint, and replaces the old one only when the new one is complete."""
    saved = dict(state, optimizer=state["optimizer"].state_dict(), rng=rng.bit_generator.state)
    torch.save(saved, path + ".part")
    os.replace(path + ".part", path)


def restore(state, rng, path):
    """Takes up a checkpoint if one exists."""
    if not os.path.exists(path):
        return
    saved = torch.load(path)
    rng.bit_generator.state = saved.pop("rng")
    state["optimizer"].load_state_dict(saved.pop("optimizer"))
    with torch.no_grad():
        for pair, old in zip(state["pairs"], saved.pop("pairs")):
            for p, value in zip(pair, old):
                p.copy_(value)
    state.update(saved)


def validate(state, parts, losses):
    """Prints progress, and keeps the weights if they are the best so far."""
    image, target = parts["validation"]
    score = measure(predict(state["pairs"], image), crop(target))
    ap = score["average_precision"]
    print(
        f"step {state['step']:5d}  {state['elapsed'] / 60:5.1f} min  "
        f"loss {np.mean(losses):.4f}  validation AP {ap:.4f}",
        flush=True,
    )
    if ap > state["best"]:
        state["best"] = ap
        state["best_pairs"] = [[p.detach().clone() for p in pair] for pair in state["pairs"]]


def learning_rate(step, done):
    """Warms up over 50 steps, then falls to zero along a cosine of the time done."""
    return LEARNING_RATE * min((step + 1) / 50, 0.5 + np.cos(np.pi * done) / 2)


def train_for(state, part, rng, seconds, total):
    """Trains until that many seconds have passed, and returns the losses."""
    losses, stop = [], state["elapsed"] + seconds
    fraction = crop(part[1]).mean()
    pos_weight = torch.sqrt((1 - fraction) / fraction)
    while state["elapsed"] < stop:
        begin = time.monotonic()
        rate = learning_rate(state["step"], min(state["elapsed"] / total, 1.0))
        losses.append(train_step(state, part, rng, pos_weight, rate))
        state["step"] += 1
        state["elapsed"] += time.monotonic() - begin
    return losses


def train(state, parts, rng, total, checkpoint):
    """Trains until the total time in seconds is up, with regular checks."""
    while state["elapsed"] < total:
        seconds = min(SECONDS_PER_CHECK, total - state["elapsed"])
        losses = train_for(state, parts["train"], rng, seconds, total)
        validate(state, parts, losses)
        save(state, rng, checkpoint)


def conv_node(i, source, kernel, pair, last):
    """Returns a convolution with its activation, and its initialisers."""
    names = [f"conv{i}.weight", f"conv{i}.bias"]
    tensors = [numpy_helper.from_array(value.detach().numpy(), name) for value, name in zip(pair, names)]
    operator, result = ("Sigmoid", "boundary") if last else ("Relu", f"relu{i}")
    conv = helper.make_node("Conv", [source] + names, [f"conv{i}"], name=f"conv{i}", kernel_shape=[kernel] * 3)
    act = helper.make_node(operator, [f"conv{i}"], [result], name=result)
    return [conv, act], tensors


def onnx_nodes(pairs):
    """Returns the nodes and initialisers of the strided net."""
    nodes, tensors, source, remaining = [], [], "raw", list(pairs)
    for i, (kind, kernel, *_) in enumerate(LAYERS, 1):
        if kind == "pool":
            size = [kernel] * 3
            new = [
                helper.make_node("MaxPool", [source], [f"pool{i}"], name=f"pool{i}", kernel_shape=size, strides=size)
            ]
        else:
            pair = remaining.pop(0)
            new, values = conv_node(i, source, kernel, pair, not remaining)
            tensors += values
        nodes += new
        source = new[-1].output[0]
    return nodes, tensors


def export(pairs, path):
    """Writes the strided net as ONNX, opset 13, with free N, Z, Y and X."""
    nodes, tensors = onnx_nodes(pairs)
    raw = helper.make_tensor_value_info("raw", TensorProto.FLOAT, ["N", 1, "Z", "Y", "X"])
    boundary = helper.make_tensor_value_info("boundary", TensorProto.FLOAT, ["N", 1, "Zo", "Yo", "Xo"])
    graph = helper.make_graph(nodes, "fib25-boundary", [raw], [boundary], tensors)
    model = helper.make_model(graph, producer_name="train_boundary.py", opset_imports=[helper.make_opsetid("", 13)])
    model.ir_version = 7
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, path)


def parse():
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", required=True, help="HDF5 with /raw, /labels")
    parser.add_argument("--output", required=True, help="ONNX file to write")
    parser.add_argument("--minutes", type=float, default=26, help="training time; 0: only export")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--checkpoint", default="boundary.pt", help="written every minute; taken up if it exists")
    return parser.parse_args()


def main():
    """Trains, checks, exports and prints the held-out scores."""
    args = parse()
    torch.set_num_threads(args.threads)
    torch.manual_seed(args.seed)
    rng, state = np.random.default_rng(args.seed), new_state()
    restore(state, rng, args.checkpoint)
    check_dense_equals_strided(state["pairs"])
    parts = load(args.data)
    train(state, parts, rng, args.minutes * 60, args.checkpoint)
    best = state["best_pairs"]
    difference = check_dense_equals_strided(best)
    export(best, args.output)
    summary = {"field_of_view": FOV, "steps": state["step"], "dense_minus_strided": difference, **report(best, parts)}
    print(json.dumps(summary, indent=2))


if __name__ == "__main__":
    main()

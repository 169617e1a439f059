"""Layers and steps of gradient descent in NumPy, in float64, and in PyTorch where it is installed; and the same layers
as nodes of an ONNX model. A network is a function of layers and its input, net(layers, x).
"""

import importlib.util

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

HAS_TORCH = bool(importlib.util.find_spec("torch"))
if HAS_TORCH:
    import torch
    from torch.nn import functional

STEPS = 20
RATE = 0.01


class Numpy:
    """Layers in float64. Each returns its value, and a function that adds the gradients of all that it reads."""

    def __init__(self, weights):
        self.weights = {name: value.astype(np.float64) for name, value in weights.items()}
        self.back = []
        self.gradients = {}

    def add(self, name, gradient):
        self.gradients[name] = self.gradients.get(name, 0) + gradient

    def value(self, array, back):
        """Returns a value that collects its gradient, which back() passes on."""
        node = {"value": array, "gradient": np.zeros_like(array)}
        self.back.append(lambda: back(node["gradient"]))
        return node

    @staticmethod
    def windows(taps, extents, stride=1, dilation=1):
        """Returns the voxels that each tap of a window reads, of all channels."""
        n_out = [(n - dilation * (t - 1) - 1) // stride + 1 for n, t in zip(extents, taps)]
        return {
            tap: (slice(None),)
            + tuple(slice(dilation * t, dilation * t + stride * (n - 1) + 1, stride) for t, n in zip(tap, n_out))
            for tap in np.ndindex(*taps)
        }

    def conv(self, x, name, stride=1, mode="constant", dilation=1):
        """A convolution of 3x3x3 that pads, with zeros or in another mode of np.pad, or of 1x1x1. Without a mode it
        does not pad.
        """
        kernel, bias = self.weights[name + ".w"], self.weights[name + ".b"]
        width = kernel.shape[2] // 2 if mode else 0
        mode = mode or "constant"
        around = [(0, 0)] + [(width, width)] * 3
        padded = np.pad(x["value"], around, mode)
        windows = self.windows(kernel.shape[2:], padded.shape[1:], stride, dilation)
        out = bias[:, None, None, None] + sum(
            np.tensordot(kernel[(slice(None), slice(None), *tap)], padded[where], 1) for tap, where in windows.items()
        )

        def back(gradient):
            of_kernel, of_padded = np.zeros_like(kernel), np.zeros_like(padded)
            for tap, where in windows.items():
                own = (slice(None), slice(None), *tap)
                of_kernel[own] = np.tensordot(gradient, padded[where], ([1, 2, 3], [1, 2, 3]))
                of_padded[where] += np.tensordot(kernel[own].T, gradient, 1)
            self.add(name + ".w", of_kernel)
            self.add(name + ".b", gradient.sum((1, 2, 3)))
            inner = (slice(None),) + tuple(slice(width, width + n) for n in x["value"].shape[1:])
            if mode == "constant":
                x["gradient"] += of_padded[inner]
            else:
                sources = np.pad(np.arange(x["value"].size).reshape(x["value"].shape), around, mode)
                np.add.at(x["gradient"].reshape(-1), sources, of_padded)

        return self.value(out, back)

    def prelu(self, x, name):
        """Slopes below 0, one for each channel."""
        slope = self.weights[name + ".s"]
        below = np.minimum(x["value"], 0)

        def back(gradient):
            x["gradient"] += gradient * np.where(x["value"] > 0, 1, slope)
            self.add(name + ".s", (gradient * below).sum((1, 2, 3))[:, None, None, None])

        return self.value(np.maximum(x["value"], 0) + slope * below, back)

    def relu(self, x):
        def back(gradient):
            x["gradient"] += gradient * (x["value"] > 0)

        return self.value(np.maximum(x["value"], 0), back)

    def pool(self, x):
        """The maximum of 2x2x2 voxels."""
        f, *n = x["value"].shape
        blocks = x["value"].reshape(f, n[0] // 2, 2, n[1] // 2, 2, n[2] // 2, 2).transpose(0, 1, 3, 5, 2, 4, 6)
        flat = blocks.reshape(*blocks.shape[:4], 8)
        first = flat.argmax(-1)[..., None]

        def back(gradient):
            spread = np.zeros_like(flat)
            np.put_along_axis(spread, first, gradient[..., None], -1)
            x["gradient"] += spread.reshape(blocks.shape).transpose(0, 1, 4, 2, 5, 3, 6).reshape(f, *n)

        return self.value(np.take_along_axis(flat, first, -1)[..., 0], back)

    def filter(self, x, dilation):
        """The maximum of 2x2x2 voxels that are so far apart, at every voxel."""
        windows = self.windows((2, 2, 2), x["value"].shape[1:], 1, dilation)
        values = np.stack([x["value"][where] for where in windows.values()])
        first = values.argmax(0)

        def back(gradient):
            for number, where in enumerate(windows.values()):
                x["gradient"][where] += gradient * (first == number)

        return self.value(values.max(0), back)

    def transposed(self, x, name):
        """A transposed convolution of 2x2x2 and stride 2."""
        kernel, bias = self.weights[name + ".w"], self.weights[name + ".b"]
        f_out, n = kernel.shape[1], x["value"].shape[1:]
        shape = (f_out, *(2 * extent for extent in n))
        out = np.einsum("ijabc,izyx->jzaybxc", kernel, x["value"]).reshape(shape) + bias[:, None, None, None]

        def back(gradient):
            parts = gradient.reshape(f_out, n[0], 2, n[1], 2, n[2], 2)
            self.add(name + ".w", np.einsum("jzaybxc,izyx->ijabc", parts, x["value"]))
            self.add(name + ".b", gradient.sum((1, 2, 3)))
            x["gradient"] += np.einsum("ijabc,jzaybxc->izyx", kernel, parts)

        return self.value(out, back)

    def resize(self, x, mode):
        """Twice as many voxels: repeated, or interpolated at half pixels."""
        matrices = [self.shares(extent, mode) for extent in x["value"].shape[1:]]
        out = np.einsum("fzyx,Zz,Yy,Xx->fZYX", x["value"], *matrices, optimize=True)

        def back(gradient):
            x["gradient"] += np.einsum("fZYX,Zz,Yy,Xx->fzyx", gradient, *matrices, optimize=True)

        return self.value(out, back)

    @staticmethod
    def shares(extent, mode):
        """Returns the share of each voxel in each of twice as many."""
        matrix = np.zeros((2 * extent, extent))
        for to in range(2 * extent):
            at = np.clip((to + 0.5) / 2 - 0.5, 0, extent - 1) if mode == "linear" else to // 2
            near = min(int(at), extent - 1)
            matrix[to, near] += 1 - (at - near)
            matrix[to, min(near + 1, extent - 1)] += at - near
        return matrix

    def join(self, a, b):
        count = len(a["value"])

        def back(gradient):
            a["gradient"] += gradient[:count]
            b["gradient"] += gradient[count:]

        return self.value(np.concatenate([a["value"], b["value"]]), back)

    def product(self, a, b):
        def back(gradient):
            a["gradient"] += gradient * b["value"]
            b["gradient"] += gradient * a["value"]

        return self.value(a["value"] * b["value"], back)

    def losses(self, net, image, target, steps=STEPS, stride=1):
        """Trains by gradient descent; returns the losses. A stride says which voxels of the output the loss sees."""
        found = []
        seen = (slice(None),) + (slice(None, None, stride),) * 3
        for _ in range(steps):
            self.back, self.gradients = [], {}
            out = net(self, self.value(image.astype(np.float64), lambda _: None))
            error = out["value"][seen] - target
            found.append((error**2).mean())
            out["gradient"][seen] += 2 * error / error.size
            for step in reversed(self.back):
                step()
            for name, gradient in self.gradients.items():
                self.weights[name] -= RATE * gradient
        return found


class Torch:
    """The same layers in PyTorch."""

    def __init__(self, weights):
        self.weights = {name: torch.from_numpy(value.copy()).requires_grad_() for name, value in weights.items()}

    def conv(self, x, name, stride=1, mode="constant", dilation=1):
        kernel = self.weights[name + ".w"]
        if mode:
            x = functional.pad(x, [kernel.shape[2] // 2] * 6, {"edge": "replicate"}.get(mode, mode))
        return functional.conv3d(x, kernel, self.weights[name + ".b"], stride=stride, dilation=dilation)

    def prelu(self, x, name):
        return functional.prelu(x, self.weights[name + ".s"].flatten())

    def transposed(self, x, name):
        return functional.conv_transpose3d(x, self.weights[name + ".w"], self.weights[name + ".b"], stride=2)

    @staticmethod
    def relu(x):
        return functional.relu(x)

    @staticmethod
    def pool(x):
        return functional.max_pool3d(x, 2)

    @staticmethod
    def filter(x, dilation):
        return functional.max_pool3d(x, 2, 1, dilation=dilation)

    @staticmethod
    def resize(x, mode):
        return functional.interpolate(x, scale_factor=2, mode="trilinear" if mode == "linear" else "nearest")

    @staticmethod
    def join(a, b):
        return torch.cat([a, b], 1)

    @staticmethod
    def product(a, b):
        return a * b

    def losses(self, net, image, target, steps=STEPS, stride=1):
        """Trains by gradient descent; returns the losses."""
        found = []
        optimizer = torch.optim.SGD(self.weights.values(), RATE)
        for _ in range(steps):
            optimizer.zero_grad()
            out = net(self, torch.from_numpy(image)[None])[..., ::stride, ::stride, ::stride]
            loss = ((out - torch.from_numpy(target)) ** 2).mean()
            found.append(loss.item())
            loss.backward()
            optimizer.step()
        return found


class Onnx:
    """The same layers as nodes of an ONNX model."""

    def __init__(self, weights):
        self.nodes = []
        self.tensors = [numpy_helper.from_array(value, name) for name, value in weights.items()]
        self.weights = weights

    def node(self, operation, inputs, **settings):
        name = f"value{len(self.nodes)}"
        self.nodes.append(helper.make_node(operation, inputs, [name], **settings))
        return name

    def conv(self, x, name, stride=1, mode="constant", dilation=1):
        width = self.weights[name + ".w"].shape[2]
        if mode not in (None, "constant"):
            x = self.copies(x, width // 2, mode)
        settings = {"kernel_shape": [width] * 3, "strides": [stride] * 3, "dilations": [dilation] * 3}
        settings["pads"] = [width // 2 if mode == "constant" else 0] * 6
        return self.node("Conv", [x, name + ".w", name + ".b"], **settings)

    def copies(self, x, width, mode):
        """Voxels are copied outwards."""
        around = [0, 0, width, width, width]
        pads = numpy_helper.from_array(np.array(around * 2, np.int64), f"pads{len(self.nodes)}")
        self.tensors.append(pads)
        return self.node("Pad", [x, pads.name], mode=mode)

    def prelu(self, x, name):
        return self.node("PRelu", [x, name + ".s"])

    def transposed(self, x, name):
        return self.node("ConvTranspose", [x, name + ".w", name + ".b"], kernel_shape=[2] * 3, strides=[2] * 3)

    def relu(self, x):
        return self.node("Relu", [x])

    def pool(self, x):
        return self.node("MaxPool", [x], kernel_shape=[2] * 3, strides=[2] * 3)

    def filter(self, x, dilation):
        return self.node("MaxPool", [x], kernel_shape=[2] * 3, strides=[1] * 3, dilations=[dilation] * 3)

    def resize(self, x, mode):
        scales = numpy_helper.from_array(np.array([1, 1, 2, 2, 2], np.float32), f"scales{len(self.nodes)}")
        self.tensors.append(scales)
        settings = {"mode": mode, "coordinate_transformation_mode": "half_pixel" if mode == "linear" else "asymmetric"}
        if mode == "nearest":
            settings["nearest_mode"] = "floor"
        return self.node("Resize", [x, "", scales.name], **settings)

    def join(self, a, b):
        return self.node("Concat", [a, b], axis=1)

    def product(self, a, b):
        return self.node("Mul", [a, b])

    def write(self, net, path):
        """Writes the network."""
        out = net(self, "input")
        ends = [
            helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 1, "z", "y", "x"]) for name in ("input", out)
        ]
        graph = helper.make_graph(self.nodes, "unet", ends[:1], ends[1:], self.tensors)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)

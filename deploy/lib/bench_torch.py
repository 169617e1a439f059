"""Times PyTorch on the dense output of a network of planner/networks, as a skilled user would run it. Memory is kept
between calls (deploy/bench sets malloc's environment), a pooling is one torch.maximum per axis, fragments are one
permuted copy. Forms: dilated and MPF (max-pooling fragments), with channels outermost or innermost (channels_last_3d).

    bench_torch.py NETWORK.pbtxt --mem 16G [--threads N] [--limit SECONDS] [--flops N] [--runs N] [--seed N]
"""

import bench_peer
import bench_work as work
import torch

LAYOUTS = {"": torch.contiguous_format, ", channels last": torch.channels_last_3d}
FORMS = tuple(form + layout for form in ("fragments", "dilated") for layout in LAYOUTS)


def slide_maximum(value, layer, dilation):
    """Returns a max pooling of stride 1, computed one axis after the other."""
    for axis in range(3):
        whole, step = value, dilation[axis]
        length = whole.shape[2 + axis] - (layer.window[axis] - 1) * step
        for tap in range(1, layer.window[axis]):
            value = torch.maximum(value.narrow(2 + axis, 0, length), whole.narrow(2 + axis, tap * step, length))
    return value


def split(value, stride, layout):
    """Returns the fragments [s^3 S, f, z/s, y/s, x/s] of [S, f, z, y, x], offsets outermost."""
    S, f, *n = value.shape
    z, y, x = (extent // s for extent, s in zip(n, stride))
    parts = value.view(S, f, z, stride[0], y, stride[1], x, stride[2]).permute(3, 5, 7, 0, 1, 2, 4, 6)
    shape = (stride[0] * stride[1] * stride[2] * S, f, z, y, x)
    if layout != torch.channels_last_3d:
        return parts.reshape(shape)
    return parts.permute(0, 1, 2, 3, 5, 6, 7, 4).reshape(shape[0], z, y, x, f).permute(0, 4, 1, 2, 3)


class DenseNet:
    """A chain of layers in one of the forms, with seeded He-normal weights. pool(value, layer, dilation) is a max
    pooling of stride 1."""

    def __init__(self, layers, form, seed=1, pool=slide_maximum):
        self.layers, self.pool = layers, pool
        self.fragments = form.startswith("fragments")
        self.layout = LAYOUTS[form.removeprefix("fragments").removeprefix("dilated")]
        random = torch.Generator().manual_seed(seed)
        self.weights = [self.make_weights(layer, random) if layer.is_conv else None for layer in layers]

    def make_weights(self, layer, random):
        shape = (layer.f_out, layer.f_in, *layer.window)
        deviation = (2 / torch.Size(shape[1:]).numel()) ** 0.5
        kernels = torch.randn(shape, generator=random) * deviation
        return kernels.to(memory_format=self.layout), torch.randn(layer.f_out, generator=random) * 0.1

    def __call__(self, value):
        dilation = [1, 1, 1]
        for layer, weights in zip(self.layers, self.weights):
            if layer.is_conv:
                own = [d * e for d, e in zip(dilation, layer.dilation)]
                value = torch.nn.functional.conv3d(value, *weights, dilation=own)
                value = value.relu_() if layer.relu else value
                continue
            value = self.pool(value, layer, dilation)
            if self.fragments:
                value = split(value, layer.stride, self.layout)
            else:
                dilation = [d * s for d, s in zip(dilation, layer.stride)]
        return value


def maker_of(arguments):
    """Returns the maker for bench_peer.measure()."""
    torch.set_num_threads(arguments.threads)

    def make(part, output, form):
        layers = work.layers_of(part)
        net = DenseNet(layers, form, arguments.seed)
        extent = [o + v - 1 for o, v in zip(output, work.field_of_view(layers))]
        volume = torch.rand(1, layers[0].f_in, *extent).contiguous(memory_format=net.layout)

        def run():
            with torch.inference_mode():
                net(volume)

        return run

    return make


if __name__ == "__main__":
    if not torch.backends.mkldnn.is_available():
        raise SystemExit("bench_torch: this PyTorch has no oneDNN")
    bench_peer.run(__doc__, "torch", torch.__version__, FORMS, maker_of)

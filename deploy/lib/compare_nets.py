"""Makes what deploy/compare gives to all peers: two networks, a volume for each, and exact results to compare with.

    compare_nets.py FOLDER --size 192 --boundary deploy/models/fib25-boundary/1/model.onnx

Needs PyTorch and MONAI. Writes FOLDER/NET.onnx, NET.npy (float32 voxels [z, y, x]) and NET-exact.npz for each NET:

- `boundary`: the shipped network, which pads nothing. PyTorch computes its dense output in the dilated form.
- `unet`: the U-Net of MONAI's tutorial on spleens, which pads, with batch normalisation and seeded random weights.

The exact results are of float64: of `unet` the whole output, of `boundary` boxes at seeded random places.
"""

import argparse
import pathlib
import shutil

import compare_task
import make_volume
import numpy as np
import torch

SEED = 1
BOXES, BOX = 4, 16
OPSET = 17


class Pool(torch.nn.Module):
    """A max pooling of window 2 and stride 1, computed one axis after the other, which is faster than MaxPool3d."""

    def __init__(self, dilation):
        super().__init__()
        self.dilation = dilation

    def forward(self, value):
        for axis in (2, 3, 4):
            length = value.shape[axis] - self.dilation
            value = torch.maximum(value.narrow(axis, 0, length), value.narrow(axis, self.dilation, length))
        return value


def convolution(kernels, bias, dilation):
    """Returns the module of a convolution with these weights."""
    module = torch.nn.Conv3d(kernels.shape[1], kernels.shape[0], kernels.shape[2:], dilation=dilation)
    module.weight.data, module.bias.data = torch.tensor(kernels), torch.tensor(bias)
    return module


def dilated(path):
    """Returns the dense form of a chain of convolutions and poolings of 2^3: strides become dilations."""
    import onnx

    graph = onnx.load(path).graph
    weights = {one.name: onnx.numpy_helper.to_array(one) for one in graph.initializer}
    modules, dilation = [], 1
    for node in graph.node:
        if node.op_type == "Conv":
            modules.append(convolution(weights[node.input[1]], weights[node.input[2]], dilation))
        elif node.op_type == "MaxPool":
            modules.append(Pool(dilation))
            dilation *= 2
        else:
            modules.append({"Relu": torch.nn.ReLU, "Sigmoid": torch.nn.Sigmoid}[node.op_type]())
    return torch.nn.Sequential(*modules).eval()


def unet():
    """Returns the U-Net, whose output are probabilities of two classes."""
    from monai.networks.nets import UNet

    torch.manual_seed(SEED)
    net = UNet(3, 1, 2, channels=(16, 32, 64, 128, 256), strides=(2, 2, 2, 2), num_res_units=2, norm="batch")
    return torch.nn.Sequential(net, torch.nn.Softmax(1)).eval()


def module_of(name, folder):
    """Returns the module of PyTorch that computes a network's dense output, channels innermost, which is its fastest
    layout."""
    module = unet() if name == "unet" else dilated(folder / "boundary.onnx")
    return module.to(memory_format=torch.channels_last_3d).requires_grad_(False)


def export(module, path):
    """Writes a module as a file of ONNX with open extents."""
    axes = dict(enumerate("zyx", 2))
    torch.onnx.export(
        module,
        (torch.zeros(1, 1, 64, 64, 64),),
        path,
        dynamo=False,
        input_names=["raw"],
        output_names=["dense"],
        dynamic_axes={"raw": axes, "dense": axes},
        opset_version=OPSET,
    )


def exact_boxes(name, module, volume):
    """Returns {start: [boxes, 3], value: [boxes, channels, z, y, x]} of the dense output in float64."""
    margin, extent = compare_task.MARGIN[name], volume.shape[0] - compare_task.MARGIN[name]
    size = BOX if margin else extent
    starts = np.random.default_rng(SEED).integers(0, extent - size + 1, (BOXES if margin else 1, 3))
    values = []
    for z, y, x in starts:
        part = volume[z : z + size + margin, y : y + size + margin, x : x + size + margin]
        values.append(module.double()(torch.tensor(part[None, None]).double())[0].numpy())
    return {"start": starts, "value": np.stack(values)}


def volume_of(size):
    """Returns a generated volume of tissue [z, y, x], scaled as the shipped network was trained."""
    return make_volume.make_volume(size, SEED).astype(np.float32) / 32 - np.float32(4.1015625)


def make(folder, boundary, size):
    """Writes all files."""
    shutil.copy(boundary, folder / "boundary.onnx")
    volume = volume_of(size)
    for name in compare_task.MARGIN:
        module = module_of(name, folder)
        export(module, folder / ("unet.onnx" if name == "unet" else "boundary-dilated.onnx"))
        np.save(folder / f"{name}.npy", volume)
        np.savez(folder / f"{name}-exact.npz", **exact_boxes(name, module, volume))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--size", type=int, required=True)
    parser.add_argument("--boundary", required=True)
    given = parser.parse_args()
    make(given.folder, given.boundary, given.size)

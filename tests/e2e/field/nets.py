"""All networks of field_test.py by name: those of deploy/bench, narrow, and more."""

import dataclasses
from functools import partial

import peer_nets
from field import backbones, unets


@dataclasses.dataclass(frozen=True)
class Net:
    """A function that returns (graph, outputs), what the network's strides divide along z, y, x, and how many voxels
    its output has less."""

    make: object
    period: tuple = (1, 1, 1)
    lost: int = 0

    def extents(self):
        """Returns a volume of the network, and one that is smaller."""
        return [
            tuple(self.lost + step * -(-n // step) for n, step in zip(extent, self.period))
            for extent in ((14, 22, 31), (3, 5, 9))
        ]


def every(step):
    """Returns a period of all axes."""
    return (step,) * 3


NETS = {
    "symmetric": Net(partial(peer_nets.symmetric, (4, 6, 8, 10)), every(8)),
    "residual": Net(partial(peer_nets.residual, (4, 5, 6, 7)), (1, 8, 8)),
    "nnunet": Net(partial(peer_nets.nnunet, (4, 6, 8, 10), 3, "batch"), every(8)),
    "original": Net(partial(peer_nets.original, (4, 6, 8)), every(4), 40),
    "segresnet": Net(partial(peer_nets.segresnet, 4, (1, 2, 2)), every(4)),
    "meshnet": Net(partial(peer_nets.meshnet, 4, (1, 2, 4, 2, 1))),
    "monai_unet": Net(partial(peer_nets.monai_unet, (3, 4, 6)), every(4)),
    "ffn": Net(partial(peer_nets.ffn, 4, 5)),
    "stack": Net(partial(peer_nets.stack, 4, 3)),
    "rsunet_trilinear": Net(partial(unets.rsunet, True), (1, 4, 4)),
    "rsunet_transposed": Net(partial(unets.rsunet, False), (1, 4, 4)),
    "valid_nearest": Net(unets.valid_nearest, every(2), 16),
    "unet3d_bcr": Net(partial(unets.unet3d, "bcr"), every(4)),
    "unet3d_cbr": Net(partial(unets.unet3d, "cbr"), every(4)),
    "residual_encoder": Net(unets.residual_encoder, every(4)),
    "basic_unet": Net(unets.basic_unet, every(4)),
    "dynamic_unet": Net(unets.dynamic_unet, (2, 8, 8)),
    "attention_unet": Net(unets.attention_unet, every(4)),
    "smooth_segresnet": Net(unets.smooth_segresnet, every(4)),
    "vnet": Net(unets.vnet, every(2)),
    "nested": Net(unets.nested, every(4)),
    "planar": Net(unets.planar, (2, 4, 4)),
    "mednext": Net(unets.mednext, every(2)),
    "stardist": Net(unets.stardist, every(4)),
    "care": Net(unets.care, every(2)),
    "tiramisu": Net(unets.tiramisu, every(2)),
    "mobile": Net(unets.mobile, every(2)),
    "flat": Net(unets.flat, (1, 4, 4)),
    "highres": Net(backbones.highres),
    "mixed_scale": Net(backbones.mixed_scale),
    "deeplab": Net(backbones.deeplab, every(2)),
    "erfnet": Net(backbones.erfnet, every(4)),
    "inception": Net(backbones.inception),
    "convnext": Net(backbones.convnext),
    "voxresnet": Net(backbones.voxresnet, every(4)),
    "denoising": Net(backbones.denoising),
    "reflecting": Net(partial(backbones.generator, "reflect"), every(2)),
    "edging": Net(partial(backbones.generator, "edge"), every(2)),
    "high_resolution": Net(backbones.high_resolution, every(4)),
    "refined": Net(backbones.refined, every(2)),
    "pyramid": Net(backbones.pyramid, every(8)),
    "smooth_pooled": Net(backbones.smooth_pooled, every(2)),
    "gated": Net(backbones.gated),
    "squeezed": Net(backbones.squeezed),
    "resnet2d": Net(backbones.resnet2d, (1, 4, 4)),
    "vgg2d": Net(backbones.vgg2d, (1, 4, 4)),
    "two_inputs": Net(backbones.two_inputs, every(2)),
    "two_outputs": Net(backbones.two_outputs, (1, 2, 2)),
}

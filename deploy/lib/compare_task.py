"""The networks of deploy/compare and the files of compare_nets.py, for programs that need no PyTorch."""

import dataclasses
import math
import pathlib

import numpy as np

MARGIN = {"boundary": 40, "unet": 0}  # voxels per axis that the output has less than the volume
CHANNELS = {"boundary": 1, "unet": 2}
ALIGNED = 64  # windows of networks that pad, which overlap by a quarter, begin at multiples of the stride, 16


@dataclasses.dataclass(frozen=True)
class Task:
    """Names a network of a folder of compare_nets.py, and what a peer may take. `window` is the extent of a window of
    the input."""

    name: str
    folder: pathlib.Path
    window: int
    memory: int
    threads: int

    @property
    def margin(self):
        """Returns the voxels per axis that the output has less than the volume."""
        return MARGIN[self.name]

    @property
    def volume(self):
        """Returns the voxels [z, y, x]."""
        return np.load(self.folder / f"{self.name}.npy")

    @property
    def fitted(self):
        """Returns the smallest window, of at most `window`, of which as few cover the output."""
        extent = np.load(self.folder / f"{self.name}.npy", mmap_mode="r").shape[0]
        return fitted_window(extent, self.window, self.margin)


def fitted_window(extent, window, margin):
    """Returns the smallest extent of windows that cover the output with as few of them. A network that pads takes
    windows that are a multiple of 64."""
    if not margin:
        return min(window, extent) // ALIGNED * ALIGNED
    output = extent - margin
    return margin + math.ceil(output / math.ceil(output / (window - margin)))

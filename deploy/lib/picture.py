"""Writes a PNG with one slice of a volume beside the same slice of its output.

picture.py INPUT OUTPUT PICTURE.png     (volumes: file.h5:/dataset, .npy or .tif)
"""

import sys

import h5py
import numpy as np
import tifffile
from PIL import Image

GAP = 8


def middle_plane(volume):
    """Returns the middle plane of [Z, Y, X], or of the first channel of [C, Z, Y, X]."""
    z = volume.shape[-3] // 2
    return np.asarray(volume[0, z] if volume.ndim == 4 else volume[z])


def load(name):
    """Returns the middle plane of a volume file, and reads no more than that."""
    path, _, dataset = name.partition(":/")
    if path.endswith(".npy"):
        return middle_plane(np.load(path, mmap_mode="r"))
    if path.endswith((".tif", ".tiff")):
        with tifffile.TiffFile(path) as file:
            return file.pages[len(file.pages) // 2].asarray()
    with h5py.File(path, "r") as file:
        names = [dataset] if dataset else [key for key in file if isinstance(file[key], h5py.Dataset)]
        return middle_plane(file[names[0]])


def grey(plane, low, high):
    """Returns values low..high as 0..255."""
    scaled = (np.asarray(plane, np.float32) - low) / max(high - low, 1e-6)
    return (np.clip(scaled, 0, 1) * 255).astype(np.uint8)


def centred(plane, extent):
    """Returns the middle `extent` voxels of a plane."""
    start = [(have - want) // 2 for have, want in zip(plane.shape, extent)]
    return plane[start[0] : start[0] + extent[0], start[1] : start[1] + extent[1]]


def main():
    source, result, picture = sys.argv[1:4]
    before, after = load(source), load(result)
    probability = grey(after, 0, 255 if after.dtype == np.uint8 else 1)
    raw = centred(before, probability.shape)
    left = grey(raw, *np.percentile(raw, (0.5, 99.5)))
    gap = np.full((left.shape[0], GAP), 255, np.uint8)
    Image.fromarray(np.hstack([left, gap, probability])).save(picture)


if __name__ == "__main__":
    main()

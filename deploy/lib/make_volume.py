"""Writes a generated volume that looks like tissue in an electron microscope: cells with dark membranes, a few
organelles, blur and noise. HDF5, dataset /raw, uint8, axes z, y, x.

    make_volume.py OUTPUT.h5 [--edge 160] [--seed 1]
"""

import argparse

import h5py
import numpy as np

CELL_VOXELS = 22**3
MEMBRANE_HALF_WIDTH = 1.4


def warped_grid(edge, random):
    """Returns the positions of all voxels, bent by a few slow waves so that membranes are not flat."""
    axes = np.meshgrid(*[np.arange(edge, dtype=np.float32)] * 3, indexing="ij", copy=True)
    position = np.stack(axes, axis=-1)
    bend = np.zeros_like(position)
    for _ in range(4):
        wave = random.normal(size=3) * 2 * np.pi / 50
        bend += 3 * np.sin(position @ wave.astype(np.float32))[..., None] * random.normal(size=3).astype(np.float32)
    return position + bend


def two_nearest(position, centres, slab=8):
    """Returns the distances from each voxel to its nearest and second nearest cell centre."""
    nearest = np.empty((*position.shape[:3], 2), np.float32)
    squares = (centres**2).sum(axis=1)
    for z in range(0, position.shape[0], slab):
        block = position[z : z + slab].reshape(-1, 3)
        distance = (block**2).sum(axis=1)[:, None] + squares - 2 * block @ centres.T
        pair = np.partition(distance, 1, axis=1)[:, :2]
        nearest[z : z + slab] = np.sqrt(np.maximum(pair, 0)).reshape(-1, *position.shape[1:3], 2)
    return nearest


def blurred(image):
    """Returns the image after a 1-2-1 filter along each axis."""
    for axis in range(3):
        image = (np.roll(image, 1, axis) + 2 * image + np.roll(image, -1, axis)) / 4
    return image


def make_volume(edge, seed):
    """Returns the volume as uint8."""
    random = np.random.default_rng(seed)
    count = max(4, edge**3 // CELL_VOXELS)
    centres = random.uniform(-10, edge + 10, size=(count, 3)).astype(np.float32)
    nearest = two_nearest(warped_grid(edge, random), centres)
    to_membrane = (nearest[..., 1] - nearest[..., 0]) / 2
    tissue = 150 - 70 * np.exp(-((to_membrane / MEMBRANE_HALF_WIDTH) ** 2))
    tissue -= 45 * (nearest[..., 0] < 3.0)  # an organelle in the centre of each cell
    noisy = blurred(tissue + random.normal(0, 14, tissue.shape)) + random.normal(0, 7, tissue.shape)
    return np.clip(noisy, 0, 255).astype(np.uint8)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output")
    parser.add_argument("--edge", type=int, default=160)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    with h5py.File(arguments.output, "w") as file:
        file.create_dataset("raw", data=make_volume(arguments.edge, arguments.seed), chunks=(32, 32, 32))


if __name__ == "__main__":
    main()

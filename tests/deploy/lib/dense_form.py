"""The reference of a dense form: the strided net at every window, in float64. For the tests of the peers."""

import itertools

import numpy as np

SMALL = """
name: "small"
f_in: 2
node { conv { f_out: 3 k: 2 activation: relu } }
node { max_pool { window: [1, 2, 2] } }
node { conv { f_out: 4 k: [1, 3, 3] activation: relu } }
node { max_pool { window: 3 stride: 2 } }
node { conv { f_out: 2 k: 2 } }
"""
FIELD_OF_VIEW = [6, 15, 15]
OUTPUT = [2, 4, 4]  # a multiple of the product of strides


def convolve(volume, kernels, bias):
    """Returns the valid correlation of [f, z, y, x], float64."""
    windows = np.lib.stride_tricks.sliding_window_view(volume, kernels.shape[2:], axis=(1, 2, 3))
    return np.einsum("izyxabc,oiabc->ozyx", windows, kernels) + bias[:, None, None, None]


def pool(volume, window, stride):
    """Returns strided maxima."""
    windows = np.lib.stride_tricks.sliding_window_view(volume, window, axis=(1, 2, 3))
    return windows[:, :: stride[0], :: stride[1], :: stride[2]].max(axis=(4, 5, 6))


def one_window(volume, weights):
    """Runs the strided net on one field of view: one output voxel."""
    value = np.maximum(convolve(volume, *weights[0]), 0)
    value = pool(value, (1, 2, 2), (1, 2, 2))
    value = np.maximum(convolve(value, *weights[1]), 0)
    value = pool(value, (3, 3, 3), (2, 2, 2))
    return convolve(value, *weights[2])


def volume():
    """Returns [f, z, y, x] of OUTPUT."""
    return np.random.default_rng(5).standard_normal((2, *(o + v - 1 for o, v in zip(OUTPUT, FIELD_OF_VIEW))))


def exact(weights):
    """Returns the dense output [f, z, y, x] of volume()."""
    out = np.empty((2, *OUTPUT))
    for place in np.ndindex(*OUTPUT):
        window = volume()[(slice(None), *(slice(p, p + v) for p, v in zip(place, FIELD_OF_VIEW)))]
        out[(slice(None), *place)] = one_window(window, weights)[:, 0, 0, 0]
    return out


def joined(fragments):
    """Joins [S, f, z, y, x] of the net's fragments, offsets of the last pooling outermost, to the dense [f, z, y,
    x]."""
    if len(fragments) == 1:
        return fragments[0]
    parts = fragments
    for stride in ((2, 2, 2), (1, 2, 2)):  # the last pooling is undone first
        count, f, *n = len(parts) // (stride[0] * stride[1] * stride[2]), *parts.shape[1:]
        dense = np.empty((count, f, *(e * s for e, s in zip(n, stride))), parts.dtype)
        for index, (z, y, x) in enumerate(itertools.product(*map(range, stride))):
            dense[:, :, z :: stride[0], y :: stride[1], x :: stride[2]] = parts[index * count : (index + 1) * count]
        parts = dense
    return parts[0]

"""Convolutions in float64 by their definition, for the tests of ours."""

import itertools
import os
import unittest

import numpy as np

# A build with sanitizers has none that Python could load; what builds it says so.
needs_library = unittest.skipIf("ZNNI_NO_CONV_LIBRARY" in os.environ, os.environ.get("ZNNI_NO_CONV_LIBRARY", ""))


def windows(x, kernel):
    """Yields each tap of the kernel and the voxels of x that it is multiplied with, [N, C, Z, Y, X]."""
    extent = [voxels - taps + 1 for voxels, taps in zip(x.shape[2:], kernel)]
    for tap in itertools.product(*map(range, kernel)):
        yield tap, (..., *(slice(first, first + count) for first, count in zip(tap, extent)))


def forward(x, weight, bias):
    """Returns the output."""
    output = 0.0
    for (z, y, x_tap), part in windows(x, weight.shape[2:]):
        output = output + np.einsum("nizyx,oi->nozyx", x[part], weight[:, :, z, y, x_tap])
    return output + bias[:, None, None, None]


def gradients(x, weight, gradient):
    """Returns those by x, weight and bias, given that by the output."""
    of_x, of_weight = np.zeros(x.shape), np.zeros(weight.shape)
    for (z, y, x_tap), part in windows(x, weight.shape[2:]):
        of_x[part] += np.einsum("nozyx,oi->nizyx", gradient, weight[:, :, z, y, x_tap])
        of_weight[:, :, z, y, x_tap] = np.einsum("nozyx,nizyx->oi", gradient, x[part])
    return of_x, of_weight, gradient.sum((0, 2, 3, 4))


def distance(found, exact):
    """Returns the largest difference, as a part of the largest exact value."""
    return np.abs(np.asarray(found, np.float64) - exact).max() / np.abs(exact).max()

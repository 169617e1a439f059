"""The surroundings that a network that pads gets for a region, and its output beside that of the whole volume."""

import dataclasses
import unittest

import numpy as np
from znni.box import Box
from znni.model import Model
from znni.surroundings import read_for

MODEL = Model("net", "1", True, 1, 1, (1, 1, 1), True, {})


def convolved(x, pad):
    """Returns sums of three voxels, each with its own weight."""
    x = np.pad(x, pad)
    return x[:-2] + 3 * x[1:-1] + 7 * x[2:]


def u_net(x, pad):
    """Returns the output of a network that halves the resolution and doubles it again."""
    inner = convolved(x, pad).reshape(-1, 2).max(1)
    return convolved(np.repeat(convolved(inner, pad), 2), pad)


def blended(x, window, overlap, lost):
    """Returns the mean, by weight, of what windows of `x` give, as the daemon lays them."""
    n, size = len(x) - lost, window - lost
    x = np.pad(x, (0, max(size - n, 0)))
    step = max(int(size * (1.0 - overlap)), 1)
    total, weights = np.zeros((2, max(n, size)))
    weight = np.arange(1, size + 1) * np.arange(size, 0, -1)
    for begin in sorted({min(k * step, max(n - size, 0)) for k in range(n + 1)}):
        seen = x[begin : begin + window]
        total[begin : begin + size] += weight * (seen[:size] * 8 + seen.sum())
        weights[begin : begin + size] += weight
    return (total / weights)[:n]


class SurroundingsTest(unittest.TestCase):
    def check(self, network, model, extents):
        """Compares each region of the output along y with the same of what is read for it. Returns whether all are
        equal, and whether some region was computed from less than the volume."""
        equal, is_less = True, False
        for extent in extents:
            volume = np.random.default_rng(extent).integers(-99, 99, extent)
            whole = network(volume)
            for first in range(len(whole)):
                for last in range(first + 1, len(whole) + 1):
                    region = Box((0, first, 0), (1, last, 1))
                    start, stop = (side[1] for side in read_for(region, (1, extent, 1), model))
                    self.assertTrue(0 <= start < stop <= extent)
                    self.assertEqual((stop - start - extent) % model.period[1], 0)
                    self.assertGreaterEqual(stop - start, model.min_extent[1])
                    found = network(volume[start:stop])[first - start : last - start]
                    equal = equal and np.array_equal(found, whole[first:last])
                    is_less = is_less or stop - start < extent
        return equal, is_less

    def model(self, before, after, **facts):
        return dataclasses.replace(MODEL, padding=((0, before, 0), (0, after, 0)), **facts)

    def test_convolutions_that_pad(self):
        model = self.model(2, 2)
        network = lambda x: convolved(convolved(x, 1), 1)  # noqa: E731
        self.assertEqual(self.check(network, model, (1, 5, 12)), (True, True))
        for before, after in ((1, 2), (2, 1)):
            self.assertEqual(self.check(network, self.model(before, after), (12,))[0], False)

    def test_strides_and_padding(self):
        model = self.model(5, 5, period=(1, 2, 1), min_extent=(1, 2, 1))
        self.assertEqual(self.check(lambda x: u_net(x, 1), model, (2, 8, 30)), (True, True))
        for before, after in ((4, 5), (5, 4)):
            short = self.model(before - before % 2, after - after % 2, period=(1, 2, 1))
            self.assertEqual(self.check(lambda x: u_net(x, 1), short, (30,))[0], False)

    def test_strides_without_padding(self):
        model = self.model(0, 0, field_of_view=(1, 9, 1), period=(1, 2, 1), min_extent=(1, 10, 1))
        self.assertEqual(self.check(lambda x: u_net(x, 0), model, (10, 12, 30)), (True, True))

    def test_windows_that_overlap(self):
        """A network that takes the mean of its window, and loses `lost` voxels."""
        for window, overlap, lost in ((5, 0.5, 0), (7, 0.25, 2), (6, 0.9, 1), (4, 0, 0)):
            model = self.model(
                0,
                0,
                field_of_view=(1, 1 + lost, 1),
                window=(1, window, 1),
                window_overlap=overlap,
                min_extent=(1, window if lost else 1, 1),
            )
            extents = range(window if lost else 3, 31, 3)
            network = lambda x: blended(x, window, overlap, lost)  # noqa: B023, E731
            self.assertEqual(self.check(network, model, extents), (True, True))
            wrong = dataclasses.replace(model, window=(1, window - 1, 1), min_extent=(1, 1, 1))
            self.assertEqual(self.check(network, wrong, (30,))[0], False)

    def test_axes_are_apart(self):
        model = dataclasses.replace(MODEL, padding=((1, 2, 3), (4, 5, 6)), period=(1, 2, 4))
        given = read_for(Box((20, 21, 22), (30, 31, 32)), (64, 64, 64), model)
        self.assertEqual(given, Box((19, 18, 16), (34, 38, 40)))


if __name__ == "__main__":
    unittest.main()

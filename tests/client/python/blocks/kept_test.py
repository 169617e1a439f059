"""Blocks that a mask keeps."""

import itertools
import math
import unittest
from unittest import mock

import numpy as np
from znni.blocks import kept as kept_module
from znni.blocks.grid import Grid
from znni.blocks.kept import Coverage, Kept, coverage_by
from znni.box import Box
from znni.mask import Mask


def drawn(draw, most=9):
    """Returns a grid over an output of random extent."""
    return Grid(tuple(draw.integers(1, 30, 3).tolist()), tuple(draw.integers(1, most, 3).tolist()))


class KeptTest(unittest.TestCase):
    def test_without_a_mask_all_are_kept(self):
        grid = Grid((9, 30, 7), (2, 4, 7))
        for kept in (Kept(grid), Coverage(Grid(grid.output, (1, 2, 3))).kept(grid)):
            self.assertEqual((len(kept), kept.voxels()), (len(grid), 9 * 30 * 7))
            self.assertEqual(kept.classes(), grid.classes())
            self.assertTrue(all(number in kept for number in range(len(grid))))

    def test_blocks_of_a_class(self):
        draw = np.random.default_rng(1)
        for _ in range(30):
            grid = drawn(draw)
            kept = Kept(grid, draw.random(grid.counts) < 0.3)
            numbers = [number for number in range(len(grid)) if kept.found.ravel()[number]]
            self.assertEqual([number for number in range(len(grid)) if number in kept], numbers)
            self.assertEqual(len(kept), len(numbers))
            self.assertEqual(kept.voxels(), sum(math.prod(grid.box(number).extent) for number in numbers))
            for one in grid.classes():
                alike = [number for number in numbers if grid.class_of(number) == one]
                self.assertEqual((list(kept.alike(one)), kept.classes()[one]), (alike, len(alike)))

    def masked(self, draw, grid, part):
        """Returns the blocks that random voxels keep, by parts of an extent, and whether the mask covers each."""
        origin = tuple(draw.integers(0, 4, 3).tolist())
        extent = tuple(a + n for a, n in zip(origin, grid.output))
        values = draw.random([-(-n // 2) for n in extent]) < 0.03  # a voxel stands for eight
        mask = Mask(values, extent)
        boxes = map(grid.box, range(len(grid)))
        moved = (Box(*(tuple(a + b for a, b in zip(side, origin)) for side in box)) for box in boxes)
        coverage = coverage_by(mask, origin, grid.output, part)
        return coverage.kept(grid), [mask.covers(box) for box in moved]

    def test_blocks_are_kept_in_which_a_voxel_of_the_mask_is_set(self):
        draw = np.random.default_rng(2)
        for _ in range(30):
            grid = drawn(draw)
            part = tuple(int(draw.choice([one for one in range(1, b + 1) if b % one == 0])) for b in grid.block)
            kept, covered = self.masked(draw, grid, part)
            np.testing.assert_array_equal(kept.found.ravel(), covered)

    def test_no_block_is_left_out_that_is_computed(self):
        draw = np.random.default_rng(3)
        for most in (1 << 22, 20):
            for _ in range(30):
                grid = drawn(draw)
                with mock.patch.object(kept_module, "MAX_LISTED", most):
                    kept, covered = self.masked(draw, grid, tuple(draw.integers(1, 9, 3).tolist()))
                self.assertTrue(all(number in kept for number in itertools.compress(range(len(grid)), covered)))
                self.assertTrue(kept.found is not None or len(grid) > most)

    def test_a_mask_that_keeps_nothing(self):
        grid = Grid((9, 30, 7), (2, 4, 7))
        kept = coverage_by(Mask(np.zeros((9, 30, 7)), grid.output), (0, 0, 0), grid.output, grid.block).kept(grid)
        self.assertEqual((len(kept), kept.voxels(), list(kept.alike(0))), (0, 0, []))


if __name__ == "__main__":
    unittest.main()

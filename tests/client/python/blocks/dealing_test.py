"""What machines take for the blocks that are dealt out to them."""

import math
import random
import unittest

import numpy as np
from znni.blocks.dealing import longest, shares, total
from znni.blocks.grid import Grid, Shard
from znni.blocks.kept import Kept


def drawn(draw):
    """Returns a grid, and the seconds of a block of each class."""
    grid = Grid(tuple(draw.randint(1, 30) for _ in range(3)), tuple(draw.randint(1, 9) for _ in range(3)))
    return grid, {number: draw.random() for number in grid.classes()}


class DealingTest(unittest.TestCase):
    def test_each_block_takes_what_its_class_does(self):
        draw = random.Random(3)
        for _ in range(30):
            grid, seconds = drawn(draw)
            nodes = draw.randint(1, 2 * len(grid))
            shards = [Shard(index, nodes).numbers(grid) for index in range(nodes)]
            each = [sum(seconds[grid.class_of(number)] for number in numbers) for numbers in shards]
            self.assertAlmostEqual(longest(Kept(grid), seconds, nodes), max(each))
            self.assertAlmostEqual(total(Kept(grid), seconds), sum(each))

    def test_blocks_that_are_left_out_take_nothing(self):
        draw = random.Random(4)
        for _ in range(30):
            grid, seconds = drawn(draw)
            found = np.array([draw.random() < 0.4 for _ in range(len(grid))]).reshape(grid.counts)
            kept = Kept(grid, found)
            nodes = draw.randint(1, 2 * len(grid))
            shards = [Shard(index, nodes).numbers(grid) for index in range(nodes)]
            each = [sum(seconds[grid.class_of(number)] for number in numbers if number in kept) for numbers in shards]
            np.testing.assert_allclose(shares(kept, seconds, nodes), each)
            self.assertAlmostEqual(longest(kept, seconds, nodes), max(each))
            self.assertAlmostEqual(total(kept, seconds), sum(each))

    def test_of_very_many_blocks_each_machine_has_as_much(self):
        grid = Grid((100_000,) * 3, (64, 64, 64))
        seconds = dict.fromkeys(grid.classes(), 2.0)
        self.assertAlmostEqual(longest(Kept(grid), seconds, 1000), 2.0 * math.ceil(len(grid) / 1000), delta=1)


if __name__ == "__main__":
    unittest.main()

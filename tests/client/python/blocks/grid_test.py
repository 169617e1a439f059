"""Blocks of an output, and shards of blocks."""

import random
import unittest

import numpy as np
from znni.blocks.grid import Grid, Shard, parse_shard
from znni.errors import InvalidError


class GridTest(unittest.TestCase):
    def test_blocks_cover_the_output_once(self):
        draw = random.Random(1)
        for _ in range(20):
            grid = Grid(tuple(draw.randint(1, 9) for _ in range(3)), tuple(draw.randint(1, 5) for _ in range(3)))
            covered = np.zeros(grid.output, int)
            extents = []
            for number in range(len(grid)):
                box = grid.box(number)
                covered[tuple(slice(a, b) for a, b in zip(*box))] += 1
                extents.append(box.extent)
            self.assertEqual((covered.min(), covered.max()), (1, 1))
            self.assertEqual({extent: extents.count(extent) for extent in extents}, grid.shapes())

    def test_x_is_numbered_fastest(self):
        grid = Grid((4, 4, 4), (2, 2, 2))
        self.assertEqual([grid.box(number).start for number in (1, 2, 4)], [(0, 0, 2), (0, 2, 0), (2, 0, 0)])

    def test_shards_have_each_block_once(self):
        grid = Grid((7, 5, 3), (2, 2, 2))
        numbers = sorted(number for index in range(5) for number in Shard(index, 5).numbers(grid))
        self.assertEqual(numbers, list(range(len(grid))))

    def test_shards_are_written_as_index_and_count(self):
        self.assertEqual(parse_shard("3/100"), Shard(3, 100))
        for text in ("", "3", "4/4", "-1/4", "0/0", "1/4/8", "a/b"):
            with self.assertRaisesRegex(InvalidError, "--shard: '.*' found, expected I/N"):
                parse_shard(text)


if __name__ == "__main__":
    unittest.main()

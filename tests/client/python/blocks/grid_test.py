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
            for number in range(len(grid)):
                covered[tuple(slice(a, b) for a, b in zip(*grid.box(number)))] += 1
            self.assertEqual((covered.min(), covered.max()), (1, 1))

    def test_a_class_stands_for_all_blocks_of_one_position(self):
        def position(at, count):
            return "first" if at == 0 else "last" if at == count - 1 else "between"

        draw = random.Random(2)
        for _ in range(20):
            grid = Grid(tuple(draw.randint(1, 9) for _ in range(3)), tuple(draw.randint(1, 5) for _ in range(3)))
            found = {}
            for at in np.ndindex(grid.counts):
                where = tuple(map(position, at, grid.counts))
                found.setdefault(where, []).append(grid.number(at))
            classes = grid.classes()
            self.assertLessEqual(len(classes), 27)
            self.assertEqual(len(classes), len(found))
            for numbers in found.values():
                (number,) = classes.keys() & set(numbers)
                self.assertEqual(classes[number], len(numbers))
                self.assertEqual({grid.box(one).extent for one in numbers}, {grid.box(number).extent})
                self.assertEqual({grid.class_of(one) for one in numbers}, {number})
                self.assertEqual(list(grid.alike(draw.choice(numbers))), numbers)

    def test_what_stands_for_blocks_is_not_the_one_before_the_last(self):
        """It reads less than others if the last is thinner than what surrounds a block."""
        for count in range(4, 9):
            grid = Grid((8 * count - 7, 8, 8), (8, 8, 8))
            self.assertNotIn(count - 2, grid.classes())
            self.assertNotIn(grid.middle, (0, count - 2, count - 1))

    def test_blocks_of_one_position_are_not_listed(self):
        grid = Grid((10**7,) * 3, (10, 10, 10))
        alike = grid.alike(grid.middle)
        self.assertEqual(len(alike), (10**6 - 2) ** 3)
        self.assertEqual(alike[0], grid.number((1, 1, 1)))
        self.assertEqual(alike[len(alike) - 1], grid.number((10**6 - 2,) * 3))
        for index in (-1, len(alike)):
            with self.assertRaises(IndexError):
                alike[index]

    def test_the_middle_touches_no_border_where_a_block_does_not(self):
        self.assertEqual(Grid((9, 9, 9), (3, 3, 3)).middle, 13)
        for counts in ((1, 1, 1), (2, 3, 4), (5, 2, 1)):
            grid = Grid(tuple(3 * count - 1 for count in counts), (3, 3, 3))
            box = grid.box(grid.middle)
            for a, b, n, count in zip(*box, grid.output, counts):
                self.assertEqual(0 < a and b < n, count > 2)
                self.assertEqual(b - a, min(3, n))

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

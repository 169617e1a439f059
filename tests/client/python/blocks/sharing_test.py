"""What workers take that share a machine."""

import random
import unittest

import numpy as np
from znni.blocks.sharing import Sharing, groups_of


class SharingTest(unittest.TestCase):
    def test_each_worker_adds_as_much(self):
        sharing = Sharing(3, 2.0)
        self.assertEqual([sharing.of(workers) for workers in (1, 2, 3, 5)], [1.0, 1.5, 2.0, 3.0])

    def test_where_nothing_is_gained_workers_take_what_one_would(self):
        draw = random.Random(1)
        for _ in range(30):
            shares = np.array([draw.random() for _ in range(draw.randint(1, 9))])
            at_once = draw.randint(2, 9)
            self.assertAlmostEqual(Sharing(at_once, at_once).seconds(shares), shares.sum())
            self.assertAlmostEqual(Sharing(at_once, 1.0).seconds(shares), shares.max())

    def test_equal_shares_take_as_much_more_as_blocks_do(self):
        self.assertAlmostEqual(Sharing(4, 2.5).seconds(np.array([3.0, 3.0, 3.0, 3.0])), 7.5)
        self.assertAlmostEqual(Sharing(4, 2.5).seconds(np.array([3.0, 0.0, 0.0, 0.0])), 3.0)

    def test_the_last_is_alone(self):
        self.assertAlmostEqual(Sharing(2, 1.5).seconds(np.array([2.0, 3.0])), 2 * 1.5 + 1)

    def test_workers_of_a_machine_share_it(self):
        self.assertEqual(groups_of(5, 2, []), [[0, 1], [2, 3], [4]])
        self.assertEqual(groups_of(2, 1, []), [[0], [1]])

    def test_servers_of_a_host_share_it(self):
        self.assertEqual(groups_of(5, 1, ["a:1", "b:1"]), [[0, 2, 4], [1, 3]])
        self.assertEqual(groups_of(5, 1, ["a:1", "a:2"]), [[0, 1, 2, 3, 4]])
        self.assertEqual(groups_of(4, 2, ["a:1", "b:1", "a:2"]), [[0, 2, 3], [1]])
        self.assertEqual(groups_of(1, 1, ["[::1]:1", "[::1]:2"]), [[0]])


if __name__ == "__main__":
    unittest.main()

"""Input without content."""

import unittest

import numpy as np
from znni.blocks.emptiness import is_empty
from znni.box import Box
from znni.stores.opening import open_source


class EmptinessTest(unittest.TestCase):
    def test_empty_input(self):
        values = np.zeros((2, 5, 6, 7), np.uint8)
        values[1, 4, 5, 6] = 1
        source = open_source(values)
        self.assertFalse(is_empty(source, Box((-2, -2, -2), (9, 9, 9))))
        self.assertFalse(is_empty(source, Box((4, 5, 6), (5, 6, 7))))
        self.assertTrue(is_empty(source, Box((-2, -2, -2), (9, 9, 6))))
        self.assertTrue(is_empty(source, Box((0, 0, 0), (4, 6, 7))))


if __name__ == "__main__":
    unittest.main()

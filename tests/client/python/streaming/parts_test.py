"""Parts cover an output once."""

import unittest

import numpy as np
from znni.streaming.parts import cut


class PartsTest(unittest.TestCase):
    def test_each_voxel_once(self):
        for part in ((9, 4, 5), (9, 20, 20), (1, 1, 1), (9, 10, 3)):
            seen = np.zeros((9, 10, 11), int)
            for box in cut((9, 10, 11), part):
                seen[tuple(slice(a, b) for a, b in zip(box.start, box.stop))] += 1
                self.assertEqual((box.start[0], box.stop[0]), (0, 9))
            self.assertTrue((seen == 1).all())

    def test_row_by_row(self):
        starts = [box.start for box in cut((9, 10, 11), (9, 6, 8))]
        self.assertEqual(starts, [(0, 0, 0), (0, 0, 8), (0, 6, 0), (0, 6, 8)])


if __name__ == "__main__":
    unittest.main()

"""The cells of a page, compared with each voxel's own place."""

import math
import unittest

import numpy as np
from znni.errors import InvalidError
from znni.viewing.grid import axis_over, cells_of


class GridTest(unittest.TestCase):
    def setUp(self):
        self.random = np.random.default_rng(2)

    def test_cells_cover_all_ranges(self):
        for _ in range(200):
            begins = self.random.integers(-20, 50, 2)
            ranges = [(float(begin), float(begin + self.random.integers(1, 300))) for begin in begins]
            most = int(self.random.integers(1, 60))
            axis = axis_over(ranges, most)
            end = max(b for _, b in ranges)
            self.assertEqual(axis.begin, min(begins))
            self.assertEqual(axis.begin + axis.extent, end)
            self.assertLessEqual(axis.count, most)
            self.assertLess(axis.begin + (axis.count - 1) * axis.step, end)
            self.assertGreaterEqual(axis.begin + axis.count * axis.step, end)

    def test_small_volumes_have_a_cell_for_each_voxel(self):
        axis = axis_over([(0.0, 7.0)], 7)
        self.assertEqual((axis.begin, axis.step, axis.count), (0, 1, 7))
        cells = cells_of(axis_over([(0.0, 7.0), (2.0, 5.0)], 10), 2.0, 1.0, 3)
        self.assertEqual(cells.first, 2)
        for found, expected in ((cells.starts, [0, 1, 2]), (cells.stops, [1, 2, 3]), (cells.middles, [0, 1, 2])):
            self.assertEqual(found.tolist(), expected)

    def test_each_voxel_lies_in_the_cell_that_has_its_centre(self):
        for _ in range(100):
            count, begin, most = (int(self.random.integers(*ends)) for ends in ((1, 80), (0, 40), (1, 50)))
            step = float(self.random.choice([0.5, 1.0, 1.0, 2.0, 3.0]))
            axis = axis_over([(0.0, 120.0), (float(begin), begin + step * count)], most)
            cells = cells_of(axis, float(begin), step, count)
            owners = [math.floor((begin + step * (i + 0.5) - axis.begin) / axis.step) for i in range(count)]
            for at in range(len(cells)):
                own = [i for i in range(count) if owners[i] == cells.first + at]
                if own:
                    self.assertEqual(list(range(cells.starts[at], cells.stops[at])), own)
                else:
                    self.assertEqual(cells.stops[at] - cells.starts[at], 1)
                self.assertIn(cells.middles[at], range(cells.starts[at], cells.stops[at]))
            self.assertLessEqual(set(owners), set(range(cells.first, cells.first + len(cells))))

    def test_a_coarse_output_fills_all_cells_that_it_covers(self):
        axis = axis_over([(0.0, 12.0)], 12)
        cells = cells_of(axis, 2.0, 4.0, 2)
        self.assertEqual(cells.first, 2)
        self.assertEqual(cells.starts.tolist(), [0] * 4 + [1] * 4)
        self.assertEqual(cells.middles.tolist(), [0] * 4 + [1] * 4)

    def test_the_same_planes_are_taken_of_input_and_output(self):
        for offset in range(6):
            axis = axis_over([(0.0, 100.0), (float(offset), offset + 80.0)], 20)
            ours, its = cells_of(axis, 0.0, 1.0, 100), cells_of(axis, float(offset), 1.0, 80)
            inner = slice(its.first + 1, its.first + len(its) - 1)
            self.assertEqual(ours.middles[inner].tolist(), (its.middles[1:-1] + offset).tolist())

    def test_an_offset_that_is_whole_but_for_rounding(self):
        axis = axis_over([(0.0, 40.0)], 20)
        for error in (-1e-4, 1e-4):
            cells = cells_of(axis, 4.0 + error, 1.0, 10)
            self.assertEqual((cells.first, cells.starts.tolist()), (2, [0, 2, 4, 6, 8]))
            self.assertEqual(cells.middles.tolist(), [1, 3, 5, 7, 9])

    def test_a_volume_between_two_centres(self):
        with self.assertRaisesRegex(InvalidError, "pass a larger size"):
            cells_of(axis_over([(0.0, 100.0)], 2), 200.0, 1.0, 5)


if __name__ == "__main__":
    unittest.main()

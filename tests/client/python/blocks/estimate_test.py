"""What blocks take, by those that were measured."""

import random
import unittest

from znni.blocks.estimate import Estimate, Sample, weights_of
from znni.blocks.grid import Grid

GRID = Grid((10, 8, 6), (4, 8, 6))  # 4, 4 and 2 planes


class EstimateTest(unittest.TestCase):
    def test_one_sample_scales_all(self):
        found = Estimate(GRID, {0: 2.0, 1: 3.0, 2: 1.0}, [Sample(1, 6.0)]).classes()
        self.assertEqual(found, {0: 4.0, 1: 6.0, 2: 2.0})

    def test_without_samples_it_is_as_predicted(self):
        for predicted in ({0: 2.0, 1: 3.0, 2: 1.0}, {0: 2.0, 1: 0.0, 2: 0.0}):
            self.assertEqual(Estimate(GRID, predicted).classes(), predicted)

    def test_each_extent_that_was_measured_has_its_own_factor(self):
        estimate = Estimate(GRID, {0: 2.0, 1: 3.0, 2: 1.0}, [Sample(1, 6.0), Sample(2, 5.0)])
        self.assertEqual(estimate.classes(), {0: 4.0, 1: 6.0, 2: 5.0})
        self.assertEqual(estimate.factor(Sample(2, 5.0)), 5.0)

    def test_what_was_measured_is_what_its_class_takes(self):
        draw = random.Random(5)
        for _ in range(30):
            grid = Grid(tuple(draw.randint(1, 30) for _ in range(3)), tuple(draw.randint(1, 9) for _ in range(3)))
            predicted = {number: draw.random() + 0.1 for number in grid.classes()}
            samples = {}
            for number in range(len(grid)):
                samples.setdefault(grid.box(number).extent, Sample(number, draw.random()))
            estimate = Estimate(grid, predicted, list(samples.values()))
            for number, seconds in samples.values():
                self.assertAlmostEqual(estimate.seconds(number), seconds)
            for number, seconds in estimate.classes().items():
                like = samples[grid.box(number).extent]
                self.assertAlmostEqual(
                    seconds / predicted[number], like.seconds / predicted[grid.class_of(like.number)]
                )

    def test_others_are_as_those_that_are_most_like_them_in_extent(self):
        grid = Grid((9, 12, 8), (8, 8, 8))  # 8 and 1 planes of 8 and 4 rows
        predicted = dict.fromkeys(grid.classes(), 1.0)
        thin = grid.number((1, 0, 0))
        estimate = Estimate(grid, predicted, [Sample(0, 2.0), Sample(thin, 5.0)])
        self.assertEqual(estimate.seconds(grid.number((0, 1, 0))), 2.0)  # 8x4x8: like 8x8x8
        self.assertEqual(estimate.seconds(grid.number((1, 1, 0))), 5.0)  # 1x4x8: like 1x8x8

    def test_blocks_between_the_borders_are_those_that_stand_for_them(self):
        grid = Grid((50, 8, 8), (8, 8, 8))
        estimate = Estimate(grid, {0: 1.0, 3: 2.0, 6: 1.0}, [Sample(1, 5.0)])
        self.assertEqual([estimate.seconds(number) for number in range(7)], [2.5, 5.0, 5.0, 5.0, 5.0, 5.0, 2.5])

    def test_a_daemon_that_predicts_nothing(self):
        for predicted in ({0: 0.0, 1: 0.0, 2: 0.0}, {0: 2.0, 1: 3.0, 2: 0.0}):
            estimate = Estimate(GRID, predicted, [Sample(0, 6.0)])
            self.assertEqual(estimate.classes(), {0: 6.0, 1: 6.0, 2: 3.0})
            self.assertEqual(weights_of(GRID, predicted), {0: 192, 1: 192, 2: 96})


if __name__ == "__main__":
    unittest.main()

"""Plans by shape, and their workspace."""

import concurrent.futures
import os
import threading
import unittest
from unittest import mock

import numpy as np
from conv_case import distance, forward, needs_library
from znni.errors import OverBudgetError
from znni.pytorch import conv_plans
from znni.pytorch.conv_library import ConvShape, Work
from znni.pytorch.conv_plans import ConvPlans

SMALL = ConvShape(1, 16, 16, (9, 9, 9), (3, 3, 3))
LARGE = ConvShape(1, 16, 16, (20, 20, 20), (5, 5, 5))
PLENTY = 1 << 32


def run(plans, shape, seed=1):
    """Runs forward. Returns the distance from the definition."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((1, 16, *shape.input), np.float32)
    weight = rng.standard_normal((16, 16, *shape.kernel), np.float32)
    bias = rng.standard_normal(16, np.float32)
    exact = forward(x.astype(float), weight.astype(float), bias.astype(float))
    output = np.empty(exact.shape, np.float32)
    plans.run(Work.FORWARD, shape, 1, PLENTY, *(each.ctypes.data for each in (x, weight, bias, output)))
    return distance(output, exact)


@needs_library
class ConvPlansTest(unittest.TestCase):
    def setUp(self):
        self.made = []
        real = conv_plans.Convolution

        def convolution(*arguments):
            self.made.append(arguments)
            return real(*arguments)

        self.enterContext(mock.patch.object(conv_plans, "Convolution", convolution))

    def test_each_shape_is_planned_once(self):
        plans = ConvPlans()
        for shape in (SMALL, LARGE, SMALL, LARGE):
            self.assertLess(run(plans, shape), 1e-5)
        self.assertEqual(self.made, [(SMALL, 1, PLENTY), (LARGE, 1, PLENTY)])
        plans.describe(SMALL, 2, PLENTY)
        self.assertEqual(len(self.made), 3)

    def test_the_plans_used_last_are_kept(self):
        self.enterContext(mock.patch.object(conv_plans, "_MOST_PLANS", 2))
        plans = ConvPlans()
        for threads in (1, 2, 1, 3, 1, 2):
            plans.describe(SMALL, threads, PLENTY)
        self.assertEqual([threads for _, threads, _ in self.made], [1, 2, 3, 2])

    def test_threads_wait_for_each_other(self):
        plans = ConvPlans()
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            for off in pool.map(lambda seed: run(plans, (SMALL, LARGE)[seed % 2], seed), range(24)):
                self.assertLess(off, 1e-5)
        self.assertEqual(len(self.made), 2)

    def test_no_two_works_share_the_workspace(self):
        """Two that ran together would meet."""
        meeting, met = threading.Barrier(2), []

        class Waiting:
            input_gradient = weight_gradient = None
            workspace_bytes = staticmethod(lambda work: 64)

            def forward(self, *_):
                try:
                    met.append(meeting.wait(0.2))
                except threading.BrokenBarrierError:
                    pass

        with mock.patch.object(conv_plans, "Convolution", lambda *_: Waiting()):
            plans = ConvPlans()
            with concurrent.futures.ThreadPoolExecutor(2) as pool:
                list(pool.map(lambda _: plans.run(Work.FORWARD, SMALL, 1, PLENTY, 0, 0, 0, 0), range(2)))
        self.assertEqual(met, [])

    def test_the_child_of_a_fork_plans_again(self):
        self.assertLess(run(conv_plans.of_process(), SMALL), 1e-5)
        child = os.fork()
        if child == 0:
            os._exit(0 if run(conv_plans.of_process(), SMALL) < 1e-5 else 1)
        self.assertEqual(os.waitpid(child, 0)[1], 0)

    def test_a_workspace_that_the_system_refuses_is_over_budget(self):
        with self.assertRaisesRegex(OverBudgetError, "the system refuses [0-9]+ bytes of workspace: .*lower mem"):
            conv_plans._map(1 << 62)


if __name__ == "__main__":
    unittest.main()

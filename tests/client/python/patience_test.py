"""How long something is tried again, by a clock of the test's own."""

import logging
import unittest

import grpc
from znni.errors import InvalidError, UnavailableError
from znni.patience import Patience, ask


class PatienceTest(unittest.TestCase):
    def setUp(self):
        logging.getLogger("znni").setLevel(logging.ERROR)
        self.now, self.slept = 0.0, []

    def sleep(self, seconds):
        self.slept.append(seconds)
        self.now += seconds

    def patience(self, seconds):
        return Patience(seconds, clock=lambda: self.now, sleep=self.sleep)

    def failing(self, times, error):
        """Returns a call that fails so often, then returns 5."""
        left = [times]

        def call():
            left[0] -= 1
            if left[0] >= 0:
                raise error
            return 5

        return call

    def test_longer_and_longer(self):
        self.assertEqual(ask(self.failing(4, UnavailableError("x")), self.patience(100)), 5)
        self.assertEqual(self.slept, [0.25, 0.5, 1, 2])

    def test_never_longer_than_half_a_minute(self):
        self.assertEqual(ask(self.failing(10, UnavailableError("x")), self.patience(1000)), 5)
        self.assertEqual(max(self.slept), 30)

    def test_ends(self):
        with self.assertRaisesRegex(UnavailableError, "words"):
            ask(self.failing(100, UnavailableError("words")), self.patience(10))
        self.assertEqual(self.now, 10)

    def test_none(self):
        with self.assertRaises(UnavailableError):
            ask(self.failing(1, UnavailableError("x")), self.patience(0))
        self.assertEqual(self.slept, [])

    def test_a_deadline_is_not_tried_again(self):
        with self.assertRaises(UnavailableError):
            ask(self.failing(1, UnavailableError("x", grpc.StatusCode.DEADLINE_EXCEEDED)), self.patience(10))
        self.assertEqual(self.slept, [])

    def test_other_errors_are_not_tried_again(self):
        with self.assertRaises(InvalidError):
            ask(self.failing(1, InvalidError("x")), self.patience(10))
        self.assertEqual(self.slept, [])


if __name__ == "__main__":
    unittest.main()

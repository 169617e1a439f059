"""How long something is tried again, by a clock of the test's own."""

import logging
import unittest

from znni.calls.patience import Patience, persist
from znni.errors import InvalidError, UnavailableError


class PatienceTest(unittest.TestCase):
    def setUp(self):
        log = logging.getLogger("znni")
        self.addCleanup(log.setLevel, log.level)
        log.setLevel(logging.ERROR)
        self.now, self.slept = 0.0, []

    def sleep(self, seconds):
        self.slept.append(seconds)
        self.now += seconds

    def patience(self, seconds):
        return Patience(seconds, clock=lambda: self.now, sleep=self.sleep)

    def test_longer_and_longer(self):
        patience = self.patience(100)
        for _ in range(4):
            patience.wait(UnavailableError("x"))
        self.assertEqual(self.slept, [0.25, 0.5, 1, 2])

    def test_never_longer_than_half_a_minute(self):
        patience = self.patience(1000)
        for _ in range(10):
            patience.wait(UnavailableError("x"))
        self.assertEqual(max(self.slept), 30)

    def test_persists_while_something_is_unavailable(self):
        errors = [UnavailableError("x"), UnavailableError("y")]

        def call():
            if errors:
                raise errors.pop()
            return 7

        self.assertEqual(persist(call, self.patience(10)), 7)
        self.assertEqual(self.slept, [0.25, 0.5])
        errors.append(InvalidError("z"))
        with self.assertRaisesRegex(InvalidError, "z"):
            persist(call, self.patience(10))

    def test_ends(self):
        patience = self.patience(10)
        with self.assertRaisesRegex(UnavailableError, "words"):
            for _ in range(100):
                patience.wait(UnavailableError("words"))
        self.assertEqual(self.now, 10)

    def test_none(self):
        with self.assertRaises(UnavailableError):
            self.patience(0).wait(UnavailableError("x"))
        self.assertEqual(self.slept, [])


if __name__ == "__main__":
    unittest.main()

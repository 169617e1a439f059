"""Calls of many threads, one after the other."""

import concurrent.futures
import threading
import unittest

from znni.blocks.turns import Turns


class TurnsTest(unittest.TestCase):
    def test_all_calls_are_made_by_one_thread(self):
        turns, makers = Turns(), []

        def double(number):
            makers.append(threading.current_thread())
            return 2 * number

        with concurrent.futures.ThreadPoolExecutor(4) as threads:
            found = list(threads.map(lambda n: turns.call(double, n), range(20)))
        self.assertEqual((found, len(makers), len(set(makers))), ([2 * n for n in range(20)], 20, 1))
        self.assertTrue(makers[0].daemon)

    def test_an_error_goes_to_its_caller_alone(self):
        turns = Turns()
        with self.assertRaisesRegex(ValueError, "wrong"):
            turns.call(lambda: (_ for _ in ()).throw(ValueError("wrong")))
        self.assertEqual(turns.call(max, 3, 4), 4)


if __name__ == "__main__":
    unittest.main()

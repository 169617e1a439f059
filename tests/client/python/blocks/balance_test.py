"""The server that is next."""

import unittest

from znni.blocks.balance import Balance


class BalanceTest(unittest.TestCase):
    def test_the_server_with_the_fewest_is_next(self):
        balance = Balance(["a", "b"], 2)
        self.assertEqual([balance.take() for _ in range(5)], ["a", "b", "a", "b", None])
        balance.give_back("b", "b")
        self.assertEqual([balance.take(), balance.take()], ["b", None])

    def test_a_server_that_is_away_has_none_for_a_minute(self):
        now = [0.0]
        balance = Balance(["a", "b"], 3, lambda: now[0])
        self.assertEqual([balance.take(), balance.take()], ["a", "b"])
        balance.give_back("a", "b")
        self.assertEqual([balance.take(), balance.take(), balance.take()], ["b", "b", None])
        now[0] = 61
        self.assertEqual(balance.take(), "a")
        balance.give_back("a", "b")
        balance.give_back("b", "a")
        self.assertEqual(balance.take(), "a", "both are away: then either")

    def test_servers_are_passed_over(self):
        balance = Balance(["a", "b", "c"], 2)
        self.assertEqual([balance.take({"a"}), balance.take({"a"}), balance.take({"a", "c"})], ["b", "c", "b"])
        self.assertIsNone(balance.take({"a", "b", "c"}))
        balance.give_back("a", "b")
        self.assertEqual(balance.take({"b", "c"}), "a", "it is away, but so are all others")


if __name__ == "__main__":
    unittest.main()

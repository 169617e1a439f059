"""The server that a call goes to."""

import unittest

from znni.calls.servers import Servers, addresses_of
from znni.errors import InvalidError


class ServersTest(unittest.TestCase):
    def test_addresses(self):
        self.assertEqual(addresses_of("a:1"), ["a:1"])
        self.assertEqual(addresses_of(("a:1", "b:1", "a:1")), ["a:1", "b:1"])
        for wrong in ([], "", ["a:1", ""], ["a:1", 8001]):
            with self.assertRaisesRegex(InvalidError, "^address: .* found, expected 'HOST:PORT', or a list of such$"):
                addresses_of(wrong)

    def test_the_one_with_the_fewest_calls(self):
        servers = Servers(["a:1", "b:1"])
        self.addCleanup(servers.close)
        taken = [servers.take() for _ in range(3)]
        self.assertEqual([one.address for one in taken], ["a:1", "b:1", "a:1"])
        servers.give_back(taken[1])
        self.assertIs(servers.take(), taken[1])
        self.assertIs(servers.take({"b:1"}), taken[0])
        self.assertIsNone(servers.take({"a:1", "b:1"}))

    def test_one_that_does_not_answer_is_left_alone(self):
        servers = Servers(["a:1", "b:1"])
        self.addCleanup(servers.close)
        servers.give_back(servers.take(), answered=False)
        self.assertEqual([servers.take().address for _ in range(3)], ["b:1"] * 3)


if __name__ == "__main__":
    unittest.main()

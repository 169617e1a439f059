"""Times in words."""

import unittest

from znni.blocks.duration import duration


class DurationTest(unittest.TestCase):
    def test_two_numbers_at_most(self):
        for seconds, text in (
            (0, "0 s"),
            (0.589, "0.59 s"),
            (40.4, "40 s"),
            (89, "89 s"),
            (90, "2 min"),
            (719, "12 min"),
            (3570, "1 h 0 min"),
            (12000, "3 h 20 min"),
            (86_000, "23 h 53 min"),
            (86_400, "24 h"),
            (4e6, "1111 h"),
        ):
            self.assertEqual(duration(seconds), text)


if __name__ == "__main__":
    unittest.main()

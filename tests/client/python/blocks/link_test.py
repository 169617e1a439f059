"""A connection that transfers share, against one that is followed from change to change."""

import math
import random
import unittest

from znni.blocks.link import Link


def ends(link):
    """Ends all transfers under way. Returns (time, number) of each."""
    found = []
    while link.next_end() < math.inf:
        when = link.next_end()
        found.append((when, link.end_next(when)))
    return found


def naive(rate, max_each, transfers):
    """Returns when each of the transfers (begin, bytes) ends: between two changes each gets its part."""
    left, now, found = [size for _, size in transfers], 0.0, {}
    while len(found) < len(transfers):
        active = [at for at, (begin, _) in enumerate(transfers) if begin <= now and at not in found]
        each = min(max_each, rate / max(1, len(active)))
        waits = [begin - now for begin, _ in transfers if begin > now] + [left[at] / each for at in active]
        step = min(waits)
        for at in active:
            left[at] -= each * step
            if left[at] <= 1e-9:
                found[at] = now + step
        now += step
    return found


class LinkTest(unittest.TestCase):
    def test_transfers_get_equal_parts(self):
        link = Link(10, math.inf)
        link.begin(0, 1, 100)
        link.begin(5, 2, 20)  # until then the first has got 50; then both get 5 a second
        self.assertEqual(ends(link), [(9, 2), (12, 1)])
        self.assertEqual(link.next_end(), math.inf)

    def test_no_transfer_gets_more_than_it_may(self):
        link = Link(10, 4)
        for number in (1, 2):
            link.begin(0, number, 40)
        self.assertEqual([when for when, _ in ends(link)], [10, 10])

    def test_one_that_is_removed_leaves_its_part_to_the_others(self):
        link = Link(10, math.inf)
        link.begin(0, 1, 100)
        link.begin(0, 2, 50)
        link.remove(4, 2)  # both have got 20
        link.remove(4, 7)
        link.begin(4, 2, 200)
        self.assertEqual(ends(link), [(20, 1), (32, 2)])

    def test_unlimited(self):
        self.assertTrue(Link(math.inf, math.inf).is_unlimited)
        self.assertFalse(Link(math.inf, 5).is_unlimited)
        link = Link(math.inf, 5)
        link.begin(2, 1, 50)
        self.assertEqual(ends(link), [(12, 1)])

    def test_random_transfers(self):
        drawn = random.Random(3)
        for _ in range(50):
            rate, max_each = drawn.uniform(1, 10), drawn.choice([math.inf, drawn.uniform(0.5, 5)])
            transfers = sorted((drawn.uniform(0, 20), drawn.uniform(1, 50)) for _ in range(12))
            link, found = Link(rate, max_each), {}
            for number, (begin, size) in enumerate(transfers):
                while link.next_end() < begin:
                    when = link.next_end()
                    found[link.end_next(when)] = when
                link.begin(begin, number, size)
            found.update((number, when) for when, number in ends(link))
            expected = naive(rate, max_each, transfers)
            for number, when in expected.items():
                self.assertAlmostEqual(found[number], when, places=6)


if __name__ == "__main__":
    unittest.main()

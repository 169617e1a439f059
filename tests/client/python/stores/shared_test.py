"""Outputs that machines write together."""

import types
import unittest
from unittest import mock

from znni.box import Box
from znni.stores.shared import SharedOutput


class SharedTest(unittest.TestCase):
    def test_all_chunks_of_a_box_are_synced(self):
        place = mock.Mock()
        for shape, chunks, expected in (
            ((9, 6, 8), (3, 2, 4), ["1.1.0", "1.1.1", "2.1.0", "2.1.1"]),
            ((2, 9, 6, 8), (2, 3, 2, 4), ["0.1.1.0", "0.1.1.1", "0.2.1.0", "0.2.1.1"]),
            ((2, 9, 6, 4), (1, 3, 2, 4), ["0.1.1.0", "0.2.1.0", "1.1.1.0", "1.2.1.0"]),
        ):
            output = SharedOutput(
                types.SimpleNamespace(shape=shape), chunks, {}, place, lambda at: ".".join(map(str, at))
            )
            output.sync(Box((3, 2, 0), (9, 4, shape[-1])))
            place.sync.assert_called_with(expected)


if __name__ == "__main__":
    unittest.main()

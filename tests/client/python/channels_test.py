"""Channels that a caller names."""

import unittest

import numpy as np
from znni.channels import chosen_channels
from znni.errors import InvalidError
from znni.model import Model

OUTPUTS = {"mask": slice(0, 1), "flow": slice(1, 4), "7": slice(4, 5)}
MODEL = Model("net", "1", True, 1, 5, (1, 1, 1), False, {}, outputs=OUTPUTS)


class ChannelsTest(unittest.TestCase):
    def test_forms(self):
        for channels, expected in (
            (None, None),
            (2, (2,)),
            ([3, 0], (3, 0)),
            (np.array([3, 0]), (3, 0)),
            (range(1, 3), (1, 2)),
            ("flow", (1, 2, 3)),
            (["flow", 0], (1, 2, 3, 0)),
            ("3, mask", (3, 0)),
            ("7", (4,)),
        ):
            self.assertEqual(chosen_channels(channels, MODEL), expected)

    def test_what_the_model_has_not(self):
        words = "expected numbers of channels from 0 to 4, or names of outputs .'mask', 'flow', '7'., which model 'net'"
        for channels, found in (
            (5, "5"),
            (-1, "-1"),
            ([0, "flows"], "'flows'"),
            ("0,", "''"),
            ([], r"\[\]"),
            (True, "True"),
            (1.0, "1.0"),
            ([None], "None"),
        ):
            with self.assertRaisesRegex(InvalidError, f"^channels: {found} found, {words}"):
                chosen_channels(channels, MODEL)

    def test_each_once(self):
        for channels in ([1, 1], ["flow", 1], "mask,0"):
            with self.assertRaisesRegex(InvalidError, "^channels: channel [01] is named more than once"):
                chosen_channels(channels, MODEL)


if __name__ == "__main__":
    unittest.main()

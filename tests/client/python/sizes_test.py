"""Sizes of memory."""

import unittest

from znni.errors import InvalidError
from znni.sizes import bytes_of


class SizesTest(unittest.TestCase):
    def test_sizes_are_in_binary_units(self):
        for size, wanted in (
            (None, 0),
            (1, 1),
            (1 << 40, 1 << 40),
            ("7", 7),
            ("512M", 512 << 20),
            ("1.5 GiB", 3 << 29),
            ("2gb", 2 << 30),
            ("1K", 1024),
            ("1P", 1 << 50),
            ("9007199254740993", (1 << 53) + 1),
            ("9223372036854775807", (1 << 63) - 1),
        ):
            self.assertEqual(bytes_of(size, "mem"), wanted, size)

    def test_anything_else_is_refused(self):
        beyond = (1 << 63, "9223372036854775808", "9999999P", "9" * 400, "9" * 400 + "P")
        for size in ("", "G", "-1", "1.5.2G", "1X", "0.1", 0, -1, 1.5, True, [1], *beyond):
            with self.assertRaisesRegex(InvalidError, "mem: .* found, expected bytes, such as 1048576 or '512M'"):
                bytes_of(size, "mem")


if __name__ == "__main__":
    unittest.main()

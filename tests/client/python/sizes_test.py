"""Sizes of memory."""

import unittest

from znni.errors import InvalidError
from znni.sizes import bytes_of, in_words


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

    def test_sizes_in_words(self):
        for count, decimal, binary in (
            (0, "0 B", "0 B"),
            (999, "999 B", "999 B"),
            (1000, "1 kB", "0.977 KiB"),
            (999_700, "1 MB", "976 KiB"),
            (1_111_934_656_000, "1.11 TB", "1.01 TiB"),
            (5 << 30, "5.37 GB", "5 GiB"),
            (2_100 * 10**15, "2.1e+03 PB", "1.87e+03 PiB"),
        ):
            self.assertEqual((in_words(count), in_words(count, binary=True)), (decimal, binary))


if __name__ == "__main__":
    unittest.main()

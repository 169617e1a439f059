"""Options that several programs have."""

import argparse
import unittest

from znni.programs.options import shard_of


class OptionsTest(unittest.TestCase):
    def test_shards(self):
        self.assertEqual(shard_of("64,128,512"), (64, 128, 512))
        self.assertEqual(shard_of("512"), (512, 512, 512))
        for wrong in ("", "0", "64,64", "64,64,x", "64,,64", "-64", "64,64,64,64", "6.4"):
            with self.assertRaisesRegex(argparse.ArgumentTypeError, f"^'{wrong}' found, expected Z,Y,X"):
                shard_of(wrong)


if __name__ == "__main__":
    unittest.main()

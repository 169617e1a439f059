"""Outputs in shards."""

import os
import pathlib
import unittest

from znni.errors import InvalidError
from znni.stores.formats.sharded import Sharded, whole_chunks

CUBE = (64, 64, 64)


class ShardedTest(unittest.TestCase):
    def test_is_a_path(self):
        self.assertEqual(os.fspath(Sharded("o.zarr", 512)), "o.zarr")
        self.assertEqual(os.fspath(Sharded(pathlib.Path("o.zarr"), 512)), "o.zarr")
        self.assertEqual(Sharded("o.zarr", 512).shard, (512, 512, 512))
        self.assertEqual(repr(Sharded("o.zarr", [1, 2, 3])), "Sharded('o.zarr', (1, 2, 3))")

    def test_wrong_extents(self):
        for wrong in (0, -64, True, 64.0, "64", None, (64, 64), (64, 64, 0), (64, 64, "x")):
            with self.assertRaisesRegex(InvalidError, "^shard: .* found, expected voxels along z, y and x"):
                Sharded("o.zarr", wrong)

    def test_no_wider_than_the_output_needs(self):
        self.assertEqual(whole_chunks((128, 128, 640), CUBE, (1000, 100, 300)), (128, 128, 320))
        self.assertEqual(whole_chunks((512, 512, 512), (64, 50, 64), (100, 50, 64)), (128, 50, 64))
        self.assertEqual(whole_chunks((500, 100, 64), CUBE, (480, 90, 64)), (512, 128, 64))

    def test_whole_chunks(self):
        for wrong in ((100, 64, 64), (64, 64, 32)):
            with self.assertRaisesRegex(
                InvalidError, "^shard: .* voxels found, expected multiples .* chunks, 64x64x64$"
            ):
                whole_chunks(wrong, CUBE, (1000, 1000, 1000))


if __name__ == "__main__":
    unittest.main()

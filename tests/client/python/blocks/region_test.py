"""Boxes of outputs."""

import pathlib
import tempfile
import unittest
from unittest import mock

import numpy as np
import zarr
from znni.blocks.region import Region
from znni.box import Box
from znni.stores import place as module
from znni.stores.formats.zarr_store import shared

BOX = Box((4, 2, 3), (7, 6, 8))


class RegionTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def output(self, version=3, channels=2, **options):
        """Returns an output of chunks of 4x2x3 voxels."""
        space = {"shape": (8, 6, 9), "chunks": (4, 2, 3)}
        if channels:
            space = {"shape": (channels, *space["shape"]), "chunks": (1, *space["chunks"])}
        path = self.folder / f"{version}{channels}{len(options)}.zarr"
        group = zarr.open_group(str(path), mode="w", zarr_format=version)
        group.create_array("0", dtype="f4", fill_value=0, **space, **options)
        return shared(group, str(path))

    def test_writes_go_to_the_box(self):
        for channels in (0, 2):
            output = self.output(channels=channels)
            array, region = output.array, Region(output, BOX)
            values = np.random.default_rng(1).random(region.shape, np.float32)
            region[(*(slice(None),) * bool(channels), slice(0, 3), slice(1, 4), slice(0, 5))] = values[..., 1:4, :]
            expected = np.zeros(array.shape, np.float32)
            expected[..., 4:7, 3:6, 3:8] = values[..., 1:4, :]
            np.testing.assert_array_equal(array[:], expected)
            self.assertEqual((region.shape[-3:], region.dtype), ((3, 4, 5), np.float32))
            self.assertEqual(region.folder, str(self.folder))

    def test_the_digest_is_of_each_voxel_of_the_box(self):
        output = self.output()
        array, region = output.array, Region(output, BOX)
        first = region.digest()
        array[:, 0] = 1  # beside the box
        array[:, :, 0] = 1
        self.assertEqual(region.digest(), first)
        for at in ((1, 6, 5, 7), (0, 4, 2, 3)):
            array[at] = 2
            self.assertNotEqual(region.digest(), first)
            first = region.digest()

    def test_all_chunks_of_the_box_are_synced(self):
        for version, options in ((2, {}), (3, {}), (3, {"shards": (1, 4, 4, 6)})):
            output = self.output(version, **options)
            array = output.array
            array[..., 4:8, 2:6, 3:9] = 1
            synced = set()
            with mock.patch.object(module, "sync", lambda path, found=synced: found.add(pathlib.Path(path))):
                Region(output, Box((4, 2, 3), (8, 6, 9))).sync()
            root = pathlib.Path(array.store.root) / "0"
            chunks = {
                path for path in root.rglob("*") if path.is_file() and not path.name.startswith((".z", "zarr.json"))
            }
            self.assertTrue(chunks)
            self.assertEqual({path for path in synced if path.is_file()}, chunks)
            self.assertEqual({path for path in synced if path.is_dir()}, {path.parent for path in chunks})


if __name__ == "__main__":
    unittest.main()

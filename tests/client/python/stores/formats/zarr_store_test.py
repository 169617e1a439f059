"""Zarr, versions 2 and 3."""

import dataclasses
import pathlib
import sys
import tempfile
import unittest
from unittest import mock

import numpy as np
import zarr
from znni.box import Box
from znni.errors import Error, InvalidError, NotFoundError
from znni.geometry import Geometry
from znni.pyramid import making
from znni.pyramid.halving import halve
from znni.stores.formats.zarr_store import ZarrSource, ZarrTarget, open_array, open_node, open_shared
from znni.stores.seam import OutputFacts

GEOMETRY = Geometry((40.0, 4.0, 4.0), (7.0, 8.0, 9.0), ("nanometer",) * 3)


def facts(version, dtype="<f4", ndim=4, geometry=GEOMETRY, extent=(70, 4, 5)):
    return OutputFacts(
        (2 if ndim == 4 else 1, *extent),
        np.dtype(dtype),
        ndim,
        version,
        geometry,
        (1, 2, 3),
        {"model": "net", "pad": "zero"},
    )


class ZarrTest(unittest.TestCase):
    def setUp(self):
        self.folder = self.enterContext(tempfile.TemporaryDirectory())
        self.path = f"{self.folder}/v.ome.zarr"

    def written(self, given):
        """Returns the group of an output of ones."""
        target = ZarrTarget(self.path, given, True)
        target.begin()
        target.write((0, 0, 0), np.ones(given.shape, given.dtype))
        self.assertTrue(pathlib.Path(self.path + ".partial").is_dir())
        target.finish()
        return zarr.open_group(self.path, mode="r")

    def test_what_is_written_is_read(self):
        for version in (2, 3):
            for ndim in (3, 4):
                self.written(facts(version, ndim=ndim))
                for path in (self.path, self.path + "/0"):
                    source = ZarrSource(open_node(path), path)
                    self.assertEqual((source.geometry, source.zarr_format, source.ndim), (GEOMETRY, version, ndim))
                    self.assertEqual(source.read(Box((1, 1, 1), (70, 3, 3))).min(), 1)
                    self.assertEqual(source.depth, 64)

    def test_form(self):
        for version, ome in ((2, "0.4"), (3, "0.5"), (None, "0.4")):
            group = self.written(facts(version))
            self.assertEqual(group.metadata.zarr_format, version or 2)
            written = group.attrs["ome"] if version == 3 else group.attrs["multiscales"][0]
            self.assertEqual(written["version"], ome)
            self.assertEqual((group["0"].chunks, group.attrs["znni"]["pad"]), ((1, 64, 4, 5), "zero"))
            self.assertIn("zstd", str(group["0"].compressors))
            self.assertLess(group["0"].nbytes_stored(), group["0"].nbytes)
        self.assertEqual(self.written(facts(2, "u1", extent=(200, 140, 5)))["0"].chunks, (1, 128, 128, 5))

    def test_an_output_of_a_volume_without_geometry_says_where_it_lies(self):
        self.written(facts(2, geometry=None))
        source = ZarrSource(open_node(self.path), "v")
        self.assertEqual(source.geometry, Geometry(translation=(1.0, 2.0, 3.0)))

    def test_a_group_with_more_images(self):
        for version in (2, 3):
            self.written(facts(version))
            group = zarr.open_group(self.path, mode="a")
            holder = dict(group.attrs["ome"]) if version == 3 else group.attrs.asdict()
            holder["multiscales"] = holder["multiscales"] + [{"datasets": [{"path": "other"}]}]
            group.attrs.update({"ome": holder} if version == 3 else holder)
            self.assertEqual(ZarrSource(open_node(self.path), "v").geometry, GEOMETRY)

    def test_shards(self):
        array = zarr.create_array(
            f"{self.folder}/s.zarr", data=np.zeros((40, 40, 40), np.uint8), chunks=(5, 5, 5), shards=(20, 20, 20)
        )
        source = ZarrSource(array, "v")
        self.assertEqual((source.depth, source.geometry), (20, None))

    def test_a_group_within(self):
        group = zarr.open_group(f"{self.folder}/g.zarr", mode="w").create_group("volumes")
        group.create_array("raw", data=np.zeros((4, 5, 6), np.uint8))
        self.assertEqual(ZarrSource(open_node(f"{self.folder}/g.zarr/volumes/raw"), "v").shape, (1, 4, 5, 6))
        with self.assertRaisesRegex(InvalidError, "^v: a group found, expected an array .*; arrays in it: raw$"):
            ZarrSource(open_node(f"{self.folder}/g.zarr/volumes"), "v")

    def test_a_chunk_cut_in_half(self):
        self.written(facts(3))
        chunk = pathlib.Path(self.path, "0/c/0/1/0/0")
        chunk.write_bytes(chunk.read_bytes()[:20])
        source = ZarrSource(open_node(self.path), "v")
        source.read(Box((0, 0, 0), (64, 4, 5)))
        with self.assertRaisesRegex(
            InvalidError, "^v: a chunk cannot be decoded, of the voxels z 60 to 70, y 0 to 4, x 0 to 5: "
        ):
            source.read(Box((60, 0, 0), (70, 4, 5)))

    def test_stores_of_the_caller_that_fail(self):
        class Busy(zarr.storage.WrapperStore):
            async def get(self, key, prototype, byte_range=None):
                if "/c/" in key:
                    raise RuntimeError("come back later")
                return await super().get(key, prototype, byte_range)

        self.written(facts(3))
        source = ZarrSource(zarr.open_group(Busy(zarr.storage.LocalStore(self.path)), mode="r"), "volume")
        with self.assertRaisesRegex(
            Error, "^volume: a chunk could not be read, of the voxels z 0 to 9, .*come back"
        ) as found:
            source.read(Box((0, 0, 0), (9, 4, 5)))
        self.assertIs(type(found.exception), Error)

    def test_descriptions_that_are_damaged(self):
        for version, names in ((2, (".zgroup", ".zattrs", "0/.zarray")), (3, ("zarr.json", "0/zarr.json"))):
            for name in names:
                self.written(facts(version))
                file = pathlib.Path(self.path, name)
                good = file.read_text()
                for bad in (good[: len(good) // 2], "5"):
                    file.write_text(bad)
                    with self.assertRaisesRegex(InvalidError, f"v.ome.zarr/{name}: ") as found:
                        ZarrSource(open_node(self.path), self.path)
                    self.assertNotIn("\n", str(found.exception))
        self.written(facts(3))
        group = zarr.open_group(self.path, mode="a")
        for bad in (
            [5],
            [{}],
            [{"datasets": [{"path": "s9"}]}],
            [{"datasets": 5}],
            5,
            [{"datasets": [{"path": "0", "coordinateTransformations": [{"type": "scale", "scale": ["a"]}]}]}],
            [{"datasets": [{"path": "0", "coordinateTransformations": [{}]}]}],
        ):
            group.attrs["ome"] = {"multiscales": bad}
            with self.assertRaisesRegex(InvalidError, "v.ome.zarr: .*(damaged|multiscales)"):
                ZarrSource(open_node(self.path), self.path)

    def test_notes_that_are_damaged(self):
        zarr.open_group(self.path, mode="a").attrs["znni"] = [1]
        zarr.open_group(self.path, mode="a").create_array("0", shape=(1, 1, 1), dtype="u1")
        with self.assertRaisesRegex(InvalidError, r"v.ome.zarr: field 'znni': \[1\] found, expected an object"):
            open_shared(self.path)

    def test_nothing_there(self):
        with self.assertRaisesRegex(NotFoundError, "v.ome.zarr: there is no zarr array or group"):
            open_node(self.path)
        self.written(facts(2))
        with self.assertRaisesRegex(NotFoundError, "v.ome.zarr/s9: there is no"):
            open_node(self.path + "/s9")
        with self.assertRaisesRegex(NotFoundError, "v.ome.zarr/0/s9: there is no"):
            open_node(self.path + "/0/s9")

    def test_arrays_of_any_type(self):
        zarr.save_array(f"{self.folder}/mask.zarr", np.ones((2, 3, 4), bool))
        self.assertEqual(open_array(f"{self.folder}/mask.zarr").dtype, bool)
        self.written(facts(3))
        for path in (self.path, self.path + "/0"):
            self.assertEqual(open_array(path).shape, (2, 70, 4, 5))

    def test_discarded(self):
        target = ZarrTarget(self.path, facts(3), False)
        target.begin()
        target.discard()
        self.assertEqual(list(pathlib.Path(self.folder).iterdir()), [])

    def test_coarser_resolutions_by_name(self):
        voxels = np.random.default_rng(1).random((2, 5, 300, 7), np.float32)
        for name, is_shared, count in (("a.ome.zarr", False, 2), ("a.zarr", False, 1), ("b.ome.zarr", True, 1)):
            for version, path in ((2, f"{self.folder}/2{name}"), (3, f"{self.folder}/3{name}/")):
                given = facts(version, extent=voxels.shape[1:])
                target = ZarrTarget(path, dataclasses.replace(given, is_shared=is_shared), False)
                target.begin()
                target.write((0, 0, 0), voxels)
                target.finish()
                group = zarr.open_group(path, mode="r")
                found = (group.attrs["ome"] if version == 3 else group.attrs)["multiscales"][0]
                self.assertEqual([one["path"] for one in found["datasets"]], ["0", "1"][:count])
                self.assertEqual(len(list(group.arrays())), count)
                with ZarrSource(open_node(path), path) as source:
                    self.assertEqual((source.shape, source.geometry), (voxels.shape, GEOMETRY))
                if count == 2:
                    np.testing.assert_array_equal(group["1"][:], halve(voxels, (2, 3), False))
                    self.assertEqual(ZarrSource(open_node(path + "/1"), "v").geometry, GEOMETRY.halved((0, 1, 1)))

    def test_in_shards(self):
        for version in (None, 2, 3):
            given = dataclasses.replace(facts(version, extent=(70, 4, 300)), shard=(512, 512, 128))
            group = self.written(given)
            self.assertEqual((group.metadata.zarr_format, group["0"].chunks[1:]), (3, (64, 4, 64)))
            self.assertEqual(group["0"].shards, (1, 128, 4, 128))
            self.assertEqual(group["1"].shards, (1, 128, 2, 128))
            target = ZarrTarget(self.path, given, True)
            self.assertEqual((target.chunk, target.depth, target.rows), ((128, 4, 128), 128, 4))
            self.assertEqual(ZarrSource(open_node(self.path), "v").read(Box((0, 0, 0), (70, 4, 300))).min(), 1)
            self.assertEqual(open_shared(self.path).chunks, (1, 128, 4, 128))
        with self.assertRaisesRegex(InvalidError, "^shard: 100x512x512 .*, expected multiples of .* chunks, 64x4x64$"):
            ZarrTarget(self.path, dataclasses.replace(facts(3, extent=(170, 4, 300)), shard=(100, 512, 512)), True)

    def test_interrupted_while_coarser_resolutions_are_made(self):
        target = ZarrTarget(self.path, facts(3, extent=(5, 300, 7)), False)
        target.begin()
        with mock.patch.object(making, "fill", side_effect=KeyboardInterrupt), self.assertRaises(KeyboardInterrupt):
            target.finish()
        target.discard()
        self.assertEqual(list(pathlib.Path(self.folder).iterdir()), [])

    def test_without_zarr(self):
        with mock.patch.dict(sys.modules, {"zarr": None}), self.assertRaisesRegex(InvalidError, "znni\\[zarr\\]"):
            open_node(self.path)


if __name__ == "__main__":
    unittest.main()

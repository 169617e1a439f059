"""Neuroglancer's precomputed format: what others wrote, and what others read."""

import json
import math
import pathlib
import tempfile
import unittest

import numpy as np
import tensorstore
from znni.box import Box
from znni.errors import InvalidError, NotFoundError
from znni.geometry import Geometry
from znni.stores.formats.precomputed import PrecomputedSource, PrecomputedTarget, open_array, open_shared
from znni.stores.place import Folder
from znni.stores.seam import OutputFacts

TYPES = ("u1", "u2", "u4", "u8", "i1", "i2", "i4", "f4")
OFFSET = (30, 20, 10)  # z, y, x
GEOMETRY = Geometry((40.0, 4.0, 5.0), (40.0 * 30, 4.0 * 20, 5.0 * 10), ("nanometer",) * 3)


def facts(shape=(2, 70, 5, 6), dtype="<f4", geometry=GEOMETRY):
    return OutputFacts(shape, np.dtype(dtype), 4, None, geometry, (1, 2, 3), {"model": "net"})


class PrecomputedTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.volume = np.arange(2 * 3 * 4 * 5, dtype="u2").reshape(2, 3, 4, 5)

    def make(self, voxels=None, chunk=(2, 4, 3), name="v", **more):
        """Writes raw chunks of so many voxels along z, y and x by hand, as the specification has them."""
        voxels = self.volume if voxels is None else voxels
        folder = self.folder / name / "5_4_40"
        folder.mkdir(parents=True, exist_ok=True)
        for at in np.ndindex(*(-(-n // c) for n, c in zip(voxels.shape[1:], chunk))):
            start = [a * c for a, c in zip(at, chunk)]
            part = voxels[(slice(None), *(slice(a, a + c) for a, c in zip(start, chunk)))]
            sides = [f"{o + a}-{o + a + n}" for o, a, n in zip(OFFSET, start, part.shape[1:])]
            (folder / "_".join(reversed(sides))).write_bytes(part.astype(part.dtype.newbyteorder("<")).tobytes())
        kind = {"u": "uint", "i": "int", "f": "float"}[voxels.dtype.kind] + str(8 * voxels.itemsize)
        scale = {
            "key": "5_4_40",
            "size": voxels.shape[:0:-1],
            "voxel_offset": OFFSET[::-1],
            "resolution": [5, 4, 40],
            "chunk_sizes": [chunk[::-1]],
            "encoding": "raw",
        }
        info = {"type": "image", "data_type": kind, "num_channels": voxels.shape[0], "scales": [scale], **more}
        (self.folder / name / "info").write_text(json.dumps(info))
        return Folder(self.folder / name)

    def written(self, given, name="o"):
        path = str(self.folder / name)
        voxels = (np.random.default_rng(1).random(given.shape) * 100).astype(given.dtype)
        target = PrecomputedTarget(path, given, True)
        target.begin()
        target.write((0, 0, 0), voxels)
        target.finish()
        return voxels, tensorstore.open({"driver": "neuroglancer_precomputed", "kvstore": f"file://{path}/"}).result()

    def test_reads_chunks_of_the_specification(self):
        source = PrecomputedSource(self.make())
        self.assertEqual((source.shape, source.ndim, source.depth), ((2, 3, 4, 5), 4, 2))
        self.assertEqual(source.geometry, GEOMETRY)
        np.testing.assert_array_equal(source.read(Box((1, 0, 1), (3, 3, 5))), self.volume[:, 1:3, 0:3, 1:5])

    def test_one_channel_has_three_axes(self):
        source = PrecomputedSource(self.make(self.volume[:1]))
        self.assertEqual((source.shape, source.ndim, source.depth), ((1, 3, 4, 5), 3, 2))
        np.testing.assert_array_equal(source.read(Box((1, 0, 1), (3, 3, 5))), self.volume[:1, 1:3, 0:3, 1:5])

    def test_reads_shards_and_encodings(self):
        shards = {
            "@type": "neuroglancer_uint64_sharded_v1",
            "preshift_bits": 1,
            "hash": "identity",
            "minishard_bits": 1,
            "shard_bits": 1,
            "data_encoding": "gzip",
            "minishard_index_encoding": "gzip",
        }
        voxels = np.arange(7 * 6 * 5, dtype="u1").reshape(5, 6, 7)
        for name, more in (("s", {"sharding": shards}), ("png", {"encoding": "png"})):
            scale = {"resolution": [5, 4, 40], "chunk_size": [4, 4, 4], "encoding": "raw", "size": [7, 6, 5], **more}
            store = tensorstore.open(
                {
                    "driver": "neuroglancer_precomputed",
                    "kvstore": f"file://{self.folder}/{name}/",
                    "scale_metadata": scale,
                    "multiscale_metadata": {"data_type": "uint8", "num_channels": 1, "type": "image"},
                },
                create=True,
            ).result()
            store[..., 0].write(voxels.T).result()
            np.testing.assert_array_equal(open_array(Folder(self.folder / name))[0], voxels)

    def test_all_types_by_hand_and_back(self):
        for name in TYPES:
            kind = np.dtype(name)
            voxels = self.volume.astype(kind)
            voxels.flat[:2] = (0, 1) if kind.kind == "f" else (np.iinfo(kind).min, np.iinfo(kind).max)
            np.testing.assert_array_equal(open_array(self.make(voxels, name=name))[:], voxels)
            voxels, stored = self.written(facts(dtype=name), "o" + name)
            np.testing.assert_array_equal(stored.read().result().T, voxels)

    def test_a_chunk_that_is_missing_is_zero(self):
        place = self.make()
        (self.folder / "v/5_4_40/10-13_20-24_30-32").unlink()
        expected = self.volume.copy()
        expected[:, :2, :, :3] = 0
        np.testing.assert_array_equal(open_array(place)[:], expected)

    def test_a_chunk_cut_in_half(self):
        place = self.make()
        file = self.folder / "v/5_4_40/10-13_20-24_30-32"
        file.write_bytes(file.read_bytes()[:40])
        with self.assertRaisesRegex(InvalidError, r"^\S+/v: Error reading local file .*10-13_20-24_30-32.*"):
            PrecomputedSource(place).read(Box((0, 0, 0), (3, 4, 5)))

    def refuse(self, place, words):
        with self.assertRaisesRegex(InvalidError, words) as found:
            PrecomputedSource(place)
        self.assertNotIn("\n", str(found.exception))

    def test_damaged_info(self):
        place = self.make()
        good = json.loads(place.read("info"))
        for change, words in (
            ({"@type": "neuroglancer_skeletons"}, "field '@type': 'neuroglancer_skeletons' found, expected"),
            ({"scales": []}, "field 'scales': .* of one scale"),
            ({"scales": 5}, "field 'scales': 5 found"),
            ({"scales": [{}]}, "info: first scale: field 'key' is missing"),
            ({"data_type": 7}, "'data_type': 7"),
            ({"data_type": "complex"}, "complex"),
            ({"num_channels": "x"}, "'num_channels': 'x' found"),
            ({"num_channels": 0}, "'num_channels': 0"),
            ({"znni": [1]}, r"'znni': \[1\] found"),
        ):
            place.write("info", json.dumps({**good, **change}).encode())
            self.refuse(place, words)
        for field, values in (
            ("chunk_sizes", (5, [], [5], [[1, 2]], [[0, 1, 1]])),
            ("size", (5, [1, 2], [0, 1, 1], ["a"] * 3)),
            ("resolution", (5, [1, 2], [0, 1, 1], [-1, 1, 1], [math.nan, 1, 1], [None] * 3)),
            ("voxel_offset", (5, [1.5, 0, 0])),
            ("key", (5,)),
            ("encoding", (None,)),
        ):
            for value in values:
                place.write("info", json.dumps({**good, "scales": [{**good["scales"][0], field: value}]}).encode())
                self.refuse(place, f"v/info: first scale: field '{field}': .* found, expected ")
        place.write("info", b"{")
        with self.assertRaisesRegex(InvalidError, "v/info: no JSON, or cut short"):
            PrecomputedSource(place)
        (self.folder / "y/b").mkdir(parents=True)
        (self.folder / "y/a").touch()
        with self.assertRaisesRegex(NotFoundError, "y: there is no .*: no file info in it: a folder with a, b found"):
            PrecomputedSource(Folder(self.folder / "y"))
        with self.assertRaisesRegex(NotFoundError, "x: there is no precomputed volume: no file info in it"):
            PrecomputedSource(Folder(self.folder / "x"))

    def test_what_is_written_is_read(self):
        for shape in ((1, 70, 5, 6), (2, 70, 5, 6)):
            voxels, stored = self.written(facts(shape))
            np.testing.assert_array_equal(stored.read().result().T, voxels)
            self.assertEqual(stored.domain.origin[:3], OFFSET[::-1])
            source = PrecomputedSource(Folder(self.folder / "o"))
            self.assertEqual((source.shape, source.geometry, source.depth), (shape, GEOMETRY, 64))
            info = json.loads((self.folder / "o/info").read_text())
            self.assertEqual((info["znni"], info["scales"][0]["key"]), ({"model": "net"}, "5_4_40"))

    def test_units_of_length_become_nanometers(self):
        micrometers = Geometry((0.5, 0.25, 0.25), (5.0, 0.0, 0.25), ("micrometer", "um", "µm"))
        self.written(facts(geometry=micrometers))
        self.assertEqual(
            PrecomputedSource(Folder(self.folder / "o")).geometry,
            Geometry((500.0, 250.0, 250.0), (5000.0, 0.0, 250.0), ("nanometer",) * 3),
        )
        self.written(facts(geometry=None))
        self.assertEqual(PrecomputedSource(Folder(self.folder / "o")).geometry.translation, (1.0, 2.0, 3.0))

    def test_what_the_format_cannot_say(self):
        for given, words in (
            (facts(dtype="<f2"), "float16 found, which precomputed does not hold"),
            (facts(geometry=Geometry(translation=(0.5, 0, 0))), "an offset of 0.5, 0, 0 voxels found"),
            (facts(geometry=Geometry(units=("second",) * 3)), "voxels in 'second' found"),
        ):
            with self.assertRaisesRegex(InvalidError, "o: " + words):
                PrecomputedTarget(str(self.folder / "o"), given, False)

    def test_shared_outputs_name_the_files_of_their_chunks(self):
        self.written(facts((2, 70, 5, 70)))
        output = open_shared(str(self.folder / "o"))
        self.assertEqual((output.chunks, output.notes), ((2, 64, 5, 64), {"model": "net"}))
        names = {output.key(at) for at in np.ndindex(1, 2, 1, 2)}
        self.assertEqual(names, {f"5_4_40/{path.name}" for path in (self.folder / "o/5_4_40").iterdir()})


if __name__ == "__main__":
    unittest.main()

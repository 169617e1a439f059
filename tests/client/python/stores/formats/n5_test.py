"""N5: what others wrote, and what others read."""

import gzip
import json
import pathlib
import shutil
import struct
import sys
import tempfile
import unittest
from unittest import mock

import numpy as np
import tensorstore
from znni.box import Box
from znni.errors import InvalidError, NotFoundError
from znni.geometry import Geometry
from znni.stores.formats.n5 import N5Source, N5Target, open_array, open_shared
from znni.stores.place import Folder
from znni.stores.seam import OutputFacts

TYPES = ("u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8", "f4", "f8")
GEOMETRY = Geometry((40.0, 4.0, 5.0), (7.0, 8.0, 9.0), ("nm",) * 3)


def facts(shape=(2, 70, 5, 6), dtype="<f4", ndim=4, geometry=GEOMETRY):
    return OutputFacts(shape, np.dtype(dtype), ndim, None, geometry, (1, 2, 3), {"model": "net"})


def block(voxels, compress=lambda data: data):
    """Returns the bytes of a block ``[Z, Y, X]`` as the specification of N5 has them: extents from x on, then the
    voxels."""
    shape = voxels.shape[::-1]
    return struct.pack(f">HH{len(shape)}I", 0, len(shape), *shape) + compress(
        voxels.astype(voxels.dtype.newbyteorder(">")).tobytes()
    )


class N5Test(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.path = self.folder / "v.n5/raw"
        self.volume = np.arange(3 * 4 * 5, dtype="u2").reshape(3, 4, 5)

    def make(self, voxels=None, where="raw", blocks=((3, 4, 2)), compression="raw", **more):
        """Writes an array by hand, in blocks of so many voxels along z, y and x."""
        voxels = self.volume if voxels is None else voxels
        folder = self.folder / "v.n5" / where
        name = {"u": "uint", "i": "int", "f": "float"}[voxels.dtype.kind] + str(8 * voxels.itemsize)
        compress = gzip.compress if compression == "gzip" else bytes
        for at in np.ndindex(*(-(-n // b) for n, b in zip(voxels.shape, blocks))):
            part = voxels[tuple(slice(a * b, (a + 1) * b) for a, b in zip(at, blocks))]
            file = folder.joinpath(*map(str, reversed(at)))
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(block(part, compress))
        (folder / "attributes.json").write_text(
            json.dumps(
                {
                    "dimensions": voxels.shape[::-1],
                    "blockSize": blocks[::-1],
                    "dataType": name,
                    "compression": {"type": compression},
                    **more,
                }
            )
        )
        return Folder(folder)

    def written(self, given, path=None):
        """Writes random voxels, and returns them and what TensorStore reads, from x on."""
        path = str(path or self.path)
        shutil.rmtree(path, ignore_errors=True)
        voxels = (np.random.default_rng(1).random(given.shape) * 100).astype(given.dtype)
        target = N5Target(path, given, True)
        target.begin()
        target.write((0, 0, 0), voxels)
        self.assertFalse(pathlib.Path(path).exists())
        target.finish()
        return voxels, tensorstore.open({"driver": "n5", "kvstore": f"file://{path}/"}).result()

    def test_reads_blocks_of_the_specification(self):
        for compression in ("raw", "gzip"):
            source = N5Source(self.make(compression=compression))
            self.assertEqual((source.shape, source.ndim, source.depth, source.geometry), ((1, 3, 4, 5), 3, 3, None))
            self.assertEqual(source.dtype, np.dtype("<u2"))
            np.testing.assert_array_equal(source.read(Box((1, 0, 1), (3, 3, 5)))[0], self.volume[1:3, 0:3, 1:5])

    def test_reads_the_compression_of_version_1(self):
        place = self.make(compression="gzip", compressionType="gzip")
        attributes = json.loads(place.read("attributes.json"))
        del attributes["compression"]
        place.write("attributes.json", json.dumps(attributes).encode())
        np.testing.assert_array_equal(open_array(place)[:], self.volume)

    def test_all_types_by_hand_and_back(self):
        for name in TYPES:
            kind = np.dtype(name)
            voxels = self.volume.astype(kind)
            voxels.flat[:2] = (0, 1) if kind.kind == "f" else (np.iinfo(kind).min, np.iinfo(kind).max)
            found = open_array(self.make(voxels, name))[:]
            self.assertEqual(found.dtype.name, kind.name)
            np.testing.assert_array_equal(found, voxels)
            voxels, stored = self.written(facts(dtype=name), self.folder / f"w{name}.n5/raw")
            np.testing.assert_array_equal(stored.read().result(), voxels.T)

    def test_channels_are_first_whatever_the_axes_are(self):
        voxels = np.arange(2 * 3 * 4 * 5, dtype="u1").reshape(2, 3, 4, 5)  # c, z, y, x
        for axes, turn in (("xyzc", (0, 1, 2, 3)), ("xycz", (1, 0, 2, 3)), ("cxyz", (1, 2, 3, 0))):
            given = np.ascontiguousarray(voxels.transpose(turn))
            source = N5Source(self.make(given, axes, blocks=(2, 2, 2, 2), axes=list(axes)))
            np.testing.assert_array_equal(source.read(Box((0, 0, 0), (3, 4, 5))), voxels)
        with self.assertRaisesRegex(InvalidError, "axes a, b, c of 3 found, expected x, y, z"):
            N5Source(self.make(axes=["a", "b", "c"]))

    def test_a_block_that_is_missing_is_zero(self):
        place = self.make()
        (self.path / "1/0/0").unlink()
        expected = self.volume.copy()
        expected[:, :, 2:4] = 0
        np.testing.assert_array_equal(N5Source(place).read(Box((0, 0, 0), (3, 4, 5)))[0], expected)

    def test_a_block_cut_in_half(self):
        place = self.make(compression="gzip")
        file = self.path / "1/0/0"
        file.write_bytes(file.read_bytes()[:40])
        with self.assertRaisesRegex(InvalidError, r"^\S+/v.n5/raw: Error reading local file .*/raw/1/0/0.*") as found:
            N5Source(place).read(Box((0, 0, 0), (3, 4, 5)))
        self.assertNotRegex(str(found.exception), "source locations|\n")

    def test_damaged_attributes(self):
        place = self.make()
        text = (self.path / "attributes.json").read_text()
        for bad, words in (
            (text[:20], "attributes.json: no JSON, or cut short"),
            ("[]", "list found, expected an object"),
            ('{"dimensions": [1, 2, 3]}', "field 'blockSize' is missing"),
            (text.replace("uint16", "complex64"), "raw: .*complex64"),
            (text.replace('"raw"', '"lz9"'), "raw: .*lz9"),
        ):
            (self.path / "attributes.json").write_text(bad)
            with self.assertRaisesRegex(InvalidError, words):
                N5Source(place)
        good = json.loads(text)
        for field, values in (
            ("dimensions", (5, None, {}, [1], [0, 1, 1], ["a"] * 3)),
            ("blockSize", (5, [1, 1], [0, 1, 1])),
            ("dataType", (5, None)),
            ("compression", (5, [])),
            ("axes", (5, None, "xyz", [1, 2, 3])),
            ("znni", ([1],)),
        ):
            for value in values:
                (self.path / "attributes.json").write_text(json.dumps({**good, field: value}))
                with self.assertRaisesRegex(InvalidError, f"raw/attributes.json: field '{field}': .* found, expected"):
                    N5Source(place)

    def test_a_file_where_a_folder_is_expected(self):
        (self.folder / "f.n5").write_text("x")
        with self.assertRaisesRegex(
            NotFoundError, "f.n5: there is no array of N5: .*: a file found, expected a folder"
        ):
            N5Source(Folder(self.folder / "f.n5"))
        with self.assertRaisesRegex(InvalidError, "f.n5/raw: .*f.n5 is a file, expected a folder"):
            N5Target(str(self.folder / "f.n5/raw"), facts(), False)

    def test_outputs_within_arrays_and_around_them(self):
        self.make()
        for name in ("raw/prob", "raw/a/b"):
            with self.assertRaisesRegex(InvalidError, f"v.n5/{name}: lies in .*v.n5/raw, which is an array"):
                N5Target(str(self.folder / "v.n5" / name), facts(), True)
        self.make(where="g/s0")
        for name in ("", "/g"):
            with self.assertRaisesRegex(
                InvalidError, f"v.n5{name}: a group with .*/attributes.json found, of which nothing"
            ):
                N5Target(str(self.folder / "v.n5") + name, facts(), True)
        self.written(facts(), self.folder / "v.n5/g/s0")

    def test_reads_all_types(self):
        for kind in TYPES:
            source = N5Source(self.make(self.volume.astype(kind)))
            self.assertEqual(source.dtype, kind if kind in ("u1", "u2", "f4") else "<f4")
            np.testing.assert_array_equal(source.read(Box((0, 1, 0), (3, 4, 5)))[0], self.volume[:, 1:])

    def test_whole_numbers_that_float32_does_not_hold(self):
        source = N5Source(self.make(self.volume.astype("i8") + (1 << 40)))
        with self.assertRaisesRegex(InvalidError, "v.n5/raw: voxel 1099511627776 of type int64 found, expected 167772"):
            source.read(Box((0, 0, 0), (3, 4, 5)))

    def test_a_pyramid_stands_for_its_first_array(self):
        self.make(where="raw/s0")
        (self.path / "attributes.json").write_text('{"pixelResolution": {"dimensions": [4, 5, 6], "unit": "nm"}}')
        source = N5Source(Folder(self.path))
        self.assertEqual((source.shape, source.geometry.scale), ((1, 3, 4, 5), (6.0, 5.0, 4.0)))

    def test_names_the_arrays_of_a_group(self):
        self.make(where="a/b")
        self.make(where="c")
        with self.assertRaisesRegex(
            NotFoundError, "v.n5: a group of N5 found, expected an array; arrays in it: a/b, c$"
        ):
            N5Source(Folder(self.folder / "v.n5"))
        with self.assertRaisesRegex(
            NotFoundError, "x: there is no array of N5: no attributes.json in it: nothing found"
        ):
            N5Source(Folder(self.folder / "x"))

    def test_what_is_written_is_read(self):
        for ndim, shape in ((3, (1, 70, 5, 6)), (4, (2, 70, 5, 6))):
            voxels, stored = self.written(facts(shape, ndim=ndim))
            np.testing.assert_array_equal(stored.read().result().T, voxels if ndim == 4 else voxels[0])
            source = N5Source(Folder(self.path))
            self.assertEqual((source.shape, source.ndim, source.depth), (shape, ndim, 64))
            self.assertEqual(source.geometry, GEOMETRY)
            attributes = json.loads((self.path / "attributes.json").read_text())
            self.assertEqual((attributes["znni"], attributes["blockSize"][:3]), ({"model": "net"}, [6, 5, 64]))
            self.assertEqual(json.loads((self.path.parent / "attributes.json").read_text()), {"n5": "2.5.1"})
            self.assertEqual(
                [unit for unit in stored.dimension_units[:3]], [tensorstore.Unit(s, "nm") for s in (5, 4, 40)]
            )

    def test_an_array_joins_those_that_are_there(self):
        place = self.make()
        self.written(facts(), self.folder / "v.n5/deep/er/prob")
        np.testing.assert_array_equal(open_array(place)[:], self.volume)
        self.assertEqual(open_array(Folder(self.folder / "v.n5/deep/er/prob")).shape, (2, 70, 5, 6))

    def test_an_array_without_a_container(self):
        self.written(facts(), self.folder / "o.n5")
        self.assertEqual(json.loads((self.folder / "o.n5/attributes.json").read_text())["n5"], "2.5.1")
        with self.assertRaisesRegex(InvalidError, "there is no folder .*/none"):
            N5Target(str(self.folder / "none/o.n5/raw"), facts(), False)

    def test_discarded(self):
        self.make()
        before = sorted(self.folder.rglob("*"))
        target = N5Target(str(self.folder / "v.n5/prob"), facts(), False)
        target.begin()
        target.write((0, 0, 0), np.ones((2, 70, 5, 6), "f4"))
        target.discard()
        self.assertEqual(sorted(self.folder.rglob("*")), before)

    def test_float16_is_refused(self):
        with self.assertRaisesRegex(InvalidError, "prob: float16 found, which N5 does not hold: pass dtype float32"):
            N5Target(str(self.folder / "v.n5/prob"), facts(dtype="<f2"), False)

    def test_shared_outputs_name_the_files_of_their_chunks(self):
        self.written(facts((2, 70, 5, 6)))
        output = open_shared(str(self.path))
        self.assertEqual(
            (output.array.shape, output.chunks, output.notes), ((2, 70, 5, 6), (1, 64, 5, 6), {"model": "net"})
        )
        for at in np.ndindex(2, 2, 1, 1):
            self.assertTrue((self.path / output.key(at)).is_file(), at)

    def test_without_tensorstore(self):
        place = self.make()
        with mock.patch.dict(sys.modules, {"tensorstore": None}):
            for use in (lambda: N5Source(place), lambda: N5Target(str(self.folder / "o.n5"), facts(), False)):
                with self.assertRaisesRegex(InvalidError, r"need tensorstore: pip install 'znni\[tensorstore\]'"):
                    use()


if __name__ == "__main__":
    unittest.main()

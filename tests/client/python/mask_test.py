"""Masks in arrays and all kinds of files."""

import itertools
import pathlib
import re
import tempfile
import unittest
from unittest import mock

import h5py
import numpy as np
import zarr
from s3_server import S3Server
from znni import mask as mask_module
from znni.box import Box
from znni.errors import InvalidError, NotFoundError
from znni.mask import Mask, open_mask
from znni.stores.formats.n5 import N5Target
from znni.stores.seam import OutputFacts


def mapped():
    """Returns the bytes of mapped files that this process holds."""
    return 1024 * int(re.search(r"RssFile:\s+(\d+) kB", pathlib.Path("/proc/self/status").read_text())[1])


class MaskTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def paths(self, values):
        """Yields the same mask in all kinds of files."""
        np.save(self.folder / "m.npy", values)
        yield self.folder / "m.npy"
        zarr.save_array(str(self.folder / "m.zarr"), values)
        yield self.folder / "m.zarr"
        with h5py.File(self.folder / "m.h5", "w") as file:
            file["mask"] = values
        yield f"{self.folder}/m.h5:/mask"
        target = N5Target(
            f"{self.folder}/m.n5/mask",
            OutputFacts((1, *values.shape), np.dtype("i8"), 3, None, None, (0, 0, 0), {}),
            False,
        )
        target.begin()
        target.write((0, 0, 0), values[None].astype("i8"))
        target.finish()
        yield f"{self.folder}/m.n5/mask"

    def test_a_box_with_one_voxel_is_covered(self):
        values = np.zeros((6, 7, 8), bool)
        values[3, 4, 5] = True
        for path in self.paths(values):
            mask = Mask(path, (6, 7, 8))
            self.addCleanup(mask.close)
            self.assertTrue(mask.covers(Box((3, 4, 5), (4, 5, 6))))
            self.assertTrue(mask.covers(Box((0, 0, 0), (6, 7, 8))))
            for axis in range(3):
                start = [0, 0, 0]
                start[axis] = (4, 5, 6)[axis]
                self.assertFalse(mask.covers(Box(tuple(start), (6, 7, 8))))

    def test_a_mask_in_a_bucket(self):
        values = np.zeros((6, 7, 8), bool)
        values[3, 4, 5] = True
        list(self.paths(values))
        server = S3Server()
        with server.served():
            server.buckets["data"].update(
                {
                    str(path.relative_to(self.folder)): path.read_bytes()
                    for path in self.folder.rglob("*")
                    if path.is_file()
                }
            )
            for name in ("m.zarr", "m.n5/mask"):
                mask = Mask(f"s3://data/{name}", (6, 7, 8))
                self.assertEqual([mask.covers(Box((3, 4, x), (4, 5, 6))) for x in (4, 5)], [True, True])
                self.assertFalse(mask.covers(Box((4, 0, 0), (6, 7, 8))))

    def test_a_mask_may_be_coarser(self):
        values = np.zeros((1, 2, 3, 4), np.uint16)
        values[0, 1, 2, 0] = 700
        np.save(self.folder / "m.npy", values)
        mask = Mask(self.folder / "m.npy", (3, 6, 32))  # a voxel stands for 2x2x8
        self.assertTrue(mask.covers(Box((2, 5, 7), (3, 6, 9))))
        self.assertFalse(mask.covers(Box((2, 5, 8), (3, 6, 32))))
        self.assertFalse(mask.covers(Box((0, 0, 0), (2, 6, 32))))

    def test_what_is_no_mask(self):
        (self.folder / "m.npy").write_bytes(b"text")
        np.save(self.folder / "empty.npy", np.zeros((0, 3, 3)))
        np.save(self.folder / "complex.npy", np.zeros((3, 3, 3), complex))
        for name, kind, words in (
            ("complex.npy", InvalidError, "a mask of type complex128 found, expected numbers or truth"),
            ("m.npy", InvalidError, "is not an array"),
            ("none.npy", NotFoundError, "no such file"),
            ("m.png", InvalidError, "this kind of file"),
            ("empty.npy", InvalidError, "a mask of"),
        ):
            with self.assertRaisesRegex(kind, f"{name}: .*{words}|{name}: {words}"):
                Mask(self.folder / name, (3, 3, 3))
        with self.assertRaisesRegex(InvalidError, "^mask: list found, expected an array of a mask, or a path"):
            Mask([[[1]]], (1, 1, 1))

    def test_other_extents_are_refused(self):
        for shape, extent in (((3, 3, 3), (4, 3, 3)), ((2, 3, 3, 3), (3, 3, 3)), ((3, 3), (3, 3, 3))):
            np.save(self.folder / "m.npy", np.ones(shape))
            with self.assertRaisesRegex(InvalidError, "m.npy: a mask of .* found, expected one channel of"):
                Mask(self.folder / "m.npy", extent)

    def test_reads_boxes(self):
        """Of a mask of which a voxel stands for 2x3x4, the last along z and x for fewer."""
        coarse = np.random.default_rng(1).random((4, 3, 5)) < 0.5
        extent = (7, 9, 18)
        fine = coarse.repeat(2, 0).repeat(3, 1).repeat(4, 2)[:7, :9, :18]
        for path in (*self.paths(coarse), coarse, coarse[None], coarse * 1.5):
            mask = Mask(path, extent)
            self.addCleanup(mask.close)
            for start, stop in (
                ((0, 0, 0), extent),
                ((1, 2, 3), (2, 3, 4)),
                ((0, 5, 6), (6, 8, 17)),
                ((5, 5, 7), extent),
            ):
                z, y, x = (slice(a, b) for a, b in zip(start, stop))
                np.testing.assert_array_equal(mask.read(Box(start, stop)), fine[z, y, x])

    def test_covers_each_of_many_boxes(self):
        extent, draw = (7, 9, 18), np.random.default_rng(3)
        for held in (64 << 20, 150, 40):  # bytes: what is more is read in rows of boxes, or box by box
            with mock.patch.object(mask_module, "_HELD_BYTES", held):
                for factor in ((1, 1, 1), (2, 3, 4)):
                    self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
                    coarse = draw.random([-(-n // f) for n, f in zip(extent, factor)]) < 0.1
                    along = [[(a, min(a + n, end)) for a in range(1, end, n)] for end, n in zip(extent, (3, 2, 5))]
                    for path in (*self.paths(coarse), coarse):
                        mask = Mask(path, extent)
                        self.addCleanup(mask.close)
                        found = mask.covers_each(along)
                        boxes = [Box(*zip(*spans)) for spans in itertools.product(*along)]
                        np.testing.assert_array_equal(found.ravel(), [mask.covers(box) for box in boxes])

    def test_open_mask(self):
        with open_mask(None, (3, 3, 3)) as mask:
            self.assertIsNone(mask)
        list(self.paths(np.ones((3, 3, 3))))
        with open_mask(f"{self.folder}/m.h5:/mask", (3, 3, 3)) as mask:
            self.assertTrue(mask.covers(Box((0, 0, 0), (1, 1, 1))))
        h5py.File(self.folder / "m.h5", "a").close()  # it was closed

    def test_reads_whole_layers_of_chunks_once(self):
        class Chunked:
            """An array that keeps which planes are read."""

            shape, dtype, chunks, read = (20, 5, 6), np.dtype("u1"), (8, 5, 6), []

            def __getitem__(self, index):
                self.read.append((index[0].start, index[0].stop))
                return np.ones((20, 5, 6), np.uint8)[index]

        mask = Mask(Chunked(), (20, 5, 6))
        for z in range(3, 20):
            self.assertTrue(mask.read(Box((z, 0, 0), (z + 1, 5, 6))).all())
        self.assertEqual(Chunked.read, [(3, 8), (8, 16), (16, 20)])

    def test_a_mapped_mask_leaves_no_pages_behind(self):
        extent = (32, 512, 1024)  # 16 MiB
        np.lib.format.open_memmap(self.folder / "m.npy", "w+", np.uint8, extent)[:] = 1
        mask = Mask(self.folder / "m.npy", extent)
        before = mapped()
        for z in range(32):
            self.assertTrue(mask.read(Box((z, 0, 0), (z + 1, 512, 1024))).all())
        self.assertFalse(mask.covers(Box((0, 0, 0), (0, 512, 1024))))
        self.assertTrue(mask.covers(Box((0, 0, 0), extent)))
        self.assertLess(mapped() - before, 4 << 20)

    def test_a_dataset_of_the_callers_stays_open(self):
        list(self.paths(np.ones((3, 3, 3))))
        with h5py.File(self.folder / "m.h5") as file:
            Mask(file["mask"], (3, 3, 3)).close()
            self.assertTrue(file["mask"][0, 0, 0])


if __name__ == "__main__":
    unittest.main()

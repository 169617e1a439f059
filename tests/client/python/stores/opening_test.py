"""The store to which a volume or output belongs."""

import contextlib
import dataclasses
import pathlib
import sys
import tempfile
import unittest
from unittest import mock

import dask.array
import h5py
import numpy as np
import zarr
from znni.box import Box
from znni.errors import InvalidError, NotFoundError
from znni.stores.array import ArraySource, ArrayTarget, NewArrayTarget
from znni.stores.file_source import FileSource
from znni.stores.formats.hdf5 import Hdf5Source, Hdf5Target
from znni.stores.formats.n5 import N5Source, N5Target
from znni.stores.formats.nifti import NiftiTarget
from znni.stores.formats.npy import NpyTarget
from znni.stores.formats.nrrd import NrrdTarget
from znni.stores.formats.precomputed import PrecomputedSource, PrecomputedTarget
from znni.stores.formats.sharded import Sharded
from znni.stores.formats.tiff import TiffTarget
from znni.stores.formats.zarr_store import ZarrSource, ZarrTarget
from znni.stores.joined import JoinedSource
from znni.stores.memmap import MemmapSource, MemmapTarget
from znni.stores.opening import check_output, open_raw, open_shared, open_shared_target, open_source, open_target
from znni.stores.seam import OutputFacts

VOLUME = np.zeros((3, 4, 5), np.uint8)
FACTS = OutputFacts((1, 3, 4, 5), np.dtype("u1"), 3, None, None, (0, 0, 0), {})


class OpeningTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def test_sources(self):
        np.save(self.folder / "v.npy", VOLUME)
        array = zarr.create_array(self.folder / "v.zarr", data=VOLUME)
        with h5py.File(self.folder / "v.h5", "w") as file:
            file["raw"] = VOLUME
            self.assertIs(type(open_source(file["raw"])), ArraySource)
        mapped = np.load(self.folder / "v.npy", "r")
        for volume, kind in (
            (VOLUME, ArraySource),
            (array, ZarrSource),
            (mapped, MemmapSource),
            (self.folder / "v.npy", MemmapSource),
            (f"{self.folder}/v.zarr", ZarrSource),
            (f"{self.folder}/v.h5:/raw", Hdf5Source),
            (self.folder / "v.h5", Hdf5Source),
        ):
            with open_source(volume) as source:
                self.assertIs(type(source), kind)
                self.assertEqual(source.shape, (1, 3, 4, 5))

    def stored(self, volume):
        """Yields the volume in all kinds of arrays and stores that hold its type in its byte order."""
        yield volume
        yield dask.array.from_array(volume, chunks=(2, 3, 4))
        np.save(self.folder / "v.npy", volume)
        yield self.folder / "v.npy"
        yield np.load(self.folder / "v.npy", "r")
        with h5py.File(self.folder / "v.h5", "w") as file:
            file.create_dataset("raw", data=volume, chunks=(2, 3, 4))
        yield f"{self.folder}/v.h5:/raw"
        yield zarr.create_array(f"{self.folder}/2.zarr", data=volume, chunks=(2, 3, 4), zarr_format=2, overwrite=True)
        zarr.create_array(f"{self.folder}/3.zarr", data=volume, chunks=(2, 3, 4), zarr_format=3, overwrite=True)
        yield f"{self.folder}/3.zarr"
        facts = dataclasses.replace(FACTS, dtype=volume.dtype.newbyteorder("<"))
        for path in (f"{self.folder}/c.n5/raw", f"precomputed://{self.folder}/p"):
            with contextlib.suppress(InvalidError):  # neither holds all types
                target = open_target(path, facts, True)
                target.begin()
                target.write((0, 0, 0), volume[None].astype(facts.dtype))
                target.finish()
                yield path

    def test_all_types_of_numbers_in_either_byte_order(self):
        """What is read are the same numbers: float32 holds those of the volume."""
        box, inner = Box((1, 0, 2), (3, 4, 5)), np.s_[1:3, 0:4, 2:5]
        for kind in ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8"):
            volume = np.arange(60).reshape(3, 4, 5) - (30 if kind[0] != "u" else 0)
            volume = (volume * {"1": 2, "2": 1000}.get(kind[1], 250_000)).astype(kind)
            for order in "<>" if volume.itemsize > 1 else "<":
                counted = 0
                for each in self.stored(volume.astype(np.dtype(kind).newbyteorder(order))):
                    with self.subTest(kind=kind, order=order, each=each), open_source(each) as source:
                        found = source.read(box)
                        sent = kind if kind in ("u1", "u2", "f2", "f4") else "f4"
                        self.assertEqual((source.dtype, found.dtype.name), (np.dtype("<" + sent), np.dtype(sent).name))
                        np.testing.assert_array_equal(found[0].astype("f8"), volume[inner].astype("f8"))
                    counted += 1
                self.assertGreaterEqual(counted, 7)

    def test_what_are_no_numbers(self):
        for each in self.stored(np.zeros((3, 4, 5), complex)):
            with self.assertRaisesRegex(InvalidError, "^.*: voxels of type complex128 found, expected whole or real"):
                open_source(each)

    def test_a_dictionary_is_joined(self):
        np.save(self.folder / "v.npy", VOLUME)
        with open_source({"a": VOLUME, "b": self.folder / "v.npy"}) as source:
            self.assertIs(type(source), JoinedSource)
            self.assertEqual(source.shape, (2, 3, 4, 5))
        with self.assertRaisesRegex(InvalidError, "no input found"):
            open_source({})
        with self.assertRaisesRegex(InvalidError, "^v.png: this kind of file is not read"):
            open_source({"a": VOLUME, "b": "v.png"})

    def test_targets(self):
        mapped = np.lib.format.open_memmap(self.folder / "m.npy", "w+", np.uint8, (3, 4, 5))
        for output, kind in (
            (None, NewArrayTarget),
            (VOLUME, ArrayTarget),
            (mapped, MemmapTarget),
            (self.folder / "o.npy", NpyTarget),
            (self.folder / "o.TIF", TiffTarget),
            (self.folder / "o.nii", NiftiTarget),
            (self.folder / "o.nii.gz", NiftiTarget),
            (self.folder / "o.nrrd", NrrdTarget),
            (f"{self.folder}/o.zarr/", ZarrTarget),
            (self.folder / "o.n5/raw", N5Target),
            (f"precomputed://{self.folder}/o", PrecomputedTarget),
            (f"{self.folder}/o.h5:/raw", Hdf5Target),
        ):
            self.assertIs(type(open_target(output, FACTS, False)), kind)

    def test_shards_are_of_zarr(self):
        target = open_target(Sharded(self.folder / "s.zarr", 64), FACTS, False)
        self.assertEqual((type(target), target.chunk), (ZarrTarget, (3, 4, 5)))
        for other in (self.folder / "o.npy", self.folder / "c.n5/o", f"precomputed://{self.folder}/o"):
            with self.assertRaisesRegex(InvalidError, "o: only outputs in zarr|o.npy: only outputs in zarr"):
                open_target(Sharded(other, 64), FACTS, False)

    def test_files_of_other_programs(self):
        for name in ("v.tif", "v.nii", "v.nii.gz", "v.nrrd"):
            target = open_target(self.folder / name, FACTS, False)
            target.begin()
            target.write((0, 0, 0), np.full((1, 3, 4, 5), 7, "u1"))
            target.finish()
            with open_source(self.folder / name) as source:
                self.assertIs(type(source), FileSource)
                self.assertEqual(source.read(Box((0, 0, 0), (3, 4, 5))).sum(), 7 * 60)
            raw = open_raw(str(self.folder / name))
            self.assertEqual(int(raw[2:3, 0:4, 0:5].sum()), 7 * 20)
            if name == "v.nii.gz":
                raw.file.close()
            with self.assertRaisesRegex(InvalidError, "machines write one output together as FOLDER.zarr"):
                open_shared_target(str(self.folder / name), FACTS, True)

    def test_what_an_output_needs_is_known_before_it_is_computed(self):
        for name, module in (("o.tif", "tifffile"), ("o.nii", "nibabel"), ("o.nrrd", "nrrd")):
            with mock.patch.dict(sys.modules, {module: None}):
                with self.assertRaisesRegex(InvalidError, r"pip install 'znni\[files\]'"):
                    check_output(self.folder / name, False)

    def test_outputs_of_machines(self):
        facts = dataclasses.replace(FACTS, notes={"job": "7", "model": "net"})
        for name, kind in (("o.zarr", ZarrSource), ("c.n5/o", N5Source), ("precomputed://p", PrecomputedSource)):
            scheme, separator, rest = name.rpartition("://")
            path = f"{scheme}{separator}{self.folder}/{rest}"
            target = open_shared_target(path, facts, False)
            self.assertEqual(target.chunk, (3, 4, 5))
            target.begin()
            target.finish()
            output = open_shared(path)
            self.assertEqual((output.notes["job"], output.room), ("7", str(self.folder)))
            output.array[..., 1:3, 0:4, 0:5] = np.full((2, 4, 5), 3, "u1")
            with open_source(path) as source:
                self.assertIs(type(source), kind)
                np.testing.assert_array_equal(source.read(Box((0, 0, 0), (3, 4, 5)))[0, :, 0, 0], [0, 3, 3])
            self.assertEqual(np.sum(open_raw(path)[...]), 3 * 40)
            with self.assertRaisesRegex(InvalidError, "is there already"):
                check_output(path, False)
        with self.assertRaisesRegex(InvalidError, "o.npy: machines write one output together as FOLDER.zarr"):
            open_shared_target("o.npy", facts, False)

    def test_notes_of_an_output_are_read_again(self):
        notes = {"model": "net", "offset": [1, 0, 2], "pad": "none"}
        facts = dataclasses.replace(FACTS, notes=notes)
        for name in ("o.h5:/o", "o.tif", "o.nii", "o.nii.gz", "o.nrrd", "o.zarr", "o.n5/o", "o.npy"):
            target = open_target(f"{self.folder}/{name}", facts, False)
            target.begin()
            target.write((0, 0, 0), VOLUME[None])
            target.finish()
            with open_source(f"{self.folder}/{name}") as source:
                self.assertEqual(source.notes, None if name == "o.npy" else notes, name)
        target = open_target(f"precomputed://{self.folder}/p", facts, False)
        target.begin()
        target.finish()
        with open_source(f"precomputed://{self.folder}/p") as source:
            self.assertEqual(source.notes, notes)

    def test_other_files(self):
        for path in ("v.png", "v", "v.h5x", "v.zarr.zip"):
            with self.assertRaisesRegex(InvalidError, f"^{path}: this kind of file is not read: expected FILE.npy"):
                open_source(path)
            with self.assertRaisesRegex(InvalidError, f"^{path}: this kind of file is not written"):
                open_target(path, FACTS, False)
        with self.assertRaises(NotFoundError):
            open_source(f"{self.folder}/none.h5:/raw")


if __name__ == "__main__":
    unittest.main()

"""Files of all formats on web servers and in buckets: the same voxels as on disk."""

import bz2
import gzip
import io
import os
import unittest
import urllib.parse
from unittest import mock

import h5py
import nibabel
import numpy as np
import tifffile
from store_case import StoreCase
from znni.box import Box
from znni.errors import AccessError, InvalidError, NotFoundError
from znni.geometry import Geometry
from znni.stores import remote_file
from znni.stores.file_at import array_in, check_length, head_of, length_of, open_file
from znni.stores.opening import open_raw, open_source, open_target
from znni.stores.seam import OutputFacts

SHAPE = (9, 40, 50)
VOLUME = np.random.default_rng(1).integers(0, 1000, SHAPE).astype(np.float32)
TWO = np.random.default_rng(2).integers(0, 250, (2, *SHAPE)).astype(np.uint8)
HEAD = b"NRRD0004\ntype: uchar\ndimension: 3\nsizes: 50 40 9\n"


class FileAtTest(StoreCase):
    def setUp(self):
        super().setUp()
        self.enterContext(mock.patch.object(remote_file, "_PATIENCE_SECONDS", 0))

    def put(self, name):
        """Puts a file of the folder into the bucket, too."""
        self.objects[name] = (self.folder / name).read_bytes()

    def outputs(self):
        """Yields the names of files that the client writes, some with voxels that follow each other."""
        for array in (VOLUME, TWO):
            for name in ("v.npy", "v.h5", "v.tif", "v.nii", "v.nii.gz", "v.nrrd"):
                path = self.folder / f"{array.ndim}{name}"
                shape = (1,) * (4 - array.ndim) + array.shape
                geometry = Geometry((4.0, 2.0, 2.0), (8.0, 2.0, 6.0), ("micrometer",) * 3)
                facts = OutputFacts(shape, array.dtype, array.ndim, None, geometry, (0, 0, 0), {"model": "net"})
                target = open_target(f"{path}:/a" if name == "v.h5" else path, facts, False)
                target.begin()
                target.write((0, 0, 0), array.reshape(shape))
                target.finish()
                yield path.name

    def others(self):
        """Yields the names of files that other programs write."""
        np.save(self.folder / "fortran.npy", np.asfortranarray(VOLUME))
        tifffile.imwrite(self.folder / "tiles.tif", VOLUME, tile=(16, 16), compression="zlib")
        tifffile.imwrite(self.folder / "imagej.tif", VOLUME, imagej=True, metadata={"axes": "ZYX"})
        tifffile.imwrite(self.folder / "channels.tif", TWO.swapaxes(0, 1), imagej=True, metadata={"axes": "ZCYX"})
        tifffile.imwrite(self.folder / "samples.tif", TWO.transpose(1, 2, 3, 0), planarconfig="contig")
        nibabel.save(nibabel.Nifti2Image(VOLUME.T, np.diag([2, 3, 4, 1])), self.folder / "two.nii")
        nibabel.save(nibabel.Nifti2Image(VOLUME.T, np.diag([2, 3, 4, 1])), self.folder / "two.nii.gz")
        with h5py.File(self.folder / "plain.h5", "w") as file:
            file["g/a"] = VOLUME
        (self.folder / "beside.raw").write_bytes(b"one\ntwo\n" + TWO[0].tobytes())
        (self.folder / "beside.nhdr").write_bytes(HEAD + b"encoding: raw\nline skip: 2\ndata file: beside.raw\n\n")
        (self.folder / "end.nrrd").write_bytes(HEAD + b"encoding: raw\nbyte skip: -1\n\nxyz" + TWO[0].tobytes())
        (self.folder / "packed.nrrd").write_bytes(HEAD + b"encoding: bzip2\n\n" + bz2.compress(TWO[0].tobytes()))
        self.put("beside.raw")
        yield from ("fortran.npy", "tiles.tif", "imagej.tif", "channels.tif", "samples.tif", "two.nii", "two.nii.gz")
        yield from ("plain.h5", "beside.nhdr", "end.nrrd", "packed.nrrd")

    def test_volumes_are_those_on_disk(self):
        box = Box((2, 3, 5), (7, 30, 49))
        with self.served() as address:
            for name in (*self.outputs(), *self.others()):
                self.put(name)
                with open_source(self.folder / name) as expected:
                    for path in (f"{address}/{name}", f"s3://data/{name}"):
                        with self.subTest(path), open_source(path) as found:
                            self.assertEqual((found.shape, found.dtype), (expected.shape, expected.dtype))
                            self.assertEqual((found.geometry, found.notes), (expected.geometry, expected.notes))
                            for part in (box, Box((0, 0, 0), SHAPE), Box((8, 0, 0), (9, 1, 50))):
                                np.testing.assert_array_equal(found.read(part), expected.read(part))

    def test_names_that_addresses_encode(self):
        for name, encoded in (("a b.npy", "a%20b.npy"), ("é.npy", "%C3%A9.npy"), ("a+b=c.npy", "a+b=c.npy")):
            folder = self.folder / name[:1] / name[:-4]
            folder.mkdir(parents=True)
            np.save(folder / name, VOLUME)
            self.objects[name] = (folder / name).read_bytes()
            with self.served() as address:
                for path in (
                    f"{address}/{name[:1]}/{name[:-4]}/{name}",
                    f"{address}/{urllib.parse.quote(name[:1])}/{encoded[:-4]}/{encoded}",
                    f"s3://data/{name}",
                ):
                    np.testing.assert_array_equal(self.read(path)[0], VOLUME)

    def test_masks_are_read_there(self):
        np.save(self.folder / "m.npy", TWO[0])
        with h5py.File(self.folder / "m.h5", "w") as file:
            file["a"] = TWO[0]
        for name in ("m.npy", "m.h5"):
            self.put(name)
            raw = open_raw(f"s3://data/{name}")
            np.testing.assert_array_equal(raw[1:3, 0:5, 0:50], TWO[0][1:3, 0:5])
            raw.file.close()

    def test_a_part_is_read_of_a_large_file(self):
        """A plane of an array is a range of its file."""
        large = np.zeros((64, 256, 512), np.float32)
        np.save(self.folder / "v.npy", large)
        self.put("v.npy")
        with open_source("s3://data/v.npy") as source:
            with mock.patch.object(type(source.raw.file), "read_ranges", autospec=True) as read:
                read.side_effect = lambda _, ranges: [bytes(end - begin) for begin, end in ranges]
                source.read(Box((3, 0, 0), (5, 256, 512)))
            (pieces,) = [call.args[1] for call in read.call_args_list]
            self.assertEqual([end - begin for begin, end in pieces], [2 * 256 * 512 * 4])

    def test_what_is_wrong(self):
        np.save(self.folder / "v.npy", VOLUME)
        np.save(self.folder / "objects.npy", np.array([{}]), allow_pickle=True)
        whole = (self.folder / "v.npy").read_bytes()
        header = b"NRRD0004\ntype: uchar\ndimension: 3\nsizes: 5 4 9\nencoding: raw\ndata file: %s\n\n"
        self.objects.update(
            {
                "cut.npy": whole[:-1],
                "objects.npy": (self.folder / "objects.npy").read_bytes(),
                "v.tif": whole,
                "empty.h5": b"",
                "cut.nii.gz": gzip.compress(bytes(100)),
                "local.nhdr": header % b"/etc/passwd",
                "file.nhdr": header % b"file:///etc/passwd",
                "none.nhdr": header % b"none.raw",
                "up.nhdr": header % b"../v.raw",
            }
        )
        for name, kind, words in (
            ("cut.npy", InvalidError, f"{len(whole) - 1} bytes found, expected {len(whole)} for .*: it is cut short"),
            ("objects.npy", InvalidError, "is not an array of NumPy: it holds objects"),
            ("none.npy", NotFoundError, "there is no such file"),
            ("none.h5", NotFoundError, "there is no such file"),
            ("v.tif", InvalidError, "a file of NumPy found, expected one of TIFF: name it FILE.npy"),
            ("empty.h5", InvalidError, "not a file of HDF5, or cut short"),
            ("cut.nii.gz", InvalidError, "no file of NIfTI, or damaged"),
            ("local.nhdr", InvalidError, "field 'data file': /etc/passwd found, expected the name of a file beside it"),
            ("file.nhdr", InvalidError, "field 'data file': file:///etc/passwd found"),
            ("none.nhdr", NotFoundError, "none.raw: there is no such file"),
            ("up.nhdr", InvalidError, "expected one without //, /./ and /../"),
        ):
            with self.subTest(name), self.assertRaisesRegex(kind, f"^s3://data/.*{words}") as caught:
                open_source(f"s3://data/{name}")
            self.assertNotIn("\n", str(caught.exception))

    def test_keys_that_are_refused_are_no_damage(self):
        for name in ("v.npy", "v.h5", "v.tif", "v.nii", "v.nrrd"):
            self.objects[name] = bytes(1000)
            with mock.patch.dict(os.environ, {"AWS_ACCESS_KEY_ID": "other"}):
                with self.subTest(name), self.assertRaisesRegex(AccessError, "InvalidAccessKeyId"):
                    open_source(f"s3://data/{name}")

    def test_files_of_this_machine(self):
        path = self.folder / "v"
        path.write_bytes(b"abc" + VOLUME.tobytes())
        with open_file(path) as file:
            self.assertEqual((file.read(2), head_of(path, 3), length_of(path)), (b"ab", b"abc", 3 + VOLUME.nbytes))
        np.testing.assert_array_equal(array_in(path, SHAPE, np.dtype("f4"), 3), VOLUME)
        check_length(path, 3 + VOLUME.nbytes, "voxels")
        with self.assertRaisesRegex(InvalidError, "v: 72003 bytes found, expected 72004 for voxels: it is cut short"):
            check_length(path, 72004, "voxels")
        with self.assertRaisesRegex(NotFoundError, "none: there is no such file"):
            open_file(self.folder / "none")
        with self.assertRaisesRegex(InvalidError, "a folder found, expected a file"):
            open_file(self.folder)

    def test_files_at_addresses(self):
        self.objects["v"] = bytes(range(200))
        self.assertEqual((head_of("s3://data/v", 3), head_of("s3://data/v", 300)), (bytes(range(3)), bytes(range(200))))
        with open_file("s3://data/v") as file:
            self.assertEqual((file.seek(-3, io.SEEK_END), file.read()), (197, bytes(range(197, 200))))
        self.assertEqual(length_of("s3://data/v"), 200)
        check_length("s3://data/v", 200, "voxels")
        with self.assertRaisesRegex(InvalidError, "^s3://data/v: 200 bytes found, expected 201 for voxels"):
            check_length("s3://data/v", 201, "voxels")


if __name__ == "__main__":
    unittest.main()

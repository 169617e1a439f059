"""The kinds of paths."""

import os
import pathlib
import tempfile
import unittest

import zarr
from znni.errors import InvalidError
from znni.stores.address import Address, absolute, file_of, input_address, output_address
from znni.stores.remote_partial import RemotePartial


class AddressTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def test_names(self):
        for path, kind, where, dataset in (
            ("a/v.npy", "npy", "a/v.npy", ""),
            ("v.h5", "hdf5", "v.h5", ""),
            ("v.hdf5:/a/b", "hdf5", "v.hdf5", "/a/b"),
            ("v.zarr/a", "zarr", "v.zarr/a", ""),
            ("v.n5/a", "n5", "v.n5/a", ""),
            ("v.n5", "n5", "v.n5", ""),
            ("precomputed://v.zarr", "precomputed", "v.zarr", ""),
            ("n5://v", "n5", "v", ""),
            ("zarr://v", "zarr", "v", ""),
            ("a/v.TIF", "tiff", "a/v.TIF", ""),
            ("v.nii.gz", "nifti", "v.nii.gz", ""),
            ("v.nhdr", "nrrd", "v.nhdr", ""),
            ("c.n5/v.tif", "n5", "c.n5/v.tif", ""),
        ):
            self.assertEqual(input_address(path), Address(kind, where, dataset))
        self.assertEqual(output_address(pathlib.Path("a/v.n5/b")), Address("n5", "a/v.n5/b"))
        self.assertEqual(output_address("precomputed://a/b/"), Address("precomputed", "a/b"))

    def test_folders_by_what_lies_in_them(self):
        for name, kind in (
            ("info", "precomputed"),
            ("attributes.json", "n5"),
            (".zgroup", "zarr"),
            ("zarr.json", "zarr"),
        ):
            folder = self.folder / kind / name[:3]
            folder.mkdir(parents=True)
            (folder / name).touch()
            self.assertEqual(input_address(folder), Address(kind, str(folder)))
        zarr.create_array(str(self.folder / "v2"), shape=(1, 1, 1), dtype="u1", zarr_format=2)
        self.assertEqual(input_address(self.folder / "v2").kind, "zarr")

    def test_folders_of_pages(self):
        for name in ("b.tif", "a.TIFF", "notes.txt"):
            (self.folder / name).touch()
        self.assertEqual(input_address(self.folder), Address("tiff", str(self.folder)))
        with self.assertRaisesRegex(InvalidError, "this kind of file is not written"):
            output_address(self.folder)

    def test_files_are_read_anywhere_and_written_on_this_machine(self):
        for name, kind in (("v.npy", "npy"), ("v.tif", "tiff"), ("v.nii.gz", "nifti"), ("v.nrrd", "nrrd")):
            self.assertEqual(input_address(f"s3://b/{name}"), Address(kind, f"s3://b/{name}"))
        self.assertEqual(input_address("https://h/a/v.h5:/raw"), Address("hdf5", "https://h/a/v.h5", "/raw"))
        self.assertEqual(input_address("http://v.h5:80/v.zarr").kind, "zarr")
        for name in ("v.npy", "v.h5:/raw", "v.tif", "v.nii.gz", "v.nrrd"):
            with self.assertRaisesRegex(InvalidError, "NumPy, HDF5, TIFF, NIfTI and NRRD are written on this machine"):
                output_address(f"s3://b/{name}")

    def test_says_what_was_found(self):
        with self.assertRaisesRegex(InvalidError, "nothing found, which is no volume: expected FILE.npy"):
            input_address(self.folder)
        for name in "gfedcba":
            (self.folder / name).touch()
        with self.assertRaisesRegex(InvalidError, r"a folder with a, b, c, d, e, \.\.\. found, which is no volume"):
            input_address(str(self.folder))

    def test_other_files(self):
        for path in ("v.png", "v", "v.h5x", "v.zarr.zip"):
            with self.assertRaisesRegex(
                InvalidError, f"^{path}: this kind of file is not read: expected .*precomputed://"
            ):
                input_address(path)
        for path in ("v.png", "v.zarr/0", "v.nhdr", str(self.folder)):
            with self.assertRaisesRegex(InvalidError, f"^{path}: this kind of file is not written: expected FILE.npy"):
                output_address(path)

    def test_schemes(self):
        for path, found in (
            ("file:///a/v.zarr", Address("zarr", "/a/v.zarr")),
            ("precomputed://file:///a/v", Address("precomputed", "/a/v")),
            ("n5://s3://b/v", Address("n5", "s3://b/v")),
        ):
            self.assertEqual((input_address(path), output_address(path)), (found, found))
        for path in ("gs://b/v.zarr", "zarr://gs://b/v", "gs://b/v.n5/a", "ftp://b/v.npy"):
            for use in (input_address, output_address):
                with self.assertRaisesRegex(InvalidError, "(gs|ftp):// found, expected s3://, http:// or https://"):
                    use(path)
        with self.assertRaisesRegex(InvalidError, "gs:// found"):
            input_address("gs://b/v")

    def test_passwords_are_not_shown(self):
        for path in (
            "http://me:secret@h/v.zarr",
            "https://secret@h/v.npy",
            "s3://me:secret@b/v",
            "gs://me:secret@b/v",
            "n5://s3://me:secret@b/v",
        ):
            for use in (input_address, output_address, lambda path: RemotePartial(path, False)):
                with self.assertRaises(InvalidError) as found:
                    use(path)
                self.assertRegex(str(found.exception), r"://\.\.\.@[hb]: a user or password found in the address")
                self.assertNotIn("secret", str(found.exception))
        self.assertEqual(input_address("s3://b/a@b/v.zarr").path, "s3://b/a@b/v.zarr")
        self.assertEqual(input_address("a@b/v.zarr").path, "a@b/v.zarr")

    def test_nothing_behind_a_scheme(self):
        for path in ("n5://", "precomputed://", "zarr:///", "n5://file://"):
            for use in (input_address, output_address):
                with self.assertRaisesRegex(
                    InvalidError, f"{path}: nothing found behind .*, expected a folder or an address"
                ):
                    use(path)

    def test_paths_from_the_root_on(self):
        here = os.getcwd()
        for path, expected in (
            ("a/../v.h5:/x", f"{here}/v.h5:/x"),
            ("precomputed://v", f"precomputed://{here}/v"),
            ("/a/v.n5/b", "/a/v.n5/b"),
            ("/a/b:c/../v:7.zarr", "/a/v:7.zarr"),
            ("n5://a/../v.h5:7", f"n5://{here}/v.h5:7"),
            ("s3://b/v.zarr", "s3://b/v.zarr"),
            ("n5://https://h/v", "n5://https://h/v"),
        ):
            self.assertEqual(absolute(path), expected)
        for path, expected in (
            ("v.h5:/x", "v.h5"),
            ("n5://a/b/", "a/b"),
            ("a/v.zarr/", "a/v.zarr"),
            ("zarr://s3://b/v/", "s3://b/v"),
            ("run-12:30.zarr", "run-12:30.zarr"),
            ("a:b/v.hdf5:/x", "a:b/v.hdf5"),
            ("n5://v.h5:7", "v.h5:7"),
            ("http://h/v.h5:/x", "http://h/v.h5"),
            ("http://v.h5:80/a", "http://v.h5:80/a"),
        ):
            self.assertEqual(file_of(path), expected)


if __name__ == "__main__":
    unittest.main()
